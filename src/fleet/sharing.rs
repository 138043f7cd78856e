//! Models that share replicas: which of them are in a replica's memory, and what it takes to bring in another.
//!
//! A replica has places for so many models at once. A request whose model is there is served like any other. Otherwise its
//! model takes a free place, or that of the model least recently called for that has nothing to do there; if there is neither,
//! the request waits. Bringing a model in takes the switch, for which the replica takes no other request.
//!
//! With one place these are batches of one model at a time: a polling system with switchover times (Takagi 1988), in which the
//! niche model waits behind the popular one's batch. With more and a base model that is always there they are adapters (LoRA):
//! vLLM's `max_loras`, S-LoRA (Sheng et al. 2024).
//!
//! Requests are served in their order, first come first served within a priority: one that must wait for a place holds up all
//! behind it. Or the first that fits is served: then nobody waits for another's place, and a model that is rarely asked for may
//! wait for as long as the popular one keeps its place busy.
//!
//! Invariant: never more models than places, and none leaves while it has requests.

use super::Fleet;
use super::config::Sharing;
use super::event::Event;
use super::probe::Probe;
use super::record::Place;
use super::replica::Replica;
use crate::target::Target;
use crate::time::{Duration, Time};

/// The deployment's own model.
const OWN: u32 = 0;

/// The models in a replica.
#[derive(Clone, Debug)]
pub(super) struct Residents {
    places: usize,
    /// Whether the deployment's own model needs no place.
    keeps_own: bool,
    /// Least recently called for first.
    here: Vec<Resident>,
    /// Whether one is being brought in.
    is_switching: bool,
}

#[derive(Clone, Copy, Debug)]
struct Resident {
    model: u32,
    requests: u32,
}

impl Residents {
    /// Those of a replica that has just started: its own model is there.
    pub(super) fn new(sharing: &Sharing) -> Self {
        let own = Resident {
            model: OWN,
            requests: 0,
        };
        Self {
            places: sharing.at_once as usize,
            keeps_own: sharing.keeps_own,
            here: if sharing.keeps_own {
                Vec::new()
            } else {
                vec![own]
            },
            is_switching: false,
        }
    }

    /// Whether a request for `model` could be taken now, perhaps by a switch.
    #[inline(always)]
    pub(super) fn has_room(&self, model: u32) -> bool {
        let may_come =
            || self.here.len() < self.places || self.here.iter().any(|other| other.requests == 0);
        !self.is_switching && (self.has(model) || may_come())
    }

    /// Whether `model` is there.
    pub(super) fn has(&self, model: u32) -> bool {
        (self.keeps_own && model == OWN) || self.here.iter().any(|other| other.model == model)
    }

    /// Brings `model` in, in the place of another where there is no free one.
    fn bring_in(&mut self, model: u32) {
        if self.here.len() == self.places {
            let unused = self.here.iter().position(|other| other.requests == 0);
            self.here.remove(unused.expect("a model without requests"));
        }
        self.here.push(Resident { model, requests: 0 });
        self.is_switching = true;
    }

    /// A request for `model` begins.
    fn enter(&mut self, model: u32) {
        if let Some(index) = self.here.iter().position(|other| other.model == model) {
            let mut resident = self.here.remove(index);
            resident.requests += 1;
            self.here.push(resident);
        }
    }

    /// A request for `model` is over.
    fn leave(&mut self, model: u32) {
        if let Some(resident) = self.here.iter_mut().find(|other| other.model == model) {
            resident.requests -= 1;
        }
    }
}

impl Replica {
    /// Whether it would take a request of this kind at once, perhaps by a switch.
    #[inline(always)]
    pub(super) fn has_room(&self, now: Time, record: &super::record::Record) -> bool {
        self.executor.has_room(now, &record.job)
            && self
                .residents
                .as_ref()
                .is_none_or(|residents| residents.has_room(record.model))
    }
}

impl<P: Probe> Fleet<P> {
    /// Begins to bring a request's model into a replica, if it is not there; the request waits at the replica.
    #[cold]
    pub(super) fn switches_for(&mut self, replica: u32, request: u32) -> bool {
        let model = self.records[request as usize].model;
        let server = &mut self.replicas[replica as usize];
        let Some(residents) = &mut server.residents else {
            return false;
        };
        if residents.has(model) {
            residents.enter(model);
            return false;
        }
        residents.bring_in(model);
        let generation = server.generation;
        let own = &mut self.deployments[server.deployment as usize];
        let sharing = own.config.sharing.as_ref().expect("models share it");
        let span = Duration::from_secs(sharing.switch.sample(&mut own.draws.switches));
        own.ledger.switches += 1;
        self.keep_first(replica, request);
        let at = self.now() + span;
        self.schedule(
            at,
            Event::Switched {
                replica,
                generation,
            },
        );
        true
    }

    /// A model is in: the request that it came for is served, if it still waits, and so may be others.
    #[cold]
    pub(super) fn switched(&mut self, replica: u32) {
        let server = self.replica(replica);
        if let Some(residents) = &mut server.residents {
            residents.is_switching = false;
        }
        let (is_unwanted, deployment) = (server.is_idle(), server.deployment);
        if is_unwanted {
            // Its keep-alive counts from when the client left.
            self.pull(deployment);
        } else {
            self.freed(replica);
        }
        self.settle(deployment);
    }

    /// A request is over: its model has one less, if a replica worked on it.
    #[cold]
    pub(super) fn leave_model(&mut self, request: u32) {
        let record = &self.records[request as usize];
        let Place::Running(replica) = record.place else {
            return;
        };
        let server = &mut self.replicas[replica as usize];
        let is_same = record
            .served_by
            .is_some_and(|(serial, _)| serial == server.serial);
        if let Some(residents) = server.residents.as_mut().filter(|_| is_same) {
            residents.leave(record.model);
        }
    }
}
