//! The ends of requests: answered, refused, given up, lost; and what their leaving sets free.

use super::Fleet;
use super::event::Event;
use super::probe::{Origin, Probe};
use super::record::Place;
use crate::observation::Outcome;
use crate::request::RequestId;
use crate::target::Target;
use crate::time::Time;

impl<P: Probe> Fleet<P> {
    #[inline(always)]
    pub(super) fn finish(&mut self, request: u32, at: Time) {
        let record = &self.records[request as usize];
        if !record.is_heard(record.first_token.unwrap_or(at)) {
            return self.end_unheard(request, at);
        }
        let ledger = &mut self.deployments[record.deployment as usize].ledger;
        ledger.succeeded += 1;
        ledger.prompt_tokens += u64::from(record.job.prompt_tokens);
        ledger.output_tokens += u64::from(record.job.output_tokens);
        self.end(request, at, Outcome::Succeeded);
    }

    /// A request is over while its first news is on the way to a client who will not wait for it.
    #[cold]
    fn end_unheard(&mut self, request: u32, at: Time) {
        let deployment = self.record(request).deployment;
        self.deployment(deployment).ledger.timed_out += 1;
        self.end(request, at, Outcome::TimedOut);
    }

    /// Refuses a request that no replica holds.
    #[cold]
    pub(super) fn refuse(&mut self, request: u32, refusal: Refusal) {
        let (now, deployment) = (self.now(), self.record(request).deployment);
        if !self.record(request).is_heard(now) {
            return self.end_unheard(request, now);
        }
        let own = self.deployment(deployment);
        let (count, status) = match refusal {
            Refusal::Queue => (&mut own.ledger.rejected_queue, 429),
            Refusal::QueueTimeout => (
                &mut own.ledger.rejected_queue,
                own.config.admission.timeout_status,
            ),
            Refusal::Cold => (&mut own.ledger.rejected_cold, 503),
            Refusal::CannotFit => (&mut own.ledger.rejected_cannot_fit, 413),
        };
        *count += 1;
        self.end(request, now, Outcome::Rejected { status });
    }

    /// A request is over on the fleet's side at `at`.
    #[inline(always)]
    fn end(&mut self, request: u32, at: Time, outcome: Outcome) {
        let now = self.now();
        let record = &self.records[request as usize];
        let (deployment, origin) = (record.deployment, record.origin);
        let own = &mut self.deployments[deployment as usize];
        own.change_in_system(now, record.wakes, -1);
        own.ledger.cold_requests += u64::from(record.cold);
        let (is_shared, has_clients) = (own.config.sharing.is_some(), own.has_clients);
        if is_shared {
            self.leave_model(request);
        }
        if has_clients && let Origin::Traffic(stream) = origin {
            self.think(deployment, stream);
        }
        self.close(request, at, outcome);
    }

    /// The client of a closed loop thinks, then sends its next request.
    #[cold]
    pub(super) fn think(&mut self, deployment: u32, stream: u32) {
        let now = self.now();
        let traffic = &mut self.deployment(deployment).streams[stream as usize];
        if let Some(span) = traffic.arrivals.think() {
            self.schedule(now + span, Event::Arrival { deployment, stream });
        }
    }

    /// Tells the probe and, if it was the benchmark's, the client.
    #[inline(always)]
    fn close(&mut self, request: u32, at: Time, outcome: Outcome) {
        let record = &self.records[request as usize];
        if let Origin::Benchmark(id) = record.origin {
            return self.close_benchmark(request, id, at, outcome);
        }
        self.probe.request_ended(&record.trace(at, outcome));
        self.free_record(request);
    }

    #[cold]
    fn close_benchmark(&mut self, request: u32, id: RequestId, at: Time, outcome: Outcome) {
        let record = &mut self.records[request as usize];
        let trace = record.trace(at, outcome);
        self.probe.request_ended(&trace);
        record.place = Place::Ended;
        record.observe(id, &trace);
        self.schedule(trace.end, Event::Observed { request });
    }

    /// The benchmark's client learns how its request ended.
    #[cold]
    pub(super) fn observed(&mut self, request: u32) {
        let client = self.record(request).client.take();
        let observation = client.and_then(|client| client.observation);
        self.outbox
            .push_back(observation.expect("an ended request has an observation"));
        self.free_record(request);
    }

    /// A client gives up, unless its first token is there.
    pub(super) fn client_timeout(&mut self, request: u32, generation: u32) {
        let now = self.now();
        let record = &self.records[request as usize];
        let has_token = record
            .first_token
            .is_some_and(|first| record.is_heard(first));
        if record.generation != generation || record.place == Place::Ended || has_token {
            return;
        }
        if record.place == Place::Underway {
            return self.give_up_underway(request);
        }
        let deployment = record.deployment;
        let (before, under_way, never_served) = (
            record.starts_before,
            record.start_under_way,
            record.served_by.is_none(),
        );
        let place = record.place;
        let is_asleep = self.is_asleep(deployment);
        let nothing_started = self.deployment(deployment).started == before && !under_way;
        let ledger = &mut self.deployment(deployment).ledger;
        ledger.timed_out += 1;
        ledger.missed_by_sampling += u64::from(never_served && nothing_started && is_asleep);
        self.note_unserved(request);
        self.leave(request, place);
        self.end(request, now, Outcome::TimedOut);
        self.after_leaving(deployment, place);
    }

    /// Whether a deployment has nothing ready and nothing on the way.
    #[inline]
    fn is_asleep(&self, deployment: u32) -> bool {
        let own = &self.deployments[deployment as usize];
        own.ready == 0 && own.starting == 0
    }

    /// The client gave up while its request was still on the network: the fleet never counts it.
    #[cold]
    fn give_up_underway(&mut self, request: u32) {
        let now = self.now();
        self.close(request, now, Outcome::TimedOut);
    }

    /// A held request has waited for as long as the provider lets it.
    pub(super) fn queue_timeout(&mut self, request: u32, generation: u32) {
        let record = &self.records[request as usize];
        let place = record.place;
        if record.generation != generation || !matches!(place, Place::Held | Place::Queued(_)) {
            return;
        }
        let deployment = record.deployment;
        self.note_unserved(request);
        self.leave(request, place);
        self.refuse(request, Refusal::QueueTimeout);
        self.after_leaving(deployment, place);
    }

    /// Marks a request that gives up while a replica is on its way: it met a cold start, though it saw no end of it.
    #[cold]
    fn note_unserved(&mut self, request: u32) {
        let record = &self.records[request as usize];
        let own = &self.deployments[record.deployment as usize];
        let has_own_start = matches!(record.place, Place::Queued(replica)
            if self.replicas[replica as usize].stage.is_starting());
        let waits_for_start = own.ready == 0 && own.starting > 0 || has_own_start;
        self.record(request).cold |= record.served_by.is_none() && waits_for_start;
    }

    /// Takes a request out of wherever it is.
    fn leave(&mut self, request: u32, place: Place) {
        match place {
            Place::Held => {
                let deployment = self.record(request).deployment;
                self.deployment(deployment).held.remove(request);
            }
            Place::Queued(replica) => self
                .replica(replica)
                .queue
                .retain(|&other| other != request),
            Place::Running(replica) => self.cancel(replica, request),
            Place::Underway | Place::Ended => {}
        }
    }

    /// A request's leaving may have freed a replica or made a start pointless.
    fn after_leaving(&mut self, deployment: u32, place: Place) {
        match place {
            Place::Running(replica) | Place::Queued(replica) => self.freed(replica),
            Place::Held | Place::Underway | Place::Ended => self.pull(deployment),
        }
        self.settle(deployment);
    }

    /// The replica that held these requests has died.
    #[cold]
    pub(super) fn lose(&mut self, requests: Vec<u32>) {
        let now = self.now();
        for request in requests {
            let record = &self.records[request as usize];
            let deployment = record.deployment;
            let news = record.first_token.map_or(now, |first| first.min(now));
            if !record.is_heard(news) {
                self.end_unheard(request, now);
                continue;
            }
            self.deployment(deployment).ledger.failed += 1;
            self.end(request, now, Outcome::Failed);
        }
    }

    /// Refuses what waits for a deployment that has fallen asleep and that nobody who may wake it waits for.
    #[inline]
    pub(super) fn refuse_stranded(&mut self, deployment: u32) {
        while self.is_asleep(deployment) && self.deployments[deployment as usize].waking == 0 {
            let Some(request) = self.deployment(deployment).held.pop() else {
                return;
            };
            self.refuse(request, Refusal::Cold);
        }
    }

    /// Sends requests of a replica that takes nothing more back to the router.
    #[cold]
    pub(super) fn reroute(&mut self, requests: impl IntoIterator<Item = u32>) {
        for request in requests {
            self.record(request).place = Place::Underway;
            self.route(request);
        }
    }
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Queue,
    QueueTimeout,
    Cold,
    CannotFit,
}
