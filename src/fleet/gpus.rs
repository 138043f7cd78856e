//! Who gets GPUs: starts that wait for them, and idle replicas that must go for one.
//!
//! Starts wait first come, first served within a priority, and none overtakes one that waits for the same stock. A start takes
//! the first of its placements, in their order of preference, where there is room. Where there is none, idle replicas of other
//! models make room, if that is enough: lowest priority first, then least recently used, never one of a higher priority, never
//! a busy one, never one that its own model needs, and never more of them than the start needs.

use super::Fleet;
use super::gpu_pool::{Need, Place, Room};
use super::node_cache::Level;
use super::probe::Probe;

impl<P: Probe> Fleet<P> {
    /// Takes a place at the first placement that has room.
    pub(super) fn find_place(&mut self, deployment: u32) -> Option<(u8, Place)> {
        let placements = &self.deployments[deployment as usize].config.placements;
        for (index, placement) in placements.iter().enumerate() {
            let Some(pool) = placement.pool else {
                return Some((index as u8, Place::default()));
            };
            let (stock, need) = (&mut self.pools[pool], Need::of(placement));
            let warmth = |node| stock.level(node, (deployment, index as u8));
            if let Some(node) = stock.room.best_node(need, warmth) {
                return Some((index as u8, stock.room.take(node, need)));
            }
        }
        None
    }

    /// Puts a start behind those that wait for GPUs with no lower priority.
    pub(super) fn wait_for_gpus(&mut self, replica: u32) {
        let priority = self.gpu_priority(replica);
        let ahead = |other: &u32| self.gpu_priority(*other) >= priority;
        let behind = self.waiting_starts.partition_point(ahead);
        self.waiting_starts.insert(behind, replica);
    }

    /// Whether a start must wait behind others for its GPUs.
    pub(super) fn waits_behind(&self, replica: u32) -> bool {
        let priority = self.gpu_priority(replica);
        let own: Vec<usize> = self.pools_of(replica).collect();
        self.waiting_starts
            .iter()
            .any(|&other| self.gpu_priority(other) >= priority && self.waits_for_any(other, &own))
    }

    fn gpu_priority(&self, replica: u32) -> u8 {
        let deployment = self.replicas[replica as usize].deployment;
        self.deployments[deployment as usize].config.gpu_priority
    }

    /// Starts that wait take GPUs that came back, in the order of the queue.
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
        let mut placements = self.deployments[deployment as usize]
            .config
            .placements
            .iter();
        placements.any(|placement| {
            placement.pool.is_none_or(|pool| {
                let room = &self.pools[pool].room;
                room.best_node(Need::of(placement), |_| Level::Remote)
                    .is_some()
            })
        })
    }

    /// Whether a start of a deployment would get its GPUs at once, now that idle replicas of others have made room.
    pub(super) fn make_room(&mut self, deployment: u32) -> bool {
        if !self.can_claim(deployment) {
            self.evict_for(deployment);
        }
        self.can_claim(deployment)
    }

    /// Stops idle replicas of other models, so that a start that finds no room gets its GPUs at the first placement where that
    /// is enough.
    fn evict_for(&mut self, deployment: u32) {
        let count = self.deployments[deployment as usize]
            .config
            .placements
            .len();
        let Some((pool, chosen)) = (0..count).find_map(|index| self.victims(deployment, index))
        else {
            return;
        };
        for lease in self.leases(chosen) {
            // An earlier victim's GPUs may already have served another start of its own model.
            if self.holds(lease) && self.may_be_evicted(lease.replica, deployment, pool) {
                self.evict(lease.replica);
            }
        }
    }

    /// The idle replicas whose going makes room at a placement, and the pool that they leave: the shortest run of those that may
    /// go, in their order, that frees a place on some node, and of these only whom that place needs.
    fn victims(&self, deployment: u32, placement: usize) -> Option<(usize, Vec<u32>)> {
        let placement = &self.deployments[deployment as usize].config.placements[placement];
        let pool = placement.pool.filter(|&pool| self.pools[pool].evict_idle)?;
        let need = Need::of(placement);
        // Only once somebody may go: this is looked at after every event.
        let mut room: Option<Room> = None;
        let mut chosen: Vec<u32> = Vec::new();
        for other in self.pools[pool].idle.iter() {
            if !self.may_be_evicted(other, deployment, pool) || !self.can_spare(other, &chosen) {
                continue;
            }
            chosen.push(other);
            let place = &self.replicas[other as usize].holding.place;
            let freed = room.get_or_insert_with(|| self.pools[pool].room.clone());
            freed.give(place);
            if freed.has_room(place.node, need) {
                self.spare(&mut chosen, freed, place.node, need);
                return Some((pool, chosen));
            }
        }
        None
    }

    /// Leaves out whom a place on `node` does not need, most recently used first.
    fn spare(&self, chosen: &mut Vec<u32>, room: &mut Room, node: usize, need: Need) {
        for index in (0..chosen.len()).rev() {
            let place = &self.replicas[chosen[index] as usize].holding.place;
            room.take_back(place);
            if place.node == node && !room.has_room(node, need) {
                room.give(place);
            } else {
                chosen.remove(index);
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
        let starter = &self.deployments[by as usize];
        server.deployment != by
            && server.is_idle()
            && owner.ready > owner.needed()
            && owner.config.gpu_priority <= starter.config.gpu_priority
            && owner.config.placements[server.placement as usize].pool == Some(pool)
    }

    /// Whether a replica's model can do without it once those already chosen have gone.
    fn can_spare(&self, replica: u32, chosen: &[u32]) -> bool {
        let owner = self.replicas[replica as usize].deployment;
        let is_same = |&&taken: &&u32| self.replicas[taken as usize].deployment == owner;
        let own = &self.deployments[owner as usize];
        chosen.iter().filter(is_same).count() < (own.ready - own.needed()) as usize
    }
}
