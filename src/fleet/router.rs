//! Which replica takes a request.

use super::config::{IdleOrder, Router};
use super::probe::Probe;
use super::replica::Replica;
use super::{Fleet, Stage};
use rand::RngExt;

impl<P: Probe> Fleet<P> {
    /// The ready replica with room for a request: the one with the fewest requests, idle ones in the deployment's order.
    pub(super) fn choose_free(&self, deployment: u32, request: u32) -> Option<u32> {
        let own = &self.deployments[deployment as usize];
        if own.ready == 0 {
            return None;
        }
        let job = self.records[request as usize].job;
        // A scan for each request: one number to compare is several times as quick as a tuple.
        let mut best: Option<(u128, u32)> = None;
        for &replica in &own.replicas {
            let server = &self.replicas[replica as usize];
            if server.stage == Stage::Ready && server.executor.has_room(&job) {
                let rank = rank(server, own.config.idle_order);
                if best.is_none_or(|(least, _)| rank < least) {
                    best = Some((rank, replica));
                }
            }
        }
        best.map(|(_, replica)| replica)
    }

    /// The ready replica whose own queue takes the next request. There is one.
    pub(super) fn choose_queue(&mut self, deployment: u32) -> u32 {
        let own = &mut self.deployments[deployment as usize];
        let replicas = &self.replicas;
        let ready: Vec<u32> = own
            .replicas
            .iter()
            .copied()
            .filter(|&replica| replicas[replica as usize].stage == Stage::Ready)
            .collect();
        let load = |&replica: &u32| {
            let server = &replicas[replica as usize];
            (server.outstanding(), server.serial)
        };
        match own.config.router {
            Router::RoundRobin => {
                own.next_in_turn += 1;
                ready[(own.next_in_turn - 1) % ready.len()]
            }
            Router::Random => ready[own.draws.router.random_range(0..ready.len())],
            Router::TwoChoices => {
                let two = [(); 2].map(|()| ready[own.draws.router.random_range(0..ready.len())]);
                two.into_iter().min_by_key(load).expect("two choices")
            }
            Router::LeastOutstanding | Router::SharedQueue => ready
                .into_iter()
                .min_by_key(load)
                .expect("a replica is ready"),
        }
    }
}

/// Lower takes a request first: fewest requests, then the order of idle replicas, then the serial number.
fn rank(server: &Replica, order: IdleOrder) -> u128 {
    let (idle_since, serial) = (server.idle_since.as_nanos(), server.serial);
    let (idle, serial) = match order {
        IdleOrder::MostRecentlyIdle => (!idle_since, !serial),
        IdleOrder::LeastRecentlyIdle => (idle_since, serial),
        IdleOrder::Newest => (0, !serial),
    };
    (server.outstanding() as u128) << 96 | u128::from(idle) << 32 | u128::from(serial)
}
