//! The gaps that laws are fitted to.

use std::sync::Arc;

use crate::foreign::ImportError;
use crate::streams::Streams;
use crate::time::{Duration, Time};
use crate::trace::survey::Survey;
use crate::trace::{Replayed, Trace};
use crate::workload::{ArrivalProcess, Arrivals, Curve, Pattern, Replay};

/// Gaps that are fitted at most: more would only cost time.
const MOST_GAPS: usize = 20_000;
/// No gap is shorter: a law with a density allows none of zero \[s\].
const LEAST_GAP_S: f64 = 1e-9;
/// Stretches that longer traces are cut to.
const STRETCHES: usize = 16;
/// From 1970-01-01, a Thursday, back to the Monday before it \[s\].
const MONDAY_BEFORE_1970_S: f64 = 3.0 * 86_400.0;
const WEEK_S: f64 = 604_800.0;
/// The seed by which shared stamps are spread.
pub(super) const SEED: u64 = 1;

/// Arrivals that follow each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    /// When each came, from the trace's first \[s\].
    at: Vec<f64>,
}

/// Gaps under a curve.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) stretches: Vec<Stretch>,
    pub(super) curve: Curve,
    /// From Monday 00:00 to the first arrival \[s\].
    pub(super) phase_s: f64,
}

/// A part of a gap on which the curve is level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// How long \[s\].
    pub(super) length_s: f64,
    /// The curve's multiplier.
    pub(super) multiplier: f64,
    /// Whether an arrival ends it, and not only a change of the curve.
    pub(super) arrives: bool,
}

/// A gap between two arrivals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap<'a> {
    from: f64,
    to: f64,
    curve: &'a Curve,
}

impl Sample {
    /// Reads a trace, its shared stamps spread over their step.
    pub(super) fn of(trace: &Trace, survey: &Survey, curve: Curve) -> Result<Self, ImportError> {
        let replayed = Replayed {
            trace: trace.clone(),
            model: None,
            keeps_failures: true,
        };
        let extent = replayed.extent()?;
        let step = extent.step();
        let replay = Replay {
            source: Arc::new(replayed),
            rate: survey.rate().unwrap_or_default(),
            period: extent.period(step),
            skip: Duration::ZERO,
            repeats: false,
            factor: 1.0,
            speed: 1.0,
            step,
            lengths: [false; 2],
            slice: [0.0, 1.0],
        };
        let process = ArrivalProcess {
            pattern: Pattern::Trace(Box::new(replay)),
            curve: Curve::FLAT,
        };
        let stream = Streams::new(SEED, 0).stream("trace/spread");
        let arrivals = Arrivals::new(process, Duration::ZERO, Time::ZERO, stream);
        let since_monday = match survey.first_ns {
            Some(nanos) => (nanos as f64 / 1e9 + MONDAY_BEFORE_1970_S).rem_euclid(WEEK_S),
            None => survey.zero_s,
        };
        Ok(Self {
            stretches: stretches(arrivals.map(Time::as_secs), survey.rows as usize),
            curve,
            phase_s: since_monday,
        })
    }

    fn of_stretch<'a>(&'a self, stretch: &'a Stretch) -> impl Iterator<Item = Gap<'a>> {
        stretch.at.windows(2).map(|pair| Gap {
            from: self.phase_s + pair[0],
            to: (self.phase_s + pair[1]).max(self.phase_s + pair[0] + LEAST_GAP_S),
            curve: &self.curve,
        })
    }

    /// All gaps.
    pub(super) fn all(&self) -> impl Iterator<Item = Gap<'_>> {
        let stretches = self.stretches.iter();
        stretches.flat_map(|stretch| self.of_stretch(stretch))
    }

    /// The parts of all gaps, stretch by stretch.
    pub(super) fn steps(&self) -> Vec<Vec<Step>> {
        let stretches = self.stretches.iter();
        stretches
            .map(|stretch| self.of_stretch(stretch).flat_map(Gap::steps).collect())
            .collect()
    }

    /// How many gaps there are.
    pub(super) fn gaps(&self) -> usize {
        self.stretches.iter().map(|one| one.at.len() - 1).sum()
    }

    /// Mean rate in operational time [1/s].
    pub(super) fn rate(&self) -> f64 {
        let total: f64 = self.all().map(Gap::operational_s).sum();
        self.gaps() as f64 / total
    }

    /// What all laws' likelihoods have in common: the curve's logarithm at each arrival.
    pub(super) fn log_curve(&self) -> f64 {
        self.all().map(|gap| gap.multiplier_at_end().ln()).sum()
    }
}

impl Gap<'_> {
    /// Its parts on which the curve is level.
    fn steps(self) -> impl Iterator<Item = Step> {
        let mut at = self.from;
        std::iter::from_fn(move || {
            if at >= self.to {
                return None;
            }
            let (multiplier, holds) = self.curve.at(at);
            let end = holds.min(self.to);
            let length_s = end - at;
            at = end;
            Some(Step {
                length_s,
                multiplier,
                arrives: at >= self.to,
            })
        })
    }

    /// The integral of the curve over it \[s\].
    pub(super) fn operational_s(self) -> f64 {
        let parts = self.steps().map(|one| one.length_s * one.multiplier);
        parts.sum::<f64>().max(LEAST_GAP_S)
    }

    /// The curve where it ends.
    pub(super) fn multiplier_at_end(self) -> f64 {
        self.curve.at(self.to).0.max(f64::MIN_POSITIVE)
    }
}

/// All arrivals, or as many as are fitted in stretches that begin evenly over the trace.
fn stretches(arrivals: impl Iterator<Item = f64>, rows: usize) -> Vec<Stretch> {
    if rows <= MOST_GAPS + 1 {
        return vec![Stretch {
            at: arrivals.collect(),
        }];
    }
    let length = MOST_GAPS / STRETCHES + 1;
    let mut found = vec![Stretch::default(); STRETCHES];
    for (index, at) in arrivals.enumerate() {
        let stretch = index * STRETCHES / rows;
        let own = &mut found[stretch].at;
        if own.len() < length {
            own.push(at);
        }
    }
    found
}
