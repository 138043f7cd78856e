//! The average over time of a level that changes at instants: replicas up, requests waiting, GPUs held.

use crate::time::Time;

/// The integral of a step function from a starting instant.
///
/// The area is kept in level × nanoseconds: whole levels add up exactly as long as the area stays below 2^53, which is
/// 104 days at level one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeAverage {
    start: Time,
    last: Time,
    value: f64,
    area: f64,
}

impl TimeAverage {
    /// A level of `value` from `start` on.
    pub fn new(start: Time, value: f64) -> Self {
        Self {
            start,
            last: start,
            value,
            area: 0.0,
        }
    }

    /// The level changes to `value` at `now`.
    ///
    /// # Panics
    /// If `now` is before the last change.
    pub fn set(&mut self, now: Time, value: f64) {
        self.area = self.area_until(now);
        self.last = now;
        self.value = value;
    }

    /// The level changes by `change` at `now`.
    ///
    /// # Panics
    /// If `now` is before the last change.
    pub fn add(&mut self, now: Time, change: f64) {
        self.set(now, self.value + change);
    }

    /// The level after the last change.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Forgets what lies before `now` and keeps the level: the window of the average starts here.
    ///
    /// # Panics
    /// If `now` is before the last change.
    pub fn restart(&mut self, now: Time) {
        assert!(self.last <= now, "{now} is before {}", self.last);
        *self = Self::new(now, self.value);
    }

    /// The area under the level from the start to `until` [level × s].
    ///
    /// # Panics
    /// If `until` is before the last change.
    pub fn integral(&self, until: Time) -> f64 {
        self.area_until(until) / 1e9
    }

    /// The mean level from the start to `until`; the level itself when no time has passed.
    ///
    /// # Panics
    /// If `until` is before the last change.
    pub fn mean(&self, until: Time) -> f64 {
        let span = until.since(self.start).as_nanos();
        if span == 0 {
            return self.value;
        }
        self.area_until(until) / span as f64
    }

    fn area_until(&self, until: Time) -> f64 {
        self.area + self.value * until.since(self.last).as_nanos() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_secs(seconds)
    }

    #[test]
    fn steps_add_up() {
        let mut level = TimeAverage::new(at(1.0), 0.0);
        level.set(at(2.0), 3.0);
        level.add(at(4.0), -2.0);
        assert_eq!(level.value(), 1.0);
        // 1 s at 0, 2 s at 3, 4 s at 1.
        assert_eq!(level.integral(at(8.0)), 10.0);
        assert_eq!(level.mean(at(8.0)), 10.0 / 7.0);
    }

    #[test]
    fn two_changes_at_one_instant_leave_the_last() {
        let mut level = TimeAverage::new(Time::ZERO, 5.0);
        level.set(Time::ZERO, 100.0);
        level.set(Time::ZERO, 2.0);
        assert_eq!(level.mean(Time::ZERO), 2.0);
        assert_eq!(level.integral(at(3.0)), 6.0);
    }

    #[test]
    fn a_restart_keeps_the_level_and_drops_the_past() {
        let mut level = TimeAverage::new(Time::ZERO, 7.0);
        level.set(at(10.0), 2.0);
        level.restart(at(20.0));
        assert_eq!(level.integral(at(20.0)), 0.0);
        assert_eq!(level.mean(at(25.0)), 2.0);
    }

    #[test]
    fn a_million_small_steps_do_not_drift() {
        let mut level = TimeAverage::new(Time::ZERO, 0.0);
        for step in 1..=1_000_000_u64 {
            level.set(Time::from_nanos(step * 1_000_003), (step % 7) as f64);
        }
        // Levels 1..6, 0 repeat; the last set level has no span yet: steps 1..=999999 hold 142857 full cycles of 21.
        let end = Time::from_nanos(1_000_000 * 1_000_003);
        assert_eq!(
            level.integral(end),
            (142_857_u64 * 21 * 1_000_003) as f64 / 1e9
        );
    }

    #[test]
    #[should_panic(expected = "is after")]
    fn time_does_not_run_backwards() {
        TimeAverage::new(at(2.0), 1.0).set(at(1.0), 0.0);
    }
}
