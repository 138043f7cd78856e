//! The slow fleet's replicas: starts, stops, deaths, and who gets GPUs.

use super::fleet::{Fleet, Server, Stage, What};
use super::replica;
use super::workload::Nanos;
use thermocline::observation::Outcome;

impl Fleet<'_> {
    pub(super) fn new_server(&mut self, model: usize, stage: Stage) -> usize {
        self.servers.push(Server {
            model,
            stage,
            phases_done: 0,
            ready_at: Nanos::MAX,
            work: replica::new(&self.model(model).service),
            models: match self.model(model).sharing {
                Some(sharing) if !sharing.keeps_own => vec![0],
                _ => Vec::new(),
            },
            is_switching: false,
            foreseen: None,
            idle_since: self.now,
            is_overdue: false,
        });
        self.servers.len() - 1
    }

    /// Starts what is wanted.
    pub(super) fn scale(&mut self, model: usize) {
        let own = self.model(model);
        let wanted = self.wanted(model).max(own.min).min(own.max) as usize;
        let there = self.ready(model).len() + self.starting(model).len();
        for _ in there..wanted {
            self.new_server(model, Stage::Queued);
            self.share_out_gpus();
        }
        self.cancel_surplus(model);
    }

    /// Gives free GPUs to those who wait for one, first come, first served.
    fn share_out_gpus(&mut self) {
        while self.free_gpus() > 0
            && let Some(server) = self.first_queued()
        {
            self.servers[server].stage = Stage::Starting;
            self.next_phase(server);
        }
    }

    fn first_queued(&self) -> Option<usize> {
        self.servers
            .iter()
            .position(|one| one.stage == Stage::Queued)
    }

    /// Stops the idle replica of another model that has been idle for longest, if one is needed and can be spared.
    fn evict_for(&mut self, server: usize) {
        if !self.workload.evict_idle || self.free_gpus() > 0 {
            return;
        }
        let others = (0..self.servers.len()).filter(|&other| {
            self.is_idle(other)
                && self.servers[other].model != self.servers[server].model
                && self.may_stop(self.servers[other].model)
        });
        if let Some(victim) = others.min_by_key(|&other| (self.servers[other].idle_since, other)) {
            self.stop(victim);
        }
    }

    pub(super) fn next_phase(&mut self, server: usize) {
        let done = self.servers[server].phases_done;
        match self.model(self.servers[server].model).start.get(done) {
            Some(&length) => self.foresee(self.now + length, What::PhaseOver(server)),
            None => self.become_ready(server),
        }
    }

    pub(super) fn become_ready(&mut self, server: usize) {
        self.servers[server].stage = Stage::Ready;
        self.servers[server].ready_at = self.now;
        self.after_work(server);
        self.settle(self.servers[server].model);
    }

    pub(super) fn turn(&mut self, server: usize) {
        self.servers[server].foreseen = None;
        for key in self.servers[server].work.turn(self.now) {
            self.end(key, Outcome::Succeeded);
        }
        self.look_ahead(server);
        self.after_work(server);
        self.settle(self.servers[server].model);
    }

    /// Puts a replica's next turn on the agenda, if it is another than before.
    pub(super) fn look_ahead(&mut self, server: usize) {
        let due = self.servers[server].work.due();
        if due == self.servers[server].foreseen {
            return;
        }
        self.servers[server].foreseen = due;
        self.forget(What::Turn(server));
        self.forget(What::Begin(server));
        if let Some(at) = due {
            let is_now = at == self.now;
            self.foresee(
                at,
                if is_now {
                    What::Begin(server)
                } else {
                    What::Turn(server)
                },
            );
        }
    }

    /// A replica may have room, or nothing to do: its keep-alive counts from now.
    pub(super) fn after_work(&mut self, server: usize) {
        let model = self.servers[server].model;
        self.hand_over_awaiting(server);
        self.serve(model);
        if !self.is_idle(server) {
            return;
        }
        self.servers[server].idle_since = self.now;
        self.forget(What::Expire(server));
        if let Some(span) = self.model(model).keep_alive {
            self.foresee(self.now + span, What::Expire(server));
        }
    }

    /// Idle replicas make room for those who wait for a GPU, as long as the first of them gets one by that.
    pub(super) fn evict_for_queued(&mut self) {
        while let Some(first) = self.first_queued() {
            self.evict_for(first);
            if self.first_queued() == Some(first) {
                break;
            }
        }
    }

    /// Requests have left: what only they had kept or started goes.
    pub(super) fn settle(&mut self, model: usize) {
        self.cancel_surplus(model);
        let mut overdue = self.ready(model);
        overdue.retain(|&one| self.servers[one].is_overdue && self.is_idle(one));
        overdue.sort_by_key(|&one| (self.servers[one].idle_since, one));
        for one in overdue {
            if self.servers[one].is_overdue && self.is_idle(one) && self.may_stop(model) {
                self.stop(one);
            }
        }
        while self.waking(model) == 0
            && self.ready(model).is_empty()
            && self.starting(model).is_empty()
            && !self.held[model].is_empty()
        {
            let key = self.held[model].remove(0);
            self.refuse(key, 503);
        }
    }

    fn cancel_surplus(&mut self, model: usize) {
        let own = self.model(model);
        let cancels_all = own.cancel_surplus_starts;
        let wanted = self.wanted(model).max(own.min).min(own.max) as usize;
        let there = self.ready(model).len() + self.starting(model).len();
        let mut newest = self.starting(model);
        newest.reverse();
        // What still waits for a GPU has cost nothing, and is given up in any case.
        newest.retain(|&one| cancels_all || self.servers[one].stage == Stage::Queued);
        for one in newest
            .into_iter()
            .take(there.saturating_sub(wanted))
            .collect::<Vec<_>>()
        {
            self.stop(one);
        }
    }

    pub(super) fn stop(&mut self, server: usize) {
        self.servers[server].stage = Stage::Gone;
        for what in [
            What::Turn(server),
            What::Begin(server),
            What::PhaseOver(server),
            What::Expire(server),
            What::Switched(server),
        ] {
            self.forget(what);
        }
        self.share_out_gpus();
    }

    pub(super) fn die(&mut self, model: usize) {
        let Some(&oldest) = self.ready(model).first() else {
            return;
        };
        let lost = self.servers[oldest].work.holds();
        let awaits = self.awaiting(oldest);
        self.stop(oldest);
        for key in lost {
            self.end(key, Outcome::Failed);
        }
        if let Some(key) = awaits {
            self.hold(key);
        }
        self.scale(model);
        self.settle(model);
    }
}
