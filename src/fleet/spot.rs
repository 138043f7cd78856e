//! Spot capacity: nodes that the owner takes back, and that come again.
//!
//! A node is reclaimed by hazard or on schedule. From then on nothing new starts on it: its starts are given up, its ready
//! replicas take no more requests, and their models start others elsewhere. When the notice is over what is still there dies
//! with its requests, the node is away for a time, and comes back with empty stores. Each node has a random stream of its own,
//! so that every policy meets the same reclaims.

use super::config::{PoolConfig, Spot};
use super::event::Event;
use super::probe::Probe;
use super::{Fleet, Stage};
use crate::distribution::Distribution;
use crate::streams::{Stream, Streams};
use crate::target::Target;
use crate::time::Duration;

/// The random streams of a tier's nodes; none where they stay.
pub(super) fn streams(
    config: &PoolConfig,
    provider: &str,
    nodes: usize,
    streams: Streams,
) -> Vec<Stream> {
    let nodes = if config.spot.is_some() { nodes } else { 0 };
    let name = |node| format!("{provider}/gpus/{}/{node}/spot", config.name);
    (0..nodes).map(|node| streams.stream(&name(node))).collect()
}

impl<P: Probe> Fleet<P> {
    /// Puts the reclaims of all nodes on the calendar.
    pub(super) fn schedule_reclaims(&mut self, window: crate::time::Time) {
        for pool in 0..self.pools.len() as u32 {
            for node in 0..self.pools[pool as usize].draws.len() as u32 {
                self.schedule_reclaim(pool, node);
            }
            let spot = self.pools[pool as usize].spot.clone();
            for offset in spot.into_iter().flat_map(|spot| spot.reclaims_at) {
                self.schedule(window + offset, Event::ReclaimAt { pool });
            }
        }
    }

    /// The next reclaim of a node by hazard.
    fn schedule_reclaim(&mut self, pool: u32, node: u32) {
        let stock = &mut self.pools[pool as usize];
        let Some(hazard) = stock
            .spot
            .as_ref()
            .map(|spot| spot.hazard)
            .filter(|&hazard| hazard > 0.0)
        else {
            return;
        };
        let draws = &mut stock.draws[node as usize];
        let span = Distribution::Exponential { mean: 1.0 / hazard }.sample(draws);
        let at = self.now() + Duration::from_secs(span);
        self.schedule(at, Event::Reclaim { pool, node });
    }

    /// The first node that is there is reclaimed on schedule.
    pub(super) fn reclaim_first(&mut self, pool: u32) {
        if let Some(node) = self.pools[pool as usize].room.first_open() {
            self.reclaim(pool, node as u32);
        }
    }

    /// A node is reclaimed, unless it is away.
    pub(super) fn reclaim(&mut self, pool: u32, node: u32) {
        let room = &mut self.pools[pool as usize].room;
        if !room.is_open(node as usize) {
            return;
        }
        room.close(node as usize);
        for lease in self.on_node(pool, node) {
            if self.holds(lease) {
                self.leave_node(lease.replica);
            }
        }
        let notice = self.spot(pool).notice;
        if notice == Duration::ZERO {
            return self.node_gone(pool, node);
        }
        self.schedule(self.now() + notice, Event::NodeGone { pool, node });
    }

    /// A replica must leave its node: a start is given up, a ready replica finishes what it has if there is time.
    fn leave_node(&mut self, replica: u32) {
        let stage = self.replica(replica).stage;
        let deployment = self.replica(replica).deployment;
        self.deployment(deployment).ledger.reclaimed += 1;
        if stage.is_starting() {
            let queue = std::mem::take(&mut self.replica(replica).queue);
            self.cancel_start(replica);
            self.reroute(queue);
        } else if stage == Stage::Ready {
            self.drain(replica);
        }
        self.scale(deployment);
        self.settle(deployment);
    }

    /// The notice is over: what is left on the node dies, and the node is away.
    pub(super) fn node_gone(&mut self, pool: u32, node: u32) {
        for lease in self.on_node(pool, node) {
            if self.holds(lease) {
                self.fail_replica(lease.replica);
            }
        }
        let away = self.spot(pool).away.clone();
        let span = away.sample(&mut self.pools[pool as usize].draws[node as usize]);
        let at = self.now() + Duration::from_secs(span);
        self.schedule(at, Event::NodeBack { pool, node });
    }

    /// A node is there again.
    pub(super) fn node_back(&mut self, pool: u32, node: u32) {
        self.pools[pool as usize].come_back(node as usize);
        self.schedule_reclaim(pool, node);
        self.serve_waiting_starts();
    }

    fn spot(&self, pool: u32) -> &Spot {
        let spot = self.pools[pool as usize].spot.as_ref();
        spot.expect("only spot capacity is reclaimed")
    }

    /// The replicas on a node, oldest first.
    fn on_node(&self, pool: u32, node: u32) -> Vec<super::ends::Lease> {
        let mut there: Vec<u32> = (0..self.replicas.len() as u32)
            .filter(|&replica| {
                let server = &self.replicas[replica as usize];
                let own = &self.deployments[server.deployment as usize].config;
                server.holds_gpus
                    && server.holding.place.node == node as usize
                    && own.placements[server.placement as usize].pool == Some(pool as usize)
            })
            .collect();
        there.sort_by_key(|&replica| self.replicas[replica as usize].serial);
        self.leases(there)
    }
}
