//! `theory`: the validation suite, for whoever does not believe the numbers.

use anyhow::anyhow;
use clap::Args;

use super::failure::No;
use super::options::{Runs, seed};
use super::terminal::Terminal;
use crate::report::theory::Comparison;
use crate::scenario::did_you_mean;
use crate::validation::{self, Case, Checked, SEED};

/// Simulate systems with a known answer and compare
///
/// Runs scenarios whose answer theory knows in closed form, and shows theory and simulation side by side. The exit code is 1 if
/// one of them does not hold. Named cases are explained: the formula, where it comes from, and the scenario.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Theory {
    /// Cases, by name or by the beginning of it [default: all]
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// Seed of all randomness; at another one an interval may miss by chance
    #[arg(long, value_name = "N", value_parser = seed, default_value_t = SEED, help_heading = "Scenario")]
    seed: u64,
    #[command(flatten)]
    runs: Runs,
}

const EXAMPLES: &str = "\
Examples:
  thermocline theory
      All cases
  thermocline theory K02 S01
      Two of them, with formula, source and scenario
  thermocline theory --seed 7
      The same suite with other random numbers";

impl Theory {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let all = validation::cases();
        let cases = self.chosen(&all)?;
        let pool = self.runs.pool()?;
        let runs = cases.iter().map(|case| case.replications()).sum();
        let checked = terminal.progress(runs, |step| {
            pool.install(|| validation::check(&cases, self.seed, step))
        });
        let comparison = Comparison {
            checked: &checked,
            seed: self.seed,
            explains: !self.cases.is_empty(),
        };
        let format = self.runs.format.into();
        terminal.results(|out| comparison.write(format, terminal.width(), out))?;
        if checked.iter().all(Checked::holds) {
            Ok(())
        } else {
            Err(No.into())
        }
    }

    /// The cases that were named, in the order of the suite.
    fn chosen<'a>(&self, all: &'a [Case]) -> anyhow::Result<Vec<&'a Case>> {
        let is_named = |case: &Case, name: &str| {
            let id = case.id.to_lowercase();
            id.starts_with(&name.to_lowercase())
        };
        for name in &self.cases {
            if !all.iter().any(|case| is_named(case, name)) {
                return Err(unknown(name, all));
            }
        }
        let is_chosen = |case: &&Case| {
            self.cases.is_empty() || self.cases.iter().any(|name| is_named(case, name))
        };
        Ok(all.iter().filter(is_chosen).collect())
    }
}

/// Says that there is no such case, and which is near or what there is.
fn unknown(name: &str, all: &[Case]) -> anyhow::Error {
    let ids: Vec<&str> = all.iter().map(|case| case.id).collect();
    let help = did_you_mean(name, ids.iter().copied()).map_or_else(
        || format!("known: {}", ids.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    anyhow!("there is no case `{name}`\nhelp: {help}")
}
