//! What a server in front of the fleet does beyond a benchmark's client: it follows an answer token by token, tells the fleet
//! that a client has hung up, and looks at what is there. Watching changes nothing.

use super::probe::Probe;
use super::record::Place;
use super::{Fleet, Stage};
use crate::batching::Pace;
use crate::request::Request;
use crate::target::Target;
use crate::time::Time;

/// A request in the fleet: its place in the arena may be another's by the time it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    request: u32,
    generation: u32,
}

/// What a deployment is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Requests that replicas work on, or have taken to their batch.
    pub running: u32,
    /// Requests that wait for a replica.
    pub waiting: u32,
    /// Replicas on their way to ready.
    pub starting: u32,
    /// Replicas that are ready.
    pub ready: u32,
    /// Replicas that finish what they have.
    pub draining: u32,
}

impl<P: Probe> Fleet<P> {
    /// Sends a request, like [`Target::submit`]; what to ask for it by.
    pub fn send(&mut self, request: Request) -> Ticket {
        let request = self.submit_benchmark(request);
        Ticket {
            request,
            generation: self.records[request as usize].generation,
        }
    }

    /// How far the answer to a request is, seen at the replica, with everything due by now done; `None` before its first token
    /// is certain and once it is over.
    pub fn pace(&self, ticket: Ticket) -> Option<Pace> {
        let record = &self.records[ticket.request as usize];
        let Place::Running(replica) = record.place else {
            return None;
        };
        let first = record
            .first_token
            .filter(|_| record.generation == ticket.generation)?;
        let executor = &self.replicas[replica as usize].executor;
        executor.pace(self.now(), ticket.request, first)
    }

    /// Tokens of a request's prompt that the prefix cache holds; zero once it is over.
    pub fn cached_tokens(&self, ticket: Ticket) -> u32 {
        let record = &self.records[ticket.request as usize];
        let is_there = record.generation == ticket.generation;
        u32::from(is_there) * record.job.cached_tokens
    }

    /// The client of a request hangs up: as if its patience ended now. An answer that has begun is finished all the same.
    pub fn hang_up(&mut self, ticket: Ticket) {
        let now = self.now();
        let record = &mut self.records[ticket.request as usize];
        let has_token = record
            .first_token
            .is_some_and(|first| first + record.downlink() <= now);
        if record.generation == ticket.generation && record.place != Place::Ended && !has_token {
            record.deadline = now;
            self.client_timeout(ticket.request, ticket.generation);
        }
    }

    /// When the next event is due.
    pub fn next_event_at(&self) -> Option<Time> {
        self.calendar.next_at()
    }

    /// What a deployment is doing now.
    pub fn census(&self, deployment: u32) -> Census {
        let own = &self.deployments[deployment as usize];
        let mut census = Census::default();
        for &replica in &own.replicas {
            let replica = &self.replicas[replica as usize];
            census.running += replica.executor.outstanding() as u32;
            match replica.stage {
                Stage::Ready => census.ready += 1,
                Stage::Draining => census.draining += 1,
                stage => census.starting += u32::from(stage.is_starting()),
            }
        }
        census.waiting = own.in_system.saturating_sub(census.running);
        census
    }

    /// Longest prompt and answer together that a deployment takes \[tokens\], where there is a limit.
    pub fn max_context_tokens(&self, deployment: u32) -> Option<u32> {
        self.deployments[deployment as usize]
            .config
            .max_context_tokens()
    }
}
