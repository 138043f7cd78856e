//! `calibrate`: which decisions would have given what was measured, and how surely.

mod fitted;
mod given;
mod next;
mod trials;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::tz::TimeZone;
use rayon::ThreadPool;

use super::builtin::{self, Text};
use super::failure::No;
use super::files::{Tables, zone};
use super::options::{Chosen, Runs, duration, whole};
use super::terminal::Terminal;
use crate::calibrate::free::{Free, Place};
use crate::calibrate::observed::Simulator;
use crate::calibrate::optimum::{most_simulations, optimum};
use crate::calibrate::posterior::Posterior;
use crate::calibrate::predict::{predict, predictions};
use crate::calibrate::search::{LEAST, Progress, search};
use crate::calibrate::starts::StartClass;
use crate::experiment::Plan;
use crate::import::read_starts;
use crate::record::{Record, Results};
use crate::report::calibrate::CalibrationReport;
use crate::report::calibrate::starts::StartsReport;
use crate::report::number;
use crate::scenario::{self, Overrides, Understood, Varied};
use crate::stats::PercentileMethod;
use fitted::Out;
use given::{Given, Measured};
use next::{Known, Next};
use trials::{Subject, TrialOptions};

/// Find the decisions behind a measurement, and how sure they are
///
/// The scenario names values that are free in its `[calibrate]` table. Settings that would have given the measurement are found by
/// simulating it at thousands of them; what is left is an interval for each value, which values cannot be told apart, and a
/// check whether the scenario does what was measured at all: if not, the exit code is 1. `--suggest` says which measurement would
/// tell most, before there is any and after each.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Calibrate {
    #[command(flatten)]
    scenario: Chosen,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    next: Next,
    #[command(flatten)]
    tables: Tables,
    /// Zone of the hours of the week: UTC, a name such as Europe/Berlin, or `local`
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = zone, help_heading = "Measurement")]
    timezone: TimeZone,
    /// Simulations of the search
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole::<u64>(LEAST..=10_000_000), help_heading = "Statistics")]
    simulations: u64,
    /// Instead: as many simulations as fit into this span. How many that were is told, and gives the same again
    #[arg(long, value_name = "SPAN", value_parser = duration, conflicts_with = "simulations", help_heading = "Statistics")]
    budget: Option<crate::time::Duration>,
    /// Instead: look at measured cold starts, a CSV with columns such as `load_weights_s`, `compile_s` and `total_s`, and
    /// say by class of start whether the phases add up to the total
    #[arg(long, value_name = "FILE", conflicts_with_all = ["measured", "summary", "published", "suggest", "trials", "out", "budget"], help_heading = "Measurement")]
    starts: Option<String>,
    #[command(flatten)]
    trials: TrialOptions,
    #[command(flatten)]
    runs: Runs,
    /// Write the calibrated scenario, which `simulate` runs, to this file, if it ends in .toml; else a folder with it, the summary,
    /// every check, and pictures of TTFT as measured and simulated and of the values
    #[arg(long, value_name = "DIR|FILE.toml", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Replace the file if it is there, or write into a folder that holds something else
    #[arg(long, requires = "out", help_heading = "Output")]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  thermocline calibrate my-scenario.toml --measured observations.jsonl --out calibrated.toml
      From what `measure` recorded
  thermocline calibrate my-scenario.toml --measured probes.csv --column ttft_ms --time-column hour_utc
      From any table that `analyze` reads
  thermocline calibrate my-scenario.toml --summary median=0.55s,p95=6.3s,cv=541%,n=75,cv-definition=std/median
      From published figures alone
  thermocline calibrate deepseek-v4-pro --published --of east/deepseek-v4-pro
      From a row that the scenario itself holds
  thermocline calibrate my-scenario.toml --suggest 75
      Before anything is measured: how should 75 requests be spread?
  thermocline calibrate my-scenario.toml --measured part-1.jsonl --suggest 25 --within 3h
      And the next 25, given the first?
  thermocline calibrate my-scenario.toml --trials 300 --simulations 2000
      Whether its calibrations can be trusted: from measurements that it makes itself";

impl Calibrate {
    pub(super) fn run(&self, command: &[String], terminal: &Terminal) -> anyhow::Result<()> {
        if let Some(file) = &self.starts {
            return self.starts(file, terminal);
        }
        if let Some(trials) = self.trials.trials {
            return self.tried(trials, terminal);
        }
        self.refuse_unmeasured()?;
        let place = self.out.as_deref().map(|path| Out::new(path, self.force));
        let place = place.transpose()?;
        let case = self.case()?;
        let make = maker(&case.text, &case.common, &case.free);
        let simulator = Simulator {
            free: &case.free,
            series: &case.measured.series,
            maker: &make,
        };
        // A path that leads nowhere is told as such, not as a setting that cannot be.
        let middle = simulator.texts(&vec![0.5; case.free.len()]);
        scenario::load(&case.text.name, &case.text.text, &case.at(&middle))?;

        let pool = self.runs.pool()?;
        if self.given.is_nothing() {
            return self.unmeasured(&case, &simulator, &pool, terminal);
        }
        let simulations = self.simulations(&simulator, case.plan.seed, &pool);
        let posterior = searched(&simulator, case.plan.seed, simulations, &pool, terminal)?;
        let best = terminal.progress(most_simulations(simulations), |step| {
            pool.install(|| optimum(&simulator, &posterior, case.plan.seed, step))
        });
        let prediction = terminal.progress(
            predictions(simulations, simulator.series.len()) as u64,
            |step| pool.install(|| predict(&simulator, &posterior, step)),
        );
        let known = case.target.map(|target| Known {
            target,
            posterior: Some(&posterior),
            simulations,
        });
        let found = known.map(|known| {
            let next = self.next;
            next.found(&known, &simulator, &case.plan, &pool, terminal)
        });
        let found = found.transpose()?;
        let named = &self.scenario.scenario;
        let report = CalibrationReport {
            name: &case.text.name,
            plan: &case.plan,
            series: &case.measured.series,
            sources: &case.measured.sources,
            posterior: &posterior,
            best: &best,
            prediction: &prediction,
            next: found.as_ref().map(|found| found.report(named, &case.plan)),
        };
        let format = self.runs.format.into();
        terminal.results(|out| report.write(format, terminal.width(), out))?;
        if let Some(place) = &place {
            let values = case.at(&simulator.texts(&posterior.point()));
            let fitted = fitted::scenario(&case.text, &values, &report, command)?;
            let record = Record {
                command,
                text: &case.text.text,
                understood: &case.understood.to_toml(),
                name: named,
                results: Results::Calibration(&report, &fitted),
            };
            place.write(&record, &fitted)?;
            terminal.note(&format!("wrote {}", place.path().display()));
        }
        if prediction.is_calibrated() {
            Ok(())
        } else {
            Err(No.into())
        }
    }

    /// Whether the phases of measured cold starts add up.
    fn starts(&self, file: &str, terminal: &Terminal) -> anyhow::Result<()> {
        let bytes = std::fs::read(file).with_context(|| format!("could not read `{file}`"))?;
        let classes = StartClass::all(&read_starts(file, &bytes)?);
        let report = StartsReport {
            name: file,
            classes: &classes,
        };
        let format = self.runs.format.into();
        Ok(terminal.results(|out| report.write(format, terminal.width(), out))?)
    }

    /// Calibrates to what the scenario measures itself.
    fn tried(&self, trials: u64, terminal: &Terminal) -> anyhow::Result<()> {
        let read = self.read()?;
        let subject = Subject {
            text: &read.text,
            common: &read.common,
            plan: &read.plan,
            free: &read.free,
            of: self.given.of.as_deref(),
            simulations: self.simulations,
        };
        self.trials.run(trials, subject, self.runs, terminal)
    }

    /// Reads the scenario, something in which must be free.
    fn read(&self) -> anyhow::Result<Read> {
        let text = builtin::find(&self.scenario.scenario)?;
        let common = self.scenario.overrides(PercentileMethod::default());
        let (plan, free, understood) = scenario::load_with_free(&text.name, &text.text, &common)?;
        if free.is_empty() {
            bail!(
                "`{}` has no `[calibrate]` table: nothing in it is free\nhelp: free a value, for example\n\n{EXAMPLE}",
                text.name
            );
        }
        Ok(Read {
            text,
            common,
            plan,
            free,
            understood,
        })
    }

    /// Reads the scenario and what was measured of it.
    fn case(&self) -> anyhow::Result<Case> {
        let Read {
            text,
            common,
            plan,
            free,
            understood,
        } = self.read()?;
        let measured = if self.given.is_nothing() {
            Measured::default()
        } else {
            self.given.read(&plan, &self.tables, &self.timezone)?
        };
        let mut providers: Vec<usize> = measured.series.iter().map(|one| one.provider).collect();
        let target = self
            .next
            .is_asked()
            .then(|| self.given.target(&plan, &measured.series));
        let target = target.transpose()?;
        providers.extend(target.map(|(provider, _)| provider));
        let mut free = given::concerned(free, &plan, &providers);
        if free.is_empty() {
            bail!(
                "all values that `{}` frees are of providers that were not measured",
                text.name
            );
        }
        free.extend(measured.nuisance.clone());
        Ok(Case {
            text,
            common,
            plan,
            understood,
            free,
            measured,
            target,
        })
    }

    /// Before anything is measured there is only a suggestion to make.
    fn unmeasured(
        &self,
        case: &Case,
        simulator: &Simulator<'_>,
        pool: &ThreadPool,
        terminal: &Terminal,
    ) -> anyhow::Result<()> {
        let Some(target) = case.target else {
            bail!("nothing was measured, and no suggestion is asked for");
        };
        let known = Known {
            target,
            posterior: None,
            simulations: self.simulations,
        };
        let found = self
            .next
            .found(&known, simulator, &case.plan, pool, terminal)?;
        let report = found.report(&self.scenario.scenario, &case.plan);
        let format = self.runs.format.into();
        Ok(terminal.results(|out| report.write(format, terminal.width(), out))?)
    }

    /// Without a measurement there is nothing to calibrate, only to suggest.
    fn refuse_unmeasured(&self) -> anyhow::Result<()> {
        let options = [
            ("--out", self.out.is_some()),
            ("--budget", self.budget.is_some()),
        ];
        let given = options.iter().find(|(_, is_given)| *is_given);
        if let Some((option, _)) = given.filter(|_| self.given.is_nothing()) {
            bail!("{option} needs a measurement: --measured or --summary");
        }
        Ok(())
    }

    /// How many simulations the budget allows.
    fn simulations(&self, simulator: &Simulator<'_>, seed: u64, pool: &ThreadPool) -> u64 {
        let Some(budget) = self.budget else {
            return self.simulations;
        };
        let began = Instant::now();
        // Whether some settings cannot be is found out again by the search.
        let _ = pool.install(|| search(simulator, seed, LEAST, &|_| ()));
        let rate = LEAST as f64 / began.elapsed().as_secs_f64();
        // The check takes a fifth again, and so does the best setting.
        let left = (budget.as_secs() - began.elapsed().as_secs_f64()).max(0.0);
        let fits = (left * rate / 1.4 / 1000.0) as u64 * 1000;
        fits.clamp(LEAST, 10_000_000)
    }
}

/// A scenario of which something is free.
struct Read {
    text: Text,
    common: Overrides,
    plan: Plan,
    free: Vec<Free>,
    understood: Understood,
}

/// What is calibrated, to what.
struct Case {
    text: Text,
    common: Overrides,
    plan: Plan,
    understood: Understood,
    free: Vec<Free>,
    measured: Measured,
    /// Provider and deployment that are to be measured next, where that is asked.
    target: Option<(usize, u32)>,
}

impl Case {
    /// The scenario's overrides with its free values at some texts.
    fn at(&self, values: &[String]) -> Overrides {
        settings(&self.common, &self.free, values)
    }
}

/// The overrides that set the free values of a scenario to these texts.
fn settings(common: &Overrides, free: &[Free], values: &[String]) -> Overrides {
    let paths = free.iter().filter_map(|free| match &free.place {
        Place::Path(path) => Some((&free.name, path)),
        Place::Requests | Place::CvDefinition => None,
    });
    let varied = paths.zip(values).map(|((name, path), value)| Varied {
        option: format!("calibrate.{name}"),
        argument: format!("{path}={value}"),
    });
    Overrides {
        varied: varied.collect(),
        ..common.clone()
    }
}

/// Makes the plan of a scenario at texts of its free values; `None` where the scenario forbids them.
fn maker<'a>(
    text: &'a Text,
    common: &'a Overrides,
    free: &'a [Free],
) -> impl Fn(&[String]) -> Option<Plan> + Sync + 'a {
    move |values| {
        let overrides = settings(common, free, values);
        let loaded = scenario::load(&text.name, &text.text, &overrides).ok();
        loaded.map(|(plan, _)| plan)
    }
}

const EXAMPLE: &str = "\
[calibrate.keep_alive]
path = \"providers.*.deployments.*.scaling.keep_alive\"
range.log = { from = \"1m\", to = \"2h\" }";

/// Searches and shows how far it is.
fn searched(
    simulator: &Simulator<'_>,
    seed: u64,
    simulations: u64,
    pool: &ThreadPool,
    terminal: &Terminal,
) -> anyhow::Result<Posterior> {
    let live = terminal.live();
    let began = Instant::now();
    let show = |progress: Progress| {
        // Work that is soon over needs no words.
        if live.is_shown() && began.elapsed() > Duration::from_secs(1) {
            live.show(told(&progress));
        }
    };
    // Progress is told from the thread that searches, so the pool is entered piece by piece.
    Ok(pool.install(|| search(simulator, seed, simulations, &show))?)
}

fn told(progress: &Progress) -> String {
    let near = if progress.distance.is_finite() {
        format!(", within {:.2} deviations", progress.distance)
    } else {
        String::new()
    };
    format!(
        "{} of {} simulations, round {}: {} of the prior left{near}",
        number::count(progress.done),
        number::count(progress.simulations),
        progress.round,
        number::percent(100.0 * progress.region),
    )
}
