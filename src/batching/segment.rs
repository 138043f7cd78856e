//! A run of iterations whose batch stays the same, known in closed form.
//!
//! With `B` sequences and a total context of `C` tokens at the start, iteration `j` (from zero) lasts `alpha + beta j` with
//! `alpha = base(B) + c C` and `beta = c B`, so `k` iterations take
//!
//! `T_k = k alpha + beta k (k - 1) / 2`.
//!
//! Offsets are kept in seconds from the segment's own start, and a boundary is rounded to a nanosecond when it is asked for.
//! What rounding cut off is carried into the segment that follows, so errors do not add up over segments, and where a segment
//! is cut makes no difference.

use crate::time::{Duration, Time};

/// Iterations from `start` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    start: Time,
    /// How much later than `start` it really starts (s).
    carry: f64,
    /// Length of the first iteration (s).
    alpha: f64,
    /// By how much each iteration is longer than the one before (s).
    beta: f64,
    /// Number of iterations.
    count: u64,
    /// Boundary after the last.
    end: Time,
}

impl Segment {
    pub(super) fn new(start: Time, carry: f64, alpha: f64, beta: f64, count: u64) -> Self {
        let mut segment = Self {
            start,
            carry,
            alpha,
            beta,
            count: 0,
            end: start,
        };
        segment.cut(count);
        segment
    }

    pub(super) fn start(&self) -> Time {
        self.start
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn end(&self) -> Time {
        self.end
    }

    /// When the `k`-th iteration ends.
    pub(super) fn boundary(&self, k: u64) -> Time {
        if k == self.count {
            return self.end;
        }
        self.start + Duration::from_secs(self.offset(k))
    }

    /// How much later than `end` it really ends (s).
    #[inline(always)]
    pub(super) fn carry(&self) -> f64 {
        self.offset(self.count) - self.end.since(self.start).as_secs()
    }

    /// End of the `k`-th iteration from `start` (s).
    fn offset(&self, k: u64) -> f64 {
        let k = k as f64;
        self.carry + k * self.alpha + self.beta * (k * (k - 1.0) / 2.0)
    }

    /// Number of the first boundary at or after `now`, which lies in the segment.
    #[inline(always)]
    pub(super) fn next_boundary(&self, now: Time) -> u64 {
        let offset = now.saturating_since(self.start).as_secs();
        // The positive root of T_k = offset, in the form that neither cancels nor divides by a vanishing beta.
        let linear = self.alpha - self.beta / 2.0;
        let root = 2.0 * offset / (linear + (linear * linear + 2.0 * self.beta * offset).sqrt());
        let mut k = (root.ceil() as u64).max(1).min(self.count);
        while k > 1 && self.boundary(k - 1) >= now {
            k -= 1;
        }
        while k < self.count && self.boundary(k) < now {
            k += 1;
        }
        k
    }

    /// Ends the segment after `count` iterations.
    pub(super) fn cut(&mut self, count: u64) {
        self.end = self.boundary(count);
        self.count = count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_boundary_is_the_first_not_before() {
        for beta in [0.0, 1e-9, 3e-6, 0.01] {
            let segment = Segment::new(Time::from_secs(1e5), 0.0, 0.021, beta, 5000);
            for k in [1, 2, 3, 77, 4999, 5000] {
                let end = segment.boundary(k);
                assert_eq!(segment.next_boundary(end), k);
                assert_eq!(
                    segment.next_boundary(end + Duration::from_nanos(1)),
                    5000.min(k + 1)
                );
            }
            assert_eq!(segment.next_boundary(Time::from_secs(1e5)), 1);
        }
    }

    #[test]
    fn cutting_everywhere_ends_at_the_same_instant() {
        let alpha = 0.021_000_000_44;
        let mut segment = Segment::new(Time::from_secs(7.0), 0.0, alpha, 0.0, 100_000);
        let end = segment.end();
        segment.cut(1);
        for _ in 1..100_000 {
            segment = Segment::new(segment.end(), segment.carry(), alpha, 0.0, 1);
        }
        assert_eq!(segment.end(), end);
    }
}
