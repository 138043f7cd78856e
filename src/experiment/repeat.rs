//! A plan run once, or many times: what a benchmark would report, and how much that depends on luck.

use super::{Keep, Measured, Plan, Run, RunResult, run};
use crate::measure::summary::{Summary, ttfts};
use crate::measure::verdict::{Classes, Verdict};
use crate::stats::{CvDefinition, PercentileMethod, Sample};
use crate::streams::Streams;
use rayon::prelude::*;

/// What a plan gave.
#[derive(Debug)]
pub struct Outcome {
    /// The first replication in full, by provider and session: index `provider * sessions + session`.
    pub runs: Vec<RunResult>,
    /// A row per provider, model and session, in that order.
    pub rows: Vec<Row>,
    /// How many replications there were.
    pub replications: u64,
}

/// What the benchmark reports of one model at one provider in one session.
#[derive(Debug)]
pub struct Row {
    /// Index of the provider.
    pub provider: usize,
    /// Index of the session.
    pub session: usize,
    /// Index of the benchmarked deployment within the provider's fleet.
    pub deployment: u32,
    /// Index of the lane within the run.
    pub lane: usize,
    /// The first replication's figures.
    pub summary: Summary,
    /// Their verdict.
    pub verdict: Verdict,
    /// How sure that verdict is; `None` where it is no data.
    pub classes: Option<Classes>,
    /// The distribution over replications, when there are several.
    pub reported: Option<Reported>,
}

/// How reported figures are distributed over independent benchmarks.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// Median TTFT \[s\].
    pub ttft_median_s: Spread,
    /// 95 % quantile of the TTFT \[s\].
    pub ttft_p95_s: Spread,
    /// Standard deviation of the TTFT \[s\].
    pub ttft_std_s: Spread,
    /// Standard deviation over mean [%].
    pub cv_percent: Spread,
    /// Standard deviation over median [%].
    pub std_over_median_percent: Spread,
    /// Requests that met a cold start.
    pub cold_requests: Spread,
    /// Share of the benchmarks in which no request met a cold start; `None` when none of them can tell.
    pub no_cold_share: Option<f64>,
    /// Share of the benchmarks that came to each verdict, in the order of [`Verdict::ALL`].
    pub verdict_share: [f64; Verdict::ALL.len()],
}

/// Quantiles of a figure over replications; `None` when no replication has the figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// 5 % quantile.
    pub p05: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95 % quantile.
    pub p95: Option<f64>,
}

/// Figures of one lane of one run.
struct Figures {
    summary: Summary,
    verdict: Verdict,
}

/// Runs `replications` independent benchmarks on all cores of the present pool. `progress` hears of every run that ends, from
/// any thread.
pub fn repeat(
    plan: &Plan,
    replications: u64,
    definition: CvDefinition,
    keep: Keep,
    progress: &(dyn Fn() + Sync),
) -> Outcome {
    let per_replication = plan.providers.len() * plan.sessions.len();
    let job = |index: usize| {
        let (replication, place) = (index / per_replication, index % per_replication);
        let which = Run {
            provider: place / plan.sessions.len(),
            session: place % plan.sessions.len(),
            replication: replication as u64,
        };
        let keep = if replication == 0 {
            keep
        } else {
            Keep::default()
        };
        let result = run(plan, which, keep);
        let figures: Vec<Figures> = result
            .lanes
            .iter()
            .map(|lane| figures(lane, plan.percentile, definition))
            .collect();
        progress();
        ((replication == 0).then_some(result), figures)
    };
    let total = per_replication * replications as usize;
    let done: Vec<(Option<RunResult>, Vec<Figures>)> =
        (0..total).into_par_iter().map(job).collect();
    gather(plan, replications, definition, done)
}

fn figures(lane: &Measured, percentile: PercentileMethod, definition: CvDefinition) -> Figures {
    let summary = Summary::of(&lane.observations(), percentile);
    let verdict = Verdict::of(&summary, definition);
    Figures { summary, verdict }
}

/// Puts the figures of all runs together, always in the same order.
fn gather(
    plan: &Plan,
    replications: u64,
    definition: CvDefinition,
    done: Vec<(Option<RunResult>, Vec<Figures>)>,
) -> Outcome {
    let per_replication = plan.providers.len() * plan.sessions.len();
    let mut runs = Vec::new();
    // For each place, for each lane, the figures of all replications.
    let mut places: Vec<Vec<Vec<Figures>>> = (0..per_replication).map(|_| Vec::new()).collect();
    for (index, (result, figures)) in done.into_iter().enumerate() {
        runs.extend(result);
        let lanes = &mut places[index % per_replication];
        lanes.resize_with(figures.len(), Vec::new);
        for (lane, figures) in lanes.iter_mut().zip(figures) {
            lane.push(figures);
        }
    }
    let mut rows = Vec::new();
    for (provider, named) in plan.providers.iter().enumerate() {
        for (lane, &deployment) in named.benchmarked.iter().enumerate() {
            for session in 0..plan.sessions.len() {
                let mut all =
                    std::mem::take(&mut places[provider * plan.sessions.len() + session][lane]);
                let reported = (replications > 1).then(|| Reported::of(&all));
                let Figures { summary, verdict } = all.swap_remove(0);
                let run: &RunResult = &runs[provider * plan.sessions.len() + session];
                let name = format!("bootstrap/{}/{lane}/{session}", named.name);
                let mut rng = Streams::new(plan.seed, 0).stream(&name);
                let sample = ttfts(&run.lanes[lane].observations());
                let classes = sample
                    .as_ref()
                    .and_then(|sample| Classes::of(sample, definition, plan.percentile, &mut rng));
                rows.push(Row {
                    provider,
                    session,
                    deployment,
                    lane,
                    summary,
                    verdict,
                    classes,
                    reported,
                });
            }
        }
    }
    Outcome {
        runs,
        rows,
        replications,
    }
}

impl Outcome {
    /// The run behind a row.
    pub fn run_of(&self, row: &Row, plan: &Plan) -> &RunResult {
        &self.runs[row.provider * plan.sessions.len() + row.session]
    }

    /// The requests behind a row.
    pub fn measured(&self, row: &Row, plan: &Plan) -> &Measured {
        &self.run_of(row, plan).lanes[row.lane]
    }
}

impl Reported {
    fn of(all: &[Figures]) -> Self {
        let ttft = |figure: fn(&crate::measure::summary::Ttft) -> Option<f64>| {
            Spread::of(
                all.iter()
                    .filter_map(|one| one.summary.ttft.as_ref().and_then(figure)),
            )
        };
        let share = |verdict: Verdict| {
            all.iter().filter(|one| one.verdict == verdict).count() as f64 / all.len() as f64
        };
        let cold: Vec<usize> = all
            .iter()
            .filter_map(|one| one.summary.cold_requests())
            .collect();
        let none = cold.iter().filter(|&&count| count == 0).count();
        Self {
            ttft_median_s: ttft(|ttft| Some(ttft.median_s)),
            ttft_p95_s: ttft(|ttft| Some(ttft.p95_s)),
            ttft_std_s: ttft(|ttft| ttft.std_s),
            cv_percent: ttft(|ttft| ttft.cv_percent),
            std_over_median_percent: ttft(|ttft| ttft.std_over_median_percent),
            no_cold_share: (!cold.is_empty()).then(|| none as f64 / cold.len() as f64),
            cold_requests: Spread::of(cold.into_iter().map(|count| count as f64)),
            verdict_share: Verdict::ALL.map(share),
        }
    }
}

impl Spread {
    /// The quantiles of some values.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let sample = Sample::new(values.collect());
        let quantile = |p: f64| {
            sample
                .as_ref()
                .map(|sample| sample.quantile(p, PercentileMethod::Linear))
        };
        Self {
            p05: quantile(0.05),
            p50: quantile(0.5),
            p95: quantile(0.95),
        }
    }
}
