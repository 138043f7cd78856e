//! The stock of GPUs of one tier, node by node, and the places in it.
//!
//! A **place** is some GPUs of one node with so many bytes of memory on each: a replica's GPUs never lie on two nodes, and
//! several replicas may share a GPU as long as their memory fits. The one rule of allocation is best fit: of the nodes with
//! room, the warmest for this model, then the one with the least free memory, then the lowest index; on a node the GPUs with
//! the least free memory that suffices, lowest index first. So small replicas fill GPUs that are begun, and whole nodes stay
//! whole for large ones.
//!
//! Memory is conserved: what replicas hold and what is free add up to the stock, and no GPU ever has more free than it has.

use super::config::{NodeConfig, Placement, PoolConfig, Spot};
use super::node_cache::{Level, NodeCache, Weights};
use super::ranking::Ranking;
use super::spot;
use crate::streams::{Stream, Streams};

/// A stock of GPUs of one tier.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) room: Room,
    pub(super) evict_idle: bool,
    /// Idle replicas that hold GPUs of an evicting pool: lowest priority first, then least recently used.
    pub(super) idle: Ranking,
    /// The stores of each node; none where nodes keep nothing.
    pub(super) caches: Vec<NodeCache>,
    pub(super) spot: Option<Spot>,
    /// The random streams of the nodes of spot capacity.
    pub(super) draws: Vec<Stream>,
    node: NodeConfig,
}

/// What is free, GPU by GPU.
#[derive(Clone, Debug)]
pub(super) struct Room {
    /// Free memory of each GPU \[bytes\], node after node.
    free: Vec<u64>,
    /// Memory of each GPU \[bytes\].
    gpu_bytes: u64,
    per_node: usize,
    /// Whether each node takes replicas; one that its owner takes back does not.
    open: Vec<bool>,
}

/// What a replica asks of a node: so many GPUs with so much free memory each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    gpus: usize,
    bytes: u64,
}

/// Where a replica is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) node: usize,
    /// Its GPUs, counted over the whole stock; none where the stock never runs out.
    gpus: Box<[usize]>,
    /// Memory it holds of each \[bytes\].
    bytes: u64,
}

impl Pool {
    pub(super) fn new(config: &PoolConfig, provider: &str, streams: Streams) -> Self {
        let room = Room::new(config);
        let (nodes, node) = (room.open.len(), &config.node);
        let keeps = node.keeps_weights();
        Self {
            evict_idle: config.evict_idle,
            idle: Ranking::default(),
            caches: vec![NodeCache::new(node); if keeps { nodes } else { 0 }],
            spot: config.spot.clone(),
            draws: spot::streams(config, provider, nodes, streams),
            node: node.clone(),
            room,
        }
    }

    /// How warm weights are on a node.
    pub(super) fn level(&self, node: usize, weights: Weights) -> Level {
        self.caches
            .get(node)
            .map_or(Level::Remote, |cache| cache.level(weights))
    }

    /// Weights have been used on a node.
    pub(super) fn used(&mut self, node: usize, weights: Weights, bytes: u64) {
        if let Some(cache) = self.caches.get_mut(node) {
            cache.used(weights, bytes);
        }
    }

    /// A node that was away is there again, with nothing in its stores.
    pub(super) fn come_back(&mut self, node: usize) {
        self.room.open[node] = true;
        if let Some(cache) = self.caches.get_mut(node) {
            *cache = NodeCache::new(&self.node);
        }
    }
}

impl Need {
    pub(super) fn of(placement: &Placement) -> Self {
        Self {
            gpus: placement.gpus as usize,
            bytes: placement.share.bytes,
        }
    }
}

impl Room {
    fn new(config: &PoolConfig) -> Self {
        let per_node = (config.node.gpus.min(config.gpus) as usize).max(1);
        Self {
            free: vec![config.gpu_bytes; config.gpus as usize],
            gpu_bytes: config.gpu_bytes,
            per_node,
            open: vec![true; (config.gpus as usize).div_ceil(per_node)],
        }
    }

    pub(super) fn is_open(&self, node: usize) -> bool {
        self.open[node]
    }

    /// Takes no more replicas on a node.
    pub(super) fn close(&mut self, node: usize) {
        self.open[node] = false;
    }

    /// The first node that takes replicas.
    pub(super) fn first_open(&self) -> Option<usize> {
        self.open.iter().position(|&is_open| is_open)
    }

    /// The node that a replica gets; `warmth` ranks nodes, the lowest first.
    pub(super) fn best_node(&self, need: Need, warmth: impl Fn(usize) -> Level) -> Option<usize> {
        let nodes = 0..self.open.len();
        nodes
            .filter(|&node| self.has_room(node, need))
            .min_by_key(|&node| (warmth(node), self.gpus(node).iter().sum::<u64>(), node))
    }

    /// Whether a node has room for a replica.
    pub(super) fn has_room(&self, node: usize, need: Need) -> bool {
        let enough = |free: &&u64| **free >= need.bytes;
        let gpus = self.gpus(node).iter().filter(enough);
        self.open[node] && gpus.take(need.gpus).count() == need.gpus
    }

    /// Takes a place on a node that has room.
    pub(super) fn take(&mut self, node: usize, need: Need) -> Place {
        let first = node * self.per_node;
        let own = self.gpus(node).iter().enumerate();
        let mut suited: Vec<(u64, usize)> = own
            .filter(|(_, free)| **free >= need.bytes)
            .map(|(index, free)| (*free, first + index))
            .collect();
        suited.sort_unstable();
        let chosen = suited.into_iter().take(need.gpus).map(|(_, gpu)| gpu);
        let place = Place {
            node,
            gpus: chosen.collect(),
            bytes: need.bytes,
        };
        assert_eq!(place.gpus.len(), need.gpus, "the node has no room");
        self.take_back(&place);
        place
    }

    /// Takes the very GPUs of a place that has been given back.
    pub(super) fn take_back(&mut self, place: &Place) {
        for &gpu in &place.gpus {
            let left = self.free[gpu].checked_sub(place.bytes);
            self.free[gpu] = left.expect("the GPU has that much free");
        }
    }

    /// Gives a place back.
    pub(super) fn give(&mut self, place: &Place) {
        for &gpu in &place.gpus {
            self.free[gpu] += place.bytes;
            assert!(
                self.free[gpu] <= self.gpu_bytes,
                "more memory came back than the GPU has"
            );
        }
    }

    /// Free memory of a node's GPUs.
    fn gpus(&self, node: usize) -> &[u64] {
        let first = node * self.per_node;
        &self.free[first..self.free.len().min(first + self.per_node)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn room(gpus: u32, per_node: u32, gpu_bytes: u64) -> Room {
        let config = PoolConfig {
            name: "g".to_owned(),
            gpus,
            gpu_bytes,
            node: NodeConfig {
                gpus: per_node,
                ram_cache: 0,
                disk_cache: 0,
            },
            evict_idle: false,
            spot: None,
        };
        Room::new(&config)
    }

    fn need(gpus: usize, bytes: u64) -> Need {
        Need { gpus, bytes }
    }

    fn take(room: &mut Room, need: Need) -> Option<Place> {
        let node = room.best_node(need, |_| Level::Remote)?;
        Some(room.take(node, need))
    }

    /// Two nodes of four: each with one GPU free, so two GPUs are free and none of them for a pair.
    #[test]
    fn a_pair_does_not_lie_on_two_nodes() {
        let mut room = room(8, 4, 1);
        let three = need(3, 1);
        let nodes: Vec<Option<usize>> = [three, three, need(2, 1), need(1, 1)]
            .map(|need| take(&mut room, need).map(|place| place.node))
            .to_vec();
        assert_eq!(nodes, [Some(0), Some(1), None, Some(0)]);
    }

    /// Small replicas fill the node and the GPU that are begun; a warmer node comes first all the same.
    #[test]
    fn small_replicas_leave_whole_nodes_whole() {
        let mut room = room(4, 2, 80);
        let places: Vec<Place> = (0..4)
            .filter_map(|_| take(&mut room, need(1, 30)))
            .collect();
        let at: Vec<(usize, usize)> = places.iter().map(|one| (one.node, one.gpus[0])).collect();
        assert_eq!(at, [(0, 0), (0, 0), (0, 1), (0, 1)]);
        assert_eq!(room.best_node(need(2, 80), |_| Level::Remote), Some(1));
        room.give(&places[2]);
        assert_eq!(
            room.best_node(need(1, 30), |node| if node == 0 {
                Level::Disk
            } else {
                Level::Ram
            }),
            Some(1)
        );
    }

    proptest! {
        /// Whatever comes and goes, what is held and what is free add up, and all of a place is on its node.
        #[test]
        fn memory_is_conserved(
            gpus in 1_u32..12,
            per_node in 1_u32..5,
            moves in prop::collection::vec((1_usize..4, 1_u64..5, any::<prop::sample::Index>()), 0..60),
        ) {
            let mut room = room(gpus, per_node, 4);
            let mut held: Vec<Place> = Vec::new();
            for (count, bytes, index) in moves {
                if count == 3 && !held.is_empty() {
                    room.give(&held.swap_remove(index.index(held.len())));
                } else if let Some(place) = take(&mut room, need(count, bytes)) {
                    prop_assert!(place.gpus.iter().all(|gpu| gpu / room.per_node == place.node));
                    held.push(place);
                }
                for gpu in 0..gpus as usize {
                    let taken: u64 = held.iter().filter(|one| one.gpus.contains(&gpu)).map(|one| one.bytes).sum();
                    prop_assert_eq!(taken + room.free[gpu], 4);
                }
            }
        }
    }
}
