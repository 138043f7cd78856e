//! Starts: a replica comes to be, phase by phase, or is given up on the way.

use super::cold_start::{PhaseTime, StartPlan, Transfer};
use super::config::Share;
use super::event::Event;
use super::gpu_pool::Place;
use super::ledger::Activity;
use super::node_cache::Level;
use super::probe::Probe;
use super::replica::{Holding, Replica, Start};
use super::sharing::Residents;
use super::{Fleet, Stage};
use crate::batching::Executor;
use crate::distribution::Distribution;
use crate::start_phase::StartPhase;
use crate::target::Target;
use crate::time::{Duration, Time};
use std::collections::VecDeque;

impl<P: Probe> Fleet<P> {
    /// Starts a replica for whoever comes first.
    pub(super) fn start(&mut self, deployment: u32) {
        self.start_for(deployment, None);
    }

    /// Starts a replica from the warmest rung that holds weights, perhaps for one request alone.
    pub(super) fn start_for(&mut self, deployment: u32, request: Option<u32>) {
        let now = self.now();
        let own = self.deployment(deployment);
        own.account(now);
        own.account_rungs(now);
        let rung = own
            .rungs
            .iter_mut()
            .position(super::deployment::RungStock::take)
            .unwrap_or(own.rungs.len());
        own.starting += 1;
        own.started += 1;
        own.ledger.starts[rung] += 1;
        own.ledger.peak_replicas = own.ledger.peak_replicas.max(own.ready + own.starting);
        self.schedule_refill(deployment, rung);
        let replica = self.new_replica(deployment, Stage::Provisioning);
        self.replica(replica).start.rung = rung;
        self.tell(replica);
        if let Some(request) = request {
            self.keep_for(replica, request);
        }
        self.replica(replica)
            .start
            .phases
            .push((StartPhase::GpuWait, now));
        if self.waits_behind(replica) || !self.take_gpus(replica) {
            self.wait_for_gpus(replica);
        }
    }

    /// A replica in a free place of the arena.
    fn new_replica(&mut self, deployment: u32, stage: Stage) -> u32 {
        let serial = self.next_serial;
        self.next_serial += 1;
        let now = self.now();
        let executor =
            Executor::new(&self.deployments[deployment as usize].config.placements[0].batching);
        let fresh = Replica {
            serial,
            deployment,
            generation: 0,
            stage,
            placement: 0,
            holds_gpus: false,
            holding: Box::new(Holding {
                place: Place::default(),
                gpus: 0,
                share: Share::WHOLE,
                usd_per_gpu_hour: 0.0,
            }),
            start: Box::new(Start {
                rung: 0,
                level: Level::Remote,
                next_phase: 0,
                phases: Vec::new(),
            }),
            evicting_pool: None,
            most_requests: 0,
            ready_at: Time::MAX,
            executor,
            residents: None,
            queue: VecDeque::new(),
            wake_at: None,
            wake_generation: 0,
            idle_since: now,
            open_rank: None,
            is_evictable: false,
            expires_at: Time::MAX,
            evicted_at: Time::MAX,
            outstays: false,
            idle_event: None,
            activity: None,
            accounted: now,
            times: [Duration::ZERO; Activity::ALL.len()],
        };
        let place = if let Some(place) = self.free_replicas.pop() {
            let old = &self.replicas[place as usize];
            self.replicas[place as usize] = Replica {
                generation: old.generation,
                wake_generation: old.wake_generation,
                idle_event: old.idle_event,
                ..fresh
            };
            place
        } else {
            self.replicas.push(fresh);
            self.replicas.len() as u32 - 1
        };
        self.deployment(deployment).replicas.push(place);
        place
    }

    /// Puts a replica that has been ready for long in place, as the run begins.
    pub(super) fn place_initial(&mut self, deployment: u32) {
        let replica = self.new_replica(deployment, Stage::Provisioning);
        if !self.claim(replica) {
            self.forget(replica);
            return;
        }
        self.deployment(deployment).starting += 1;
        self.replica(replica).ready_at = Time::ZERO;
        self.become_ready(replica);
    }

    /// Takes GPUs from the first placement that has them.
    fn claim(&mut self, replica: u32) -> bool {
        let deployment = self.replica(replica).deployment;
        let Some((placement, place)) = self.find_place(deployment) else {
            return false;
        };
        let own = &self.deployments[deployment as usize].config.placements[placement as usize];
        let server = &mut self.replicas[replica as usize];
        server.placement = placement;
        server.executor = Executor::new(&own.batching);
        let sharing = self.deployments[deployment as usize]
            .config
            .sharing
            .as_ref();
        server.residents = sharing.map(|sharing| Box::new(Residents::new(sharing)));
        *server.holding = Holding {
            place,
            gpus: own.gpus,
            share: own.share,
            usd_per_gpu_hour: own.usd_per_gpu_hour,
        };
        server.evicting_pool = own.pool.filter(|&pool| self.pools[pool].evict_idle);
        server.most_requests = own.batching.most_requests().unwrap_or(u32::MAX);
        server.holds_gpus = true;
        self.account_replica(replica);
        true
    }

    /// Takes GPUs for a start and begins its phases.
    pub(super) fn take_gpus(&mut self, replica: u32) -> bool {
        if !self.claim(replica) {
            return false;
        }
        let (deployment, placement) = (
            self.replica(replica).deployment,
            self.replica(replica).placement,
        );
        self.deployment(deployment).ledger.starts_by_placement[placement as usize] += 1;
        self.look_for_weights(replica);
        self.next_phase(replica);
        true
    }

    /// Looks whether the node of a start from remote storage has the weights.
    fn look_for_weights(&mut self, replica: u32) {
        let server = &mut self.replicas[replica as usize];
        let own = &mut self.deployments[server.deployment as usize];
        let pool = own.config.placements[server.placement as usize].pool;
        if let Some(pool) = pool.filter(|_| server.start.rung == own.config.rungs.len()) {
            let weights = (server.deployment, server.placement);
            server.start.level = self.pools[pool].level(server.holding.place.node, weights);
            match server.start.level {
                Level::Ram => own.ledger.cached_starts[0] += 1,
                Level::Disk => own.ledger.cached_starts[1] += 1,
                Level::Remote => {}
            }
        }
    }

    /// The node of a replica that is ready has its weights, newest of all.
    fn keep_weights(&mut self, replica: u32) {
        let server = &self.replicas[replica as usize];
        let own = &self.deployments[server.deployment as usize].config;
        let placement = &own.placements[server.placement as usize];
        if let Some(pool) = placement.pool {
            let weights = (server.deployment, server.placement);
            self.pools[pool].used(server.holding.place.node, weights, placement.weight_bytes);
        }
    }

    fn plan(&self, replica: u32) -> &StartPlan {
        let server = &self.replicas[replica as usize];
        let config = &self.deployments[server.deployment as usize].config;
        let placement = &config.placements[server.placement as usize];
        match server.start.level {
            Level::Ram => &placement.cached[0],
            Level::Disk => &placement.cached[1],
            Level::Remote => &placement.starts[server.start.rung],
        }
    }

    /// Begins the next phase of a start, or ends the start.
    fn next_phase(&mut self, replica: u32) {
        let index = self.replica(replica).start.next_phase;
        let Some(plan) = self.plan(replica).phases.get(index).cloned() else {
            let now = self.now();
            self.replica(replica).ready_at = now;
            return self.become_ready(replica);
        };
        let now = self.now();
        self.replica(replica).start.next_phase += 1;
        self.replica(replica).start.phases.push((plan.phase, now));
        if self.replica(replica).stage < Stage::of(plan.phase) {
            self.replica(replica).become_stage(Stage::of(plan.phase));
            self.tell(replica);
        }
        let deployment = self.replica(replica).deployment;
        let span = match plan.time {
            PhaseTime::Stated(time) => {
                Duration::from_secs(time.sample(&mut self.deployment(deployment).draws.starts))
            }
            PhaseTime::Transfer(transfer) => match self.begin_transfer(replica, &transfer) {
                Some(span) => span,
                None => return,
            },
        };
        let generation = self.replica(replica).generation;
        self.schedule(
            now + span,
            Event::PhaseOver {
                replica,
                generation,
            },
        );
    }

    /// Begins to move weights; how long it takes, unless the link decides.
    fn begin_transfer(&mut self, replica: u32, transfer: &Transfer) -> Option<Duration> {
        let now = self.now();
        let deployment = self.replica(replica).deployment;
        let spread = transfer
            .spread
            .sample(&mut self.deployment(deployment).draws.starts);
        let bytes = transfer.bytes * spread;
        let Some(link) = transfer.link else {
            return Some(Duration::from_secs(
                transfer.first_byte_s + bytes / transfer.cap_bytes_per_s,
            ));
        };
        // The first byte's delay is moved as bytes at the load's own pace: a load alone on the link takes exactly its time.
        let bytes = bytes
            + transfer.first_byte_s * transfer.cap_bytes_per_s.min(self.links[link].bytes_per_s());
        self.links[link].add(now, replica, bytes, transfer.cap_bytes_per_s);
        self.rearm_link(link as u32);
        None
    }

    fn rearm_link(&mut self, link: u32) {
        let shared = &self.links[link as usize];
        if let Some(at) = shared.next_finish() {
            let generation = shared.generation;
            self.schedule(at.max(self.now()), Event::LoadOver { link, generation });
        }
    }

    /// Loads on a link are through.
    pub(super) fn loads_over(&mut self, link: u32) {
        let now = self.now();
        let mut through = Vec::new();
        while let Some(replica) = self.links[link as usize].take_finished(now) {
            through.push(replica);
        }
        self.rearm_link(link);
        // One that gets ready may make the start of another pointless.
        for lease in self.leases(through) {
            if self.holds(lease) {
                self.next_phase(lease.replica);
            }
        }
    }

    pub(super) fn phase_over(&mut self, replica: u32) {
        self.next_phase(replica);
    }

    /// A start is over: the replica serves.
    fn become_ready(&mut self, replica: u32) {
        let now = self.now();
        self.keep_weights(replica);
        self.replica(replica).become_stage(Stage::Ready);
        self.account_replica(replica);
        self.tell(replica);
        let deployment = self.replica(replica).deployment;
        let own = self.deployment(deployment);
        own.account(now);
        own.starting -= 1;
        own.ready += 1;
        own.ledger.peak_replicas = own.ledger.peak_replicas.max(own.ready + own.starting);
        let hazard = own.config.losses.failure_hazard;
        if hazard > 0.0 {
            let span =
                Distribution::Exponential { mean: 1.0 / hazard }.sample(&mut own.draws.losses);
            let generation = self.replica(replica).generation;
            self.schedule(
                now + Duration::from_secs(span),
                Event::Failure {
                    replica,
                    generation,
                },
            );
        }
        self.freed(replica);
        self.settle(deployment);
    }

    /// Gives up a start.
    pub(super) fn cancel_start(&mut self, replica: u32) {
        let now = self.now();
        let begun = self
            .replica(replica)
            .start
            .phases
            .get(1)
            .map(|&(_, begun)| begun);
        let (deployment, placement) = (
            self.replica(replica).deployment,
            self.replica(replica).placement,
        );
        let holds_gpus = self.replica(replica).holds_gpus;
        let opened = self.opened;
        let own = self.deployment(deployment);
        own.ledger.cancelled_starts += 1;
        if let (true, Some(begun)) = (holds_gpus, begun.map(|begun| begun.max(opened))) {
            let place = &own.config.placements[placement as usize];
            let gpu_time = u128::from(now.since(begun).as_nanos()) * u128::from(place.gpus);
            own.ledger.cancelled_gpu_time += place.share.of_time(gpu_time);
        }
        self.waiting_starts.retain(|&other| other != replica);
        for link in 0..self.links.len() as u32 {
            self.links[link as usize].remove(now, replica);
            self.rearm_link(link);
        }
        let own = self.deployment(deployment);
        own.account(now);
        own.starting -= 1;
        self.remove(replica);
    }
}
