//! Durations counted in buckets whose width grows with the value.
//!
//! Values below 64 ns have a bucket each; above, every doubling is cut into 64 equal buckets, up to the end of the clock.
//! A bucket is at most 1/64 of its values wide and stands for its middle, so a quantile errs by less than
//! [`Histogram::RELATIVE_ERROR`]. There is no last bucket that swallows the tail, and minimum, maximum, count and sum are exact.
//! Source: the layout of `HdrHistogram` (Tene 2012).

use crate::time::Duration;

/// Each doubling is cut into `2^BITS` buckets.
const BITS: u32 = 6;
/// Buckets of one doubling.
const PER_OCTAVE: usize = 1 << BITS;
/// One group for the values below `2^BITS`, and one for each doubling from there to `2^64`.
const BUCKETS: usize = (64 - BITS as usize + 1) * PER_OCTAVE;

/// The error that is promised to readers.
const _: () = assert!(Histogram::RELATIVE_ERROR <= 0.01, "at most one per cent");

/// A streaming histogram of durations in 30 KB, whatever is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    total: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// The largest relative error of a quantile: half a bucket, 1/128 = 0.8 %.
    pub const RELATIVE_ERROR: f64 = 0.5 / PER_OCTAVE as f64;

    /// An empty histogram.
    pub fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS].into_boxed_slice(),
            count: 0,
            total: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        let nanos = value.as_nanos();
        self.counts[bucket_of(nanos)] += 1;
        self.count += 1;
        self.total += u128::from(nanos);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (here, there) in self.counts.iter_mut().zip(&other.counts) {
            *here += there;
        }
        self.count += other.count;
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many durations were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, exact \[ns\].
    pub fn total_nanos(&self) -> u128 {
        self.total
    }

    /// Their mean \[s\]; `None` when empty.
    pub fn mean_secs(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total as f64 / self.count as f64 / 1e9)
    }

    /// Their standard deviation over their mean, within about [`Self::RELATIVE_ERROR`]; `None` below two or at a zero mean.
    pub fn cv(&self) -> Option<f64> {
        let mean = self
            .mean_secs()
            .filter(|&mean| mean > 0.0 && self.count > 1)?;
        let counted = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        let squares = counted.map(|(bucket, &count)| {
            let middle = middle_of(bucket).clamp(self.min, self.max) as f64 / 1e9;
            count as f64 * (middle - mean).powi(2)
        });
        let variance = squares.sum::<f64>() / (self.count - 1) as f64;
        Some(variance.sqrt() / mean)
    }

    /// The shortest one, exact; `None` when empty.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.min))
    }

    /// The longest one, exact; `None` when empty.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.max))
    }

    /// The nearest-rank `p` quantile within [`Self::RELATIVE_ERROR`]; exact at both ends; `None` when empty.
    ///
    /// # Panics
    /// If `p` is outside `[0, 1]`.
    pub fn quantile(&self, p: f64) -> Option<Duration> {
        assert!((0.0..=1.0).contains(&p), "a quantile at {p}");
        if self.count == 0 {
            return None;
        }
        // A hair less, so that 0.95 * 100 = 95.00000000000001 stays rank 95.
        let rank = ((self.count as f64 * p * (1.0 - 1e-12)).ceil() as u64).clamp(1, self.count);
        if rank == self.count {
            return self.max();
        }
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        let middle = middle_of(bucket.expect("the counts add up to the count"));
        Some(Duration::from_nanos(middle.clamp(self.min, self.max)))
    }
}

/// The bucket that counts `nanos`.
#[inline]
fn bucket_of(nanos: u64) -> usize {
    let shift = (u64::BITS - BITS - 1).saturating_sub(nanos.leading_zeros());
    // Above the first doubling the leading bit is always set: it belongs to the group's number.
    (nanos >> shift) as usize + shift as usize * PER_OCTAVE
}

/// The middle of a bucket \[ns\].
fn middle_of(bucket: usize) -> u64 {
    let shift = (bucket / PER_OCTAVE).saturating_sub(1);
    let low = ((bucket - shift * PER_OCTAVE) as u64) << shift;
    low + ((1_u64 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        for value in values {
            histogram.record(Duration::from_nanos(value));
        }
        histogram
    }

    #[test]
    fn buckets_follow_each_other_without_gap_up_to_the_last_value() {
        for nanos in (0..4096).chain([u64::MAX - 1]) {
            let (here, next) = (bucket_of(nanos), bucket_of(nanos + 1));
            assert!(next == here || next == here + 1, "at {nanos}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert!(middle_of(BUCKETS - 1) > u64::MAX / 128 * 127);
    }

    #[test]
    fn ten_seconds_forty_seconds_and_five_minutes_stay_apart() {
        // C093: 2 % of requests are cold starts of 300 s; the rest take 0.3 s.
        let seconds = |s: f64| Duration::from_secs(s).as_nanos();
        let h = of((0..1000).map(|i| {
            if i < 980 {
                seconds(0.3)
            } else {
                seconds(300.0)
            }
        }));
        let p99 = h.quantile(0.99).expect("not empty").as_secs();
        assert!((p99 / 300.0 - 1.0).abs() <= 0.01, "{p99}");
        assert_eq!(h.max(), Some(Duration::from_secs(300.0)));
        assert_eq!(h.min(), Some(Duration::from_secs(0.3)));
        assert_eq!(h.total_nanos(), 980 * 300_000_000 + 20 * 300_000_000_000);
        // 980 * 0.3 s + 20 * 300 s over 1000.
        assert!((h.mean_secs().expect("not empty") - 6.294).abs() < 1e-12);
        // Two points: variance 0.98 * 0.02 * 299.7^2 * 1000 / 999 about that mean.
        let exact = (0.98 * 0.02 * 1000.0 / 999.0_f64).sqrt() * 299.7 / 6.294;
        assert!((h.cv().expect("two values") / exact - 1.0).abs() <= 0.01);
    }

    #[test]
    fn an_empty_one_has_no_figures() {
        let h = Histogram::default();
        assert_eq!(
            (h.count(), h.min(), h.max(), h.quantile(0.5)),
            (0, None, None, None)
        );
        assert_eq!((h.mean_secs(), h.cv()), (None, None));
    }

    #[test]
    fn small_values_are_exact() {
        let h = of(1..=10);
        assert_eq!(h.quantile(0.9), Some(Duration::from_nanos(9)));
        assert_eq!(h.quantile(0.0), Some(Duration::from_nanos(1)));
        assert_eq!(h.quantile(1.0), Some(Duration::from_nanos(10)));
        assert_eq!(
            of(1..=100).quantile(0.95).map(bucket_of_span),
            Some(bucket_of(95))
        );
    }

    fn bucket_of_span(span: Duration) -> usize {
        bucket_of(span.as_nanos())
    }

    proptest! {
        #[test]
        fn quantiles_err_by_less_than_stated(
            // Exponents spread the values over the whole range of the clock.
            values in prop::collection::vec((0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift), 1..60),
            p in 0.0..=1.0,
        ) {
            let h = of(values.iter().copied());
            let mut sorted = values;
            sorted.sort_unstable();
            let p: f64 = p;
            let rank = ((sorted.len() as f64 * p * (1.0 - 1e-12)).ceil() as usize).max(1);
            let exact = sorted[rank - 1] as f64;
            let found = h.quantile(p).expect("not empty").as_nanos() as f64;
            // 1e-12: both were rounded to f64 for the comparison.
            prop_assert!((found - exact).abs() <= exact * (Histogram::RELATIVE_ERROR + 1e-12), "{} for {}", found, exact);
        }

        #[test]
        fn merging_is_recording_both(a in prop::collection::vec(any::<u64>(), 0..20), b in prop::collection::vec(any::<u64>(), 0..20)) {
            let mut merged = of(a.iter().copied());
            merged.merge(&of(b.iter().copied()));
            prop_assert_eq!(merged, of(a.into_iter().chain(b)));
        }
    }
}
