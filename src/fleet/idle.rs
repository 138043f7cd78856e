//! Idle replicas: keep-alive, eviction by other tenants, and what the warm pool keeps.

use super::config::KeepAlive;
use super::deployment::Deployment;
use super::event::Event;
use super::gpu_pool::Pool;
use super::probe::Probe;
use super::replica::Replica;
use super::{Fleet, Stage};
use crate::distribution::Distribution;
use crate::target::Target;
use crate::time::{Duration, Time};
use std::hint::cold_path;

impl<P: Probe> Fleet<P> {
    /// See [`become_idle`].
    pub(super) fn became_idle(&mut self, replica: u32) {
        let now = self.now();
        let server = &mut self.replicas[replica as usize];
        let own = &mut self.deployments[server.deployment as usize];
        let idle_at = become_idle(now, replica, server, own, &mut self.pools);
        self.schedule_idle(replica, idle_at);
    }

    /// See [`update`].
    pub(super) fn update(&mut self, replica: u32) {
        let now = self.now();
        let server = &mut self.replicas[replica as usize];
        let own = &mut self.deployments[server.deployment as usize];
        update(now, replica, server, own, &mut self.pools);
    }

    /// See [`unlist`].
    pub(super) fn unlist(&mut self, replica: u32) {
        let server = &mut self.replicas[replica as usize];
        let own = &mut self.deployments[server.deployment as usize];
        unlist(server, own, &mut self.pools);
    }

    /// Schedules a replica's idle event, if it needs one.
    #[inline]
    pub(super) fn schedule_idle(&mut self, replica: u32, at: Option<Time>) {
        if let Some(at) = at {
            self.schedule(at, Event::Idle { replica });
        }
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
            self.evict(replica);
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
            let again = arm_idle(self.replica(replica));
            self.schedule_idle(replica, again);
        }
    }

    pub(super) fn may_stop(&self, deployment: u32) -> bool {
        let own = &self.deployments[deployment as usize];
        own.ready > own.needed()
    }

    /// Stops replicas whose keep-alive is over and that the warm pool no longer needs, idle longest first.
    #[cold]
    pub(super) fn sweep_expired(&mut self, deployment: u32) {
        let mut kept: Vec<u32> = self.deployments[deployment as usize].replicas.clone();
        kept.retain(|&replica| self.outstays(replica));
        self.deployment(deployment).keeps_expired = !kept.is_empty();
        kept.sort_by_key(|&replica| {
            (
                self.replicas[replica as usize].idle_since,
                self.replicas[replica as usize].serial,
            )
        });
        for lease in self.leases(kept) {
            // Stopping one may have stopped another: its GPUs start a replica, whose requests end, and so on.
            if self.holds(lease) && self.outstays(lease.replica) && self.may_stop(deployment) {
                self.stop(lease.replica);
            }
        }
    }

    /// Whether a replica is idle and past its keep-alive.
    fn outstays(&self, replica: u32) -> bool {
        let server = &self.replicas[replica as usize];
        server.is_idle() && server.outstays
    }
}

/// A ready replica has nothing to do: its keep-alive counts from now. When its idle event is to be scheduled, if it needs one.
#[inline(always)]
pub(super) fn become_idle(
    now: Time,
    replica: u32,
    server: &mut Replica,
    own: &mut Deployment,
    pools: &mut [Pool],
) -> Option<Time> {
    if server.is_evictable {
        // By when it was idle before.
        unlist(server, own, pools);
    }
    server.idle_since = now;
    server.expires_at = match &own.config.scaling.keep_alive {
        KeepAlive::For(time) => now + Duration::from_secs(time.sample(&mut own.draws.keep_alive)),
        KeepAlive::Infinite => Time::MAX,
    };
    let hazard = own.config.losses.eviction_hazard;
    server.evicted_at = if hazard > 0.0 {
        cold_path();
        let span = Distribution::Exponential { mean: 1.0 / hazard }.sample(&mut own.draws.losses);
        now + Duration::from_secs(span)
    } else {
        Time::MAX
    };
    update(now, replica, server, own, pools);
    arm_idle(server)
}

/// Keeps one idle event a place of the arena: it is pushed back when it fires early instead of being replaced at each request
/// or with each replica. When a new one is to be scheduled.
#[inline(always)]
fn arm_idle(server: &mut Replica) -> Option<Time> {
    let at = server.expires_at.min(server.evicted_at);
    if at == Time::MAX || server.idle_event.is_some_and(|pending| pending <= at) {
        return None;
    }
    server.idle_event = Some(at);
    Some(at)
}

/// Notes what a replica does from now on, and lists it where requests look for one and, if it is idle, where starts look for
/// GPUs; to be called after its work changes.
#[inline(always)]
pub(super) fn update(
    now: Time,
    replica: u32,
    server: &mut Replica,
    own: &mut Deployment,
    pools: &mut [Pool],
) {
    let outstanding = server.outstanding();
    server.note(now, outstanding);
    let is_ready = server.stage == Stage::Ready;
    let is_open = is_ready && outstanding < server.most_requests as usize;
    let rank = is_open.then(|| server.rank(outstanding, own.config.idle_order));
    if rank != server.open_rank {
        own.open.relist(server.open_rank, rank, replica);
        server.open_rank = rank;
    }
    if let Some(pool) = server.evicting_pool
        && server.is_evictable != (is_ready && outstanding == 0)
    {
        server.is_evictable = !server.is_evictable;
        let rank = server.eviction_rank(own.config.gpu_priority);
        if server.is_evictable {
            pools[pool].idle.insert(rank, replica);
        } else {
            pools[pool].idle.remove(rank);
        }
    }
}

/// Takes a replica off both lists.
fn unlist(server: &mut Replica, own: &mut Deployment, pools: &mut [Pool]) {
    if let Some(rank) = server.open_rank.take() {
        own.open.remove(rank);
    }
    if std::mem::take(&mut server.is_evictable)
        && let Some(pool) = server.evicting_pool
    {
        let rank = server.eviction_rank(own.config.gpu_priority);
        pools[pool].idle.remove(rank);
    }
}
