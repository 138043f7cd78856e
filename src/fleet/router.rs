//! Which replica takes a request.

use super::config::{IdleOrder, Router};
use super::probe::Probe;
use super::{Fleet, Stage};
use rand::RngExt;
use std::cmp::Reverse;

impl<P: Probe> Fleet<P> {
    /// The ready replica with room for a request: the one with the fewest requests, idle ones in the deployment's order.
    pub(super) fn choose_free(&self, deployment: u32, request: u32) -> Option<u32> {
        let own = &self.deployments[deployment as usize];
        if own.ready == 0 {
            return None;
        }
        let job = self.records[request as usize].job;
        let open = own.replicas.iter().copied().filter(|&replica| {
            let server = &self.replicas[replica as usize];
            server.stage == Stage::Ready && server.executor.has_room(&job)
        });
        match own.config.idle_order {
            IdleOrder::MostRecentlyIdle => open.min_by_key(|&replica| {
                let server = &self.replicas[replica as usize];
                (
                    server.outstanding(),
                    Reverse(server.idle_since),
                    Reverse(server.serial),
                )
            }),
            IdleOrder::LeastRecentlyIdle => open.min_by_key(|&replica| {
                let server = &self.replicas[replica as usize];
                (server.outstanding(), server.idle_since, server.serial)
            }),
            IdleOrder::Newest => open.min_by_key(|&replica| {
                let server = &self.replicas[replica as usize];
                (server.outstanding(), Reverse(server.serial))
            }),
        }
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
