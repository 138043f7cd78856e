//! The ladder of warmth: weights that wait in host RAM or on a local disk, and sink as time goes by.

use super::Fleet;
use super::cold_start::PhaseTime;
use super::config::KeepAlive;
use super::event::Event;
use super::probe::Probe;
use crate::target::Target;
use crate::time::Duration;

impl<P: Probe> Fleet<P> {
    /// Puts weights on a rung, from where they sink when their time is over.
    pub(super) fn put_on_rung(&mut self, deployment: u32, rung: usize) {
        let now = self.now();
        let own = self.deployment(deployment);
        own.account_rungs(now);
        let ticket = own.rungs[rung].put();
        if let KeepAlive::For(time) = &own.config.rungs[rung].keep {
            let span = Duration::from_secs(time.sample(&mut own.draws.keep_alive));
            self.schedule(
                now + span,
                Event::Sink {
                    deployment,
                    rung: rung as u32,
                    ticket,
                },
            );
        }
    }

    /// Weights come to rest on the first rung from `from` down that has room; below the last one they are remote.
    pub(super) fn rest_on(&mut self, deployment: u32, from: usize) {
        let own = self.deployment(deployment);
        let mut rungs = own
            .rungs
            .iter()
            .zip(&own.config.rungs)
            .enumerate()
            .skip(from);
        if let Some((rung, _)) = rungs.find(|(_, (stock, rung))| stock.has_room(rung)) {
            self.put_on_rung(deployment, rung);
        }
    }

    pub(super) fn sink(&mut self, deployment: u32, rung: usize, ticket: u32) {
        let now = self.now();
        let own = self.deployment(deployment);
        own.account_rungs(now);
        if own.rungs[rung].take_ticket(ticket) {
            self.rest_on(deployment, rung + 1);
        }
    }

    /// Orders new weights for a rung that lost some, where the scenario says so: as long as a start from remote storage.
    pub(super) fn schedule_refill(&mut self, deployment: u32, rung: usize) {
        let now = self.now();
        let own = &mut self.deployments[deployment as usize];
        if !own.config.rungs.get(rung).is_some_and(|rung| rung.refill) {
            return;
        }
        let starts = &own.config.placements[0].starts;
        let remote = &starts[starts.len() - 1];
        let seconds: f64 = remote
            .phases
            .iter()
            .map(|phase| unshared(&phase.time, &mut own.draws.starts))
            .sum();
        self.schedule(
            now + Duration::from_secs(seconds),
            Event::Refill {
                deployment,
                rung: rung as u32,
            },
        );
    }

    pub(super) fn refill(&mut self, deployment: u32, rung: usize) {
        let own = &self.deployments[deployment as usize];
        if own.rungs[rung].has_room(&own.config.rungs[rung]) {
            self.put_on_rung(deployment, rung);
        }
    }
}

/// The length of a phase that shares nothing \[s\].
fn unshared(time: &PhaseTime, stream: &mut crate::streams::Stream) -> f64 {
    match time {
        PhaseTime::Stated(time) => time.sample(stream),
        PhaseTime::Transfer(transfer) => {
            transfer.first_byte_s
                + transfer.bytes * transfer.spread.sample(stream) / transfer.cap_bytes_per_s
        }
    }
}
