//! The same plan at several settings: what all users meet at each, and what a benchmark would report.
//!
//! Every setting meets the same demand (common random numbers), so points differ by the setting and not by luck. A figure of
//! a point is that of all its replications taken together, never a mean of percentiles, and its interval comes from how the
//! replications' own figures lie around it ([`Estimate::by_sections`]).

use rayon::prelude::*;

use super::repeat::Spread;
use super::{Did, Keep, Plan, Run, RunResult, run};
use crate::measure::summary::{CONFIDENCE, Summary};
use crate::stats::{Estimate, Histogram, Interval};
use crate::time::Duration;

/// What happened at one setting.
#[derive(Clone, Debug)]
pub struct Point {
    /// A row per provider, benchmarked model and session, and one for all models of a provider that has several.
    pub rows: Vec<Row>,
}

/// What happened to one model of one provider in one session.
#[derive(Clone, Debug)]
pub struct Row {
    /// Index of the provider.
    pub provider: usize,
    /// Index of the session.
    pub session: usize,
    /// Index of the deployment; `None` for all of the provider's.
    pub deployment: Option<u32>,
    /// What all users met.
    pub users: Users,
    /// What the benchmark reports; `None` where it made no requests.
    pub reported: Option<Reported>,
}

/// What all users met in the measured window; times at the provider's door. `None` where there was nothing to count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Users {
    /// Median TTFT \[s\].
    pub ttft_p50_s: Option<Estimate>,
    /// 95 % quantile of the TTFT \[s\].
    pub ttft_p95_s: Option<Estimate>,
    /// 99 % quantile of the TTFT \[s\].
    pub ttft_p99_s: Option<Estimate>,
    /// Standard deviation over mean of the TTFT [%].
    pub cv_percent: Option<Estimate>,
    /// Requests that waited for a replica which was not ready [%].
    pub cold_requests_percent: Option<Estimate>,
    /// Requests without an answer [%].
    pub unanswered_percent: Option<Estimate>,
    /// GPU-hours held in the window, whatever for.
    pub gpu_hours: Option<Estimate>,
    /// Cost of the window \[USD\].
    pub cost_usd: Option<Estimate>,
    /// Mean length of the window \[h\].
    pub window_hours: f64,
}

/// What independent benchmarks report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reported {
    /// Median TTFT \[s\].
    pub ttft_median_s: Spread,
    /// 95 % quantile of the TTFT \[s\].
    pub ttft_p95_s: Spread,
    /// Standard deviation over mean [%].
    pub cv_percent: Spread,
}

/// Runs `replications` of the plan of every setting on all cores of the present pool. `progress` hears of every run that ends.
pub fn sweep(plans: &[Plan], replications: u64, progress: &(dyn Fn() + Sync)) -> Vec<Point> {
    let point = |plan| Point {
        rows: rows(plan, replications, progress),
    };
    plans.iter().map(point).collect()
}

/// How many runs a sweep makes.
pub fn runs(plans: &[Plan], replications: u64) -> u64 {
    let places = plans
        .iter()
        .map(|plan| plan.providers.len() * plan.sessions.len());
    places.sum::<usize>() as u64 * replications
}

fn rows(plan: &Plan, replications: u64, progress: &(dyn Fn() + Sync)) -> Vec<Row> {
    let mut rows = Vec::new();
    for provider in 0..plan.providers.len() {
        for session in 0..plan.sessions.len() {
            let job = |replication| {
                let which = Run {
                    provider,
                    session,
                    replication,
                };
                let result = run(plan, which, Keep::default());
                progress();
                result
            };
            // One place at a time, so that only its replications are in memory.
            let results: Vec<RunResult> = (0..replications).into_par_iter().map(job).collect();
            rows.extend(rows_of(plan, provider, session, &results));
        }
    }
    rows
}

fn rows_of(plan: &Plan, provider: usize, session: usize, results: &[RunResult]) -> Vec<Row> {
    let named = &plan.providers[provider];
    let row = |deployment: Option<u32>, reported| {
        let sections: Vec<Section> = results
            .iter()
            .map(|result| Section::of(&result.fleet, deployment))
            .collect();
        Row {
            provider,
            session,
            deployment,
            users: Users::of(&sections),
            reported,
        }
    };
    let mut rows: Vec<Row> = named
        .benchmarked
        .iter()
        .enumerate()
        .map(|(lane, &deployment)| row(Some(deployment), Reported::of(plan, results, lane)))
        .collect();
    if named.fleet.deployments.len() > 1 {
        rows.push(row(None, None));
    }
    rows
}

/// What all users met in one replication, or in several taken together.
#[derive(Clone, Debug, Default)]
struct Section {
    replications: f64,
    ttft: Histogram,
    arrived: u64,
    cold: u64,
    unanswered: u64,
    gpu_hours: f64,
    cost_usd: f64,
    window: Duration,
}

impl Section {
    /// One replication's account of a deployment, or of all.
    fn of(fleet: &[Did], deployment: Option<u32>) -> Self {
        let chosen = match deployment {
            Some(index) => &fleet[index as usize..=index as usize],
            None => fleet,
        };
        let mut section = Self::default();
        for did in chosen {
            section.add(&Self::from_account(did));
        }
        // Deployments share one window; replications each have their own.
        section.window = chosen
            .first()
            .map_or(Duration::ZERO, |did| did.ledger.window);
        section.replications = 1.0;
        section
    }

    fn from_account(did: &Did) -> Self {
        let ledger = &did.ledger;
        Self {
            replications: 0.0,
            ttft: did.ttft.clone(),
            arrived: ledger.arrived,
            cold: ledger.cold_requests,
            unanswered: ledger.rejected() + ledger.timed_out + ledger.failed,
            gpu_hours: ledger.gpu_hours().iter().sum(),
            cost_usd: ledger.cost_usd(),
            window: Duration::ZERO,
        }
    }

    fn add(&mut self, other: &Self) {
        self.replications += other.replications;
        self.ttft.merge(&other.ttft);
        self.arrived += other.arrived;
        self.cold += other.cold;
        self.unanswered += other.unanswered;
        self.gpu_hours += other.gpu_hours;
        self.cost_usd += other.cost_usd;
        self.window += other.window;
    }

    fn quantile(&self, p: f64) -> Option<f64> {
        self.ttft.quantile(p).map(Duration::as_secs)
    }

    fn percent(&self, part: u64) -> Option<f64> {
        (self.arrived > 0).then(|| 100.0 * part as f64 / self.arrived as f64)
    }
}

impl Users {
    fn of(sections: &[Section]) -> Self {
        let mut whole = Section::default();
        for section in sections {
            whole.add(section);
        }
        let estimate = |figure: fn(&Section) -> Option<f64>| {
            let parts: Vec<f64> = sections.iter().filter_map(figure).collect();
            Some(estimated(figure(&whole)?, &parts))
        };
        Self {
            ttft_p50_s: estimate(|one| one.quantile(0.50)),
            ttft_p95_s: estimate(|one| one.quantile(0.95)),
            ttft_p99_s: estimate(|one| one.quantile(0.99)),
            cv_percent: estimate(|one| one.ttft.cv().map(|cv| 100.0 * cv)),
            cold_requests_percent: estimate(|one| one.percent(one.cold)),
            unanswered_percent: estimate(|one| one.percent(one.unanswered)),
            gpu_hours: estimate(|one| Some(one.gpu_hours / one.replications)),
            cost_usd: estimate(|one| Some(one.cost_usd / one.replications)),
            window_hours: whole.window.as_secs() / 3600.0 / whole.replications.max(1.0),
        }
    }
}

/// A figure that is never negative, with its interval: by logarithms where they exist, for such figures scatter by factors.
fn estimated(whole: f64, parts: &[f64]) -> Estimate {
    if whole > 0.0 && parts.iter().all(|part| *part > 0.0) {
        let logs: Vec<f64> = parts.iter().map(|part| part.ln()).collect();
        let log = Estimate::by_sections(whole.ln(), &logs, CONFIDENCE);
        let interval = log.interval.map(|one| Interval {
            low: one.low.exp(),
            high: one.high.exp(),
            ..one
        });
        return Estimate {
            point: whole,
            interval,
            ..log
        };
    }
    let plain = Estimate::by_sections(whole, parts, CONFIDENCE);
    let interval = plain.interval.map(|one| Interval {
        low: one.low.max(0.0),
        ..one
    });
    Estimate { interval, ..plain }
}

impl Reported {
    fn of(plan: &Plan, results: &[RunResult], lane: usize) -> Option<Self> {
        let summaries: Vec<Summary> = results
            .iter()
            .map(|result| Summary::of(&result.lanes[lane].observations(), plan.percentile))
            .collect();
        if summaries.iter().all(|summary| summary.requests == 0) {
            return None;
        }
        let ttfts = || summaries.iter().filter_map(|summary| summary.ttft.as_ref());
        Some(Self {
            ttft_median_s: Spread::of(ttfts().map(|ttft| ttft.median_s)),
            ttft_p95_s: Spread::of(ttfts().map(|ttft| ttft.p95_s)),
            cv_percent: Spread::of(ttfts().filter_map(|ttft| ttft.cv_percent)),
        })
    }
}
