//! `plan`: the cheapest setting that meets an objective.

use std::str::FromStr;

use clap::Args;

use super::builtin;
use super::failure::No;
use super::options::{Chosen, Runs, duration, percent, whole};
use super::terminal::Terminal;
use super::vary::{self, Axis};
use crate::experiment::Plan;
use crate::experiment::plan::{Aim, Found, Objective, plan, runs};
use crate::experiment::users::Figure;
use crate::report::plan::{PlanReport, Serverless};
use crate::report::sweep::Setting;
use crate::scenario::{self, ScenarioError, did_you_mean};
use crate::stats::PercentileMethod;
use crate::theory::break_even;

/// Find the cheapest setting that meets an objective, or show that none does
///
/// A setting meets an objective when the upper end of the figure's interval does. Where no request was cold, or none unanswered,
/// that end is the binomial one for as many trials as there were minutes with a request (or requests, if fewer): requests of
/// one minute are taken to share a fate. All settings meet the same demand. The exit
/// code is 1 when the objective is not reachable; then the best that was found is shown, and is not called an answer.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct PlanCommand {
    #[command(flatten)]
    scenario: Chosen,
    /// What must hold: `ttft_p50`, `ttft_p95`, `ttft_p99`, `cv`, `cold_requests` or `unanswered` below a limit; may be given again
    #[arg(
        long,
        value_name = "FIGURE < LIMIT",
        required = true,
        num_args = 1,
        help_heading = "Scenario"
    )]
    objective: Vec<Wanted>,
    /// A value that is free, as `--set` names it, and what it may be: a list `h100-sxm,a100-sxm-80`, a range `0..8`; may be given
    /// again
    #[arg(
        long,
        value_name = "PATH=VALUES",
        required = true,
        num_args = 1,
        help_heading = "Scenario"
    )]
    free: Vec<Axis>,
    /// The objective is for this model; may be given again [default: every benchmarked model]
    #[arg(long, value_name = "MODEL", help_heading = "Scenario")]
    model: Vec<String>,
    /// Share of the requests whose models must meet the objective
    #[arg(long, value_name = "PERCENT", default_value = "100%", value_parser = percent, help_heading = "Scenario")]
    share: f64,
    /// What a serverless offer of the same model takes in USD for a million tokens: from which volume on is the answer cheaper?
    #[arg(long, value_name = "USD", help_heading = "Scenario")]
    serverless: Option<f64>,
    /// Confidence of the upper ends
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = percent, help_heading = "Statistics")]
    confidence: f64,
    /// Replications of each setting that is run in full
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u64>(2..=100_000), help_heading = "Statistics")]
    repeat: u64,
    /// Runs from which on settings race, the worse half dropping out each round, instead of all being run in full
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20_000,
        value_parser = whole::<u64>(1..=1_000_000_000),
        help_heading = "Statistics"
    )]
    budget: u64,
    #[command(flatten)]
    runs: Runs,
}

const EXAMPLES: &str = "\
Examples:
  thermocline plan warm-pool --objective 'ttft_p95 < 2s' --free 'providers.*.deployments.*.scaling.min=0..8'
      How many warm replicas does it take?
  thermocline plan warm-pool --objective 'ttft_p95 < 1s' --objective 'cold_requests < 1%' \\
                             --free 'providers.*.deployments.*.scaling.min=0..4' \\
                             --free 'providers.*.deployments.*.gpu=h100-sxm,b200' --serverless 0.9
      On which GPUs, and from which volume on is that cheaper than paying by the token?";

/// An objective as written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wanted(Objective);

/// What objectives can be about.
const FIGURES: [Figure; 6] = [
    Figure::TtftP50,
    Figure::TtftP95,
    Figure::TtftP99,
    Figure::Cv,
    Figure::ColdRequests,
    Figure::Unanswered,
];

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, limit)) = text.split_once('<') else {
            return Err("no `<`; write FIGURE < LIMIT, for example `ttft_p95 < 2s`".to_owned());
        };
        let (name, limit) = (name.trim(), limit.trim());
        let names = || FIGURES.iter().map(|one| one.name().0);
        let Some(figure) = FIGURES.into_iter().find(|one| one.name().0 == name) else {
            let near = did_you_mean(name, names());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let all: Vec<&str> = names().collect();
            return Err(format!("`{name}` is none of {}{near}", all.join(", ")));
        };
        let limit = match figure.name().1 {
            "_s" => duration(limit)?.as_secs(),
            _ => 100.0 * percent(limit)?,
        };
        if limit <= 0.0 {
            return Err("the limit must be positive: no figure is below zero".to_owned());
        }
        if limit > 100.0 && matches!(figure, Figure::ColdRequests | Figure::Unanswered) {
            return Err(format!(
                "the limit must be at most 100 %, not {limit} %: `{name}` is a share of the requests"
            ));
        }
        Ok(Self(Objective { figure, limit }))
    }
}

/// Requests without an answer have no TTFT, so a limit on TTFT alone could be met by refusing whatever is slow.
const ANSWERED: Objective = Objective {
    figure: Figure::Unanswered,
    limit: 1.0,
};

impl PlanCommand {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let all = vary::settings(&self.free)?;
        let (settings, plans, impossible) = self.plans(all)?;
        let aim = self.aim(&plans[0])?;
        let pool = self.runs.pool()?;
        let found = terminal.progress(runs(&plans, &aim), |step| {
            pool.install(|| plan(&plans, &aim, step))
        });
        let paths: Vec<String> = self.free.iter().map(|axis| axis.path.clone()).collect();
        let edges = self.edges(&settings, &found);
        let report = PlanReport {
            plan: &plans[0],
            paths: &paths,
            settings: &settings,
            aim: &aim,
            found: &found,
            impossible,
            edges: &edges,
            serverless: self.serverless(&plans[0], &found),
        };
        let format = self.runs.format.into();
        terminal.results(|out| report.write(format, terminal.width(), out))?;
        match found.answer() {
            Some(_) => Ok(()),
            None => Err(No.into()),
        }
    }

    /// The settings that can be, with their plans, and how many cannot; everything wrong with the first when none can.
    fn plans(&self, all: Vec<Setting>) -> anyhow::Result<(Vec<Setting>, Vec<Plan>, usize)> {
        let text = builtin::find(&self.scenario.scenario)?;
        let common = self.scenario.overrides(PercentileMethod::default());
        let (mut settings, mut plans) = (Vec::new(), Vec::new());
        let mut first: Option<ScenarioError> = None;
        let count = all.len();
        for setting in all {
            let overrides = vary::over(&common, "--free", &self.free, &setting);
            match scenario::load(&text.name, &text.text, &overrides) {
                Ok((plan, _)) => {
                    settings.push(setting);
                    plans.push(plan);
                }
                Err(problem) => first = first.or(Some(problem)),
            }
        }
        match first {
            Some(problem) if plans.is_empty() => Err(problem.into()),
            _ => {
                let impossible = count - plans.len();
                Ok((settings, plans, impossible))
            }
        }
    }

    fn aim(&self, plan: &Plan) -> anyhow::Result<Aim> {
        let mut objectives: Vec<Objective> = self.objective.iter().map(|one| one.0).collect();
        let asked = objectives.len();
        if !objectives
            .iter()
            .any(|one| one.figure == Figure::Unanswered)
        {
            objectives.push(ANSWERED);
        }
        for (name, share) in [("share", self.share), ("confidence", self.confidence)] {
            let least = if name == "share" { 0.0 } else { 0.5 };
            let most_is_out = name == "confidence" && share >= 1.0;
            if share <= least || share > 1.0 || most_is_out {
                anyhow::bail!(
                    "`--{name}` must be above {} % and {} 100 %, not {} %",
                    100.0 * least,
                    if name == "share" { "at most" } else { "below" },
                    100.0 * share
                );
            }
        }
        if let Some(usd) = self
            .serverless
            .filter(|usd| !usd.is_finite() || *usd <= 0.0)
        {
            anyhow::bail!("`--serverless` must be a positive price, not {usd}");
        }
        let known: Vec<&str> = plan
            .providers
            .iter()
            .flat_map(|one| {
                one.benchmarked
                    .iter()
                    .map(|&index| one.fleet.deployments[index as usize].name.as_str())
            })
            .collect();
        if let Some(wrong) = self.model.iter().find(|one| !known.contains(&one.as_str())) {
            let near = did_you_mean(wrong, known.iter().copied());
            let near = near.map_or_else(String::new, |near| {
                format!("\nhelp: did you mean `{near}`?")
            });
            anyhow::bail!("no benchmarked model is called `{wrong}`{near}");
        }
        Ok(Aim {
            objectives,
            asked,
            models: self.model.clone(),
            share: self.share,
            confidence: self.confidence,
            replications: self.repeat,
            budget: self.budget,
        })
    }

    /// From which volume on the answer costs less than paying by the token.
    fn serverless(&self, plan: &Plan, found: &Found) -> Option<Serverless> {
        let (usd_per_million_tokens, answer) = (self.serverless?, found.answer()?);
        let tokens_per_request = tokens_per_request(plan);
        let usd_per_request = usd_per_million_tokens * tokens_per_request / 1e6;
        Some(Serverless {
            usd_per_million_tokens,
            tokens_per_request,
            break_even_per_hour: break_even(answer.usd_per_hour, usd_per_request),
        })
    }

    /// Where the best that was found lies at an end of what was allowed.
    fn edges(&self, settings: &[Setting], found: &Found) -> Vec<String> {
        let Some(best) = found.candidates.first() else {
            return Vec::new();
        };
        let values = self.free.iter().zip(&settings[best.setting]);
        let edge = |(axis, value): (&Axis, &String)| {
            let end = axis.end(value)?;
            Some(format!(
                "{} = {value} is the {end} that was allowed",
                axis.path
            ))
        };
        values.filter_map(edge).collect()
    }
}

/// Tokens of a request, in and out: the mean over the streams of other users, else what the benchmark asks for.
fn tokens_per_request(plan: &Plan) -> f64 {
    let deployments = plan.providers.iter().flat_map(|one| &one.fleet.deployments);
    let streams: Vec<f64> = deployments
        .flat_map(|deployment| &deployment.traffic)
        .map(|stream| stream.prompt_tokens.mean() + stream.output_tokens.mean())
        .collect();
    if streams.is_empty() {
        return f64::from(plan.benchmark.prompt_tokens + plan.benchmark.output_tokens);
    }
    streams.iter().sum::<f64>() / streams.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_read_in_the_figures_unit() {
        let cases = [
            ("ttft_p95 < 2s", Figure::TtftP95, 2.0),
            ("ttft_p50<250ms", Figure::TtftP50, 0.25),
            ("cv < 40%", Figure::Cv, 40.0),
            ("cold_requests < 0.5 %", Figure::ColdRequests, 0.5),
        ];
        for (text, figure, limit) in cases {
            let Wanted(found) = text.parse().expect(text);
            assert_eq!(found.figure, figure, "{text}");
            assert!((found.limit - limit).abs() < 1e-12, "{text}: {found:?}");
        }
        for (text, expected) in [
            ("ttft_p95", "no `<`"),
            ("ttft_p96 < 2s", "did you mean `ttft_p95`?"),
            ("ttft_p95 < 2", "unit"),
            ("cv < 0%", "must be positive"),
            ("cold_requests < 200%", "at most 100 %"),
        ] {
            let error = text.parse::<Wanted>().expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
