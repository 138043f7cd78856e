//! A replica at work: requests are handed to its executor, what that does is written down, and what it sets free is used.

use super::departures::Refusal;
use super::event::Event;
use super::idle::{become_idle, update};
use super::probe::Probe;
use super::record::Record;
use super::replica::Replica;
use super::{Fleet, Stage};
use crate::batching::{Listener, Step};
use crate::calendar::Calendar;
use crate::target::Target;
use crate::time::Time;
use std::hint::cold_path;

/// A request that has left its replica.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaving {
    /// Answered in full.
    Finished(u32),
    /// It can never fit there.
    Dropped(u32),
}

/// Where an executor's steps are written down. Ends touch more than the request: they wait until the executor is done.
pub(super) struct Notes<'a, P> {
    records: &'a mut [Record],
    probe: &'a mut P,
    leaving: &'a mut Vec<Leaving>,
}

impl<P: Probe> Listener for Notes<'_, P> {
    #[inline(always)]
    fn hear(&mut self, step: Step) {
        match step {
            Step::Joined { key, at } => self.records[key as usize].join(at),
            Step::FirstToken { key, at, prefill } => {
                let record = &mut self.records[key as usize];
                record.give_first_token(at, prefill);
                let reaches = at + record.downlink();
                self.probe.first_token(record.origin, at, reaches);
            }
            Step::Finished { key, .. } => self.leaving.push(Leaving::Finished(key)),
            Step::Dropped { key, .. } => self.leaving.push(Leaving::Dropped(key)),
            Step::Preempted { .. } => {}
        }
    }
}

impl<P: Probe> Fleet<P> {
    /// Moves a replica's own queue into its executor while there is room.
    pub(super) fn feed(&mut self, replica: u32) {
        while let Some(&request) = self.replicas[replica as usize].queue.front() {
            if !self.has_room(replica, request) {
                return;
            }
            self.replica(replica).queue.pop_front();
            self.admit(replica, request);
        }
    }

    /// Hands a request to a replica's executor.
    pub(super) fn admit(&mut self, replica: u32, request: u32) {
        let now = self.now();
        let server = &mut self.replicas[replica as usize];
        if server.residents.is_some() && self.switches_for(replica, request) {
            return;
        }
        let record = &mut self.records[request as usize];
        let server = &mut self.replicas[replica as usize];
        let own = &mut self.deployments[server.deployment as usize];
        record.admit(now, replica, server);
        if record.cold {
            own.slow_down(&mut record.job);
        }
        server.outstays = false;
        let job = record.job;
        let mut notes = Notes {
            records: &mut self.records,
            probe: &mut self.probe,
            leaving: &mut self.leaving,
        };
        server.executor.push(now, &job, &mut notes);
        update(now, replica, server, own, &mut self.pools);
        if !self.leaving.is_empty() {
            return self.follow_drop(replica);
        }
        rearm(now, replica, server, &mut self.calendar);
    }

    /// Takes a request away from a replica's executor: its client left.
    #[cold]
    pub(super) fn cancel(&mut self, replica: u32, request: u32) {
        let now = self.now();
        let (server, mut notes) = self.server_and_notes(replica);
        server.executor.cancel(now, request, &mut notes);
        self.account_replica(replica);
        self.follow_drop(replica);
    }

    /// [`Fleet::follow`] where at most a request that can never fit leaves.
    #[cold]
    fn follow_drop(&mut self, replica: u32) {
        self.follow(replica);
    }

    /// A replica's executor does what is due, and begins its next batch if nothing else can happen at this instant.
    pub(super) fn work(&mut self, replica: u32) {
        let now = self.now();
        let generation = self.replica(replica).generation;
        loop {
            self.run(replica);
            let server = self.replica(replica);
            if server.generation != generation || server.wake_at != Some(now) {
                return;
            }
            let begin = Event::Begin {
                replica,
                generation: server.wake_generation,
            };
            if self.calendar.is_due() || !self.outbox.is_empty() || !self.waiting_starts.is_empty()
            {
                cold_path();
                return self.schedule(now, begin);
            }
            self.probe.event(now, &begin);
        }
    }

    /// A replica's executor does what is due. If it is to do more at this very instant, that has no event yet.
    fn run(&mut self, replica: u32) {
        let now = self.now();
        let (server, mut notes) = self.server_and_notes(replica);
        let deployment = server.deployment;
        server.executor.run(now, &mut notes);
        // Stands for an event, so that none is scheduled for this instant: `work` sees to it.
        server.wake_at = Some(now);
        let has_ended = self.follow(replica);
        if has_ended || self.may_take_more(replica) {
            self.freed(replica);
            self.settle(deployment);
        }
    }

    /// Whether a replica that did what was due, and from which nobody left, may now take requests that wait, or has nothing
    /// to do. In the midst of its work it has no more room than before.
    #[inline]
    fn may_take_more(&self, replica: u32) -> bool {
        let server = &self.replicas[replica as usize];
        if server.wake_at.is_some_and(|at| at > self.now()) {
            return false;
        }
        let held = &self.deployments[server.deployment as usize].held;
        server.stage != Stage::Ready
            || server.outstanding() == 0
            || !server.queue.is_empty()
            || !held.is_empty()
    }

    /// A replica, and where its executor's steps are written down.
    #[inline(always)]
    fn server_and_notes(&mut self, replica: u32) -> (&mut Replica, Notes<'_, P>) {
        let notes = Notes {
            records: &mut self.records,
            probe: &mut self.probe,
            leaving: &mut self.leaving,
        };
        (&mut self.replicas[replica as usize], notes)
    }

    /// Ends the requests that left an executor, and schedules its next event. Whether there were any.
    #[inline(always)]
    fn follow(&mut self, replica: u32) -> bool {
        let has_ended = !self.leaving.is_empty();
        if has_ended {
            self.let_leave();
        }
        let now = self.now();
        let server = &mut self.replicas[replica as usize];
        rearm(now, replica, server, &mut self.calendar);
        has_ended
    }

    /// Ends the requests that left an executor.
    #[inline(always)]
    fn let_leave(&mut self) {
        let now = self.now();
        let count = self.leaving.len();
        for index in 0..count {
            match self.leaving[index] {
                Leaving::Finished(request) => self.finish(request, now),
                Leaving::Dropped(request) => self.refuse(request, Refusal::CannotFit),
            }
        }
        debug_assert_eq!(self.leaving.len(), count, "an end made another");
        self.leaving.clear();
    }

    /// A replica may have room now, or nothing left to do.
    #[inline(always)]
    pub(super) fn freed(&mut self, replica: u32) {
        let now = self.now();
        let server = &mut self.replicas[replica as usize];
        let own = &mut self.deployments[server.deployment as usize];
        if server.stage != Stage::Ready {
            cold_path();
            if server.stage == Stage::Draining && server.executor.is_idle() {
                self.stop(replica);
            }
        } else if !server.queue.is_empty() || !own.held.is_empty() {
            self.serve_waiting(replica);
        } else if server.outstanding() == 0 {
            let idle_at = become_idle(now, replica, server, own, &mut self.pools);
            self.schedule_idle(replica, idle_at);
        } else {
            update(now, replica, server, own, &mut self.pools);
        }
    }

    /// [`Fleet::freed`] where requests wait.
    #[inline(never)]
    fn serve_waiting(&mut self, replica: u32) {
        let server = &self.replicas[replica as usize];
        let deployment = server.deployment;
        if !server.queue.is_empty() {
            cold_path();
            self.feed(replica);
        }
        if !self.deployments[deployment as usize].held.is_empty() {
            self.pull_for(deployment, replica);
        }
        if self.replica(replica).is_idle() {
            self.became_idle(replica);
        } else {
            self.update(replica);
        }
    }
}

/// Keeps exactly one live event for a replica's executor.
#[inline(always)]
fn rearm(now: Time, replica: u32, server: &mut Replica, calendar: &mut Calendar<Event>) {
    let wake_at = server.executor.wake_at();
    if wake_at == server.wake_at {
        return;
    }
    server.wake_at = wake_at;
    server.wake_generation = server.wake_generation.wrapping_add(1);
    let generation = server.wake_generation;
    let Some(at) = wake_at else {
        return;
    };
    let event = if at == now {
        Event::Begin {
            replica,
            generation,
        }
    } else {
        Event::Work {
            replica,
            generation,
        }
    };
    calendar.schedule(at, event.class(), event);
}
