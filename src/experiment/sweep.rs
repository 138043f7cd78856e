//! The same plan at several settings: what all users meet at each, and what a benchmark would report.
//!
//! Every setting meets the same demand (common random numbers), so points differ by the setting and not by luck.

use super::repeat::Spread;
use super::users::{Account, Users, replicated};
use super::{Part, Plan, RunResult};
use crate::measure::summary::Summary;
use crate::workload::Tier;

/// What happened at one setting.
#[derive(Clone, Debug)]
pub struct Point {
    /// By provider and session a row per benchmarked model, one per tier of a catalogue, and one for all models where there are
    /// several.
    pub rows: Vec<Row>,
}

/// What happened to a part of one provider in one session.
#[derive(Clone, Debug)]
pub struct Row {
    /// Index of the provider.
    pub provider: usize,
    /// Index of the session.
    pub session: usize,
    /// Which models.
    pub part: Part,
    /// What all users met.
    pub users: Users,
    /// What the benchmark reports; `None` where it made no requests.
    pub reported: Option<Reported>,
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
            let place = (provider, session);
            let keep = |result: &RunResult| Kept::of(plan, provider, result);
            let kept = replicated(plan, place, 0..replications, keep, progress);
            rows.extend(rows_of(plan, place, &kept));
        }
    }
    rows
}

/// What is kept of a replication: the account and the benchmark's summary of each benchmarked model, and the accounts of tiers
/// and of all.
struct Kept {
    models: Vec<(Account, Summary)>,
    sums: Vec<Account>,
}

/// The parts of several models that have rows.
fn sums(plan: &Plan, provider: usize) -> Vec<Part> {
    let tiers = Tier::ALL.map(Part::Tier).into_iter();
    let mut sums: Vec<Part> = tiers
        .filter(|&part| plan.members(provider, part).next().is_some())
        .collect();
    if plan.providers[provider].fleet.deployments.len() > 1 {
        sums.push(Part::All);
    }
    sums
}

impl Kept {
    fn of(plan: &Plan, provider: usize, result: &RunResult) -> Self {
        let benchmarked = &plan.providers[provider].benchmarked;
        let models = benchmarked.iter().zip(&result.lanes);
        let models = models.map(|(&deployment, lane)| {
            let summary = Summary::of(&lane.observations(), plan.percentile);
            (Account::of(&result.fleet, Some(deployment)), summary)
        });
        Self {
            models: models.collect(),
            sums: sums(plan, provider)
                .into_iter()
                .map(|part| Account::of(&result.fleet, plan.members(provider, part)))
                .collect(),
        }
    }
}

fn rows_of(plan: &Plan, (provider, session): (usize, usize), kept: &[Kept]) -> Vec<Row> {
    let named = &plan.providers[provider];
    let row = |part, accounts: Vec<Account>, reported| Row {
        provider,
        session,
        part,
        users: Users::of(&accounts),
        reported,
    };
    let of_model = |(lane, &deployment): (usize, &u32)| {
        let models = || kept.iter().map(|one| &one.models[lane]);
        let accounts = models().map(|(account, _)| account.clone()).collect();
        let summaries: Vec<&Summary> = models().map(|(_, summary)| summary).collect();
        row(
            Part::Deployment(deployment),
            accounts,
            Reported::of(&summaries),
        )
    };
    let mut rows: Vec<Row> = named.benchmarked.iter().enumerate().map(of_model).collect();
    for (index, part) in sums(plan, provider).into_iter().enumerate() {
        let accounts = kept.iter().map(|one| one.sums[index].clone()).collect();
        rows.push(row(part, accounts, None));
    }
    rows
}

impl Reported {
    fn of(summaries: &[&Summary]) -> Option<Self> {
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
