//! The simulated target: one provider's fleet in virtual time.
//!
//! A [`Fleet`] owns all state and one calendar; every change happens in `Fleet::handle`, one match over the event. Other
//! users' demand lives inside it. A benchmark's requests come through [`Target`] and are served like anybody's.
//!
//! Rules that decide results:
//!
//! 1. Events of one instant run in the order of their class, then of their scheduling.
//! 2. Requests bind late: a waiting request takes whichever replica of its model is free first, first come first served within
//!    its priority. No request waits while a replica of its model is ready and has room (unless the router filled the
//!    replicas' own queues). Under the rule "per request" nothing is held: a request that finds no room is bound to the
//!    replica that it starts.
//! 3. Keep-alive counts from when a replica is ready and idle. An arrival at the very instant of expiry finds it warm.
//! 4. A start goes on when the client that caused it leaves, unless the scenario says otherwise. A request that may not wake a
//!    model is refused (503) as soon as nothing is ready and nothing is on its way.
//! 5. Everything random about a request is drawn when it is created, from streams of its own, so two policies meet the same
//!    demand.

#![expect(
    clippy::inline_always,
    reason = "a request's way through the fleet is one hot path: its calls were a seventh of its instructions"
)]

mod admission;
mod autoscaler;
mod client;
pub mod cold_start;
pub mod config;
mod departures;
mod deployment;
mod ends;
mod event;
mod gpu_pool;
mod gpus;
mod idle;
mod ladder;
pub mod ledger;
mod node_cache;
pub mod probe;
mod ranking;
mod record;
mod replica;
mod requests;
mod router;
mod scaling;
mod service;
mod sharing;
mod spot;
mod starts;
mod storage;

pub use client::{Census, Ticket};
pub use cold_start::{PhasePlan, PhaseTime, StartPlan, Transfer};
pub use config::FleetConfig;
pub use ledger::{Activity, Ledger};
pub use probe::{Origin, Parts, Probe, ReplicaMoved, RequestTrace};
pub use replica::Stage;

pub use crate::start_phase::StartPhase;

use crate::calendar::Calendar;
use crate::observation::Observation;
use crate::request::Request;
use crate::streams::Streams;
use crate::target::Target;
use crate::time::{Duration, Time};
use config::Rule;
use deployment::Deployment;
use event::Event;
use gpu_pool::Pool;
use record::Record;
use replica::Replica;
use service::Leaving;
use std::collections::VecDeque;
use std::hint::cold_path;
use storage::Link;

/// A provider's fleet, watched by `P`.
#[derive(Debug)]
pub struct Fleet<P = ()> {
    phase: Duration,
    network: config::Network,
    calendar: Calendar<Event>,
    deployments: Vec<Deployment>,
    pools: Vec<Pool>,
    links: Vec<Link>,
    /// Replicas in a reusable arena; the free places are listed.
    replicas: Vec<Replica>,
    free_replicas: Vec<u32>,
    next_serial: u32,
    /// Starts that wait for GPUs, first come first served.
    waiting_starts: VecDeque<u32>,
    /// Requests in a reusable arena; the free places are listed.
    records: Vec<Record>,
    free_records: Vec<u32>,
    /// When the measured window opened.
    opened: Time,
    /// What benchmark clients have seen and the driver has not taken yet.
    outbox: VecDeque<Observation>,
    /// Requests that left the replica that is at work, whose ends have yet to be told.
    leaving: Vec<Leaving>,
    probe: P,
}

impl<P: Probe> Fleet<P> {
    /// A fleet at its origin, with the replicas that the scenario says are there.
    pub fn new(config: FleetConfig, provider: &str, streams: Streams, probe: P) -> Self {
        let deployments: Vec<Deployment> = config
            .deployments
            .iter()
            .map(|deployment| Deployment::new(deployment.clone(), provider, &config, streams))
            .collect();
        let mut fleet = Self {
            phase: config.phase,
            network: config.network,
            calendar: Calendar::new(),
            deployments,
            pools: config
                .pools
                .iter()
                .map(|pool| Pool::new(pool, provider, streams))
                .collect(),
            links: config
                .links
                .iter()
                .map(|link| Link::new(link.bytes_per_s))
                .collect(),
            replicas: Vec::new(),
            free_replicas: Vec::new(),
            next_serial: 0,
            waiting_starts: VecDeque::new(),
            records: Vec::new(),
            free_records: Vec::new(),
            opened: Time::ZERO,
            outbox: VecDeque::new(),
            leaving: Vec::new(),
            probe,
        };
        for deployment in 0..fleet.deployments.len() as u32 {
            fleet.begin(deployment, config.window);
        }
        fleet.schedule_reclaims(config.window);
        fleet.evict_for_waiting();
        fleet
    }

    /// Puts a deployment's initial replicas, weights and clocks in place.
    fn begin(&mut self, deployment: u32, window: Time) {
        let config = self.deployments[deployment as usize].config.clone();
        for (rung, level) in config.rungs.iter().enumerate() {
            for _ in 0..level.initial {
                self.put_on_rung(deployment, rung);
            }
        }
        for _ in 0..config.scaling.initial.min(config.scaling.max) {
            self.place_initial(deployment);
        }
        for stream in 0..config.traffic.len() as u32 {
            self.schedule_arrival(deployment, stream);
            for _ in 0..self.deployment(deployment).streams[stream as usize]
                .arrivals
                .clients()
            {
                self.think(deployment, stream);
            }
        }
        for offset in &config.losses.failures_at {
            self.schedule(window + *offset, Event::FailureAt { deployment });
        }
        match &config.scaling.rule {
            Rule::Poll { interval, .. } => {
                self.schedule(Time::ZERO + *interval, Event::Tick { deployment });
            }
            Rule::Windowed(rule) => {
                self.schedule(Time::ZERO + rule.tick, Event::Tick { deployment });
            }
            Rule::Arrival { .. } | Rule::PerRequest | Rule::Fixed => {}
        }
        self.schedule_warm_hours(deployment);
        self.scale(deployment);
    }

    /// Opens the measured window: every account starts at zero from here. At the origin that is so already, and what began
    /// there belongs to the window.
    pub fn open_window(&mut self) {
        if self.now() == Time::ZERO {
            return;
        }
        self.account_everything();
        self.opened = self.now();
        for deployment in &mut self.deployments {
            deployment.ledger = Ledger::new(&deployment.config);
            deployment.ledger.in_flight_start = u64::from(deployment.in_system);
            deployment.ledger.peak_replicas = deployment.ready + deployment.starting;
        }
    }

    /// Closes the measured window, opened at `opened`; the accounts of all deployments.
    pub fn close_window(&mut self, opened: Time) -> Vec<Ledger> {
        self.account_everything();
        let window = self.now().since(opened);
        self.deployments
            .iter()
            .map(|deployment| {
                let mut ledger = deployment.ledger.clone();
                ledger.window = window;
                ledger.in_flight_end = u64::from(deployment.in_system);
                assert!(
                    ledger.is_conserved(),
                    "requests lost or invented: {ledger:?}"
                );
                ledger
            })
            .collect()
    }

    /// The probe.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }

    /// The probe, when the fleet has done its work.
    pub fn into_probe(self) -> P {
        self.probe
    }

    fn account_everything(&mut self) {
        let now = self.now();
        for replica in 0..self.replicas.len() as u32 {
            self.book_replica(replica);
        }
        for deployment in &mut self.deployments {
            deployment.account(now);
            deployment.account_rungs(now);
        }
    }

    #[inline]
    fn schedule(&mut self, at: Time, event: Event) {
        self.calendar.schedule(at, event.class(), event);
    }

    fn deployment(&mut self, deployment: u32) -> &mut Deployment {
        &mut self.deployments[deployment as usize]
    }

    fn replica(&mut self, replica: u32) -> &mut Replica {
        &mut self.replicas[replica as usize]
    }

    /// Does what an event says, unless its cause has gone.
    #[inline(always)]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Work {
                replica,
                generation,
            }
            | Event::Begin {
                replica,
                generation,
            } => {
                if self.replica(replica).wake_generation == generation {
                    self.work(replica);
                }
            }
            Event::Observed { request } => self.observed(request),
            Event::PhaseOver {
                replica,
                generation,
            } => {
                if self.replica(replica).generation == generation {
                    self.phase_over(replica);
                }
            }
            Event::LoadOver { link, generation } => {
                if self.links[link as usize].generation == generation {
                    self.loads_over(link);
                }
            }
            Event::Arrival { deployment, stream } => self.arrival(deployment, stream),
            Event::Probe {
                request,
                generation,
            } => self.probe_arrives(request, generation),
            Event::ClientTimeout {
                request,
                generation,
            } => self.client_timeout(request, generation),
            Event::QueueTimeout {
                request,
                generation,
            } => self.queue_timeout(request, generation),
            Event::Idle { replica } => self.idle_event(replica),
            Event::Failure {
                replica,
                generation,
            } => {
                if self.replica(replica).generation == generation {
                    self.fail_replica(replica);
                }
            }
            Event::FailureAt { deployment } => self.fail_oldest(deployment),
            Event::Switched {
                replica,
                generation,
            } => {
                if self.replica(replica).generation == generation {
                    self.switched(replica);
                }
            }
            Event::Reclaim { pool, node } => self.reclaim(pool, node),
            Event::ReclaimAt { pool } => self.reclaim_first(pool),
            Event::NodeGone { pool, node } => self.node_gone(pool, node),
            Event::NodeBack { pool, node } => self.node_back(pool, node),
            Event::Sink {
                deployment,
                rung,
                ticket,
            } => self.sink(deployment, rung as usize, ticket),
            Event::Refill { deployment, rung } => self.refill(deployment, rung as usize),
            Event::WarmHours { deployment } => self.warm_hours_change(deployment),
            Event::Tick { deployment } => self.tick(deployment),
        }
    }
}

impl<P: Probe> Target for Fleet<P> {
    fn now(&self) -> Time {
        self.calendar.now()
    }

    fn submit(&mut self, request: Request) {
        self.submit_benchmark(request);
    }

    fn advance(&mut self, until: Time) -> Option<Observation> {
        loop {
            if let Some(observation) = self.outbox.pop_front() {
                cold_path();
                return Some(observation);
            }
            let event = self.calendar.pop_before(until)?;
            self.probe.event(self.calendar.now(), &event);
            self.handle(event);
            if !self.waiting_starts.is_empty() {
                self.evict_for_waiting();
            }
        }
    }
}
