//! The probe of a served fleet: passes on the news of the clients' own requests and counts what everybody met.

use crate::fleet::{Origin, Probe, ReplicaMoved, RequestTrace, Stage};
use crate::observation::Outcome;
use crate::request::RequestId;
use crate::time::{Duration, Time};
use std::collections::BTreeMap;

/// News of a client's request.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// It is at the fleet's door.
    Arrived(RequestId),
    /// Its first token leaves the fleet and is with the client, unless the request ends before.
    FirstToken {
        /// The request.
        id: RequestId,
        /// From the fleet.
        leaves: Time,
        /// With the client.
        reaches: Time,
    },
    /// It is over, and the client will know at `trace.end`.
    Ended {
        /// The request.
        id: RequestId,
        /// Its story.
        trace: Box<RequestTrace>,
    },
}

/// Upper bounds of the buckets that vLLM uses for the time to first token \[s\].
pub(super) const TTFT_BOUNDS: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
/// The same for the whole request \[s\].
pub(super) const LATENCY_BOUNDS: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
];

/// A histogram as Prometheus wants it.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    pub(super) bounds: &'static [f64],
    /// Values in each bucket, the one without a bound last.
    pub(super) counts: Vec<u64>,
    pub(super) sum: f64,
}

impl Buckets {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len() + 1],
            sum: 0.0,
        }
    }

    fn record(&mut self, value: f64) {
        let bucket = self.bounds.partition_point(|&bound| bound < value);
        self.counts[bucket] += 1;
        self.sum += value;
    }
}

/// What everybody met at one deployment since it is served.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) ttft: Buckets,
    pub(super) latency: Buckets,
    pub(super) prompt_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) succeeded: u64,
    pub(super) timed_out: u64,
    pub(super) failed: u64,
    pub(super) cold: u64,
    pub(super) rejected: BTreeMap<u16, u64>,
    /// Starts that became ready, and how long they took together.
    starts: u32,
    starting: Duration,
}

impl Tally {
    fn new() -> Self {
        Self {
            ttft: Buckets::new(TTFT_BOUNDS),
            latency: Buckets::new(LATENCY_BOUNDS),
            prompt_tokens: 0,
            output_tokens: 0,
            succeeded: 0,
            timed_out: 0,
            failed: 0,
            cold: 0,
            rejected: BTreeMap::new(),
            starts: 0,
            starting: Duration::ZERO,
        }
    }

    /// How long starts have taken on average, where there were any.
    pub(super) fn mean_start(&self) -> Option<Duration> {
        let mean = self
            .starting
            .as_nanos()
            .checked_div(u64::from(self.starts))?;
        Some(Duration::from_nanos(mean))
    }

    fn ended(&mut self, trace: &RequestTrace) {
        if let Some(first) = trace.first_token {
            self.ttft.record(first.since(trace.sent).as_secs());
        }
        self.cold += u64::from(trace.cold);
        match trace.outcome {
            Outcome::Succeeded => {
                self.succeeded += 1;
                self.prompt_tokens += u64::from(trace.prompt_tokens);
                self.output_tokens += u64::from(trace.output_tokens);
                self.latency.record(trace.end.since(trace.sent).as_secs());
            }
            Outcome::Rejected { status } => *self.rejected.entry(status).or_default() += 1,
            Outcome::TimedOut => self.timed_out += 1,
            Outcome::Failed | Outcome::ClientFault => self.failed += 1,
        }
    }
}

/// The probe.
#[derive(Debug)]
pub(super) struct Witness {
    opened: Time,
    pub(super) news: Vec<News>,
    pub(super) tallies: Vec<Tally>,
    /// When each replica that is on its way was born.
    born: BTreeMap<u32, Time>,
}

impl Witness {
    pub(super) fn new(deployments: usize, opened: Time) -> Self {
        Self {
            opened,
            news: Vec::new(),
            tallies: (0..deployments).map(|_| Tally::new()).collect(),
            born: BTreeMap::new(),
        }
    }
}

impl Probe for Witness {
    fn request_arrived(&mut self, origin: Origin) {
        if let Origin::Benchmark(id) = origin {
            self.news.push(News::Arrived(id));
        }
    }

    fn first_token(&mut self, origin: Origin, leaves: Time, reaches: Time) {
        if let Origin::Benchmark(id) = origin {
            self.news.push(News::FirstToken {
                id,
                leaves,
                reaches,
            });
        }
    }

    fn request_ended(&mut self, trace: &RequestTrace) {
        if let Origin::Benchmark(id) = trace.origin {
            let trace = Box::new(trace.clone());
            self.news.push(News::Ended { id, trace });
        }
        if trace.end >= self.opened {
            self.tallies[trace.deployment as usize].ended(trace);
        }
    }

    fn replica_moved(&mut self, moved: &ReplicaMoved) {
        if moved.stage.is_starting() {
            self.born.entry(moved.replica).or_insert(moved.at);
            return;
        }
        let born = self.born.remove(&moved.replica);
        if let (Some(born), Stage::Ready) = (born, moved.stage) {
            let tally = &mut self.tallies[moved.deployment as usize];
            tally.starts += 1;
            tally.starting += moved.at.since(born);
        }
    }
}
