//! The weights that a node keeps: in its host RAM (the page cache) and on its local disk.
//!
//! Weights come in when a replica on the node has become ready, whatever it started from, and each store throws out the least
//! recently used ones to make room; what is larger than a store is not kept there. A start that is from remote storage
//! otherwise reads them from the warmest store that has them, and uses them by that. Stores are the node's own: a node that
//! comes back after an absence is empty.
//!
//! Invariant: the weights in a store never exceed its size.

use super::config::NodeConfig;
use std::collections::VecDeque;

/// Whose weights: a deployment, and its placement, which decides the format.
pub(super) type Weights = (u32, u8);

/// How warm weights are on a node: lower is warmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Ram,
    Disk,
    Remote,
}

/// The stores of a node.
#[derive(Clone, Debug)]
pub(super) struct NodeCache {
    ram: Store,
    disk: Store,
}

#[derive(Clone, Debug)]
struct Store {
    /// Size \[bytes\].
    size: u64,
    /// What is there and how large it is, least recently used first.
    entries: VecDeque<(Weights, u64)>,
}

impl NodeCache {
    pub(super) fn new(config: &NodeConfig) -> Self {
        let store = |size| Store {
            size,
            entries: VecDeque::new(),
        };
        Self {
            ram: store(config.ram_cache),
            disk: store(config.disk_cache),
        }
    }

    /// The warmest store that has the weights.
    pub(super) fn level(&self, weights: Weights) -> Level {
        if self.ram.position(weights).is_some() {
            Level::Ram
        } else if self.disk.position(weights).is_some() {
            Level::Disk
        } else {
            Level::Remote
        }
    }

    /// The weights have been used: they are in both stores, as far as they fit, and newest there.
    pub(super) fn used(&mut self, weights: Weights, bytes: u64) {
        self.ram.used(weights, bytes);
        self.disk.used(weights, bytes);
    }
}

impl Store {
    fn position(&self, weights: Weights) -> Option<usize> {
        self.entries.iter().position(|entry| entry.0 == weights)
    }

    fn used(&mut self, weights: Weights, bytes: u64) {
        if let Some(index) = self.position(weights) {
            self.entries.remove(index);
        }
        if bytes > self.size {
            return;
        }
        let mut taken: u64 = self.entries.iter().map(|entry| entry.1).sum();
        while taken + bytes > self.size {
            let (_, oldest) = self.entries.pop_front().expect("what fits an empty store");
            taken -= oldest;
        }
        self.entries.push_back((weights, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_weights_go_first() {
        let config = NodeConfig {
            gpus: 8,
            ram_cache: 10,
            disk_cache: 100,
        };
        let mut cache = NodeCache::new(&config);
        let (a, b, c) = ((0, 0), (1, 0), (2, 0));
        for (weights, bytes) in [(a, 4), (b, 4), (a, 4), (c, 4)] {
            cache.used(weights, bytes);
        }
        let levels = [a, b, c].map(|weights| cache.level(weights));
        assert_eq!(levels, [Level::Ram, Level::Disk, Level::Ram]);
        // Larger than the RAM: only on the disk, and nothing goes for it.
        cache.used((3, 1), 11);
        assert_eq!(cache.level((3, 1)), Level::Disk);
        assert_eq!(cache.level(a), Level::Ram);
        assert_eq!(cache.level((3, 0)), Level::Remote);
    }
}
