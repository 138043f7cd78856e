//! Instants and spans in integer nanoseconds.
//!
//! A [`Time`] is an instant on the run's own clock, a [`Duration`] a span. Both are `u64` nanoseconds (584 years), so equal
//! instants are exactly equal, ordering is total and sums do not drift. A real number of seconds is rounded once, when it
//! becomes a span; nothing else rounds.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// Nanoseconds in a second.
const NANOS: u64 = 1_000_000_000;

/// An instant: nanoseconds since the run's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The run's origin.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the origin.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The instant `seconds` after the origin, rounded to the nearest nanosecond.
    #[inline]
    pub fn from_secs(seconds: f64) -> Self {
        Self(Duration::from_secs(seconds).0)
    }

    /// Nanoseconds since the origin.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin \[s\].
    #[inline]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }

    /// The span from `earlier` to this instant.
    ///
    /// # Panics
    /// If `earlier` is later: time never runs backwards in a run.
    #[inline]
    pub fn since(self, earlier: Self) -> Duration {
        if earlier > self {
            runs_backwards(earlier, self);
        }
        Duration(self.0 - earlier.0)
    }

    /// The span from `earlier` to this instant, or zero when `earlier` is later.
    #[inline]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than every run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `seconds`, rounded to the nearest nanosecond, halves to the even one. Negative values give zero, values past 584
    /// years the maximum.
    ///
    /// # Panics
    /// If `seconds` is not a number.
    #[inline]
    pub fn from_secs(seconds: f64) -> Self {
        // The last bit of a number between this one and its double stands for a whole one: a sum of the two is rounded to it.
        const WHOLE: f64 = (1_u64 << 52) as f64;
        let nanos = seconds * NANOS as f64;
        if (0.0..WHOLE).contains(&nanos) {
            return Self((nanos + WHOLE).to_bits() - WHOLE.to_bits());
        }
        Self::from_unusual(nanos)
    }

    /// Nanoseconds below zero or so many that they are whole.
    #[cold]
    fn from_unusual(nanos: f64) -> Self {
        assert!(!nanos.is_nan(), "a span of NaN seconds");
        Self(nanos as u64)
    }

    /// Nanoseconds in the span.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds in the span \[s\].
    #[inline]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }

    /// The span less `other`, or zero.
    #[must_use]
    #[inline]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    /// Saturates at [`Time::MAX`].
    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    /// # Panics
    /// If `other` is longer.
    #[inline]
    fn sub(self, other: Self) -> Self {
        if other > self {
            is_longer(other, self);
        }
        Self(self.0 - other.0)
    }
}

/// Apart and by value: a message in place would keep its numbers in memory.
#[cold]
fn runs_backwards(earlier: Time, later: Time) -> ! {
    panic!("{earlier} is after {later}")
}

/// See [`runs_backwards`].
#[cold]
fn is_longer(part: Duration, whole: Duration) -> ! {
    panic!("{part} is longer than {whole}")
}

impl Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl std::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, |total, span| total + span)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.as_secs())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Duration::from_secs(0.1).as_nanos(), 100_000_000);
        assert_eq!(Duration::from_secs(1.000_000_000_4).as_nanos(), NANOS);
        assert_eq!(Duration::from_secs(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs(f64::INFINITY), Duration::MAX);
    }

    #[test]
    fn rounding_is_that_of_the_standard_library() {
        let around = |nanos: f64| [nanos.next_down(), nanos, nanos.next_up()];
        let nanos = [
            0.0,
            0.5,
            1.0,
            1.5,
            2.5,
            1e9 + 0.5,
            4e15 + 0.5,
            9e15,
            1.8e19,
            2e19,
        ];
        for nanos in nanos.into_iter().flat_map(around) {
            let seconds = nanos / NANOS as f64;
            let expected = (seconds * NANOS as f64).round_ties_even() as u64;
            assert_eq!(Duration::from_secs(seconds).as_nanos(), expected, "{nanos}");
        }
    }

    #[test]
    fn sums_saturate_instead_of_wrapping() {
        assert_eq!(Time::MAX + Duration::from_secs(1.0), Time::MAX);
        assert_eq!(Duration::MAX + Duration::from_secs(1.0), Duration::MAX);
    }

    #[test]
    #[should_panic(expected = "is after")]
    fn since_refuses_to_run_backwards() {
        let _ = Time::ZERO.since(Time::from_secs(1.0));
    }
}
