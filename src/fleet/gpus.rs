//! Who gets GPUs: starts that wait for them, and idle replicas that must go for one.

use super::Fleet;
use super::probe::Probe;

impl<P: Probe> Fleet<P> {
    /// Starts that wait take GPUs that came back, first come first served; none overtakes one that waits for the same pool.
    pub(super) fn serve_waiting_starts(&mut self) {
        let mut blocked: Vec<usize> = Vec::new();
        let mut index = 0;
        while blocked.len() < self.pools.len()
            && let Some(&replica) = self.waiting_starts.get(index)
        {
            let deployment = self.replicas[replica as usize].deployment;
            if !self.waits_for_any(replica, &blocked) && self.can_claim(deployment) {
                self.waiting_starts.remove(index);
                self.take_gpus(replica);
                // Beginning may have changed the queue: look from the front again.
                (index, blocked) = (0, Vec::new());
            } else {
                self.note_pools(replica, &mut blocked);
                index += 1;
            }
        }
    }

    /// The pools that a replica may take GPUs from.
    fn pools_of(&self, replica: u32) -> impl Iterator<Item = usize> {
        let deployment = self.replicas[replica as usize].deployment;
        let places = &self.deployments[deployment as usize].config.placements;
        places.iter().filter_map(|place| place.pool)
    }

    fn waits_for_any(&self, replica: u32, pools: &[usize]) -> bool {
        self.pools_of(replica).any(|pool| pools.contains(&pool))
    }

    /// Adds a replica's pools to the distinct ones in `seen`.
    fn note_pools(&self, replica: u32, seen: &mut Vec<usize>) {
        for pool in self.pools_of(replica) {
            if !seen.contains(&pool) {
                seen.push(pool);
            }
        }
    }

    fn can_claim(&self, deployment: u32) -> bool {
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

    /// Whether a start of a deployment would get its GPUs at once, now that idle replicas of others have made room.
    pub(super) fn make_room(&mut self, deployment: u32) -> bool {
        if !self.can_claim(deployment) {
            self.evict_for(deployment);
        }
        self.can_claim(deployment)
    }

    /// Stops idle replicas of other models, least recently used first, so that a start gets its GPUs; only if that is enough.
    fn evict_for(&mut self, deployment: u32) {
        let place = &self.deployments[deployment as usize].config.placements[0];
        let Some(pool) = place.pool.filter(|&pool| self.pools[pool].evict_idle) else {
            return;
        };
        let short = self.pools[pool].short_of(place.gpus);
        let mut freed = 0;
        let mut chosen: Vec<u32> = Vec::new();
        for other in self.pools[pool].idle.iter() {
            if freed >= short {
                break;
            }
            if !self.may_be_evicted(other, deployment, pool) {
                continue;
            }
            let owner = self.replicas[other as usize].deployment;
            let is_same = |&&taken: &&u32| self.replicas[taken as usize].deployment == owner;
            let taken = chosen.iter().filter(is_same).count();
            let own = &self.deployments[owner as usize];
            if taken < (own.ready - own.needed()) as usize {
                freed += self.replicas[other as usize].gpus;
                chosen.push(other);
            }
        }
        if freed < short {
            return;
        }
        for lease in self.leases(chosen) {
            // An earlier victim's GPUs may already have served another start of its own model.
            if self.holds(lease) && self.may_be_evicted(lease.replica, deployment, pool) {
                self.evict(lease.replica);
            }
        }
    }

    /// An event is over: idle replicas that can be spared make room for starts that wait, the first of each pool. Whatever changed
    /// that - one became idle, a request left, the first in line gave up - it is looked at once, when all has settled.
    pub(super) fn evict_for_waiting(&mut self) {
        let mut seen: Vec<usize> = Vec::new();
        let mut index = 0;
        while seen.len() < self.pools.len()
            && let Some(&replica) = self.waiting_starts.get(index)
        {
            if !self.waits_for_any(replica, &seen) {
                self.evict_for(self.replicas[replica as usize].deployment);
            }
            if self.waiting_starts.get(index) == Some(&replica) {
                self.note_pools(replica, &mut seen);
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
}
