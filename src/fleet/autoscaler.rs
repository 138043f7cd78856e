//! How many replicas are wanted.
//!
//! [`Demand`] is what a rule sees. The windowed rule is Knative's pod autoscaler (knative/serving,
//! `pkg/autoscaler/scaling/autoscaler.go`): averages over a stable and a panic window, limits on how fast to go up and down,
//! and a panic mode that never goes down. Replicas on their way count as much as ready ones, so that a slow start is not
//! answered by another.

use super::config::{Metric, WarmHours, Windowed};
use crate::time::{Duration, Time};
use std::collections::VecDeque;

/// Nanoseconds of a day.
const DAY: u64 = 86_400_000_000_000;

/// What a rule sees of a deployment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// Requests waiting or running that may start replicas.
    pub(super) in_system: u32,
    pub(super) ready: u32,
    pub(super) starting: u32,
}

/// Replicas wanted for `in_system` requests at `target` requests each, plus a buffer while there are any.
pub(super) fn wanted(in_system: u32, target: f64, buffer: u32) -> u32 {
    if in_system == 0 {
        return 0;
    }
    // What `ceil` gives, without a call.
    let ratio = f64::from(in_system) / target;
    let whole = ratio as u32;
    whole
        .saturating_add(u32::from(ratio > f64::from(whole)))
        .saturating_add(buffer)
}

/// The warm pool at an instant `since_monday` after Monday 00:00.
pub(super) fn floor_at(min: u32, hours: &[WarmHours], since_monday: Duration) -> u32 {
    let day = (since_monday.as_nanos() / DAY % 7) as usize;
    let clock = Duration::from_nanos(since_monday.as_nanos() % DAY);
    let pools = hours
        .iter()
        .filter(|hours| is_within(hours, day, clock))
        .map(|hours| hours.min);
    pools.fold(min, u32::max)
}

/// Whether `clock` on `day` lies within the hours; hours over midnight belong to the day on which they begin.
fn is_within(hours: &WarmHours, day: usize, clock: Duration) -> bool {
    let yesterday = (day + 6) % 7;
    if hours.from < hours.to {
        hours.days[day] && hours.from <= clock && clock < hours.to
    } else {
        (hours.days[day] && clock >= hours.from) || (hours.days[yesterday] && clock < hours.to)
    }
}

/// From `since_monday` until the next instant at which some hours begin or end.
pub(super) fn until_change(hours: &[WarmHours], since_monday: Duration) -> Option<Duration> {
    let clock = since_monday.as_nanos() % DAY;
    let edges = hours.iter().flat_map(|hours| [hours.from, hours.to]);
    edges
        .map(|edge| {
            let edge = edge.as_nanos() % DAY;
            if edge > clock {
                edge - clock
            } else {
                edge + DAY - clock
            }
        })
        .min()
        .map(Duration::from_nanos)
}

/// What the windowed rule remembers.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    rule: Windowed,
    /// The metric's integral over each past tick of the stable window, newest last (requests x ns, or requests x 1e9).
    ticks: VecDeque<u128>,
    /// Sums of the ticks in the stable and in the panic window.
    stable: u128,
    panicky: u128,
    /// The metric's integral over the present tick.
    integral: u128,
    in_system: u32,
    since: Time,
    /// While in panic: when it was last called for, and the most wanted so far.
    panic: Option<(Time, u32)>,
    /// Past wishes within the scale-down delay that exceed all later ones.
    wishes: VecDeque<(Time, u32)>,
    /// Since when nothing is wanted.
    unwanted_since: Option<Time>,
}

impl Windows {
    pub(super) fn new(rule: Windowed) -> Self {
        Self {
            rule,
            ticks: VecDeque::new(),
            stable: 0,
            panicky: 0,
            integral: 0,
            in_system: 0,
            since: Time::ZERO,
            panic: None,
            wishes: VecDeque::new(),
            unwanted_since: None,
        }
    }

    /// Between decisions.
    pub(super) fn tick(&self) -> Duration {
        self.rule.tick
    }

    /// Notes a new number of requests in the system.
    pub(super) fn set_in_system(&mut self, now: Time, in_system: u32) {
        if self.rule.metric == Metric::Concurrency {
            self.integral +=
                u128::from(self.in_system) * u128::from(now.since(self.since).as_nanos());
        }
        self.since = now;
        self.in_system = in_system;
    }

    /// Notes an arrival.
    pub(super) fn arrived(&mut self) {
        if self.rule.metric == Metric::Rate {
            self.integral += 1_000_000_000;
        }
    }

    /// Decides at the end of a tick: how many replicas, before the floor and the limit.
    pub(super) fn decide(&mut self, now: Time, demand: Demand) -> u32 {
        self.close_tick(now);
        let existing = (demand.ready + demand.starting).max(1);
        let raw = self.raw_wish(now, demand.ready.max(1));
        let most = (f64::from(existing) * self.rule.max_scale_up_rate).ceil() as u32;
        let least = (f64::from(existing) / self.rule.max_scale_down_rate).floor() as u32;
        let wish = self.delayed(now, raw.clamp(least.min(most), most));
        self.graced(now, wish, raw)
    }

    fn close_tick(&mut self, now: Time) {
        self.set_in_system(now, self.in_system);
        let closed = std::mem::take(&mut self.integral);
        self.ticks.push_back(closed);
        self.stable += closed;
        self.panicky += closed;
        let panic_ticks = ticks_in(self.rule.panic_window, self.rule.tick);
        if self.ticks.len() > panic_ticks {
            self.panicky -= self.ticks[self.ticks.len() - 1 - panic_ticks];
        }
        if self.ticks.len() > ticks_in(self.rule.stable_window, self.rule.tick) {
            self.stable -= self.ticks.pop_front().unwrap_or_default();
        }
    }

    /// Mean of the metric over a window with this `sum`, or over the run so far if that is shorter.
    fn average(&self, sum: u128, window: Duration) -> f64 {
        let ticks = ticks_in(window, self.rule.tick).min(self.ticks.len());
        sum as f64 / (ticks as f64 * self.rule.tick.as_nanos() as f64)
    }

    /// The wish of the two windows, panic included.
    fn raw_wish(&mut self, now: Time, ready: u32) -> u32 {
        let per = |average: f64| (average / self.rule.target).ceil() as u32;
        let stable = per(self.average(self.stable, self.rule.stable_window));
        let panic = per(self.average(self.panicky, self.rule.panic_window));
        if f64::from(panic) / f64::from(ready) >= self.rule.panic_threshold {
            let most = self.panic.map_or(ready, |(_, most)| most);
            self.panic = Some((now, most));
        }
        match self.panic {
            Some((called, most)) if now.since(called) < self.rule.stable_window => {
                let most = most.max(panic);
                self.panic = Some((called, most));
                most
            }
            _ => {
                self.panic = None;
                stable
            }
        }
    }

    /// The greatest wish within the scale-down delay.
    fn delayed(&mut self, now: Time, wish: u32) -> u32 {
        // Only wishes above all later ones can become the greatest: they are kept, greatest first.
        while self.wishes.back().is_some_and(|&(_, other)| other <= wish) {
            self.wishes.pop_back();
        }
        self.wishes.push_back((now, wish));
        while self
            .wishes
            .front()
            .is_some_and(|&(at, _)| now.since(at) > self.rule.scale_down_delay)
        {
            self.wishes.pop_front();
        }
        self.wishes.front().map_or(wish, |&(_, wish)| wish)
    }

    /// Keeps the last replica for the grace period.
    fn graced(&mut self, now: Time, wish: u32, raw: u32) -> u32 {
        if raw > 0 {
            self.unwanted_since = None;
            return wish.max(1);
        }
        let since = *self.unwanted_since.get_or_insert(now);
        if now.since(since) < self.rule.scale_to_zero_grace {
            wish.max(1)
        } else {
            wish
        }
    }
}

/// Whole ticks in a window, at least one.
fn ticks_in(window: Duration, tick: Duration) -> usize {
    (window.as_nanos() / tick.as_nanos()).max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knative(target: f64) -> Windowed {
        Windowed {
            metric: Metric::Concurrency,
            target,
            stable_window: Duration::from_secs(60.0),
            panic_window: Duration::from_secs(6.0),
            panic_threshold: 2.0,
            tick: Duration::from_secs(2.0),
            max_scale_up_rate: 1000.0,
            max_scale_down_rate: 2.0,
            scale_down_delay: Duration::ZERO,
            scale_to_zero_grace: Duration::from_secs(30.0),
        }
    }

    /// Decisions every 2 s under a constant load with `ready` replicas.
    fn decisions(
        windows: &mut Windows,
        from: u32,
        ticks: u32,
        in_system: u32,
        ready: u32,
    ) -> Vec<u32> {
        windows.set_in_system(Time::from_secs(f64::from(from) * 2.0), in_system);
        (from + 1..=from + ticks)
            .map(|tick| {
                windows.decide(
                    Time::from_secs(f64::from(tick) * 2.0),
                    Demand {
                        in_system,
                        ready,
                        starting: 0,
                    },
                )
            })
            .collect()
    }

    #[test]
    fn a_steady_load_is_divided_by_the_target() {
        assert_eq!(
            decisions(&mut Windows::new(knative(2.0)), 0, 3, 3, 2),
            [2, 2, 2]
        );
    }

    #[test]
    fn a_burst_panics_and_panic_does_not_go_down() {
        let mut windows = Windows::new(knative(1.0));
        assert_eq!(decisions(&mut windows, 0, 1, 10, 1), [10]);
        let after = decisions(&mut windows, 1, 40, 0, 10);
        assert!(after[..29].iter().all(|&wish| wish == 10), "{after:?}");
        assert!(*after.last().expect("ticks") < 10, "{after:?}");
    }

    #[test]
    fn going_down_halves_at_most_and_keeps_the_last_one_for_the_grace() {
        let mut windows = Windows::new(knative(1.0));
        decisions(&mut windows, 0, 30, 8, 8);
        let after = decisions(&mut windows, 30, 60, 0, 8);
        assert!(after.iter().all(|&wish| wish >= 4), "{after:?}");
        let mut windows = Windows::new(knative(1.0));
        let idle = decisions(&mut windows, 0, 20, 0, 1);
        assert_eq!(
            idle.iter().filter(|&&wish| wish == 1).count(),
            15,
            "{idle:?}"
        );
    }

    #[test]
    fn warm_hours_run_over_midnight_and_belong_to_their_first_day() {
        let mut days = [false; 7];
        days[0] = true;
        let hours = [WarmHours {
            days,
            from: hour(22.0),
            to: hour(2.0),
            min: 3,
        }];
        for (at, floor) in [(21.0, 1), (22.0, 3), (25.0, 3), (26.0, 1), (46.0, 1)] {
            assert_eq!(floor_at(1, &hours, hour(at)), floor, "at {at} h");
        }
        assert_eq!(until_change(&hours, hour(23.0)), Some(hour(3.0)));
    }

    fn hour(hours: f64) -> Duration {
        Duration::from_secs(hours * 3600.0)
    }
}
