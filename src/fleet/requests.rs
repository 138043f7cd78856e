//! A request's way to its replica: arrival, waiting, service.

use super::Fleet;
use super::admission::Admitted;
use super::config::{OverContext, Router, Rule};
use super::departures::Refusal;
use super::event::Event;
use super::probe::{Origin, Probe};
use super::record::{Client, Place, Record};
use crate::batching::Job;
use crate::distribution::Distribution;
use crate::request::Request;
use crate::target::Target;
use crate::time::{Duration, Time};

impl<P: Probe> Fleet<P> {
    pub(super) fn record(&mut self, request: u32) -> &mut Record {
        &mut self.records[request as usize]
    }

    #[inline(always)]
    fn new_record(&mut self, record: Record) -> u32 {
        let place = if let Some(place) = self.free_records.pop() {
            self.records[place as usize].renew(record);
            place
        } else {
            self.records.push(record);
            self.records.len() as u32 - 1
        };
        self.records[place as usize].job.key = place;
        place
    }

    #[inline]
    pub(super) fn free_record(&mut self, request: u32) {
        let record = self.record(request);
        record.generation = record.generation.wrapping_add(1);
        self.free_records.push(request);
    }

    /// Takes a request from the benchmark's client and sends it on its way.
    #[cold]
    pub(super) fn submit_benchmark(&mut self, request: Request) -> u32 {
        let now = self.now();
        let deployment = request.endpoint.0;
        let network = self.network.clone();
        let stream = &mut self.deployment(deployment).draws.network;
        let rtt = network.rtt.sample(stream);
        let handshakes = if network.new_connection {
            2.0 * rtt
        } else {
            0.0
        };
        let uplink = Duration::from_secs(handshakes + rtt / 2.0 + network.gateway.sample(stream));
        let downlink = Duration::from_secs(rtt / 2.0);
        let job = self.benchmark_job(deployment, &request);
        let key = self.new_record(Record {
            client: Some(Box::new(Client {
                due: request.due,
                downlink,
                network: uplink + downlink,
                observation: None,
            })),
            ..Record::fresh(Origin::Benchmark(request.id), deployment, true, now, job)
        });
        let generation = self.record(key).generation;
        self.schedule(
            now + uplink,
            Event::Probe {
                request: key,
                generation,
            },
        );
        if let Some(timeout) = request.timeout {
            self.schedule_client_timeout(key, now + timeout);
        }
        key
    }

    #[cold]
    fn benchmark_job(&mut self, deployment: u32, request: &Request) -> Job {
        let deployment = self.deployment(deployment);
        let config = &deployment.config;
        Job {
            key: 0,
            prompt_tokens: request.prompt_tokens,
            cached_tokens: cached(request.prompt_tokens, config.cached_share),
            output_tokens: request.output_tokens,
            priority: 0,
            prefill: Duration::from_secs(config.prefill.sample(&mut deployment.draws.benchmark)),
            decode: Duration::from_secs(config.decode.sample(&mut deployment.draws.benchmark)),
        }
    }

    #[inline(always)]
    pub(super) fn schedule_arrival(&mut self, deployment: u32, stream: u32) {
        let next = self.deployment(deployment).streams[stream as usize]
            .arrivals
            .next();
        if let Some(at) = next {
            self.schedule(at, Event::Arrival { deployment, stream });
        }
    }

    /// Another user's request arrives; the next one is put on the calendar.
    pub(super) fn arrival(&mut self, deployment: u32, stream: u32) {
        let now = self.now();
        let own = &mut self.deployments[deployment as usize];
        let config = &own.config.traffic[stream as usize];
        let traffic = &mut own.streams[stream as usize];
        let row = traffic.arrivals.row();
        let mut drawn = |law: &Distribution| tokens(law.sample(&mut traffic.lengths));
        let prompt_tokens = row
            .prompt_tokens
            .unwrap_or_else(|| drawn(&config.prompt_tokens));
        let output_tokens = row
            .output_tokens
            .unwrap_or_else(|| drawn(&config.output_tokens));
        let job = Job {
            key: 0,
            prompt_tokens,
            cached_tokens: cached(prompt_tokens, config.cached_share),
            output_tokens,
            priority: config.priority,
            prefill: Duration::from_secs(config.prefill.sample(&mut traffic.service)),
            decode: Duration::from_secs(config.decode.sample(&mut traffic.service)),
        };
        let (wakes, timeout) = (config.wakes, config.timeout);
        let record = Record {
            model: config.model,
            ..Record::fresh(Origin::Traffic(stream), deployment, wakes, now, job)
        };
        let key = self.new_record(record);
        if let Some(timeout) = timeout {
            self.schedule_client_timeout(key, now + timeout);
        }
        self.schedule_arrival(deployment, stream);
        self.arrived(key);
    }

    #[inline(never)]
    fn schedule_client_timeout(&mut self, request: u32, at: Time) {
        let record = self.record(request);
        record.deadline = at;
        let generation = record.generation;
        self.schedule(
            at,
            Event::ClientTimeout {
                request,
                generation,
            },
        );
    }

    /// A benchmark's request is at the fleet's door, unless its client gave up before it got here.
    #[cold]
    pub(super) fn probe_arrives(&mut self, request: u32, generation: u32) {
        let record = self.record(request);
        if record.generation == generation && record.place == Place::Underway {
            self.arrived(request);
        }
    }

    /// A request is at the fleet's door.
    #[inline(always)]
    fn arrived(&mut self, request: u32) {
        let now = self.now();
        let record = &mut self.records[request as usize];
        let own = &mut self.deployments[record.deployment as usize];
        record.arrived = now;
        record.unborn = self.next_serial;
        (record.starts_before, record.start_under_way) = (own.started, own.starting > 0);
        own.arrives(now, record.wakes);
        self.probe.request_arrived(record.origin);
        if own.config.over_context == OverContext::Truncate {
            own.truncate(&mut record.job);
        }
        self.receive(request);
    }

    /// Serves a request, lets it wait, or refuses it; starts replicas if it may.
    #[inline(always)]
    fn receive(&mut self, request: u32) {
        let record = &self.records[request as usize];
        let (deployment, wakes) = (record.deployment, record.wakes);
        let own = &self.deployments[deployment as usize];
        if record.job.tokens() > own.most_tokens {
            return self.refuse(request, Refusal::CannotFit);
        }
        if own.ready == 0 {
            if !own.config.admission.hold_while_cold && wakes {
                // The refused request still wakes the model, like a 503 from an endpoint that initialises.
                self.scale(deployment);
                return self.refuse(request, Refusal::Cold);
            }
            if own.starting == 0 && !wakes {
                return self.refuse(request, Refusal::Cold);
            }
        }
        self.route(request);
        self.scale(deployment);
    }

    /// Gives a request to a replica, to a replica's queue, or to the hold queue.
    #[inline(always)]
    pub(super) fn route(&mut self, request: u32) {
        let deployment = self.record(request).deployment;
        let own = &self.deployments[deployment as usize];
        if matches!(own.config.scaling.rule, Rule::PerRequest) {
            return self.bind(request);
        }
        if own.config.router == Router::SharedQueue || own.ready == 0 {
            return self.hold(request);
        }
        self.queue_up(request);
    }

    /// Gives a request to a ready replica's own queue.
    #[cold]
    fn queue_up(&mut self, request: u32) {
        let deployment = self.record(request).deployment;
        let replica = self.choose_queue(deployment);
        let limit = self.deployments[deployment as usize]
            .config
            .admission
            .queue_limit as usize;
        if self.replica(replica).queue.len() >= limit && !self.has_room(replica, request) {
            self.refuse(request, Refusal::Queue);
            return;
        }
        self.replica(replica).queue.push_back(request);
        self.record(request).place = Place::Queued(replica);
        self.start_queue_timer(request);
        self.feed(replica);
    }

    /// Gives a request to a free replica, or starts one that is its own; refuses it where none may start.
    fn bind(&mut self, request: u32) {
        let (deployment, wakes) = (self.record(request).deployment, self.record(request).wakes);
        if let Some(replica) = self.choose_free(deployment, request) {
            return self.admit(replica, request);
        }
        let own = &self.deployments[deployment as usize];
        if !wakes {
            return self.refuse(request, Refusal::Cold);
        }
        if own.ready + own.starting >= own.config.scaling.max || !self.make_room(deployment) {
            return self.refuse(request, Refusal::Queue);
        }
        self.start_queue_timer(request);
        self.start_for(deployment, Some(request));
    }

    /// A replica keeps a request before all others that wait there.
    #[cold]
    pub(super) fn keep_first(&mut self, replica: u32, request: u32) {
        self.replica(replica).queue.push_front(request);
        self.replica(replica).outstays = false;
        self.record(request).place = Place::Queued(replica);
        self.update(replica);
    }

    /// A replica that starts keeps a request for itself.
    #[cold]
    pub(super) fn keep_for(&mut self, replica: u32, request: u32) {
        self.replica(replica).queue.push_back(request);
        self.record(request).place = Place::Queued(replica);
    }

    /// Gives a request to a free replica, or puts it into the hold queue, if the queue takes it.
    #[inline(always)]
    fn hold(&mut self, request: u32) {
        let record = &self.records[request as usize];
        let (deployment, priority) = (record.deployment, record.job.priority);
        let is_first = self.deployments[deployment as usize].held.is_empty();
        if is_first && let Some(replica) = self.choose_free(deployment, request) {
            return self.admit(replica, request);
        }
        self.wait(request, deployment, priority);
        if !is_first {
            self.pull(deployment);
        }
    }

    /// Puts a request into the hold queue, if the queue takes it.
    #[inline(never)]
    fn wait(&mut self, request: u32, deployment: u32, priority: u8) {
        let own = self.deployment(deployment);
        let limit = own.config.admission.queue_limit;
        match own.held.offer(request, priority, limit) {
            Admitted::Held => {}
            Admitted::Displaced(other) => {
                self.record(other).place = Place::Underway;
                self.refuse(other, Refusal::Queue);
            }
            Admitted::Refused => return self.refuse(request, Refusal::Queue),
        }
        self.record(request).place = Place::Held;
        self.start_queue_timer(request);
    }

    fn start_queue_timer(&mut self, request: u32) {
        let (deployment, generation) = (
            self.record(request).deployment,
            self.record(request).generation,
        );
        if let Some(timeout) = self.deployment(deployment).config.admission.queue_timeout {
            let at = self.now() + timeout;
            self.schedule(
                at,
                Event::QueueTimeout {
                    request,
                    generation,
                },
            );
        }
    }

    #[inline(always)]
    pub(super) fn has_room(&self, replica: u32, request: u32) -> bool {
        self.replicas[replica as usize].has_room(self.now(), &self.records[request as usize])
    }

    /// The request that is served next, and by whom: the first, or the first that finds room where one may overtake
    /// another.
    fn next_served(&self, deployment: u32) -> Option<(u32, u32)> {
        let own = &self.deployments[deployment as usize];
        let sharing = own.config.sharing.as_ref();
        let most = if sharing.is_some_and(|sharing| sharing.first_fit) {
            usize::MAX
        } else {
            1
        };
        let mut waiting = own.held.iter().take(most);
        waiting.find_map(|request| Some((request, self.choose_free(deployment, request)?)))
    }

    /// Serves held requests while a replica has room for the first of them.
    #[inline]
    pub(super) fn pull(&mut self, deployment: u32) {
        let own = &self.deployments[deployment as usize];
        if !own.held.is_empty()
            && (!own.open.is_empty() || own.config.router != Router::SharedQueue)
        {
            self.pull_held(deployment);
        }
    }

    fn pull_held(&mut self, deployment: u32) {
        while let Some(request) = self.deployments[deployment as usize].held.head() {
            if self.deployments[deployment as usize].config.router != Router::SharedQueue {
                if self.deployments[deployment as usize].ready == 0 {
                    return;
                }
                self.deployment(deployment).held.pop();
                self.route(request);
                continue;
            }
            let Some((request, replica)) = self.next_served(deployment) else {
                return;
            };
            self.deployment(deployment).held.remove(request);
            self.admit(replica, request);
        }
    }

    /// Serves held requests now that `replica` has changed. The other replicas had no room for the first of them before and
    /// have none now.
    #[inline]
    pub(super) fn pull_for(&mut self, deployment: u32, replica: u32) {
        let own = &self.deployments[deployment as usize];
        let Some(request) = own.held.head() else {
            return;
        };
        let is_in_order = own.config.sharing.is_none();
        if own.config.router == Router::SharedQueue && is_in_order {
            if !self.has_room(replica, request) {
                return;
            }
            self.deployment(deployment).held.pop();
            self.admit(replica, request);
        } else {
            self.update(replica);
        }
        self.pull(deployment);
    }
}

/// A drawn length as a whole number of tokens, at least one.
#[inline]
fn tokens(drawn: f64) -> u32 {
    // What `round` gives for all that is not below one, without a call; conversions saturate.
    ((drawn + 0.5) as u32).max(1)
}

/// Tokens of a prompt that the prefix cache holds.
#[inline]
fn cached(prompt_tokens: u32, share: f64) -> u32 {
    if share == 0.0 {
        return 0;
    }
    ((f64::from(prompt_tokens) * share) as u32).min(prompt_tokens)
}
