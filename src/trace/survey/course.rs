//! How the rate changes over a trace, over the day and over the week.

use crate::time::Duration;

/// Bins of a course at most; it has at least half as many.
const BINS: usize = 128;
/// The first width of a bin \[ns\].
const FINEST: u64 = 1_000_000;
const HOUR_NS: i128 = 3_600_000_000_000;
const DAY_NS: i128 = 24 * HOUR_NS;
const WEEK_HOURS: usize = 168;
/// From 1970-01-01, a Thursday, back to the Monday before it \[ns\].
const MONDAY_BEFORE_1970: i128 = 3 * DAY_NS;

/// Counts over the whole span, in bins of equal width.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Width of a bin.
    pub bin: Duration,
    /// Requests in each.
    pub counts: Vec<u64>,
}

/// Requests by hour, and how long the trace watched each hour.
#[derive(Clone, Debug, PartialEq)]
pub struct Hours {
    /// Requests in each hour of the week, from Monday 00:00 UTC; of a file without dates, from its zero.
    counts: Vec<u64>,
    /// Time in each that the trace covers \[s\].
    covered_s: Vec<f64>,
}

impl Hours {
    /// Rates in the hours of the day [1/s]; `None` where an hour was not covered whole.
    pub fn daily(&self) -> Option<[f64; 24]> {
        self.rates(|hour| hour % 24, 3600.0)
    }

    /// Rates on the days of the week, Monday first [1/s]; `None` where a day was not covered whole.
    pub fn weekly(&self) -> Option<[f64; 7]> {
        self.rates(|hour| hour / 24, 0.999 * 86_400.0)
    }

    /// Rates by what `of` an hour of the week, each of which must be covered for so long \[s\].
    fn rates<const N: usize>(&self, of: fn(usize) -> usize, least_s: f64) -> Option<[f64; N]> {
        let (mut counts, mut covered) = ([0.0; N], [0.0; N]);
        for hour in 0..WEEK_HOURS {
            counts[of(hour)] += self.counts[hour] as f64;
            covered[of(hour)] += self.covered_s[hour];
        }
        let is_covered = covered.iter().all(|covered| *covered >= least_s);
        is_covered.then(|| std::array::from_fn(|index| counts[index] / covered[index]))
    }
}

/// A course while it is counted: when it grows too long, pairs of bins become one.
#[derive(Debug)]
pub(super) struct CourseCount {
    width: u64,
    counts: Vec<u64>,
}

impl Default for CourseCount {
    fn default() -> Self {
        Self {
            width: FINEST,
            counts: Vec::new(),
        }
    }
}

impl CourseCount {
    pub(super) fn arrived(&mut self, at: Duration) {
        while at.as_nanos() / self.width >= BINS as u64 {
            self.width *= 2;
            self.counts = self
                .counts
                .chunks(2)
                .map(|pair| pair.iter().sum())
                .collect();
        }
        let bin = (at.as_nanos() / self.width) as usize;
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
    }

    /// All bins but a last one that the end cuts short.
    pub(super) fn summed(mut self, span: Duration) -> Course {
        if self.counts.len() > 1 && !span.as_nanos().is_multiple_of(self.width) {
            self.counts.pop();
        }
        Course {
            bin: Duration::from_nanos(self.width),
            counts: self.counts,
        }
    }
}

#[derive(Debug)]
pub(super) struct HourCount {
    counts: Vec<u64>,
}

impl Default for HourCount {
    fn default() -> Self {
        Self {
            counts: vec![0; WEEK_HOURS],
        }
    }
}

/// The hour since a Monday 00:00.
fn hour(nanos: i128) -> i128 {
    (nanos + MONDAY_BEFORE_1970).div_euclid(HOUR_NS)
}

/// The hour of the week.
fn of_week(hour: i128) -> usize {
    hour.rem_euclid(WEEK_HOURS as i128) as usize
}

impl HourCount {
    /// Counts a request at its stamp \[ns\].
    pub(super) fn arrived(&mut self, nanos: i128) {
        self.counts[of_week(hour(nanos))] += 1;
    }

    pub(super) fn summed(self, first: i128, span: Duration) -> Hours {
        let last = first + i128::from(span.as_nanos());
        let mut covered_s = vec![0.0; WEEK_HOURS];
        let (from, to) = (hour(first), hour(last));
        for one in from..=to {
            let start = (one * HOUR_NS - MONDAY_BEFORE_1970).max(first);
            let end = ((one + 1) * HOUR_NS - MONDAY_BEFORE_1970).min(last);
            covered_s[of_week(one)] += (end - start) as f64 / 1e9;
        }
        Hours {
            counts: self.counts,
            covered_s,
        }
    }
}
