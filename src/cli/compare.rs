//! `compare`: providers or scenarios under the same demand.

use clap::{Args, ValueEnum};

use super::builtin;
use super::options::{Runs, seed, whole};
use super::terminal::Terminal;
use crate::experiment::Plan;
use crate::experiment::compare::{Questions, Side, compare, runs};
use crate::experiment::users::Figure;
use crate::fleet::config::TrafficConfig;
use crate::report::compare::CompareReport;
use crate::scenario::{self, Overrides};
use crate::stats::PercentileMethod;

/// Compare providers or scenarios under the same demand: paired differences, and what short benchmarks would say
///
/// One scenario has its providers compared, or the sessions of its only one; several are compared with each other. Sides meet the same arrivals and lengths as
/// far as their traffic is written the same, so their differences show the setting and not luck.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Compare {
    /// Built-in scenarios' names, paths, or `-` for standard input
    #[arg(value_name = "SCENARIO", required = true)]
    scenarios: Vec<String>,
    /// What the sides are [default: providers of one scenario, else scenarios]
    #[arg(long, value_enum, help_heading = "Scenario")]
    by: Option<By>,
    /// Override a value in every scenario; may be given again
    #[arg(long, value_name = "PATH=VALUE", help_heading = "Scenario")]
    set: Vec<String>,
    /// Seed of all randomness, for all sides [default: the first scenario's]
    #[arg(long, value_name = "N", value_parser = seed, help_heading = "Scenario")]
    seed: Option<u64>,
    /// Replications, each a pair
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u64>(1..=100_000), help_heading = "Statistics")]
    repeat: u64,
    /// Which figure says what is best
    #[arg(long, value_enum, default_value = "p95", help_heading = "Statistics")]
    metric: Metric,
    /// Sizes of benchmarks whose rankings are judged, in requests
    ///
    /// A benchmark is judged by what its client sees, the scenario's `network` and all; users are counted from the provider's
    /// door. Who is best is said by the users.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "20,75", value_parser = whole::<u32>(1..=100_000), help_heading = "Statistics")]
    benchmarks: Vec<u32>,
    /// How percentiles of benchmarks are read off: linear, nearest-rank or exclusive
    #[arg(
        long,
        value_name = "METHOD",
        default_value = "linear",
        help_heading = "Statistics"
    )]
    percentile: PercentileMethod,
    #[command(flatten)]
    runs: Runs,
}

/// What the sides are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Providers, of one scenario or of several
    Provider,
    /// Scenarios
    Scenario,
}

/// What says which side is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Metric {
    /// Median TTFT
    P50,
    /// 95 % quantile of the TTFT
    P95,
    /// 99 % quantile of the TTFT
    P99,
    /// Standard deviation over mean of the TTFT
    Cv,
    /// Share of requests that waited for a replica
    Cold,
    /// Cost of the window
    Cost,
}

impl From<Metric> for Figure {
    fn from(metric: Metric) -> Self {
        match metric {
            Metric::P50 => Self::TtftP50,
            Metric::P95 => Self::TtftP95,
            Metric::P99 => Self::TtftP99,
            Metric::Cv => Self::Cv,
            Metric::Cold => Self::ColdRequests,
            Metric::Cost => Self::Cost,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  thermocline compare warm-pool-sizing
      The providers of one scenario: four sizes of a warm pool
  thermocline compare today.toml tomorrow.toml --metric cost
      Two scenarios, by what they cost
  thermocline compare kimi-k2.6 --benchmarks 20,75,300 --repeat 100
      How many requests does it take to name the best provider?";

impl Compare {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let plans = self.plans()?;
        let by = self.by.unwrap_or(if plans.len() == 1 {
            By::Provider
        } else {
            By::Scenario
        });
        let sides = sides(&plans, by);
        if sides.len() < 2 && sides[0].plan.sessions.len() < 2 {
            anyhow::bail!(
                "there is one side only: `{}` has one provider and one session\nhelp: name another scenario to compare it with, or one with several sessions",
                plans[0].0
            );
        }
        let mut benchmarks = self.benchmarks.clone();
        benchmarks.sort_unstable();
        benchmarks.dedup();
        let questions = Questions {
            replications: self.repeat,
            metric: self.metric.into(),
            benchmarks,
        };
        let pool = self.runs.pool()?;
        let comparison = terminal.progress(runs(&sides, &questions), |step| {
            pool.install(|| compare(&sides, &questions, step))
        });
        let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
        let report = CompareReport {
            title: &names.join(" against "),
            seed: sides[0].plan.seed,
            questions: &questions,
            comparison: &comparison,
            notes: &notes(&sides),
        };
        let format = self.runs.format.into();
        terminal.results(|out| report.write(format, terminal.width(), out))?;
        Ok(())
    }

    /// Every scenario under its name, all with one seed.
    fn plans(&self) -> anyhow::Result<Vec<(String, Plan)>> {
        let mut plans: Vec<(String, Plan)> = Vec::new();
        for (index, wanted) in self.scenarios.iter().enumerate() {
            let text = builtin::find(wanted)?;
            let overrides = Overrides {
                set: self.set.clone(),
                varied: Vec::new(),
                seed: self.seed.or(plans.first().map(|(_, first)| first.seed)),
                percentile: self.percentile,
            };
            let (plan, _) = scenario::load(&text.name, &text.text, &overrides)?;
            let is_again = self.scenarios[..index].contains(wanted);
            let name = if is_again {
                format!("{wanted} ({})", index + 1)
            } else {
                wanted.clone()
            };
            plans.push((name, plan));
        }
        Ok(plans)
    }
}

/// The sides of a comparison. Providers that stand for each other draw the same demand.
fn sides(plans: &[(String, Plan)], by: By) -> Vec<Side> {
    const SHARED: &str = "shared";
    let has_one = plans.iter().all(|(_, plan)| plan.providers.len() == 1);
    let mut sides = Vec::new();
    for (name, plan) in plans {
        if by == By::Scenario && !has_one {
            sides.push(Side {
                name: name.clone(),
                plan: plan.clone(),
                by_provider: true,
            });
            continue;
        }
        for provider in &plan.providers {
            let mut plan = plan.clone();
            plan.providers = vec![provider.clone()];
            SHARED.clone_into(&mut plan.providers[0].demand);
            let name = match (plans.len(), has_one) {
                (1, _) => provider.name.clone(),
                (_, true) => name.clone(),
                _ => format!("{name}/{}", provider.name),
            };
            sides.push(Side {
                name,
                plan,
                by_provider: false,
            });
        }
    }
    sides
}

/// What must be known before sides are compared: models whose users do not ask for the same.
fn notes(sides: &[Side]) -> Vec<String> {
    let mut differing: Vec<&str> = Vec::new();
    for side in &sides[1..] {
        for provider in &side.plan.providers {
            let of_first = sides[0].plan.providers.iter();
            let Some(first) = of_first.clone().find(|one| one.demand == provider.demand) else {
                continue;
            };
            for model in &provider.fleet.deployments {
                let theirs = first
                    .fleet
                    .deployments
                    .iter()
                    .find(|one| one.name == model.name);
                let differs = theirs.is_some_and(|one| !asks_alike(&one.traffic, &model.traffic));
                if differs && !differing.contains(&model.name.as_str()) {
                    differing.push(&model.name);
                }
            }
        }
    }
    if differing.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "Not the same demand: the sides' users of {} differ, and so do their figures.",
        differing.join(", ")
    )]
}

/// Whether two models' users ask for the same; how long a replica takes for it is no part of that.
fn asks_alike(one: &[TrafficConfig], other: &[TrafficConfig]) -> bool {
    let alike = |(one, other): (&TrafficConfig, &TrafficConfig)| {
        one.name == other.name
            && one.arrivals == other.arrivals
            && one.prompt_tokens == other.prompt_tokens
            && one.output_tokens == other.output_tokens
    };
    one.len() == other.len() && one.iter().zip(other).all(alike)
}
