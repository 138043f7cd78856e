//! The ends of replicas: draining, stopping, dying; and the account of their time.

use super::ledger::Activity;
use super::probe::{Probe, ReplicaMoved};
use super::{Fleet, Stage};
use crate::target::Target;

/// A replica at an instant: its place in the arena may be another's by the time it is used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    pub(super) replica: u32,
    generation: u32,
}

impl<P: Probe> Fleet<P> {
    /// Takes no more requests; stops when the work is done.
    #[cold]
    pub(super) fn drain(&mut self, replica: u32) {
        let now = self.now();
        if self.replica(replica).is_idle() {
            return self.stop(replica);
        }
        self.replica(replica).become_stage(Stage::Draining);
        self.account_replica(replica);
        self.unlist(replica);
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

    /// A replica without work stops by keep-alive or by the autoscaler.
    #[cold]
    pub(super) fn stop(&mut self, replica: u32) {
        let deployment = self.replica(replica).deployment;
        self.deployment(deployment).ledger.stops += 1;
        self.leave_gpu(replica);
    }

    /// An idle replica loses its GPUs to somebody else.
    #[cold]
    pub(super) fn evict(&mut self, replica: u32) {
        let deployment = self.replica(replica).deployment;
        self.deployment(deployment).ledger.evictions += 1;
        self.leave_gpu(replica);
    }

    /// A replica without work goes; its weights sink to the next rung of the ladder.
    fn leave_gpu(&mut self, replica: u32) {
        let now = self.now();
        let deployment = self.replica(replica).deployment;
        let was_ready = self.replica(replica).stage == Stage::Ready;
        let own = self.deployment(deployment);
        own.account(now);
        own.ready -= u32::from(was_ready);
        self.remove(replica);
        self.rest_on(deployment, 0);
    }

    /// The oldest ready replica of a deployment dies.
    #[cold]
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
    #[cold]
    pub(super) fn fail_replica(&mut self, replica: u32) {
        let now = self.now();
        let deployment = self.replica(replica).deployment;
        let was_ready = self.replica(replica).stage == Stage::Ready;
        let own = self.deployment(deployment);
        own.account(now);
        own.ready -= u32::from(was_ready);
        own.ledger.failures += 1;
        let lost = self.replica(replica).executor.fail(now);
        let queue = std::mem::take(&mut self.replica(replica).queue);
        self.remove(replica);
        self.lose(lost);
        self.reroute(queue);
        self.scale(deployment);
        self.settle(deployment);
    }

    /// Takes a replica out of the fleet and gives its GPUs back.
    #[cold]
    pub(super) fn remove(&mut self, replica: u32) {
        self.replica(replica).become_stage(Stage::Stopped);
        self.account_replica(replica);
        self.book_replica(replica);
        self.tell(replica);
        let (deployment, placement) = (
            self.replica(replica).deployment,
            self.replica(replica).placement,
        );
        let had_gpus = self.replica(replica).holds_gpus;
        let place = std::mem::take(&mut self.replica(replica).holding.place);
        self.forget(replica);
        let own = &self.deployments[deployment as usize].config.placements[placement as usize];
        if let (true, Some(pool)) = (had_gpus, own.pool) {
            self.pools[pool].room.give(&place);
            self.serve_waiting_starts();
        }
    }

    /// These replicas as they are now, for a loop whose steps may end some of them.
    pub(super) fn leases(&self, replicas: Vec<u32>) -> Vec<Lease> {
        let lease = |replica| Lease {
            replica,
            generation: self.replicas[replica as usize].generation,
        };
        replicas.into_iter().map(lease).collect()
    }

    /// Whether the place still holds the replica that was leased.
    pub(super) fn holds(&self, lease: Lease) -> bool {
        self.replicas[lease.replica as usize].generation == lease.generation
    }

    /// Frees a replica's place in the arena.
    pub(super) fn forget(&mut self, replica: u32) {
        self.unlist(replica);
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

    /// Notes what a replica does from now on; to be called after anything about it changes.
    #[inline]
    pub(super) fn account_replica(&mut self, replica: u32) {
        let now = self.now();
        let server = self.replica(replica);
        server.note(now, server.outstanding());
    }

    /// Books a replica's time so far.
    pub(super) fn book_replica(&mut self, replica: u32) {
        let now = self.now();
        let server = &mut self.replicas[replica as usize];
        server.account(now);
        let ledger = &mut self.deployments[server.deployment as usize].ledger;
        let holding = &server.holding;
        let gpus = (holding.gpus, holding.share);
        for activity in Activity::ALL {
            let span = std::mem::take(&mut server.times[activity as usize]);
            ledger.book(activity, span, gpus, holding.usd_per_gpu_hour);
        }
    }

    pub(super) fn tell(&mut self, replica: u32) {
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
}
