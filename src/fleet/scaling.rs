//! How many replicas there are: what the rule, the warm pool and the clock want, put into effect.

use super::autoscaler;
use super::config::Rule;
use super::event::Event;
use super::probe::Probe;
use super::replica::Replica;
use super::{Fleet, Stage};
use crate::target::Target;
use crate::time::Time;

impl<P: Probe> Fleet<P> {
    /// Starts what the deployment's rule and warm pool want now.
    #[inline(always)]
    pub(super) fn scale(&mut self, deployment: u32) {
        let own = &self.deployments[deployment as usize];
        if own.starting > 0 || own.ready < own.config.scaling.max {
            self.start_wanted(deployment);
        }
    }

    #[inline(never)]
    fn start_wanted(&mut self, deployment: u32) {
        let own = &self.deployments[deployment as usize];
        let wanted = own.wanted();
        let missing = wanted.saturating_sub(own.ready + own.starting);
        for _ in 0..missing {
            self.start(deployment);
        }
        self.cancel_surplus_starts(deployment);
    }

    /// Requests have left: stops what their presence alone had kept or started.
    #[inline]
    pub(super) fn settle(&mut self, deployment: u32) {
        let own = &self.deployments[deployment as usize];
        if own.starting > 0 || own.keeps_expired || own.ready == 0 {
            self.stop_surplus(deployment);
        }
    }

    #[inline(never)]
    fn stop_surplus(&mut self, deployment: u32) {
        self.cancel_surplus_starts(deployment);
        if self.deployments[deployment as usize].keeps_expired && self.may_stop(deployment) {
            self.sweep_expired(deployment);
        }
        self.refuse_stranded(deployment);
    }

    /// Gives up starts that nobody needs: those that still wait for GPUs, and others where the scenario says so.
    #[inline]
    pub(super) fn cancel_surplus_starts(&mut self, deployment: u32) {
        let own = &self.deployments[deployment as usize];
        // Rules with ticks decide about their starts when they look; a start of one request never waits for GPUs.
        if own.starting > 0 && matches!(own.config.scaling.rule, Rule::Arrival { .. }) {
            self.cancel_surplus(deployment);
        }
    }

    #[cold]
    fn cancel_surplus(&mut self, deployment: u32) {
        let own = &self.deployments[deployment as usize];
        let cancels = own.config.scaling.cancel_surplus_starts;
        if !cancels && self.waiting_starts.is_empty() {
            return;
        }
        let surplus = (own.ready + own.starting).saturating_sub(own.wanted());
        if cancels {
            self.cancel_starts(deployment, surplus, |_| true);
        } else {
            self.withdraw_starts(deployment, surplus);
        }
    }

    /// Gives up as many as `surplus` starts that still wait for GPUs: they have cost nothing yet, and others may wait behind them.
    fn withdraw_starts(&mut self, deployment: u32, surplus: u32) {
        self.cancel_starts(deployment, surplus, |one| !one.holds_gpus);
    }

    /// Gives up as many as `surplus` of such starts, newest first; how many there were.
    fn cancel_starts(
        &mut self,
        deployment: u32,
        surplus: u32,
        is_such: impl Fn(&Replica) -> bool,
    ) -> u32 {
        if surplus == 0 {
            return 0;
        }
        let newest_first = self.deployments[deployment as usize]
            .replicas
            .iter()
            .rev()
            .copied();
        let starting: Vec<u32> = newest_first
            .filter(|&replica| {
                let one = &self.replicas[replica as usize];
                one.stage.is_starting() && is_such(one)
            })
            .collect();
        let given_up: Vec<u32> = starting.into_iter().take(surplus as usize).collect();
        let count = given_up.len() as u32;
        for lease in self.leases(given_up) {
            if self.holds(lease) && self.replica(lease.replica).stage.is_starting() {
                self.cancel_start(lease.replica);
            }
        }
        count
    }

    /// The autoscaler looks.
    #[cold]
    pub(super) fn tick(&mut self, deployment: u32) {
        let now = self.now();
        let own = &mut self.deployments[deployment as usize];
        let demand = own.demand();
        let (wanted, again) = match (&own.config.scaling.rule, &mut own.windows) {
            (Rule::Windowed(_), Some(windows)) => (windows.decide(now, demand), windows.tick()),
            (Rule::Poll { interval, target }, _) => (
                autoscaler::wanted(demand.in_system, *target, own.config.scaling.buffer),
                *interval,
            ),
            _ => return,
        };
        let is_windowed = own.windows.is_some();
        // Not fewer than the warm pool, nor than the activator wants: averages may forget requests that still wait.
        let wanted = wanted.max(own.wanted()).min(own.config.scaling.max);
        let existing = demand.ready + demand.starting;
        self.schedule(now + again, Event::Tick { deployment });
        for _ in existing..wanted {
            self.start(deployment);
        }
        // Only the windowed rule takes replicas away; polled ones expire by keep-alive.
        let surplus = existing.saturating_sub(wanted);
        if is_windowed {
            self.scale_down(deployment, surplus);
            self.refuse_stranded(deployment);
        } else {
            self.withdraw_starts(deployment, surplus);
        }
    }

    /// Takes `surplus` replicas away: first starts (newest first), then idle ones (idle longest first), then busy ones, which
    /// finish their work.
    fn scale_down(&mut self, deployment: u32, surplus: u32) {
        let left = surplus - self.cancel_starts(deployment, surplus, |_| true);
        let mut ready: Vec<u32> = self.deployments[deployment as usize].replicas.clone();
        ready.retain(|&replica| self.replicas[replica as usize].stage == Stage::Ready);
        ready.sort_by_key(|&replica| {
            let server = &self.replicas[replica as usize];
            (server.outstanding(), server.idle_since, server.serial)
        });
        ready.truncate(left as usize);
        for lease in self.leases(ready) {
            if self.holds(lease) && self.replica(lease.replica).stage == Stage::Ready {
                self.drain(lease.replica);
            }
        }
    }

    pub(super) fn schedule_warm_hours(&mut self, deployment: u32) {
        let now = self.now();
        let since_monday = self.phase + now.since(Time::ZERO);
        let hours = &self.deployments[deployment as usize]
            .config
            .scaling
            .warm_hours;
        if let Some(span) = autoscaler::until_change(hours, since_monday) {
            self.schedule(now + span, Event::WarmHours { deployment });
        }
    }

    /// The warm pool's size changes by the clock.
    #[cold]
    pub(super) fn warm_hours_change(&mut self, deployment: u32) {
        let now = self.now();
        let since_monday = self.phase + now.since(Time::ZERO);
        let own = self.deployment(deployment);
        own.account(now);
        let before = own.floor;
        own.floor = autoscaler::floor_at(
            own.config.scaling.min,
            &own.config.scaling.warm_hours,
            since_monday,
        );
        if own.floor < before {
            // A rule with ticks decides about its own starts at the next one.
            if matches!(own.config.scaling.rule, Rule::Arrival { .. } | Rule::Fixed) {
                let surplus = (own.ready + own.starting).saturating_sub(own.wanted());
                self.cancel_starts(deployment, surplus, |_| true);
            }
            self.sweep_expired(deployment);
        }
        self.scale(deployment);
        self.refuse_stranded(deployment);
        self.schedule_warm_hours(deployment);
    }
}
