//! What only the simulator knows, told to whoever watches.
//!
//! Probes see; they cannot change anything, so a run with a probe is the run without it.

use super::replica::Stage;
use crate::observation::Outcome;
use crate::request::RequestId;
use crate::start_phase::StartPhase;
use crate::time::{Duration, Time};
use std::fmt::Debug;

/// Watches a fleet.
pub trait Probe {
    /// An event is about to be handled; what it shows of itself is for debugging.
    fn event(&mut self, at: Time, event: &dyn Debug) {
        let _ = (at, event);
    }

    /// A request is at the fleet's door.
    fn request_arrived(&mut self, origin: Origin) {
        let _ = origin;
    }

    /// A request's first token leaves the fleet at `leaves` and is with its client at `reaches`. Said as soon as it is certain,
    /// so before that instant, and void if the request ends before.
    fn first_token(&mut self, origin: Origin, leaves: Time, reaches: Time) {
        let _ = (origin, leaves, reaches);
    }

    /// A request has ended.
    fn request_ended(&mut self, trace: &RequestTrace) {
        let _ = trace;
    }

    /// A replica has gone from one stage to another.
    fn replica_moved(&mut self, moved: &ReplicaMoved) {
        let _ = moved;
    }
}

/// Watches nothing.
impl Probe for () {}

/// Whose request it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The benchmark's.
    Benchmark(RequestId),
    /// Another user's, of this traffic stream of the deployment.
    Traffic(u32),
}

/// The whole story of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestTrace {
    /// Whose it was.
    pub origin: Origin,
    /// Index of the deployment.
    pub deployment: u32,
    /// When the client sent it.
    pub sent: Time,
    /// When it reached the fleet.
    pub arrived: Time,
    /// When the client had the first token.
    pub first_token: Option<Time>,
    /// When the client was done with it.
    pub end: Time,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it waited for a replica that was not ready when it arrived, to the end or until it gave up.
    pub cold: bool,
    /// Serial number of the replica that served it.
    pub replica: Option<u32>,
    /// Index of that replica's placement.
    pub placement: Option<u8>,
    /// Prompt length \[tokens\].
    pub prompt_tokens: u32,
    /// Answer length \[tokens\].
    pub output_tokens: u32,
    /// What its time to first token was made of.
    pub parts: Parts,
}

/// The parts of a time to first token; they add up to it exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// To the fleet and back.
    pub network: Duration,
    /// Waiting for a replica that was ready or busy, and for the running iteration to end.
    pub queue: Duration,
    /// Waiting for each phase of a start, by [`StartPhase`].
    pub start: [Duration; StartPhase::ALL.len()],
    /// Computing its own prompt.
    pub prefill: Duration,
    /// The rest of the iterations until its first token: the other requests of the batch, and its own first decode step where
    /// the prompt was cached.
    pub first_step: Duration,
}

impl Parts {
    /// The time to first token.
    pub fn total(&self) -> Duration {
        self.network
            + self.queue
            + self.start.iter().copied().sum()
            + self.prefill
            + self.first_step
    }
}

/// A replica's change of stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaMoved {
    /// When.
    pub at: Time,
    /// Index of the deployment.
    pub deployment: u32,
    /// Serial number of the replica.
    pub replica: u32,
    /// Where it is now.
    pub stage: Stage,
}
