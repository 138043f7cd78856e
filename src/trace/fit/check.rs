//! What a law makes, found in its own arrivals as the trace's figures were found in the trace.

use super::sample::{SEED, Sample};
use super::{Dispersion, Law};
use crate::distribution::Distribution;
use crate::streams::Streams;
use crate::time::{Duration, Time};
use crate::trace::survey::{Survey, Tally};
use crate::workload::{ArrivalProcess, Arrivals, Pattern};

/// Arrivals that are made at most.
const MOST: u64 = 400_000;
/// Realisations of short traces.
const REALISATIONS: u64 = 20;

impl Law {
    /// The process under a scenario's names.
    pub(super) fn pattern(&self) -> Pattern {
        match *self {
            Self::Poisson { rate } => Pattern::Renewal {
                rate,
                gap: Distribution::Exponential { mean: 1.0 },
            },
            Self::Gamma { rate, cv } => Pattern::Renewal {
                rate,
                gap: Distribution::Gamma { mean: 1.0, cv },
            },
            Self::Mmpp { rates, sojourns } => Pattern::Mmpp { rates, sojourns },
        }
    }
}

/// CV of gaps and dispersion of counts of arrivals over the trace's span, averaged over realisations of it.
pub(super) fn made(law: &Law, sample: &Sample, survey: &Survey) -> (Option<f64>, Vec<Dispersion>) {
    let realisations = (MOST / survey.rows).clamp(1, REALISATIONS);
    let made: Vec<Tally> = (0..realisations)
        .map(|index| realisation(law, sample, survey, index))
        .collect();
    let mean = |values: Vec<Option<f64>>| {
        let values: Vec<f64> = values.into_iter().flatten().collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let cv = mean(made.iter().map(Tally::gap_cv).collect());
    let dispersions: Vec<Vec<Dispersion>> = made.iter().map(Tally::dispersion).collect();
    let mut dispersion = survey.dispersion.clone();
    for (index, one) in dispersion.iter_mut().enumerate() {
        let found = dispersions.iter().map(|one| one[index].index).collect();
        one.index = one.index.and_then(|_| mean(found));
    }
    (cv, dispersion)
}

fn realisation(law: &Law, sample: &Sample, survey: &Survey, index: u64) -> Tally {
    let process = ArrivalProcess {
        pattern: law.pattern(),
        curve: sample.curve.clone(),
    };
    let stream = Streams::new(SEED, index).stream(law.name());
    let phase = Duration::from_secs(sample.phase_s);
    let mut tally = Tally::default();
    let end = Time::ZERO + survey.span;
    let arrivals = Arrivals::new(process, phase, Time::ZERO, stream);
    for at in arrivals.take_while(|at| *at <= end).take(2 * MOST as usize) {
        tally.arrived(at.since(Time::ZERO));
    }
    tally
}
