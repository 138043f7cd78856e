//! What is read off a run to be held against a closed form.

use crate::experiment::{Did, RunResult};
use crate::fleet::{Activity, Ledger, Origin, RequestTrace};
use crate::measure::summary::{Summary, Ttft};
use crate::stats::{PercentileMethod, Sample};
use crate::time::{Duration, Time};
use std::cell::OnceCell;

/// A run, and the samples taken from it.
#[derive(Debug)]
pub(super) struct Observed {
    result: RunResult,
    waits: OnceCell<Sample>,
    times: OnceCell<Sample>,
    summary: OnceCell<Summary>,
}

impl Observed {
    pub(super) fn new(result: RunResult) -> Self {
        Self {
            result,
            waits: OnceCell::new(),
            times: OnceCell::new(),
            summary: OnceCell::new(),
        }
    }

    /// The account of the first deployment.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.result.fleet[0].ledger
    }

    /// The accounts of all deployments.
    pub(super) fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        self.result.fleet.iter().map(|Did { ledger, .. }| ledger)
    }

    /// Waits at the fleet's door of all requests that ended in the window \[s\].
    pub(super) fn waits(&self) -> &Sample {
        self.waits.get_or_init(|| self.sample(wait))
    }

    /// Times from arrival to end of all requests that ended in the window \[s\].
    pub(super) fn times(&self) -> &Sample {
        self.times
            .get_or_init(|| self.sample(|trace| trace.end.since(trace.arrived)))
    }

    fn sample(&self, of: fn(&RequestTrace) -> Duration) -> Sample {
        let values = self
            .result
            .everybody
            .iter()
            .map(|trace| of(trace).as_secs());
        Sample::new(values.collect()).expect("requests ended")
    }

    /// Share of the requests that waited.
    pub(super) fn wait_share(&self) -> f64 {
        let waits = self.waits();
        let at_once = waits.values().partition_point(|&wait| wait == 0.0);
        1.0 - at_once as f64 / waits.len() as f64
    }

    /// Quantile of the wait \[s\].
    pub(super) fn wait_quantile(&self, p: f64) -> f64 {
        self.waits().quantile(p, PercentileMethod::Linear)
    }

    /// Quantile of the time from arrival to end \[s\].
    pub(super) fn time_quantile(&self, p: f64) -> f64 {
        self.times().quantile(p, PercentileMethod::Linear)
    }

    /// Mean wait of the requests of one traffic stream \[s\].
    pub(super) fn mean_wait_of(&self, stream: u32) -> f64 {
        let own = self
            .result
            .everybody
            .iter()
            .filter(|trace| trace.origin == Origin::Traffic(stream));
        let waits: Vec<f64> = own.map(|trace| wait(trace).as_secs()).collect();
        waits.iter().sum::<f64>() / waits.len() as f64
    }

    /// Requests answered [1/s].
    pub(super) fn throughput(&self) -> f64 {
        self.ledger().succeeded as f64 / self.ledger().window.as_secs()
    }

    /// Mean number of requests in the system that meet a cold start, or that do not.
    pub(super) fn in_system_by(&self, cold: bool) -> f64 {
        let own = self
            .result
            .everybody
            .iter()
            .filter(|trace| trace.cold == cold);
        let time: Duration = own.map(|trace| trace.end.since(trace.arrived)).sum();
        time.as_secs() / self.ledger().window.as_secs()
    }

    /// Mean of time in the system over its length in tokens, of requests with at least `tokens` \[s\].
    pub(super) fn time_per_token(&self, tokens: u32) -> f64 {
        let large = self
            .result
            .everybody
            .iter()
            .filter(|trace| trace.output_tokens >= tokens);
        let slowdown = |trace: &RequestTrace| {
            trace.end.since(trace.arrived).as_secs() / f64::from(trace.output_tokens)
        };
        let all: Vec<f64> = large.map(slowdown).collect();
        all.iter().sum::<f64>() / all.len() as f64
    }

    /// Mean number of requests whose service begins at one instant.
    pub(super) fn batch_size(&self) -> f64 {
        let begun = |trace: &RequestTrace| trace.arrived + wait(trace);
        let mut instants: Vec<Time> = self.result.everybody.iter().map(begun).collect();
        let requests = instants.len();
        instants.sort_unstable();
        instants.dedup();
        requests as f64 / instants.len() as f64
    }

    /// The benchmark's figures.
    pub(super) fn summary(&self) -> &Summary {
        self.summary.get_or_init(|| {
            Summary::of(
                &self.result.lanes[0].observations(),
                PercentileMethod::default(),
            )
        })
    }

    /// Times to first token of the benchmark's requests.
    pub(super) fn ttft(&self) -> &Ttft {
        self.summary()
            .ttft
            .as_ref()
            .expect("requests were answered")
    }

    /// Quantile of the times to first token of the benchmark's requests \[s\].
    pub(super) fn ttft_quantile(&self, p: f64) -> f64 {
        let requests = self.result.lanes[0].requests.iter();
        let ttfts = requests.filter_map(|(seen, _)| seen.ttft());
        let sample = Sample::new(ttfts.map(Duration::as_secs).collect());
        sample
            .expect("requests were answered")
            .quantile(p, PercentileMethod::default())
    }

    /// Mean number of requests in the system.
    pub(super) fn in_system(&self) -> f64 {
        let ledger = self.ledger();
        ledger.request_time as f64 / ledger.window.as_nanos() as f64
    }

    /// Mean number of replicas at an activity.
    pub(super) fn replicas(&self, activity: Activity) -> f64 {
        let ledger = self.ledger();
        ledger.replica_time[activity as usize].as_secs() / ledger.window.as_secs()
    }

    /// Mean number of replicas of all deployments.
    pub(super) fn all_replicas(&self) -> f64 {
        let time: Duration = self.ledgers().map(Ledger::replica_time_total).sum();
        time.as_secs() / self.ledger().window.as_secs()
    }

    /// Mean number of GPUs held by all deployments.
    pub(super) fn gpus(&self) -> f64 {
        let time: u128 = self.ledgers().flat_map(|ledger| ledger.gpu_time).sum();
        time as f64 / self.ledger().window.as_nanos() as f64
    }

    /// Mean number of requests that wait, where a busy replica serves one.
    pub(super) fn queue_length(&self) -> f64 {
        self.in_system() - self.replicas(Activity::Busy)
    }

    /// Share of the ready replicas' time in which they worked.
    pub(super) fn utilisation(&self) -> f64 {
        self.ledger().utilisation().expect("a replica was ready")
    }

    /// Share of a deployment's requests that were refused.
    pub(super) fn refused_share(&self, deployment: usize) -> f64 {
        let ledger = &self.result.fleet[deployment].ledger;
        share(ledger.rejected_queue, ledger.arrived)
    }

    /// Share of the first deployment's requests that waited for a replica that was not ready when they came, or found none.
    pub(super) fn cold_share(&self) -> f64 {
        share(self.ledger().cold_requests, self.ledger().arrived)
    }

    /// The same of all deployments.
    pub(super) fn cold_share_of_all(&self) -> f64 {
        let cold = self.ledgers().map(|ledger| ledger.cold_requests).sum();
        share(cold, self.ledgers().map(|ledger| ledger.arrived).sum())
    }

    /// Starts for each request.
    pub(super) fn start_share(&self) -> f64 {
        share(self.ledger().cold_starts(), self.ledger().arrived)
    }

    /// The benchmark's requests that met a cold start.
    pub(super) fn cold_probes(&self) -> f64 {
        let requests = &self.result.lanes[0].requests;
        let is_cold = |trace: &Option<RequestTrace>| trace.as_ref().is_some_and(|one| one.cold);
        let cold = requests.iter().filter(|(_, trace)| is_cold(trace));
        cold.count() as f64
    }

    /// The benchmark's requests.
    pub(super) fn probes(&self) -> f64 {
        self.result.lanes[0].requests.len() as f64
    }

    /// Mean over time of a function of the number of requests in the system. Requests under way at the end are not among the
    /// traces, so the last `longest` of the window is left out.
    pub(super) fn mean_over_time(&self, longest: Duration, of: impl Fn(u32) -> f64) -> f64 {
        let until = self.result.opened + self.ledger().window.saturating_sub(longest);
        let mut changes: Vec<(Time, i32)> = Vec::new();
        for trace in &self.result.everybody {
            changes.push((trace.arrived.max(self.result.opened), 1));
            changes.push((trace.end, -1));
        }
        changes.sort_unstable();
        let (mut number, mut from, mut sum) = (0_u32, self.result.opened, 0.0);
        for (at, change) in changes.into_iter().take_while(|(at, _)| *at < until) {
            sum += at.since(from).as_secs() * of(number);
            (number, from) = (number.saturating_add_signed(change), at);
        }
        sum / from.since(self.result.opened).as_secs()
    }
}

/// How long a request waited at the fleet's door before its service began.
fn wait(trace: &RequestTrace) -> Duration {
    trace.parts.queue + trace.parts.start.iter().copied().sum()
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
