//! The wire: strict JSON, and the flat rows that CSV shares.
//!
//! Every number's unit stands in its key; an undefined number is `null`. [`SCHEMA`] changes when a key changes its meaning or
//! goes away, not when one is added. Intervals are the `low` and `high` beside their figure, at the `confidence` at the top.
//! The fleet's accounts are those of the first replication.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::account::{self, Account};
use super::allotment::Allotment;
use super::costs::Costs;
use super::figures::Line;
use super::published::{self, Pair, deviation_percent};
use super::{Report, VERSION};
use crate::experiment::Part;
use crate::experiment::repeat::{Reported, Row, Spread};
use crate::measure::feasible::Assessment;
use crate::measure::summary::{AwareQuantile, CONFIDENCE, Cold, Ttft};
use crate::measure::verdict::{Classes, Verdict};
use crate::workload::Tier;

/// The number of this layout.
pub(super) const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Results {
    schema: u32,
    version: &'static str,
    seed: u64,
    percentile_method: &'static str,
    cv_definition: &'static str,
    confidence: f64,
    replications: u64,
    scenario: Scenario,
    benchmarks: Vec<Benchmark>,
    fleet: Vec<Fleet>,
    /// Of providers with a catalogue, by tier of popularity.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fleet_tiers: Vec<Fleet>,
    fleet_totals: Vec<Fleet>,
    /// Who got what.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    catalogues: Vec<Allotment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    published: Vec<PublishedRow>,
}

#[derive(Debug, Serialize)]
struct Scenario {
    name: String,
    title: String,
    requests: u32,
    discarded: u32,
    prompt_tokens: u32,
    output_tokens: u32,
    timeout_s: Option<f64>,
    warm_up_s: f64,
    sessions: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Benchmark {
    #[serde(flatten)]
    figures: Figures,
    class_probability: BTreeMap<&'static str, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reported: Option<ReportedRow>,
    warnings: Vec<String>,
}

/// A benchmark's row, flat.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    provider: String,
    model: String,
    session: String,
    requests: usize,
    client_faults: usize,
    succeeded: usize,
    failed: usize,
    timed_out: usize,
    rejected: usize,
    failure_percent: Option<f64>,
    ttft_median_s: Option<f64>,
    ttft_median_low_s: Option<f64>,
    ttft_median_high_s: Option<f64>,
    ttft_p95_s: Option<f64>,
    ttft_p95_low_s: Option<f64>,
    ttft_p95_high_s: Option<f64>,
    ttft_mean_s: Option<f64>,
    ttft_std_s: Option<f64>,
    /// With divisor `n`; all others have `n - 1`.
    ttft_std_population_s: Option<f64>,
    ttft_min_s: Option<f64>,
    ttft_max_s: Option<f64>,
    cv_percent: Option<f64>,
    cv_low_percent: Option<f64>,
    cv_high_percent: Option<f64>,
    std_over_median_percent: Option<f64>,
    ttft_p50_failure_aware_s: Option<f64>,
    ttft_p50_failure_aware_unbounded: bool,
    ttft_p95_failure_aware_s: Option<f64>,
    ttft_p95_failure_aware_unbounded: bool,
    cold_requests: Option<usize>,
    cold_share_percent: Option<f64>,
    cold_share_low_percent: Option<f64>,
    cold_share_high_percent: Option<f64>,
    warm_ttft_median_s: Option<f64>,
    warm_ttft_p95_s: Option<f64>,
    cold_ttft_min_s: Option<f64>,
    cold_ttft_median_s: Option<f64>,
    cold_ttft_max_s: Option<f64>,
    verdict: &'static str,
    verdict_probability: Option<f64>,
    /// `null` where no class is probable enough.
    verdict_decided: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct ReportedRow {
    ttft_median_s: SpreadRow,
    ttft_p95_s: SpreadRow,
    ttft_std_s: SpreadRow,
    cv_percent: SpreadRow,
    std_over_median_percent: SpreadRow,
    cold_requests: SpreadRow,
    no_cold_share: Option<f64>,
    verdict_share: BTreeMap<&'static str, f64>,
}

#[derive(Debug, Serialize)]
struct SpreadRow {
    p05: Option<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Fleet {
    provider: String,
    /// `null` for a tier and for all of the provider's.
    model: Option<String>,
    /// Of the models of a catalogue, and of what is added up by it.
    tier: Option<&'static str>,
    models: u32,
    /// Models that most of their requests met cold.
    mostly_cold_models: u32,
    session: String,
    window_s: f64,
    requests: u64,
    succeeded: u64,
    rejected: u64,
    rejected_queue: u64,
    rejected_cold: u64,
    rejected_cannot_fit: u64,
    truncated: u64,
    truncated_prompt_tokens: u64,
    timed_out: u64,
    failed: u64,
    in_flight_start: u64,
    in_flight_end: u64,
    missed_by_sampling: u64,
    cold_requests: u64,
    cold_requests_percent: Option<f64>,
    prompt_tokens: u64,
    output_tokens: u64,
    ttft_p50_s: Option<f64>,
    ttft_p95_s: Option<f64>,
    ttft_p99_s: Option<f64>,
    ttft_max_s: Option<f64>,
    ttft_mean_s: Option<f64>,
    ttft_cv_percent: Option<f64>,
    cold_starts: u64,
    starts_host_ram: u64,
    starts_local_disk: u64,
    starts_ram_cache: u64,
    starts_disk_cache: u64,
    starts_remote: u64,
    starts_by_placement: BTreeMap<String, u64>,
    cancelled_starts: u64,
    evictions: u64,
    stops: u64,
    failures: u64,
    reclaimed: u64,
    switches: u64,
    loading_replica_hours: f64,
    busy_replica_hours: f64,
    idle_replica_hours: f64,
    draining_replica_hours: f64,
    loading_gpu_hours: f64,
    busy_gpu_hours: f64,
    idle_gpu_hours: f64,
    draining_gpu_hours: f64,
    total_gpu_hours: f64,
    cancelled_gpu_hours: f64,
    cost_usd: f64,
    gpu_cost_usd: f64,
    warmth_cost_usd: f64,
    cost_per_request_usd: Option<f64>,
    cost_per_million_tokens_usd: Option<f64>,
    /// Customers': `null` where the provider states no rule.
    billed_gpu_hours: Option<f64>,
    bill_usd: Option<f64>,
    bill_per_request_usd: Option<f64>,
    /// Of one replica, used or not.
    dedicated_usd_per_hour: Option<f64>,
    /// Requests per hour above which a dedicated replica is cheaper for the customer.
    break_even_requests_per_hour: Option<f64>,
    requests_per_hour: Option<f64>,
    utilisation_percent: Option<f64>,
    below_floor_s: f64,
    mean_in_system: Option<f64>,
    mean_ready_replicas: Option<f64>,
    mean_loading_replicas: Option<f64>,
    /// Of all of a provider's: the sum of the deployments' peaks.
    peak_replicas: u32,
}

#[derive(Debug, Serialize)]
struct PublishedRow {
    provider: String,
    model: String,
    session: String,
    published_ttft_median_s: f64,
    published_ttft_p95_s: f64,
    published_ttft_std_s: Option<f64>,
    published_cv_percent: f64,
    simulated_ttft_median_s: Option<f64>,
    simulated_ttft_p95_s: Option<f64>,
    simulated_cv_percent: Option<f64>,
    simulated_std_over_median_percent: Option<f64>,
    deviation_ttft_median_percent: Option<f64>,
    deviation_ttft_p95_percent: Option<f64>,
    deviation_cv_percent: Option<f64>,
    deviation_std_over_median_percent: Option<f64>,
    /// Figures that nine in ten benchmarks do not report; `null` of a single one.
    outside_90: Option<Vec<&'static str>>,
    cv_as_std_over_mean: Feasible,
    cv_as_std_over_median: Feasible,
}

/// Whether a published CV can follow a definition, and what it would force.
#[derive(Debug, Serialize)]
struct Feasible {
    possible: bool,
    cap_s: f64,
    smallest_requests: Option<usize>,
    smallest_forced_max_s: Option<f64>,
}

/// Writes everything.
pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    pretty(&Results::of(report), out)
}

/// Writes a value, indented, with a line's end.
pub(super) fn pretty(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)
}

/// The benchmark's rows.
pub(super) fn figures(report: &Report<'_>) -> Vec<Figures> {
    let rows = report.outcome.rows.iter();
    rows.map(|row| Figures::of(&report.line(row))).collect()
}

impl Results {
    fn of(report: &Report<'_>) -> Self {
        let accounts = account::of_deployments(report);
        let totals = account::of_providers(&accounts);
        let fleet = |accounts: &[Account]| {
            let rows = accounts.iter();
            rows.map(|account| Fleet::of(report, account)).collect()
        };
        let pairs = published::pairs(report);
        Self {
            schema: SCHEMA,
            version: VERSION,
            seed: report.plan.seed,
            percentile_method: report.plan.percentile.name(),
            cv_definition: report.definition.name(),
            confidence: CONFIDENCE,
            replications: report.outcome.replications,
            scenario: Scenario::of(report),
            benchmarks: report
                .outcome
                .rows
                .iter()
                .map(|row| Benchmark::of(report, row))
                .collect(),
            fleet: fleet(&accounts),
            fleet_tiers: fleet(&account::of_tiers(report, &accounts)),
            fleet_totals: fleet(&totals),
            catalogues: Allotment::all(report),
            published: pairs
                .iter()
                .map(|pair| PublishedRow::of(report, pair))
                .collect(),
        }
    }
}

impl Scenario {
    fn of(report: &Report<'_>) -> Self {
        let plan = report.plan;
        Self {
            name: report.name.to_owned(),
            title: plan.title.clone(),
            requests: plan.benchmark.requests,
            discarded: plan.benchmark.discard,
            prompt_tokens: plan.benchmark.prompt_tokens,
            output_tokens: plan.benchmark.output_tokens,
            timeout_s: plan.benchmark.timeout.map(crate::time::Duration::as_secs),
            warm_up_s: plan.warm_up.as_secs(),
            sessions: plan.sessions.iter().map(|one| one.name.clone()).collect(),
        }
    }
}

impl Benchmark {
    fn of(report: &Report<'_>, row: &Row) -> Self {
        Self {
            figures: Figures::of(&report.line(row)),
            class_probability: class_probability(row.classes.as_ref()),
            reported: row.reported.as_ref().map(ReportedRow::of),
            warnings: row
                .summary
                .warnings
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }
}

impl Figures {
    /// A row of the table on the wire.
    pub(super) fn of(line: &Line<'_>) -> Self {
        let summary = line.summary;
        let ttft = |pick: fn(&Ttft) -> Option<f64>| summary.ttft.as_ref().and_then(pick);
        let cold = |pick: fn(&Cold) -> Option<f64>| summary.cold.as_ref().and_then(pick);
        let share = |pick: fn(&crate::stats::Interval) -> f64| {
            let interval = summary.cold.as_ref()?.share?.interval?;
            Some(100.0 * pick(&interval))
        };
        let (p50, p50_unbounded) = aware(summary.aware_p50);
        let (p95, p95_unbounded) = aware(summary.aware_p95);
        let n = summary.succeeded as f64;
        let population = ((n - 1.0) / n).sqrt();
        let decided = line.classes.and_then(Classes::decided);
        Self {
            provider: line.names.provider.to_owned(),
            model: line.names.model.to_owned(),
            session: line.names.session.to_owned(),
            requests: summary.requests,
            client_faults: summary.client_faults,
            succeeded: summary.succeeded,
            failed: summary.failed,
            timed_out: summary.timed_out,
            rejected: summary.rejected,
            failure_percent: summary.failure_percent,
            ttft_median_s: ttft(|ttft| Some(ttft.median_s)),
            ttft_median_low_s: ttft(|ttft| Some(ttft.median_interval_s?.low)),
            ttft_median_high_s: ttft(|ttft| Some(ttft.median_interval_s?.high)),
            ttft_p95_s: ttft(|ttft| Some(ttft.p95_s)),
            ttft_p95_low_s: ttft(|ttft| Some(ttft.p95_interval_s?.low)),
            ttft_p95_high_s: ttft(|ttft| Some(ttft.p95_interval_s?.high)),
            ttft_mean_s: ttft(|ttft| Some(ttft.mean_s)),
            ttft_std_s: ttft(|ttft| ttft.std_s),
            ttft_std_population_s: ttft(|ttft| ttft.std_s).map(|std| std * population),
            ttft_min_s: ttft(|ttft| Some(ttft.min_s)),
            ttft_max_s: ttft(|ttft| Some(ttft.max_s)),
            cv_percent: ttft(|ttft| ttft.cv_percent),
            cv_low_percent: summary.cv_interval_percent.map(|interval| interval.low),
            cv_high_percent: summary.cv_interval_percent.map(|interval| interval.high),
            std_over_median_percent: ttft(|ttft| ttft.std_over_median_percent),
            ttft_p50_failure_aware_s: p50,
            ttft_p50_failure_aware_unbounded: p50_unbounded,
            ttft_p95_failure_aware_s: p95,
            ttft_p95_failure_aware_unbounded: p95_unbounded,
            cold_requests: summary.cold_requests(),
            cold_share_percent: cold(|cold| Some(100.0 * cold.share?.point)),
            cold_share_low_percent: share(|interval| interval.low),
            cold_share_high_percent: share(|interval| interval.high),
            warm_ttft_median_s: cold(|cold| cold.warm_median_s),
            warm_ttft_p95_s: cold(|cold| cold.warm_p95_s),
            cold_ttft_min_s: cold(|cold| cold.cold_min_s),
            cold_ttft_median_s: cold(|cold| cold.cold_median_s),
            cold_ttft_max_s: cold(|cold| cold.cold_max_s),
            verdict: line.verdict.name(),
            verdict_probability: line.classes.map(|classes| classes.share(line.verdict)),
            verdict_decided: decided.map(Verdict::name),
        }
    }
}

/// How probable each class is; empty where there is no data.
pub(super) fn class_probability(classes: Option<&Classes>) -> BTreeMap<&'static str, f64> {
    let ranked = classes.map(Classes::ranked).unwrap_or_default();
    ranked
        .into_iter()
        .map(|(verdict, share)| (verdict.name(), share))
        .collect()
}

fn aware(quantile: Option<AwareQuantile>) -> (Option<f64>, bool) {
    match quantile {
        Some(AwareQuantile::Seconds(seconds)) => (Some(seconds), false),
        Some(AwareQuantile::Unbounded) => (None, true),
        None => (None, false),
    }
}

impl ReportedRow {
    fn of(reported: &Reported) -> Self {
        let shares = Verdict::ALL.into_iter().zip(reported.verdict_share);
        Self {
            ttft_median_s: reported.ttft_median_s.into(),
            ttft_p95_s: reported.ttft_p95_s.into(),
            ttft_std_s: reported.ttft_std_s.into(),
            cv_percent: reported.cv_percent.into(),
            std_over_median_percent: reported.std_over_median_percent.into(),
            cold_requests: reported.cold_requests.into(),
            no_cold_share: reported.no_cold_share,
            verdict_share: shares
                .map(|(verdict, share)| (verdict.name(), share))
                .collect(),
        }
    }
}

impl From<Spread> for SpreadRow {
    fn from(spread: Spread) -> Self {
        let Spread { p05, p50, p95 } = spread;
        Self { p05, p50, p95 }
    }
}

impl Fleet {
    fn of(report: &Report<'_>, account: &Account) -> Self {
        let provider = &report.plan.providers[account.provider];
        let ledger = &account.ledger;
        let plan = report.plan;
        let (model, tier) = match account.part {
            Part::Deployment(index) => (
                Some(provider.fleet.deployments[index as usize].name.clone()),
                plan.tier(account.provider, index),
            ),
            Part::Tier(tier) => (None, Some(tier)),
            Part::All => (None, None),
        };
        let [loading, busy, idle, draining] = account.replica_hours();
        let gpu = ledger.gpu_hours();
        let [host_ram, local_disk, remote] = account.starts;
        let [ram_cache, disk_cache] = ledger.cached_starts;
        let costs = Costs::of(report, account);
        Self {
            provider: provider.name.clone(),
            model,
            tier: tier.map(Tier::name),
            models: account.deployments,
            mostly_cold_models: account.mostly_cold,
            session: plan.sessions[account.session].name.clone(),
            window_s: ledger.window.as_secs(),
            requests: ledger.arrived,
            succeeded: ledger.succeeded,
            rejected: ledger.rejected(),
            rejected_queue: ledger.rejected_queue,
            rejected_cold: ledger.rejected_cold,
            rejected_cannot_fit: ledger.rejected_cannot_fit,
            truncated: ledger.truncated,
            truncated_prompt_tokens: ledger.truncated_tokens,
            timed_out: ledger.timed_out,
            failed: ledger.failed,
            in_flight_start: ledger.in_flight_start,
            in_flight_end: ledger.in_flight_end,
            missed_by_sampling: ledger.missed_by_sampling,
            cold_requests: ledger.cold_requests,
            cold_requests_percent: account.cold_percent(),
            prompt_tokens: ledger.prompt_tokens,
            output_tokens: ledger.output_tokens,
            ttft_p50_s: account.ttft_s(0.50),
            ttft_p95_s: account.ttft_s(0.95),
            ttft_p99_s: account.ttft_s(0.99),
            ttft_max_s: account.ttft.max().map(crate::time::Duration::as_secs),
            ttft_mean_s: account.ttft.mean_secs(),
            ttft_cv_percent: account.cv_percent(),
            cold_starts: account.cold_starts(),
            starts_host_ram: host_ram,
            starts_local_disk: local_disk,
            starts_ram_cache: ram_cache,
            starts_disk_cache: disk_cache,
            starts_remote: remote - ram_cache - disk_cache,
            starts_by_placement: account.placements.iter().cloned().collect(),
            cancelled_starts: ledger.cancelled_starts,
            evictions: ledger.evictions,
            stops: ledger.stops,
            failures: ledger.failures,
            reclaimed: ledger.reclaimed,
            switches: ledger.switches,
            loading_replica_hours: loading,
            busy_replica_hours: busy,
            idle_replica_hours: idle,
            draining_replica_hours: draining,
            loading_gpu_hours: gpu[0],
            busy_gpu_hours: gpu[1],
            idle_gpu_hours: gpu[2],
            draining_gpu_hours: gpu[3],
            total_gpu_hours: gpu.iter().sum(),
            cancelled_gpu_hours: ledger.cancelled_gpu_time as f64 / 3.6e12,
            cost_usd: ledger.cost_usd(),
            gpu_cost_usd: ledger.gpu_usd,
            warmth_cost_usd: ledger.rungs_usd,
            cost_per_request_usd: costs.per_request_usd,
            cost_per_million_tokens_usd: costs.per_million_tokens_usd,
            billed_gpu_hours: costs.billed_gpu_hours,
            bill_usd: costs.bill_usd,
            bill_per_request_usd: costs.bill_per_request_usd,
            dedicated_usd_per_hour: costs.dedicated_usd_per_hour,
            break_even_requests_per_hour: costs.break_even_requests_per_hour,
            requests_per_hour: costs.requests_per_hour,
            utilisation_percent: ledger.utilisation().map(|share| 100.0 * share),
            below_floor_s: ledger.below_floor.as_secs(),
            mean_in_system: account.mean_over_window(ledger.request_time as f64 / 1e9),
            mean_ready_replicas: account.mean_over_window((busy + idle) * 3600.0),
            mean_loading_replicas: account.mean_over_window(loading * 3600.0),
            peak_replicas: ledger.peak_replicas,
        }
    }
}

impl PublishedRow {
    fn of(report: &Report<'_>, pair: &Pair<'_>) -> Self {
        let published = pair.published;
        let [over_mean, over_median] = pair.assessments;
        Self {
            provider: published.provider.clone(),
            model: published.model.clone(),
            session: report.session(pair.row).to_owned(),
            published_ttft_median_s: published.ttft_median_s,
            published_ttft_p95_s: published.ttft_p95_s,
            published_ttft_std_s: published.ttft_std_s,
            published_cv_percent: published.cv_percent,
            simulated_ttft_median_s: pair.median_s,
            simulated_ttft_p95_s: pair.p95_s,
            simulated_cv_percent: pair.cv_percent,
            simulated_std_over_median_percent: pair.std_over_median_percent,
            deviation_ttft_median_percent: deviation_percent(
                pair.median_s,
                published.ttft_median_s,
            ),
            deviation_ttft_p95_percent: deviation_percent(pair.p95_s, published.ttft_p95_s),
            deviation_cv_percent: deviation_percent(pair.cv_percent, published.cv_percent),
            deviation_std_over_median_percent: deviation_percent(
                pair.std_over_median_percent,
                published.cv_percent,
            ),
            outside_90: pair.outside(),
            cv_as_std_over_mean: Feasible::of(over_mean),
            cv_as_std_over_median: Feasible::of(over_median),
        }
    }
}

impl Feasible {
    fn of(assessment: Assessment) -> Self {
        Self {
            possible: assessment.possible_within_cap,
            cap_s: assessment.cap,
            smallest_requests: assessment.smallest_n,
            smallest_forced_max_s: assessment.smallest_forced().seconds(),
        }
    }
}
