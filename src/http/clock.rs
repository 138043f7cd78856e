//! The run's clock: instants by the monotonic clock, with one anchor to the wall clock.
//!
//! Invariant: a duration is never a difference of wall-clock readings, which NTP and people set. The wall clock dates a request,
//! and how far it has moved against the monotonic one since the anchor is reported: that shows a set clock and a machine that
//! slept.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::time::{Duration, Time};

/// Tells the time of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    anchor: Instant,
    /// The run's instant at the anchor.
    offset: Time,
    /// Nanoseconds since 1970 UTC at the anchor.
    wall: i64,
}

impl Clock {
    /// A clock that reads `offset` now: zero for a new run, where it broke off for one that goes on.
    pub fn starting_at(offset: Time) -> Self {
        Self {
            anchor: Instant::now(),
            offset,
            wall: wall_now(),
        }
    }

    /// The present instant.
    pub fn now(&self) -> Time {
        self.at(Instant::now())
    }

    /// The run's instant for one of the monotonic clock.
    pub fn at(&self, instant: Instant) -> Time {
        let since = instant.saturating_duration_since(self.anchor);
        self.offset + Duration::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The instant of the monotonic clock for one of the run; the anchor for what lies before it.
    pub(super) fn instant(&self, time: Time) -> Instant {
        let since = time.saturating_since(self.offset);
        // Past the end of the monotonic clock is as good as a century.
        let century = std::time::Duration::from_secs(3_200_000_000);
        let since = std::time::Duration::from_nanos(since.as_nanos()).min(century);
        self.anchor + since
    }

    /// A number that tells this run from others.
    pub(super) fn run(&self) -> u64 {
        self.wall.unsigned_abs()
    }

    /// The wall clock \[ns since 1970 UTC\] and how far it has moved against the monotonic one since the anchor \[s\].
    pub fn wall(&self) -> (i64, f64) {
        let (wall, monotonic) = (wall_now(), self.anchor.elapsed());
        let expected = self.wall + i64::try_from(monotonic.as_nanos()).unwrap_or(i64::MAX);
        (wall, (wall - expected) as f64 * 1e-9)
    }
}

fn wall_now() -> i64 {
    let nanos = |span: std::time::Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => nanos(since),
        Err(before) => -nanos(before.duration()),
    }
}
