//! Stocks of GPUs, and the queue of starts that wait for one.

use super::config::PoolConfig;
use super::ranking::Ranking;

/// A stock of GPUs of one tier.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    free: u32,
    total: u32,
    pub(super) evict_idle: bool,
    /// Idle replicas that hold GPUs of an evicting pool, least recently used first.
    pub(super) idle: Ranking,
}

impl Pool {
    pub(super) fn new(config: &PoolConfig) -> Self {
        Self {
            free: config.gpus,
            total: config.gpus,
            evict_idle: config.evict_idle,
            idle: Ranking::default(),
        }
    }

    /// Takes `gpus` if there are as many.
    pub(super) fn take(&mut self, gpus: u32) -> bool {
        let enough = self.free >= gpus;
        if enough {
            self.free -= gpus;
        }
        enough
    }

    /// Gives `gpus` back.
    pub(super) fn give(&mut self, gpus: u32) {
        self.free += gpus;
        assert!(
            self.free <= self.total,
            "more GPUs came back than the pool has"
        );
    }

    /// How many more are needed for `gpus`.
    pub(super) fn short_of(&self, gpus: u32) -> u32 {
        gpus.saturating_sub(self.free)
    }
}
