//! A request in the fleet, from the client's sending to its learning the end.

use super::probe::{Origin, Parts, RequestTrace};
use super::replica::{Replica, StartTimes};
use crate::batching::Job;
use crate::observation::{Observation, Outcome};
use crate::request::{EndpointId, RequestId};
use crate::time::{Duration, Time};

/// A request in the fleet.
#[derive(Debug)]
pub(super) struct Record {
    /// Voids its events when the place is used again.
    pub(super) generation: u32,
    pub(super) origin: Origin,
    pub(super) deployment: u32,
    pub(super) wakes: bool,
    pub(super) sent: Time,
    pub(super) arrived: Time,
    /// What only a benchmark's request has.
    pub(super) client: Option<Box<Client>>,
    /// When the client gives up, without a first token.
    pub(super) deadline: Time,
    pub(super) job: Job,
    /// Which of the models that share the replicas.
    pub(super) model: u32,
    pub(super) place: Place,
    /// Serial number of the next replica to be born when it arrived.
    pub(super) unborn: u32,
    /// Starts so far when it arrived, and whether one was under way.
    pub(super) starts_before: u64,
    pub(super) start_under_way: bool,
    pub(super) admitted: Time,
    pub(super) joined: Option<Time>,
    pub(super) first_token: Option<Time>,
    pub(super) cold: bool,
    pub(super) served_by: Option<(u32, u8)>,
    /// The parts of its time to first token, beside the network.
    pub(super) queue: Duration,
    pub(super) start: Option<Box<StartTimes>>,
    pub(super) prefill: Duration,
    pub(super) first_step: Duration,
}

/// The benchmark's side of a request.
#[derive(Debug)]
pub(super) struct Client {
    /// When it was to be sent.
    pub(super) due: Time,
    /// The way from the fleet, and that to it and back.
    pub(super) downlink: Duration,
    pub(super) network: Duration,
    /// What it saw, which it has yet to learn.
    pub(super) observation: Option<Observation>,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On its way to the fleet.
    Underway,
    /// In the deployment's hold queue.
    Held,
    /// In this replica's own queue.
    Queued(u32),
    /// With this replica's executor.
    Running(u32),
    /// Over; a benchmark's client has yet to learn how.
    Ended,
}

impl Record {
    #[inline]
    pub(super) fn fresh(origin: Origin, deployment: u32, wakes: bool, now: Time, job: Job) -> Self {
        Self {
            generation: 0,
            origin,
            deployment,
            wakes,
            sent: now,
            arrived: now,
            client: None,
            deadline: Time::MAX,
            job,
            model: 0,
            place: Place::Underway,
            unborn: u32::MAX,
            starts_before: 0,
            start_under_way: false,
            admitted: now,
            joined: None,
            first_token: None,
            cold: false,
            served_by: None,
            queue: Duration::ZERO,
            start: None,
            prefill: Duration::ZERO,
            first_step: Duration::ZERO,
        }
    }

    /// Puts a request where another was.
    #[inline]
    pub(super) fn renew(&mut self, record: Self) {
        // Emptied first, so that the rest is written in place.
        (self.start, self.client) = (None, None);
        *self = Self {
            generation: self.generation,
            ..record
        };
    }

    /// A replica takes the request.
    #[inline]
    pub(super) fn admit(&mut self, now: Time, replica: u32, server: &Replica) {
        let mut waited = now.since(self.arrived);
        self.cold = server.serial >= self.unborn;
        if server.ready_at > self.arrived {
            let times = server.start_between(self.arrived, now);
            waited = waited.saturating_sub(times.iter().copied().sum());
            self.start = Some(Box::new(times));
            self.cold = true;
        }
        self.queue += waited;
        self.served_by = Some((server.serial, server.placement));
        (self.admitted, self.place) = (now, Place::Running(replica));
    }

    /// Work on it begins, or begins again.
    #[inline(always)]
    pub(super) fn join(&mut self, at: Time) {
        if self.joined.is_none() {
            self.joined = Some(at);
            self.queue += at.since(self.admitted);
        }
    }

    /// Its first token leaves the replica at `at`.
    #[inline(always)]
    pub(super) fn give_first_token(&mut self, at: Time, prefill: Duration) {
        self.first_token = Some(at);
        let since_joined = at.since(self.joined.unwrap_or(self.admitted));
        self.prefill = prefill.min(since_joined);
        self.first_step = since_joined - self.prefill;
    }

    /// The way to the client.
    #[inline]
    pub(super) fn downlink(&self) -> Duration {
        let client = self.client.as_ref();
        client.map_or(Duration::ZERO, |client| client.downlink)
    }

    /// Whether news that leaves the fleet at `at` reaches the client before it gives up.
    #[inline]
    pub(super) fn is_heard(&self, at: Time) -> bool {
        at + self.downlink() <= self.deadline
    }

    /// The story of the request, over on the fleet's side at `at`.
    #[inline]
    pub(super) fn trace(&self, at: Time, outcome: Outcome) -> RequestTrace {
        // A token that has not left the replica when the request ends never reaches the client.
        let first_token = self
            .first_token
            .filter(|&first| first <= at)
            .map(|first| first + self.downlink());
        let gave_up = outcome == Outcome::TimedOut;
        RequestTrace {
            origin: self.origin,
            deployment: self.deployment,
            sent: self.sent,
            arrived: self.arrived,
            first_token: first_token.filter(|_| !gave_up),
            end: if gave_up {
                self.deadline
            } else {
                at + self.downlink()
            },
            outcome,
            cold: self.cold,
            replica: self.served_by.map(|(serial, _)| serial),
            placement: self.served_by.map(|(_, placement)| placement),
            prompt_tokens: self.job.prompt_tokens,
            output_tokens: self.job.output_tokens,
            parts: Parts {
                network: self.network(),
                queue: self.queue,
                start: self.start.as_deref().copied().unwrap_or_default(),
                prefill: self.prefill,
                first_step: self.first_step,
            },
        }
    }

    /// The way to the fleet and back.
    #[inline]
    fn network(&self) -> Duration {
        let client = self.client.as_ref();
        client.map_or(Duration::ZERO, |client| client.network)
    }

    /// Writes down what the benchmark's client will learn of its request, called `id`.
    pub(super) fn observe(&mut self, id: RequestId, trace: &RequestTrace) {
        let tokens = if trace.outcome == Outcome::Succeeded {
            trace.output_tokens
        } else {
            0
        };
        let Some(client) = &mut self.client else {
            return;
        };
        client.observation = Some(Observation::new(
            id,
            EndpointId(self.deployment),
            client.due,
            self.sent,
            trace.first_token,
            trace.end,
            tokens,
            trace.outcome,
        ));
    }
}
