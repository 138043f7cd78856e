//! What a deployment did and what it cost, over the measured window.
//!
//! Counters obey conservation exactly: `in_flight_start + arrived = succeeded + rejected + timed_out + failed + in_flight_end`.
//! Replica time is integrated in whole nanoseconds, so the states of all replicas add up to their lives.

use super::config::{DeploymentConfig, Share};
use super::replica::Stage;
use crate::time::Duration;
use std::hint::cold_path;

/// What a replica is doing, as far as the bill is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// On its way to ready and holding GPUs.
    Starting,
    /// Ready with work.
    Busy,
    /// Ready without work.
    Idle,
    /// Finishing its last work.
    Draining,
}

impl Activity {
    /// All activities.
    pub const ALL: [Self; 4] = [Self::Starting, Self::Busy, Self::Idle, Self::Draining];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "loading",
            Self::Busy => "busy",
            Self::Idle => "idle",
            Self::Draining => "draining",
        }
    }

    /// The activity of a replica at `stage` with or without work.
    #[inline]
    pub(super) fn of(stage: Stage, is_working: bool) -> Option<Self> {
        if stage == Stage::Ready {
            return Some(if is_working { Self::Busy } else { Self::Idle });
        }
        cold_path();
        if stage.is_starting() {
            return Some(Self::Starting);
        }
        (stage == Stage::Draining).then_some(Self::Draining)
    }
}

/// Account of one deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// Length of the window.
    pub window: Duration,
    /// Requests in the system when the window opened.
    pub in_flight_start: u64,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests answered in full.
    pub succeeded: u64,
    /// Requests refused because the queue was full or they waited too long in it (429, or the stated status).
    pub rejected_queue: u64,
    /// Requests refused because no replica was ready (503).
    pub rejected_cold: u64,
    /// Requests that no replica could ever hold (413).
    pub rejected_cannot_fit: u64,
    /// Requests whose prompt was cut to the context, and by how many tokens in all.
    pub truncated: u64,
    /// Prompt tokens cut off.
    pub truncated_tokens: u64,
    /// Requests whose client gave up.
    pub timed_out: u64,
    /// Requests lost with their replica.
    pub failed: u64,
    /// Requests in the system when the window closed.
    pub in_flight_end: u64,
    /// Time-outs of clients for whom nothing was ever started, because the autoscaler did not look while they waited.
    pub missed_by_sampling: u64,
    /// Requests that waited for a replica that was not ready when they arrived.
    pub cold_requests: u64,
    /// Prompt tokens of finished answers.
    pub prompt_tokens: u64,
    /// Tokens of finished answers.
    pub output_tokens: u64,
    /// Starts begun, by rung of the ladder (warmest first, remote storage last).
    pub starts: Vec<u64>,
    /// Starts that got their GPUs, by placement.
    pub starts_by_placement: Vec<u64>,
    /// Starts from remote storage that found the weights on their node: in host RAM, on its local disk.
    pub cached_starts: [u64; 2],
    /// Starts given up before they were ready.
    pub cancelled_starts: u64,
    /// Times that a model that shares replicas was brought into one.
    pub switches: u64,
    /// Idle replicas lost to other tenants or other models.
    pub evictions: u64,
    /// Replicas stopped by keep-alive or the autoscaler; evicted ones are not among them.
    pub stops: u64,
    /// Replicas that died.
    pub failures: u64,
    /// Replicas and starts whose node was taken back.
    pub reclaimed: u64,
    /// Replica time by activity, all placements.
    pub replica_time: [Duration; 4],
    /// GPU time by activity [GPU x ns].
    pub gpu_time: [u128; 4],
    /// GPU time spent on starts that were given up [GPU x ns].
    pub cancelled_gpu_time: u128,
    /// Time with fewer ready replicas than the warm pool asks for.
    pub below_floor: Duration,
    /// Integral of the number of requests in the system [request x ns].
    pub request_time: u128,
    /// Most replicas at once, starting ones included.
    pub peak_replicas: u32,
    /// Cost of GPUs \[USD\].
    pub gpu_usd: f64,
    /// Cost of weights kept below the GPU \[USD\].
    pub rungs_usd: f64,
}

impl Ledger {
    pub(super) fn new(config: &DeploymentConfig) -> Self {
        Self {
            window: Duration::ZERO,
            in_flight_start: 0,
            arrived: 0,
            succeeded: 0,
            rejected_queue: 0,
            rejected_cold: 0,
            rejected_cannot_fit: 0,
            truncated: 0,
            truncated_tokens: 0,
            timed_out: 0,
            failed: 0,
            in_flight_end: 0,
            missed_by_sampling: 0,
            cold_requests: 0,
            prompt_tokens: 0,
            output_tokens: 0,
            starts: vec![0; config.rungs.len() + 1],
            starts_by_placement: vec![0; config.placements.len()],
            cached_starts: [0; 2],
            cancelled_starts: 0,
            switches: 0,
            evictions: 0,
            stops: 0,
            failures: 0,
            reclaimed: 0,
            replica_time: [Duration::ZERO; 4],
            gpu_time: [0; 4],
            cancelled_gpu_time: 0,
            below_floor: Duration::ZERO,
            request_time: 0,
            peak_replicas: 0,
            gpu_usd: 0.0,
            rungs_usd: 0.0,
        }
    }

    /// Books `span` of a replica's time.
    pub(super) fn book(
        &mut self,
        activity: Activity,
        span: Duration,
        (gpus, share): (u32, Share),
        usd_per_gpu_hour: f64,
    ) {
        let index = activity as usize;
        self.replica_time[index] += span;
        self.gpu_time[index] += share.of_time(u128::from(span.as_nanos()) * u128::from(gpus));
        let gpu_hours = span.as_secs() / 3600.0 * f64::from(gpus) * share.part();
        self.gpu_usd += gpu_hours * usd_per_gpu_hour;
    }

    /// Requests refused, for whatever reason.
    pub fn rejected(&self) -> u64 {
        self.rejected_queue + self.rejected_cold + self.rejected_cannot_fit
    }

    /// Starts begun, from any rung.
    pub fn cold_starts(&self) -> u64 {
        self.starts.iter().sum()
    }

    /// Whether every request is in exactly one place.
    pub fn is_conserved(&self) -> bool {
        self.in_flight_start + self.arrived
            == self.succeeded + self.rejected() + self.timed_out + self.failed + self.in_flight_end
    }

    /// Time of all replicas, whatever they did.
    pub fn replica_time_total(&self) -> Duration {
        self.replica_time.iter().copied().sum()
    }

    /// Share of the ready replicas' time in which they worked; `None` when none was ever ready.
    pub fn utilisation(&self) -> Option<f64> {
        let [_, busy, idle, draining] = self.replica_time.map(Duration::as_secs);
        let ready = busy + idle + draining;
        (ready > 0.0).then(|| (busy + draining) / ready)
    }

    /// GPU-hours by activity, in the order of [`Activity::ALL`].
    pub fn gpu_hours(&self) -> [f64; 4] {
        self.gpu_time.map(|nanos| nanos as f64 / 3.6e12)
    }

    /// Cost of the window \[USD\].
    pub fn cost_usd(&self) -> f64 {
        self.gpu_usd + self.rungs_usd
    }
}
