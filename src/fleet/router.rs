//! Which replica takes a request.

use super::config::Router;
use super::probe::Probe;
use super::{Fleet, Stage};
use rand::RngExt;

impl<P: Probe> Fleet<P> {
    /// The ready replica with room for a request: the one with the fewest requests, idle ones in the deployment's order.
    #[inline(always)]
    pub(super) fn choose_free(&self, deployment: u32, request: u32) -> Option<u32> {
        let own = &self.deployments[deployment as usize];
        if own.config.sharing.is_some()
            && let Some(one) = self.free_with_model(deployment, request)
        {
            return Some(one);
        }
        let first = own.open.first()?;
        if self.has_room(first, request) {
            return Some(first);
        }
        self.choose_behind(deployment, request)
    }

    /// The same where the first in the order has no room for this request.
    #[cold]
    fn choose_behind(&self, deployment: u32, request: u32) -> Option<u32> {
        let mut behind = self.deployments[deployment as usize].open.iter().skip(1);
        behind.find(|&replica| self.has_room(replica, request))
    }

    /// Where models share replicas: rather one that has the request's model than one that must switch.
    #[cold]
    fn free_with_model(&self, deployment: u32, request: u32) -> Option<u32> {
        let model = self.records[request as usize].model;
        let has_model = |replica: u32| {
            let residents = self.replicas[replica as usize].residents.as_ref();
            residents.is_some_and(|residents| residents.has(model))
        };
        let own = &self.deployments[deployment as usize];
        own.open
            .iter()
            .find(|&replica| has_model(replica) && self.has_room(replica, request))
    }

    /// The ready replica whose own queue takes the next request. There is one.
    #[cold]
    pub(super) fn choose_queue(&mut self, deployment: u32) -> u32 {
        let own = &mut self.deployments[deployment as usize];
        let replicas = &self.replicas;
        let count = own.ready as usize;
        let all = own.replicas.iter().copied();
        let mut ready = all.filter(|&replica| replicas[replica as usize].stage == Stage::Ready);
        let load = |&replica: &u32| {
            let server = &replicas[replica as usize];
            (server.outstanding(), server.serial)
        };
        let chosen = match own.config.router {
            Router::RoundRobin => {
                own.next_in_turn += 1;
                ready.nth((own.next_in_turn - 1) % count)
            }
            Router::Random => ready.nth(own.draws.router.random_range(0..count)),
            Router::TwoChoices => {
                let two = [(); 2].map(|()| own.draws.router.random_range(0..count));
                let two = two.into_iter().filter_map(|turn| ready.clone().nth(turn));
                two.min_by_key(load)
            }
            Router::LeastOutstanding | Router::SharedQueue => ready.min_by_key(load),
        };
        chosen.expect("a replica is ready")
    }
}
