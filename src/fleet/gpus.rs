//! Who gets GPUs: starts that wait for them, and idle replicas that must go for one.

use super::Fleet;
use super::probe::Probe;

impl<P: Probe> Fleet<P> {
    /// Starts that wait take GPUs that came back, first come first served; none overtakes one that waits for the same pool.
    pub(super) fn serve_waiting_starts(&mut self) {
        let mut blocked: Vec<usize> = Vec::new();
        let mut index = 0;
        while index < self.waiting_starts.len() {
            let replica = self.waiting_starts[index];
            let pools = self.pools_of(replica);
            if pools.iter().all(|pool| !blocked.contains(pool))
                && self.can_claim(self.replicas[replica as usize].deployment)
            {
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
    pub(super) fn evict_for(&mut self, deployment: u32) {
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
        for lease in self.leases(chosen) {
            // An earlier victim's GPUs may already have served another start of its own model.
            if self.holds(lease) && self.may_be_evicted(lease.replica, deployment, pool) {
                self.evict(lease.replica);
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
                self.evict_for(self.replicas[replica as usize].deployment);
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
}
