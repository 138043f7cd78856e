//! Running sums of gaps, counts and lengths.

use std::collections::BTreeMap;

use crate::stats::Histogram;
use crate::time::Duration;

/// Times between one request and the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaps {
    /// Standard deviation (n - 1) over mean; `None` below three requests.
    pub cv: Option<f64>,
    /// Median \[s\].
    pub median_s: f64,
    /// 99 % quantile \[s\].
    pub p99_s: f64,
    /// Share of gaps of zero.
    pub zero_share: f64,
}

/// How unevenly requests fall into windows of one width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersion {
    /// Width \[s\].
    pub window_s: u64,
    /// Whole windows, from the first request; the last one, which the file's end cuts, is none.
    pub windows: u64,
    /// Variance (n - 1) over mean of their counts; `None` below two windows.
    pub index: Option<f64>,
}

/// Lengths of prompts or answers \[tokens\].
#[derive(Clone, Debug, PartialEq)]
pub struct Lengths {
    /// Requests with a length.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: u32,
    /// Most.
    pub max: u32,
    /// How many had each length, in order.
    counts: Vec<(u32, u64)>,
}

impl Lengths {
    /// The `p` quantile, linear between the order statistics around it.
    pub fn quantile(&self, p: f64) -> f64 {
        let position = p * (self.count - 1) as f64;
        let low = self.at(position.floor() as u64);
        let high = self.at(position.ceil() as u64);
        low + (high - low) * position.fract()
    }

    /// The length with so many before it.
    fn at(&self, rank: u64) -> f64 {
        let mut before = 0;
        let found = self.counts.iter().find(|(_, count)| {
            before += count;
            before > rank
        });
        found.map_or(f64::from(self.max), |(length, _)| f64::from(*length))
    }
}

/// Running moments, kept about the mean (Welford 1962).
#[derive(Clone, Debug, Default)]
pub(super) struct GapCount {
    count: u64,
    mean: f64,
    squares: f64,
    zero: u64,
}

impl GapCount {
    pub(super) fn take(&mut self, gap: Duration) {
        let gap_s = gap.as_secs();
        self.count += 1;
        self.zero += u64::from(gap == Duration::ZERO);
        let off = gap_s - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (gap_s - self.mean);
    }

    /// Whether they do not vary at all.
    pub(super) fn are_alike(&self) -> bool {
        self.count > 0 && self.squares <= 1e-12 * self.mean * self.mean
    }

    /// Standard deviation (n - 1) over mean.
    pub(super) fn cv(&self) -> Option<f64> {
        let deviation = (self.squares / (self.count as f64 - 1.0)).sqrt();
        (self.count > 1 && self.mean > 0.0).then(|| deviation / self.mean)
    }

    pub(super) fn summed(&self, histogram: &Histogram) -> Option<Gaps> {
        let quantile = |p: f64| histogram.quantile(p).map(Duration::as_secs);
        Some(Gaps {
            cv: self.cv(),
            median_s: quantile(0.5)?,
            p99_s: quantile(0.99)?,
            zero_share: self.zero as f64 / self.count as f64,
        })
    }
}

/// Counts in windows of one width.
#[derive(Clone, Debug)]
pub(super) struct WindowCount {
    width_s: u64,
    /// Windows that are over.
    over: u64,
    /// Requests in the present one.
    count: u64,
    /// Over those that are over.
    sum: u64,
    squares: u128,
}

impl WindowCount {
    pub(super) fn new(width_s: u64) -> Self {
        Self {
            width_s,
            over: 0,
            count: 0,
            sum: 0,
            squares: 0,
        }
    }

    pub(super) fn arrived(&mut self, at: Duration) {
        let window = at.as_nanos() / (self.width_s * 1_000_000_000);
        if window > self.over {
            self.over = window;
            self.sum += self.count;
            self.squares += u128::from(self.count).pow(2);
            self.count = 0;
        }
        self.count += 1;
    }

    pub(super) fn summed(&self) -> Dispersion {
        let (windows, sum) = (self.over as f64, self.sum as f64);
        let variance = (self.squares as f64 - sum * sum / windows) / (windows - 1.0);
        Dispersion {
            window_s: self.width_s,
            windows: self.over,
            index: (self.over > 1 && self.sum > 0).then(|| variance / (sum / windows)),
        }
    }
}

/// How many requests had each length: as many entries as there are different lengths.
#[derive(Debug, Default)]
pub(super) struct LengthCount {
    counts: BTreeMap<u32, u64>,
}

impl LengthCount {
    pub(super) fn take(&mut self, length: Option<u32>) {
        if let Some(length) = length {
            *self.counts.entry(length).or_default() += 1;
        }
    }

    pub(super) fn summed(&self) -> Option<Lengths> {
        let (min, max) = (self.counts.keys().next()?, self.counts.keys().next_back()?);
        let count: u64 = self.counts.values().sum();
        let total: f64 = self
            .counts
            .iter()
            .map(|(length, count)| f64::from(*length) * *count as f64)
            .sum();
        Some(Lengths {
            count,
            mean: total / count as f64,
            min: *min,
            max: *max,
            counts: self
                .counts
                .iter()
                .map(|(&length, &count)| (length, count))
                .collect(),
        })
    }
}
