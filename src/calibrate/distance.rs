//! What two measurements are compared by.
//!
//! A measurement of requests becomes some twenty statistics of the logarithm of TTFT: quantiles, mean and deviation of warm and of
//! cold requests apart, how many were cold and where in the series, by the gap before them. These are the engineered statistics
//! that give calibrated posteriors where rejection by a distance between samples does not (theory.md §5.3); a regression then
//! finds which combinations of them tell of which value ([`search`](super::search)). Reported figures are compared as they are
//! reported: by their own definition, rounded as they were.
//!
//! Beside them stands a distance that a person can read: Wasserstein's between two samples of log TTFT, which is the mean factor
//! by which one has to be stretched to become the other.

use crate::measure::feasible::Rounded;
use crate::measure::split::{LEAST_RATIO, Split};
use crate::observation::Outcome;
use crate::stats::{CvDefinition, PercentileMethod, Sample};

use super::observed::{Data, Figures, Seen, Series, Shot};

/// Quantiles of log TTFT that are compared.
const QUANTILES: [f64; 7] = [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
/// Gaps are told apart in at most so many groups.
const GROUPS: usize = 8;
/// Gaps closer than this factor are one.
const ALIKE: f64 = 1.15;
/// How percentiles are read off.
const METHOD: PercentileMethod = PercentileMethod::Linear;

/// How one series is looked at; made from what was measured, applied to what is simulated too.
#[derive(Clone, Debug)]
pub struct Lens {
    figures: Option<Figures>,
    /// From this TTFT on a request is cold where nothing says whether it is \[s\].
    cold_from_s: f64,
    /// Whether the measurement itself says which requests met a cold start.
    is_flagged: bool,
    /// By request: the group of the gap before it; empty where gaps are alike or unknown.
    groups: Vec<usize>,
    group_count: usize,
    has_latency: bool,
    has_pace: bool,
}

impl Lens {
    /// How to look at a series.
    pub fn of(series: &Series) -> Self {
        match &series.data {
            Data::Figures(figures) => Self {
                figures: Some(*figures),
                cold_from_s: f64::INFINITY,
                is_flagged: false,
                groups: Vec::new(),
                group_count: 0,
                has_latency: false,
                has_pace: false,
            },
            Data::Requests(shots) => Self::of_shots(shots),
        }
    }

    fn of_shots(shots: &[Shot]) -> Self {
        let answered = || shots.iter().filter(|shot| shot.ttft_s.is_some());
        let (groups, group_count) = groups(shots);
        Self {
            figures: None,
            cold_from_s: ttfts(shots).map_or(f64::INFINITY, |sample| cold_from(&sample)),
            is_flagged: answered().next().is_some() && answered().all(|shot| shot.cold.is_some()),
            groups,
            group_count,
            has_latency: answered().next().is_some()
                && answered().all(|shot| shot.latency_s.is_some()),
            has_pace: answered().next().is_some()
                && answered().all(|shot| shot.per_token_s.is_some()),
        }
    }

    /// Whether the measurement says which requests met a cold start.
    pub fn is_flagged(&self) -> bool {
        self.is_flagged
    }

    /// Whether times between tokens are known.
    pub fn has_pace(&self) -> bool {
        self.has_pace
    }

    /// Whether it is known when answers ended.
    pub fn has_latency(&self) -> bool {
        self.has_latency
    }

    /// The figures, where there is nothing else.
    pub fn figures(&self) -> Option<&Figures> {
        self.figures.as_ref()
    }

    /// Which gap a request follows, like ones being one; `None` after none.
    pub fn group(&self, request: usize) -> Option<usize> {
        if self.group_count == 0 {
            return (request > 0).then_some(0);
        }
        let group = self.groups.get(request).copied();
        group.filter(|group| *group < self.group_count)
    }

    /// Whether a request counts as cold.
    pub fn is_cold(&self, shot: &Shot) -> bool {
        match shot.cold {
            Some(cold) if self.is_flagged => cold,
            _ => shot.ttft_s.is_some_and(|ttft| ttft >= self.cold_from_s),
        }
    }

    /// The statistics of a measurement; always as many, always finite.
    pub fn statistics(&self, seen: &Seen) -> Vec<f64> {
        match &self.figures {
            Some(figures) => of_figures(figures, seen),
            None => self.of_requests(&seen.shots),
        }
    }

    fn of_requests(&self, shots: &[Shot]) -> Vec<f64> {
        let share = |count: usize| (count as f64 / shots.len().max(1) as f64).sqrt();
        let failed = |wanted: fn(Outcome) -> bool| {
            share(shots.iter().filter(|shot| wanted(shot.outcome)).count())
        };
        let mut all = vec![
            failed(|outcome| outcome == Outcome::TimedOut),
            failed(|outcome| matches!(outcome, Outcome::Rejected { .. })),
            failed(|outcome| outcome == Outcome::Failed),
        ];
        let logs = |wanted: &dyn Fn(&Shot) -> bool| -> Vec<f64> {
            let wanted = shots.iter().filter(|shot| wanted(shot));
            wanted.filter_map(|shot| shot.ttft_s).map(log).collect()
        };
        let every = Sample::new(logs(&|_| true));
        all.extend(QUANTILES.map(|p| {
            every
                .as_ref()
                .map_or(0.0, |sample| sample.quantile(p, METHOD))
        }));
        all.push(every.as_ref().map_or(0.0, Sample::max));
        let warm = logs(&|shot| !self.is_cold(shot));
        all.push(together(&warm));
        let warm = Sample::new(warm);
        all.extend(moments(warm.as_ref(), every.as_ref()));
        let cold = Sample::new(logs(&|shot| self.is_cold(shot)));
        let count = shots.iter().filter(|shot| self.is_cold(shot)).count();
        all.extend([share(count), (1.0 + count as f64).ln()]);
        let [mean, std] = moments(cold.as_ref(), every.as_ref());
        all.extend([mean, std]);
        all.extend([
            cold.as_ref().map_or(mean, Sample::min),
            cold.as_ref().map_or(mean, Sample::max),
        ]);
        all.extend(self.serial(shots));
        all.extend(self.pace(shots));
        all
    }

    /// Where in the series cold requests stand.
    fn serial(&self, shots: &[Shot]) -> Vec<f64> {
        let cold: Vec<bool> = shots.iter().map(|shot| self.is_cold(shot)).collect();
        let pairs = cold.windows(2).filter(|pair| pair[0] && pair[1]).count();
        let mut all = vec![
            f64::from(u8::from(cold.first().copied().unwrap_or(false))),
            (pairs as f64).sqrt(),
        ];
        for group in 0..self.group_count {
            let members = || {
                let both = cold.iter().zip(&self.groups);
                both.filter(move |(_, of)| **of == group)
                    .map(|(cold, _)| *cold)
            };
            let total = members().count();
            // A little towards the middle, so that none of two and none of twenty differ.
            all.push((members().filter(|cold| *cold).count() as f64 + 0.25) / (total as f64 + 0.5));
        }
        if self.group_count > 1 {
            let gaps = |wanted: bool| {
                let both = shots
                    .iter()
                    .zip(&cold)
                    .filter(move |(_, cold)| **cold == wanted);
                both.filter_map(|(shot, _)| shot.gap_s).map(log)
            };
            let (low, high) = gaps(true)
                .chain(gaps(false))
                .fold((0.0_f64, 0.0_f64), |ends, gap| {
                    (ends.0.min(gap), ends.1.max(gap))
                });
            all.push(gaps(false).reduce(f64::max).unwrap_or(low));
            all.push(gaps(true).reduce(f64::min).unwrap_or(high));
        }
        all
    }

    /// Times between tokens and to the end, where they are known.
    fn pace(&self, shots: &[Shot]) -> Vec<f64> {
        let mut all = Vec::new();
        let mut add = |of: fn(&Shot) -> Option<f64>| {
            let sample = Sample::new(shots.iter().filter_map(of).map(log).collect());
            all.extend(moments(sample.as_ref(), None));
        };
        if self.has_pace {
            add(|shot| shot.per_token_s);
        }
        if self.has_latency {
            add(|shot| shot.latency_s);
        }
        all
    }
}

/// Warm and cold requests of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Groups {
    /// What tells them apart.
    pub told_by: ToldBy,
    /// Answers of warm requests.
    pub warm: usize,
    /// Median of their TTFT \[s\].
    pub warm_median_s: Option<f64>,
    /// Answers of cold requests.
    pub cold: usize,
    /// Median of their TTFT \[s\].
    pub cold_median_s: Option<f64>,
}

/// What tells warm requests from cold ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldBy {
    /// The measurement itself.
    Flags,
    /// Two groups of TTFTs that are surely two.
    TwoGroups,
    /// Two groups of TTFTs that may be one.
    CannotTell,
    /// Nothing: there is one group.
    OneGroup,
}

impl Groups {
    /// Of a series; `None` where only figures are known, or nothing was answered.
    pub fn of(series: &Series) -> Option<Self> {
        let Data::Requests(shots) = &series.data else {
            return None;
        };
        let lens = Lens::of(series);
        let all = ttfts(shots)?;
        let told_by = match Split::of(&all, METHOD) {
            _ if lens.is_flagged => ToldBy::Flags,
            Split::Two { .. } => ToldBy::TwoGroups,
            Split::CannotTell { .. } => ToldBy::CannotTell,
            Split::One { .. } | Split::TooFew => ToldBy::OneGroup,
        };
        let is_cold = |shot: &Shot| told_by != ToldBy::OneGroup && lens.is_cold(shot);
        let group = |wanted: bool| {
            let members = shots.iter().filter(|shot| is_cold(shot) == wanted);
            Sample::new(members.filter_map(|shot| shot.ttft_s).collect())
        };
        let (warm, cold) = (group(false), group(true));
        let count = |group: &Option<Sample>| group.as_ref().map_or(0, Sample::len);
        let median = |group: &Option<Sample>| Some(group.as_ref()?.quantile(0.5, METHOD));
        Some(Self {
            told_by,
            warm: count(&warm),
            warm_median_s: median(&warm),
            cold: count(&cold),
            cold_median_s: median(&cold),
        })
    }
}

/// The figures as they would be reported, in logarithms.
fn of_figures(figures: &Figures, seen: &Seen) -> Vec<f64> {
    let sample = ttfts(&seen.shots);
    let Some(sample) = sample else {
        return vec![
            0.0;
            3 + usize::from(figures.max.is_some()) + usize::from(figures.std.is_some())
        ];
    };
    let reported = report(&sample, seen.definition);
    let mut all = vec![
        as_reported(reported.median_s, figures.median),
        as_reported(reported.p95_s, figures.p95),
        as_reported(reported.cv_percent, figures.cv_percent),
    ];
    all.extend(figures.max.map(|max| as_reported(sample.max(), max)));
    all.extend(figures.std.map(|std| as_reported(reported.std_s, std)));
    all
}

/// What was reported, in the order and form of [`Lens::statistics`].
pub fn statistics_of_figures(figures: &Figures) -> Vec<f64> {
    let given = [
        Some(figures.median),
        Some(figures.p95),
        Some(figures.cv_percent),
        figures.max,
        figures.std,
    ];
    given
        .into_iter()
        .flatten()
        .map(|one| as_reported(one.value, one))
        .collect()
}

/// Figures of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Reported {
    /// Median \[s\].
    pub median_s: f64,
    /// 95 % quantile \[s\].
    pub p95_s: f64,
    /// Standard deviation \[s\].
    pub std_s: f64,
    /// By the definition that was asked for [%].
    pub cv_percent: f64,
}

/// The figures that a report of the sample would hold.
pub fn report(sample: &Sample, definition: CvDefinition) -> Reported {
    let median_s = sample.quantile(0.5, METHOD);
    let std_s = sample.std().unwrap_or(0.0);
    let divisor = match definition {
        CvDefinition::StdOverMean => sample.mean(),
        CvDefinition::StdOverMedian => median_s,
    };
    Reported {
        median_s,
        p95_s: sample.quantile(0.95, METHOD),
        std_s,
        cv_percent: if divisor > 0.0 {
            100.0 * std_s / divisor
        } else {
            0.0
        },
    }
}

/// The logarithm of a figure rounded as another one is.
fn as_reported(value: f64, like: Rounded) -> f64 {
    log(as_printed(value, like).max(0.5 * like.half_unit))
}

/// A figure rounded as another one is. What would round to nothing stays as it is, since nobody reports a TTFT of 0 s; so does
/// everything where the other one's digits are not known.
pub fn as_printed(value: f64, like: Rounded) -> f64 {
    let unit = 2.0 * like.half_unit;
    let printed = (value / unit).round() * unit;
    if printed > 0.0 { printed } else { value }
}

/// Wasserstein's distance between two samples of log TTFT: 0.1 is a mean factor of 1.1. `None` where one is empty.
pub fn wasserstein(a: &[Shot], b: &[Shot]) -> Option<f64> {
    let (a, b) = (ttfts(a)?, ttfts(b)?);
    let at = |sample: &Sample, p: f64| log(sample.quantile(p, METHOD));
    // Equal numbers have their order statistics compared one by one; others meet on a grid as fine.
    let points = a.len().max(b.len());
    let p = |index: usize| {
        if points > 1 {
            index as f64 / (points - 1) as f64
        } else {
            0.5
        }
    };
    let sum: f64 = (0..points)
        .map(|index| (at(&a, p(index)) - at(&b, p(index))).abs())
        .sum();
    Some(sum / points as f64)
}

/// TTFTs of the successes; `None` without one.
pub fn ttfts(shots: &[Shot]) -> Option<Sample> {
    Sample::new(shots.iter().filter_map(|shot| shot.ttft_s).collect())
}

/// From where on a TTFT is of another kind than most.
fn cold_from(sample: &Sample) -> f64 {
    if let Some(from) = Split::of(sample, METHOD).cold_from_s() {
        let quick = sample.values().iter().rev().find(|ttft| **ttft < from);
        return (from * quick.copied().unwrap_or(from)).sqrt();
    }
    let median = sample.quantile(0.5, METHOD);
    let wide = (sample.quantile(0.95, METHOD) / median.max(1e-9)).powi(2);
    median * wide.max(LEAST_RATIO)
}

/// Groups of like gaps: the group of each request, and how many there are; none where all gaps are alike.
fn groups(shots: &[Shot]) -> (Vec<usize>, usize) {
    let mut gaps: Vec<f64> = shots
        .iter()
        .filter_map(|shot| shot.gap_s)
        .map(log)
        .collect();
    gaps.sort_unstable_by(f64::total_cmp);
    let spread = gaps
        .first()
        .zip(gaps.last())
        .map_or(0.0, |(low, high)| high - low);
    if gaps.len() + 1 < shots.len() || spread < ALIKE.ln() {
        return (Vec::new(), 0);
    }
    let mut edges: Vec<f64> = gaps
        .windows(2)
        .filter(|pair| pair[1] - pair[0] > ALIKE.ln())
        .map(|pair| 0.5 * (pair[0] + pair[1]))
        .collect();
    if edges.len() + 1 > GROUPS || edges.is_empty() {
        let at = |index: usize| gaps[index * gaps.len() / GROUPS];
        edges = (1..GROUPS).map(at).collect();
        edges.dedup();
    }
    let group = |shot: &Shot| {
        let gap = shot.gap_s.map(log);
        // The first request follows no gap.
        gap.map_or(usize::MAX, |gap| edges.partition_point(|edge| *edge <= gap))
    };
    (shots.iter().map(group).collect(), edges.len() + 1)
}

/// Mean and deviation of logarithms; of nothing, those of another sample.
fn moments(sample: Option<&Sample>, otherwise: Option<&Sample>) -> [f64; 2] {
    let mean = sample.or(otherwise).map_or(0.0, Sample::mean);
    [mean, sample.and_then(Sample::std).unwrap_or(0.0)]
}

/// How much a value resembles the one before it: the lag-1 autocorrelation.
pub fn together(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if values.len() < 3 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / n;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let product: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// A logarithm that exists for zero too: nothing here is shorter than a nanosecond.
pub fn log(value: f64) -> f64 {
    value.max(1e-9).ln()
}
