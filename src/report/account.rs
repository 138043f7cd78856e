//! What really happened at a provider: all users, all replicas.
//!
//! Accounts add up, histograms and all, so a fleet's percentiles are those of its requests and not a mean of percentiles.

use super::Report;
use crate::experiment::{Did, Part};
use crate::fleet::config::{DeploymentConfig, Warmth};
use crate::fleet::{Activity, Ledger};
use crate::stats::Histogram;

/// The account of one deployment, of a tier of the catalogue, or of all of a provider's, in one session.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// Index of the provider.
    pub(super) provider: usize,
    /// Index of the session.
    pub(super) session: usize,
    /// Whose.
    pub(super) part: Part,
    /// How many deployments, and how many of them are met cold by most of their requests.
    pub(super) deployments: u32,
    pub(super) mostly_cold: u32,
    /// Times to first token at the provider's door.
    pub(super) ttft: Histogram,
    /// The counts; rungs and placements stand below by name.
    pub(super) ledger: Ledger,
    /// Starts from host RAM, local disk, remote storage.
    pub(super) starts: [u64; 3],
    /// Starts that got their GPUs, by the name of the placement.
    pub(super) placements: Vec<(String, u64)>,
}

impl Account {
    fn of(
        provider: usize,
        session: usize,
        deployment: usize,
        config: &DeploymentConfig,
        did: &Did,
    ) -> Self {
        let warmths = config.rungs.iter().map(|rung| rung.warmth);
        let mut starts = [0; 3];
        for (warmth, count) in warmths.chain([Warmth::Remote]).zip(&did.ledger.starts) {
            starts[warmth as usize] += count;
        }
        let placements = config
            .placements
            .iter()
            .zip(&did.ledger.starts_by_placement);
        Self {
            provider,
            session,
            part: Part::Deployment(deployment as u32),
            deployments: 1,
            mostly_cold: u32::from(2 * did.ledger.cold_requests > did.ledger.arrived),
            ttft: did.ttft.clone(),
            ledger: did.ledger.clone(),
            starts,
            placements: placements
                .map(|(placement, count)| (placement.name.clone(), *count))
                .collect(),
        }
    }

    /// Adds another deployment's account of the same session.
    fn add(&mut self, other: &Self) {
        self.deployments += other.deployments;
        self.mostly_cold += other.mostly_cold;
        self.ttft.merge(&other.ttft);
        add_ledger(&mut self.ledger, &other.ledger);
        for (sum, count) in self.starts.iter_mut().zip(other.starts) {
            *sum += count;
        }
        for (name, count) in &other.placements {
            match self.placements.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += count,
                None => self.placements.push((name.clone(), *count)),
            }
        }
    }

    /// A quantile of everybody's TTFT \[s\].
    pub(super) fn ttft_s(&self, p: f64) -> Option<f64> {
        self.ttft.quantile(p).map(crate::time::Duration::as_secs)
    }

    /// Standard deviation over mean of everybody's TTFT [%].
    pub(super) fn cv_percent(&self) -> Option<f64> {
        self.ttft.cv().map(|cv| 100.0 * cv)
    }

    /// Requests that waited for a replica that was not ready [%].
    pub(super) fn cold_percent(&self) -> Option<f64> {
        percent(self.ledger.cold_requests as f64, self.ledger.arrived as f64)
    }

    /// GPU time without work [%].
    pub(super) fn idle_percent(&self) -> Option<f64> {
        let hours = self.ledger.gpu_hours();
        percent(hours[Activity::Idle as usize], hours.iter().sum())
    }

    /// Replica-hours by activity.
    pub(super) fn replica_hours(&self) -> [f64; 4] {
        self.ledger.replica_time.map(|span| span.as_secs() / 3600.0)
    }

    /// `amount` of something held for a time, averaged over the window.
    pub(super) fn mean_over_window(&self, amount_seconds: f64) -> Option<f64> {
        let window = self.ledger.window.as_secs();
        (window > 0.0).then(|| amount_seconds / window)
    }

    /// Starts begun, from any rung.
    pub(super) fn cold_starts(&self) -> u64 {
        self.starts.iter().sum()
    }

    /// Requests that got no answer.
    pub(super) fn unanswered(&self) -> u64 {
        self.ledger.rejected() + self.ledger.timed_out + self.ledger.failed
    }
}

fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

fn add_ledger(sum: &mut Ledger, other: &Ledger) {
    let pairs = [
        (&mut sum.in_flight_start, other.in_flight_start),
        (&mut sum.arrived, other.arrived),
        (&mut sum.succeeded, other.succeeded),
        (&mut sum.rejected_queue, other.rejected_queue),
        (&mut sum.rejected_cold, other.rejected_cold),
        (&mut sum.rejected_cannot_fit, other.rejected_cannot_fit),
        (&mut sum.truncated, other.truncated),
        (&mut sum.truncated_tokens, other.truncated_tokens),
        (&mut sum.timed_out, other.timed_out),
        (&mut sum.failed, other.failed),
        (&mut sum.in_flight_end, other.in_flight_end),
        (&mut sum.missed_by_sampling, other.missed_by_sampling),
        (&mut sum.cold_requests, other.cold_requests),
        (&mut sum.prompt_tokens, other.prompt_tokens),
        (&mut sum.output_tokens, other.output_tokens),
        (&mut sum.cancelled_starts, other.cancelled_starts),
        (&mut sum.switches, other.switches),
        (&mut sum.evictions, other.evictions),
        (&mut sum.stops, other.stops),
        (&mut sum.failures, other.failures),
        (&mut sum.reclaimed, other.reclaimed),
    ];
    for (total, count) in pairs {
        *total += count;
    }
    for (total, count) in sum.cached_starts.iter_mut().zip(other.cached_starts) {
        *total += count;
    }
    for (total, span) in sum.replica_time.iter_mut().zip(other.replica_time) {
        *total += span;
    }
    for (total, time) in sum.gpu_time.iter_mut().zip(other.gpu_time) {
        *total += time;
    }
    sum.cancelled_gpu_time += other.cancelled_gpu_time;
    sum.below_floor += other.below_floor;
    sum.request_time += other.request_time;
    sum.peak_replicas += other.peak_replicas;
    sum.gpu_usd += other.gpu_usd;
    sum.rungs_usd += other.rungs_usd;
}

/// The accounts of every deployment in every session: by provider, model and session, as the benchmark's rows are.
pub(super) fn of_deployments(report: &Report<'_>) -> Vec<Account> {
    let sessions = report.plan.sessions.len();
    let mut accounts = Vec::new();
    for (provider, named) in report.plan.providers.iter().enumerate() {
        for (deployment, config) in named.fleet.deployments.iter().enumerate() {
            for session in 0..sessions {
                let run = &report.outcome.runs[provider * sessions + session];
                let did = &run.fleet[deployment];
                accounts.push(Account::of(provider, session, deployment, config, did));
            }
        }
    }
    accounts
}

/// The accounts of providers with several deployments, one a session.
pub(super) fn of_providers(accounts: &[Account]) -> Vec<Account> {
    let mut sums = summed(accounts, |_| Some(Part::All));
    sums.retain(|sum| sum.deployments > 1);
    sums
}

/// The accounts of catalogues, one a tier and session, the most popular tier first.
pub(super) fn of_tiers(report: &Report<'_>, accounts: &[Account]) -> Vec<Account> {
    summed(accounts, |account| {
        let Part::Deployment(deployment) = account.part else {
            return None;
        };
        report
            .plan
            .tier(account.provider, deployment)
            .map(Part::Tier)
    })
}

/// Accounts added up by provider, session and the part that each belongs to, in the order of their first.
fn summed(accounts: &[Account], part: impl Fn(&Account) -> Option<Part>) -> Vec<Account> {
    let mut sums: Vec<Account> = Vec::new();
    for account in accounts {
        let Some(part) = part(account) else { continue };
        let place = (account.provider, account.session, part);
        let known = sums
            .iter_mut()
            .find(|sum| (sum.provider, sum.session, sum.part) == place);
        match known {
            Some(sum) => sum.add(account),
            None => sums.push(Account {
                part,
                ..account.clone()
            }),
        }
    }
    sums
}
