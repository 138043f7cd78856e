//! Replicas come and go: starts and their phases, keep-alive, eviction, failure, the ladder of warmth, scaling.

use super::autoscaler;
use super::cold_start::{PhaseTime, StartPlan, Transfer};
use super::config::{KeepAlive, Rule};
use super::event::Event;
use super::ledger::Activity;
use super::probe::{Probe, ReplicaMoved};
use super::replica::Replica;
use super::{Fleet, Stage};
use crate::batching::Executor;
use crate::distribution::Distribution;
use crate::start_phase::StartPhase;
use crate::target::Target;
use crate::time::{Duration, Time};
use std::collections::VecDeque;

impl<P: Probe> Fleet<P> {
    // --- scaling ---------------------------------------------------------------------------------------------------------

    /// Starts what the deployment's rule and warm pool want now.
    pub(super) fn scale(&mut self, deployment: u32) {
        let own = &self.deployments[deployment as usize];
        let wanted = own.wanted();
        let missing = wanted.saturating_sub(own.ready + own.starting);
        for _ in 0..missing {
            self.start(deployment);
        }
        self.cancel_surplus_starts(deployment);
    }

    /// Requests have left: stops what their presence alone had kept or started.
    pub(super) fn settle(&mut self, deployment: u32) {
        self.cancel_surplus_starts(deployment);
        if self.deployments[deployment as usize].keeps_expired && self.may_stop(deployment) {
            self.sweep_expired(deployment);
        }
        self.refuse_stranded(deployment);
    }

    /// Gives up starts that nobody needs, where the scenario says so.
    pub(super) fn cancel_surplus_starts(&mut self, deployment: u32) {
        let own = &self.deployments[deployment as usize];
        if own.config.scaling.cancel_surplus_starts
            && matches!(own.config.scaling.rule, Rule::Arrival { .. })
        {
            let surplus = (own.ready + own.starting).saturating_sub(own.wanted());
            self.cancel_starts(deployment, surplus);
        }
    }

    /// Gives up as many as `surplus` starts, newest first; how many there were.
    fn cancel_starts(&mut self, deployment: u32, surplus: u32) -> u32 {
        if surplus == 0 {
            return 0;
        }
        let newest_first = self.deployments[deployment as usize]
            .replicas
            .iter()
            .rev()
            .copied();
        let starting: Vec<u32> = newest_first
            .filter(|&replica| self.replicas[replica as usize].stage.is_starting())
            .collect();
        let given_up: Vec<u32> = starting.into_iter().take(surplus as usize).collect();
        let count = given_up.len() as u32;
        for replica in given_up {
            self.cancel_start(replica);
        }
        count
    }

    /// The autoscaler looks.
    pub(super) fn tick(&mut self, deployment: u32) {
        let now = self.now();
        let own = &mut self.deployments[deployment as usize];
        let demand = own.demand();
        let (wanted, again) = match (&own.config.scaling.rule, &mut own.windows) {
            (Rule::Windowed(_), Some(windows)) => (windows.decide(now, demand), windows.tick()),
            (Rule::Poll { interval, target }, _) => (
                autoscaler::wanted(demand.in_system, *target, own.config.scaling.buffer),
                *interval,
            ),
            _ => return,
        };
        let is_windowed = own.windows.is_some();
        // Not fewer than the warm pool, nor than the activator wants: averages may forget requests that still wait.
        let wanted = wanted.max(own.wanted()).min(own.config.scaling.max);
        let existing = demand.ready + demand.starting;
        self.schedule(now + again, Event::Tick { deployment });
        for _ in existing..wanted {
            self.start(deployment);
        }
        // Only the windowed rule takes replicas away; polled ones expire by keep-alive.
        if is_windowed {
            self.scale_down(deployment, existing.saturating_sub(wanted));
            self.refuse_stranded(deployment);
        }
    }

    /// Takes `surplus` replicas away: first starts (newest first), then idle ones (idle longest first), then busy ones, which
    /// finish their work.
    fn scale_down(&mut self, deployment: u32, surplus: u32) {
        let left = surplus - self.cancel_starts(deployment, surplus);
        let mut ready: Vec<u32> = self.deployments[deployment as usize].replicas.clone();
        ready.retain(|&replica| self.replicas[replica as usize].stage == Stage::Ready);
        ready.sort_by_key(|&replica| {
            let server = &self.replicas[replica as usize];
            (server.outstanding(), server.idle_since, server.serial)
        });
        for replica in ready.into_iter().take(left as usize) {
            self.drain(replica);
        }
    }

    pub(super) fn schedule_warm_hours(&mut self, deployment: u32) {
        let now = self.now();
        let since_monday = self.phase + now.since(Time::ZERO);
        let hours = &self.deployments[deployment as usize]
            .config
            .scaling
            .warm_hours;
        if let Some(span) = autoscaler::until_change(hours, since_monday) {
            self.schedule(now + span, Event::WarmHours { deployment });
        }
    }

    /// The warm pool's size changes by the clock.
    pub(super) fn warm_hours_change(&mut self, deployment: u32) {
        let now = self.now();
        let since_monday = self.phase + now.since(Time::ZERO);
        let own = self.deployment(deployment);
        own.account(now);
        let before = own.floor;
        own.floor = autoscaler::floor_at(
            own.config.scaling.min,
            &own.config.scaling.warm_hours,
            since_monday,
        );
        if own.floor < before {
            // A rule with ticks decides about its own starts at the next one.
            if matches!(own.config.scaling.rule, Rule::Arrival { .. } | Rule::Fixed) {
                let surplus = (own.ready + own.starting).saturating_sub(own.wanted());
                self.cancel_starts(deployment, surplus);
            }
            self.sweep_expired(deployment);
        }
        self.scale(deployment);
        self.refuse_stranded(deployment);
        self.schedule_warm_hours(deployment);
    }

    // --- starts ----------------------------------------------------------------------------------------------------------

    /// Starts a replica from the warmest rung that holds weights.
    fn start(&mut self, deployment: u32) {
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
        self.replica(replica).rung = rung;
        self.tell(replica);
        self.replica(replica)
            .phases
            .push((StartPhase::GpuWait, now));
        if !self.take_gpus(replica) {
            self.waiting_starts.push_back(replica);
            self.evict_for(replica);
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
            rung: 0,
            holds_gpus: false,
            next_phase: 0,
            phases: Vec::new(),
            ready_at: Time::MAX,
            executor,
            queue: VecDeque::new(),
            wake_at: None,
            wake_generation: 0,
            idle_since: now,
            expires_at: Time::MAX,
            evicted_at: Time::MAX,
            outstays: false,
            idle_event: None,
            accounted: now,
        };
        let place = if let Some(place) = self.free_replicas.pop() {
            let old = &self.replicas[place as usize];
            let (generation, wake_generation) = (old.generation, old.wake_generation);
            self.replicas[place as usize] = Replica {
                generation,
                wake_generation,
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
        let placements = &self.deployments[deployment as usize].config.placements;
        let pools = &mut self.pools;
        let found = placements
            .iter()
            .position(|place| place.pool.is_none_or(|pool| pools[pool].take(place.gpus)));
        let Some(placement) = found else { return false };
        let batching = placements[placement].batching.clone();
        let now = self.now();
        let server = self.replica(replica);
        server.placement = placement as u8;
        server.executor = Executor::new(&batching);
        server.holds_gpus = true;
        server.accounted = now;
        true
    }

    /// Takes GPUs for a start and begins its phases.
    fn take_gpus(&mut self, replica: u32) -> bool {
        if !self.claim(replica) {
            return false;
        }
        let (deployment, placement) = (
            self.replica(replica).deployment,
            self.replica(replica).placement,
        );
        self.deployment(deployment).ledger.starts_by_placement[placement as usize] += 1;
        self.next_phase(replica);
        true
    }

    fn plan(&self, replica: u32) -> &StartPlan {
        let server = &self.replicas[replica as usize];
        let config = &self.deployments[server.deployment as usize].config;
        &config.placements[server.placement as usize].starts[server.rung]
    }

    /// Begins the next phase of a start, or ends the start.
    fn next_phase(&mut self, replica: u32) {
        let index = self.replica(replica).next_phase;
        let Some(plan) = self.plan(replica).phases.get(index).cloned() else {
            let now = self.now();
            self.replica(replica).ready_at = now;
            return self.become_ready(replica);
        };
        let now = self.now();
        self.replica(replica).next_phase += 1;
        self.replica(replica).phases.push((plan.phase, now));
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
        for replica in through {
            self.next_phase(replica);
        }
    }

    pub(super) fn phase_over(&mut self, replica: u32) {
        self.next_phase(replica);
    }

    /// A start is over: the replica serves.
    fn become_ready(&mut self, replica: u32) {
        let now = self.now();
        self.account_replica(replica);
        self.replica(replica).become_stage(Stage::Ready);
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
    fn cancel_start(&mut self, replica: u32) {
        let now = self.now();
        let begun = self.replica(replica).phases.get(1).map(|&(_, begun)| begun);
        let (deployment, placement) = (
            self.replica(replica).deployment,
            self.replica(replica).placement,
        );
        let holds_gpus = self.replica(replica).holds_gpus;
        let opened = self.opened;
        let own = self.deployment(deployment);
        own.ledger.cancelled_starts += 1;
        if let (true, Some(begun)) = (holds_gpus, begun.map(|begun| begun.max(opened))) {
            let gpus = own.config.placements[placement as usize].gpus;
            own.ledger.cancelled_gpu_time +=
                u128::from(now.since(begun).as_nanos()) * u128::from(gpus);
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

    // --- the pool --------------------------------------------------------------------------------------------------------

    /// Starts that wait take GPUs that came back, first come first served; none overtakes one that waits for the same pool.
    fn serve_waiting_starts(&mut self) {
        let mut blocked: Vec<usize> = Vec::new();
        let mut index = 0;
        while index < self.waiting_starts.len() {
            let replica = self.waiting_starts[index];
            let pools = self.pools_of(replica);
            if pools.iter().all(|pool| !blocked.contains(pool)) && self.can_claim(replica) {
                self.waiting_starts.remove(index);
                self.take_gpus(replica);
                // Beginning may have changed the queue: look from the front again.
                (index, blocked) = (0, Vec::new());
            } else {
                blocked.extend(pools);
                index += 1;
            }
        }
    }

    fn pools_of(&self, replica: u32) -> Vec<usize> {
        let deployment = self.replicas[replica as usize].deployment;
        self.deployments[deployment as usize]
            .config
            .placements
            .iter()
            .filter_map(|place| place.pool)
            .collect()
    }

    fn can_claim(&self, replica: u32) -> bool {
        let deployment = self.replicas[replica as usize].deployment;
        let mut places = self.deployments[deployment as usize]
            .config
            .placements
            .iter();
        places.any(|place| {
            place
                .pool
                .is_none_or(|pool| self.pools[pool].short_of(place.gpus) == 0)
        })
    }

    /// Stops idle replicas of other models, least recently used first, so that a start gets its GPUs; only if that is enough.
    fn evict_for(&mut self, replica: u32) {
        let deployment = self.replica(replica).deployment;
        let place = &self.deployments[deployment as usize].config.placements[0];
        let Some(pool) = place.pool.filter(|&pool| self.pools[pool].evict_idle) else {
            return;
        };
        let short = self.pools[pool].short_of(place.gpus);
        let mut victims: Vec<u32> = (0..self.replicas.len() as u32)
            .filter(|&other| self.may_be_evicted(other, deployment, pool))
            .collect();
        victims.sort_by_key(|&other| {
            (
                self.replicas[other as usize].idle_since,
                self.replicas[other as usize].serial,
            )
        });
        let mut freed = 0;
        let mut chosen = Vec::new();
        let mut taken = vec![0; self.deployments.len()];
        for other in victims {
            if freed >= short {
                break;
            }
            let owner = self.replicas[other as usize].deployment as usize;
            let spare = self.deployments[owner].ready - self.deployments[owner].needed();
            if taken[owner] < spare {
                taken[owner] += 1;
                freed += self.gpus_of(other);
                chosen.push(other);
            }
        }
        if freed < short {
            return;
        }
        for other in chosen {
            let owner = self.replica(other).deployment;
            // An earlier victim's GPUs may already have served another start of its own model.
            if self.may_be_evicted(other, deployment, pool) {
                self.deployment(owner).ledger.evictions += 1;
                self.stop(other);
            }
        }
    }

    /// A replica has become idle: it may make room for starts that wait, the first of each pool.
    pub(super) fn evict_for_waiting(&mut self) {
        let mut seen: Vec<usize> = Vec::new();
        let mut index = 0;
        while let Some(&replica) = self.waiting_starts.get(index) {
            let pools = self.pools_of(replica);
            if pools.iter().all(|pool| !seen.contains(pool)) {
                self.evict_for(replica);
            }
            if self.waiting_starts.get(index) == Some(&replica) {
                seen.extend(pools);
                index += 1;
            } else {
                // It got its GPUs, and others may have: look from the front again.
                (index, seen) = (0, Vec::new());
            }
        }
    }

    fn may_be_evicted(&self, replica: u32, by: u32, pool: usize) -> bool {
        let server = &self.replicas[replica as usize];
        let owner = &self.deployments[server.deployment as usize];
        server.deployment != by
            && server.is_idle()
            && owner.ready > owner.needed()
            && owner.config.placements[server.placement as usize].pool == Some(pool)
    }

    fn gpus_of(&self, replica: u32) -> u32 {
        let server = &self.replicas[replica as usize];
        self.deployments[server.deployment as usize]
            .config
            .placements[server.placement as usize]
            .gpus
    }

    // --- idle replicas ---------------------------------------------------------------------------------------------------

    /// A ready replica has nothing to do: its keep-alive counts from now.
    pub(super) fn became_idle(&mut self, replica: u32) {
        let now = self.now();
        let deployment = self.replica(replica).deployment;
        let own = &mut self.deployments[deployment as usize];
        let server = &mut self.replicas[replica as usize];
        server.idle_since = now;
        server.expires_at = match &own.config.scaling.keep_alive {
            KeepAlive::For(time) => {
                now + Duration::from_secs(time.sample(&mut own.draws.keep_alive))
            }
            KeepAlive::Infinite => Time::MAX,
        };
        let hazard = own.config.losses.eviction_hazard;
        server.evicted_at = if hazard > 0.0 {
            let span =
                Distribution::Exponential { mean: 1.0 / hazard }.sample(&mut own.draws.losses);
            now + Duration::from_secs(span)
        } else {
            Time::MAX
        };
        self.arm_idle(replica);
    }

    /// Keeps one idle event a replica: it is pushed back when it fires early instead of being replaced at each request.
    fn arm_idle(&mut self, replica: u32) {
        let server = self.replica(replica);
        let at = server.expires_at.min(server.evicted_at);
        if at == Time::MAX || server.idle_event.is_some_and(|pending| pending <= at) {
            return;
        }
        server.idle_event = Some(at);
        let generation = server.generation;
        self.schedule(
            at,
            Event::Idle {
                replica,
                generation,
            },
        );
    }

    /// An idle replica expires or is evicted, if it is still idle.
    pub(super) fn idle_event(&mut self, replica: u32) {
        let now = self.now();
        let server = self.replica(replica);
        if server.idle_event != Some(now) {
            // An earlier event took its place.
            return;
        }
        server.idle_event = None;
        if !server.is_idle() {
            return;
        }
        let (expired, evicted, deployment) = (
            server.expires_at <= now,
            server.evicted_at <= now,
            server.deployment,
        );
        if evicted {
            self.deployment(deployment).ledger.evictions += 1;
            self.stop(replica);
            self.scale(deployment);
        } else if expired && self.may_stop(deployment) {
            self.stop(replica);
        } else {
            if expired {
                // The warm pool or the load keeps it; it is looked at again when they need fewer.
                self.replica(replica).expires_at = Time::MAX;
                self.replica(replica).outstays = true;
                self.deployment(deployment).keeps_expired = true;
            }
            self.arm_idle(replica);
        }
    }

    fn may_stop(&self, deployment: u32) -> bool {
        let own = &self.deployments[deployment as usize];
        own.ready > own.needed()
    }

    /// Stops replicas whose keep-alive is over and that the warm pool no longer needs, idle longest first.
    pub(super) fn sweep_expired(&mut self, deployment: u32) {
        let mut kept: Vec<u32> = self.deployments[deployment as usize].replicas.clone();
        kept.retain(|&replica| {
            let server = &self.replicas[replica as usize];
            server.is_idle() && server.outstays
        });
        self.deployment(deployment).keeps_expired = !kept.is_empty();
        kept.sort_by_key(|&replica| {
            (
                self.replicas[replica as usize].idle_since,
                self.replicas[replica as usize].serial,
            )
        });
        for replica in kept {
            if self.may_stop(deployment) {
                self.stop(replica);
            }
        }
    }

    // --- ends ------------------------------------------------------------------------------------------------------------

    /// Takes no more requests; stops when the work is done.
    fn drain(&mut self, replica: u32) {
        let now = self.now();
        if self.replica(replica).is_idle() {
            return self.stop(replica);
        }
        self.account_replica(replica);
        self.replica(replica).become_stage(Stage::Draining);
        self.tell(replica);
        let deployment = self.replica(replica).deployment;
        let own = self.deployment(deployment);
        own.account(now);
        own.ready -= 1;
        let queue = std::mem::take(&mut self.replica(replica).queue);
        self.reroute(queue);
        if self.replica(replica).executor.is_idle() {
            self.stop(replica);
        }
    }

    /// A replica without work stops; its weights sink to the next rung of the ladder.
    pub(super) fn stop(&mut self, replica: u32) {
        let now = self.now();
        let deployment = self.replica(replica).deployment;
        let was_ready = self.replica(replica).stage == Stage::Ready;
        let own = self.deployment(deployment);
        own.account(now);
        own.ready -= u32::from(was_ready);
        own.ledger.stops += 1;
        self.remove(replica);
        self.rest_on(deployment, 0);
    }

    /// The oldest ready replica of a deployment dies.
    pub(super) fn fail_oldest(&mut self, deployment: u32) {
        let replicas = &self.deployments[deployment as usize].replicas;
        let oldest = replicas
            .iter()
            .copied()
            .find(|&replica| self.replicas[replica as usize].stage == Stage::Ready);
        if let Some(replica) = oldest {
            self.fail_replica(replica);
        }
    }

    /// A replica dies with all it holds; nothing of it stays on the ladder.
    pub(super) fn fail_replica(&mut self, replica: u32) {
        let now = self.now();
        self.account_replica(replica);
        let deployment = self.replica(replica).deployment;
        let was_ready = self.replica(replica).stage == Stage::Ready;
        let own = self.deployment(deployment);
        own.account(now);
        own.ready -= u32::from(was_ready);
        own.ledger.failures += 1;
        let lost = self.replica(replica).executor.fail();
        let queue = std::mem::take(&mut self.replica(replica).queue);
        self.remove(replica);
        self.lose(lost);
        self.reroute(queue);
        self.scale(deployment);
        self.settle(deployment);
    }

    /// Takes a replica out of the fleet and gives its GPUs back.
    fn remove(&mut self, replica: u32) {
        self.account_replica(replica);
        self.replica(replica).become_stage(Stage::Stopped);
        self.tell(replica);
        let (deployment, placement) = (
            self.replica(replica).deployment,
            self.replica(replica).placement,
        );
        let had_gpus = self.replica(replica).holds_gpus;
        self.forget(replica);
        let place = &self.deployments[deployment as usize].config.placements[placement as usize];
        if let (true, Some(pool)) = (had_gpus, place.pool) {
            self.pools[pool].give(place.gpus);
            self.serve_waiting_starts();
        }
    }

    /// Frees a replica's place in the arena.
    fn forget(&mut self, replica: u32) {
        let server = self.replica(replica);
        server.stage = Stage::Stopped;
        server.holds_gpus = false;
        server.generation = server.generation.wrapping_add(1);
        server.wake_generation = server.wake_generation.wrapping_add(1);
        let deployment = server.deployment;
        self.deployment(deployment)
            .replicas
            .retain(|&other| other != replica);
        self.free_replicas.push(replica);
    }

    /// Books a replica's time since last asked; to be called before anything about it changes.
    pub(super) fn account_replica(&mut self, replica: u32) {
        let now = self.now();
        let server = &mut self.replicas[replica as usize];
        let span = now.since(server.accounted);
        server.accounted = now;
        if span == Duration::ZERO || !server.holds_gpus {
            return;
        }
        let Some(activity) = Activity::of(server.stage, server.outstanding() > 0) else {
            return;
        };
        let own = &mut self.deployments[server.deployment as usize];
        let place = &own.config.placements[server.placement as usize];
        own.ledger
            .book(activity, span, place.gpus, place.usd_per_gpu_hour);
    }

    fn tell(&mut self, replica: u32) {
        let at = self.now();
        let server = self.replica(replica);
        let moved = ReplicaMoved {
            at,
            deployment: server.deployment,
            replica: server.serial,
            stage: server.stage,
        };
        self.probe.replica_moved(&moved);
    }

    // --- the ladder of warmth --------------------------------------------------------------------------------------------

    /// Puts weights on a rung, from where they sink when their time is over.
    pub(super) fn put_on_rung(&mut self, deployment: u32, rung: usize) {
        let now = self.now();
        let own = self.deployment(deployment);
        own.account_rungs(now);
        let ticket = own.rungs[rung].put();
        if let KeepAlive::For(time) = &own.config.rungs[rung].keep {
            let span = Duration::from_secs(time.sample(&mut own.draws.keep_alive));
            self.schedule(
                now + span,
                Event::Sink {
                    deployment,
                    rung: rung as u32,
                    ticket,
                },
            );
        }
    }

    /// Weights come to rest on the first rung from `from` down that has room; below the last one they are remote.
    fn rest_on(&mut self, deployment: u32, from: usize) {
        let own = self.deployment(deployment);
        let mut rungs = own
            .rungs
            .iter()
            .zip(&own.config.rungs)
            .enumerate()
            .skip(from);
        if let Some((rung, _)) = rungs.find(|(_, (stock, rung))| stock.has_room(rung)) {
            self.put_on_rung(deployment, rung);
        }
    }

    pub(super) fn sink(&mut self, deployment: u32, rung: usize, ticket: u32) {
        let now = self.now();
        let own = self.deployment(deployment);
        own.account_rungs(now);
        if own.rungs[rung].take_ticket(ticket) {
            self.rest_on(deployment, rung + 1);
        }
    }

    /// Orders new weights for a rung that lost some, where the scenario says so: as long as a start from remote storage.
    fn schedule_refill(&mut self, deployment: u32, rung: usize) {
        let now = self.now();
        let own = &mut self.deployments[deployment as usize];
        if !own.config.rungs.get(rung).is_some_and(|rung| rung.refill) {
            return;
        }
        let starts = &own.config.placements[0].starts;
        let remote = &starts[starts.len() - 1];
        let seconds: f64 = remote
            .phases
            .iter()
            .map(|phase| unshared(&phase.time, &mut own.draws.starts))
            .sum();
        self.schedule(
            now + Duration::from_secs(seconds),
            Event::Refill {
                deployment,
                rung: rung as u32,
            },
        );
    }

    pub(super) fn refill(&mut self, deployment: u32, rung: usize) {
        let own = &self.deployments[deployment as usize];
        if own.rungs[rung].has_room(&own.config.rungs[rung]) {
            self.put_on_rung(deployment, rung);
        }
    }
}

/// The length of a phase that shares nothing \[s\].
fn unshared(time: &PhaseTime, stream: &mut crate::streams::Stream) -> f64 {
    match time {
        PhaseTime::Stated(time) => time.sample(stream),
        PhaseTime::Transfer(transfer) => {
            transfer.first_byte_s
                + transfer.bytes * transfer.spread.sample(stream) / transfer.cap_bytes_per_s
        }
    }
}
