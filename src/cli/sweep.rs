//! `sweep`: one or two values of a scenario varied.

use std::path::PathBuf;

use clap::Args;

use super::builtin::{self, Text};
use super::options::{Chosen, Runs, whole};
use super::terminal::Terminal;
use super::vary::{self, Axis};
use crate::experiment::Plan;
use crate::experiment::sweep::{runs, sweep};
use crate::record::{Folder, Record, Results};
use crate::report::sweep::{Setting, SweepReport};
use crate::scenario::{self, Understood};
use crate::stats::PercentileMethod;

/// Vary one or two values of a scenario: what all users meet, and what a benchmark would report
///
/// Every setting meets the same demand (common random numbers), so the curve shows the setting and not luck. Figures of all
/// users are those of all replications together; intervals are for 95 %.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Sweep {
    #[command(flatten)]
    scenario: Chosen,
    /// A value to vary, as `--set` names it, and its settings: a list `0,1,4`, a range `0..8`, steps `30s..300s:30s`, factors
    /// `1s..64s*2`; give it twice for two axes
    #[arg(
        long,
        value_name = "PATH=VALUES",
        required = true,
        num_args = 1,
        help_heading = "Scenario"
    )]
    vary: Vec<Axis>,
    /// Replications of each setting
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u64>(1..=100_000), help_heading = "Statistics")]
    repeat: u64,
    /// How percentiles are read off: linear, nearest-rank or exclusive
    #[arg(
        long,
        value_name = "METHOD",
        default_value = "linear",
        help_heading = "Statistics"
    )]
    percentile: PercentileMethod,
    #[command(flatten)]
    runs: Runs,
    /// Also write a run folder: manifest, scenario, summary, every setting, a picture of each model
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Write into a folder that holds something else
    #[arg(long, requires = "out", help_heading = "Output")]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  thermocline sweep warm-pool --vary 'providers.*.deployments.*.scaling.min=0..8'
      What does each warm replica buy?
  thermocline sweep lesson --vary 'providers.*.deployments.*.scaling.keep_alive=30s..32m*2' --format csv
      The keep-alive doubled from half a minute to half an hour, for a spreadsheet
  thermocline sweep warm-pool --vary 'providers.*.deployments.*.scaling.min=0..4' \\
                              --vary 'providers.*.deployments.*.scaling.keep_alive=1m,5m,15m'
      Two values against each other";

impl Sweep {
    pub(super) fn run(&self, command: &[String], terminal: &Terminal) -> anyhow::Result<()> {
        let settings = self.settings()?;
        let text = builtin::find(&self.scenario.scenario)?;
        let mut plans = Vec::new();
        let mut understood = Vec::new();
        for (plan, as_read) in self.read(&text, &settings)? {
            plans.push(plan);
            understood.push(as_read);
        }
        let folder = self.out.as_deref();
        let folder = folder.map(|path| Folder::new(path, self.force));
        let folder = folder.transpose()?;
        let pool = self.runs.pool()?;
        let points = terminal.progress(runs(&plans, self.repeat), |step| {
            pool.install(|| sweep(&plans, self.repeat, step))
        });
        let paths: Vec<String> = self.vary.iter().map(|axis| axis.path.clone()).collect();
        let report = SweepReport {
            plan: &plans[0],
            paths: &paths,
            settings: &settings,
            points: &points,
            replications: self.repeat,
        };
        if let Some(folder) = folder {
            folder.write(&Record {
                command,
                text: &understood[0].relocatable_text(&text.text),
                understood: &understood[0].relocatable().to_toml(),
                name: &self.scenario.scenario,
                results: Results::Sweep(&report),
            })?;
            terminal.note(&format!("wrote {}", folder.path().display()));
        }
        let format = self.runs.format.into();
        terminal.results(|out| report.write(format, terminal.width(), out))?;
        Ok(())
    }

    fn settings(&self) -> anyhow::Result<Vec<Setting>> {
        if self.vary.len() > 2 {
            anyhow::bail!(
                "`--vary` was given {} times: at most two values are varied at once",
                self.vary.len()
            );
        }
        vary::settings(&self.vary)
    }

    /// The scenario at every setting, or everything wrong with it at the first that is not possible.
    fn read(&self, text: &Text, settings: &[Setting]) -> anyhow::Result<Vec<(Plan, Understood)>> {
        let common = self.scenario.overrides(self.percentile);
        let read = |setting: &Setting| {
            let overrides = vary::over(&common, "--vary", &self.vary, setting);
            Ok(scenario::load(&text.name, &text.text, &overrides)?)
        };
        settings.iter().map(read).collect()
    }
}
