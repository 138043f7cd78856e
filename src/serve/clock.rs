//! Virtual time, coupled to the wall clock at a stated speed.
//!
//! Both run evenly: `speed` virtual seconds pass in one second on the wall. A machine too slow for that lets virtual time slip
//! ([`Clock::slip`]): it stands still for a moment and then runs at its speed again, and how much was lost is known.

use std::time::{Duration as WallSpan, Instant};

use crate::time::{Duration, Time};

/// The furthest that a wall instant is looked ahead; whoever waits asks again.
const HORIZON: WallSpan = WallSpan::from_hours(1);

/// The coupling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin: Instant,
    opened: Time,
    speed: f64,
    lost: WallSpan,
}

impl Clock {
    /// Virtual time is `opened` at `origin`, and passes `speed` times as quickly as on the wall.
    pub(super) fn new(origin: Instant, opened: Time, speed: f64) -> Self {
        Self {
            origin,
            opened,
            speed,
            lost: WallSpan::ZERO,
        }
    }

    /// The virtual instant at `wall`.
    pub(super) fn virtual_at(&self, wall: Instant) -> Time {
        let gone = wall.saturating_duration_since(self.origin);
        self.opened + Duration::from_secs(gone.as_secs_f64() * self.speed)
    }

    /// When on the wall virtual time is `at`, as far as an hour ahead of `now`.
    pub(super) fn wall_at(&self, at: Time, now: Instant) -> Instant {
        let span = self.on_wall(at.saturating_since(self.opened));
        self.origin
            .checked_add(span)
            .unwrap_or(now)
            .min(now + HORIZON)
    }

    /// How long a virtual span lasts on the wall, at most 100 years.
    pub(super) fn on_wall(&self, span: Duration) -> WallSpan {
        WallSpan::from_secs_f64((span.as_secs() / self.speed).min(3.2e9))
    }

    /// How much virtual time passes in a span on the wall.
    pub(super) fn in_virtual(&self, span: WallSpan) -> Duration {
        Duration::from_secs(span.as_secs_f64() * self.speed)
    }

    /// Sets virtual time back to `at`, which it had before `wall`.
    pub(super) fn slip(&mut self, at: Time, wall: Instant) {
        let behind = self.on_wall(self.virtual_at(wall).saturating_since(at));
        self.origin += behind;
        self.lost += behind;
    }

    /// How much time on the wall has been lost so far.
    pub(super) fn lost(&self) -> WallSpan {
        self.lost
    }

    /// Virtual seconds that pass in a second on the wall.
    pub(super) fn speed(&self) -> f64 {
        self.speed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_passes_at_its_speed_and_back() {
        let origin = Instant::now();
        let mut clock = Clock::new(origin, Time::from_secs(100.0), 50.0);
        let wall = origin + WallSpan::from_millis(20);
        assert_eq!(clock.virtual_at(origin), Time::from_secs(100.0));
        assert_eq!(clock.virtual_at(wall), Time::from_secs(101.0));
        assert_eq!(clock.wall_at(Time::from_secs(101.0), origin), wall);
        assert_eq!(clock.wall_at(Time::MAX, origin), origin + HORIZON);
        clock.slip(Time::from_secs(100.5), wall);
        assert_eq!(clock.virtual_at(wall), Time::from_secs(100.5));
        assert_eq!(clock.lost(), WallSpan::from_millis(10));
    }
}
