//! `simulate`: the main job.

use clap::Args;

use super::builtin;
use super::options::{Chosen, Output, Statistics, Whose, pool, threads, whole};
use super::terminal::Terminal;
use crate::experiment::repeat::{Outcome, repeat};
use crate::experiment::{Keep, Plan};
use crate::record::{Folder, Record, Results};
use crate::report::Report;
use crate::scenario;

/// Run a scenario: what a benchmark would report, and what really happened
///
/// Runs the scenario's fleet under its own demand, sends the benchmark through it, and prints what that would report of each
/// provider, model and session, beside what all users met. Without a scenario it runs a built-in lesson.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Simulate {
    #[command(flatten)]
    scenario: Chosen,
    #[command(flatten)]
    statistics: Statistics,
    /// Make N independent benchmarks and show how their figures spread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>(1..=1_000_000), help_heading = "Statistics")]
    repeat: u64,
    /// Threads for the runs, 0 for all cores; never changes a result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0, help_heading = "Terminal")]
    threads: usize,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  thermocline simulate
      The lesson: a median that does not see cold starts
  thermocline simulate my.toml --set benchmark.requests=20 --seed 3
      A scenario of your own, with a shorter benchmark
  thermocline simulate --repeat 200
      How much a benchmark's figures depend on luck
  thermocline simulate my.toml --format json --out runs/first
      For programs, and a folder with every request";

impl Simulate {
    pub(super) fn run(&self, command: &[String], terminal: &Terminal) -> anyhow::Result<()> {
        let text = builtin::find(&self.scenario.scenario)?;
        let overrides = self.scenario.overrides(self.statistics.percentile);
        let (plan, understood) = scenario::load(&text.name, &text.text, &overrides)?;
        let folder = self.output.out.as_deref();
        let folder = folder.map(|path| Folder::new(path, self.output.force));
        let folder = folder.transpose()?;
        terminal.warn(&plan);
        let outcome = self.simulated(&plan, terminal)?;
        let report = Report {
            name: &self.scenario.scenario,
            plan: &plan,
            outcome: &outcome,
            definition: self.statistics.cv,
        };
        if let Some(folder) = folder {
            let whose = self.output.requests.into();
            let record = Record {
                command,
                text: &understood.relocatable_text(&text.text),
                understood: &understood.relocatable().to_toml(),
                name: &self.scenario.scenario,
                results: Results::Simulation(&report, whose),
            };
            folder.write(&record)?;
            terminal.note(&format!("wrote {}", folder.path().display()));
        }
        let format = self.output.format.into();
        terminal.results(|out| report.write(format, terminal.width(), out))?;
        Ok(())
    }

    fn simulated(&self, plan: &Plan, terminal: &Terminal) -> anyhow::Result<Outcome> {
        let pool = pool(self.threads)?;
        let is_kept = self.output.out.is_some();
        let keep = Keep {
            everybody: is_kept && self.output.requests == Whose::Everybody,
            replicas: is_kept,
        };
        let runs = plan.providers.len() * plan.sessions.len();
        let outcome = terminal.progress(runs as u64 * self.repeat, |step| {
            pool.install(|| repeat(plan, self.repeat, self.statistics.cv, keep, step))
        });
        Ok(outcome)
    }
}
