//! Can a calibration be trusted? The same calibration, again and again, of measurements whose truth is known.
//!
//! Simulation-based calibration (Talts et al. 2018, arXiv 1804.06788): a truth is drawn from the prior, the measurement is made
//! there, calibrated to, and the truth is ranked among draws from the posterior. If posteriors are what they claim to be, ranks
//! are uniform, and 90 % intervals hold the truth nine times in ten: of every value, and of whatever values decide - the product
//! of two, or what a benchmark there shows. With one truth for all trials the same is a test of recovery.
//!
//! The measurement can be made by another world than the one that is calibrated: a drill, which the predictive check should catch.
//!
//! Invariant: trial number `i` uses streams of its own, so neither threads nor the number of trials change what it gives.

mod quantity;

use rand::RngExt as _;

use super::observed::{Data, Figures, Series, Shot, Simulator};
use super::posterior::Posterior;
use super::predict::predict;
use super::search::{Impossible, search};
use crate::measure::feasible::Rounded;
use crate::stats::{CvDefinition, Uniformity};
use crate::streams::{Stream, Streams};

use super::distance::{report, ttfts};
pub use quantity::Quantity;

/// Draws among which a truth is ranked.
pub const DRAWS: usize = 99;
/// Ranks less uniform than that are no chance.
pub const LEAST_PROBABILITY: f64 = 0.001;
/// Deviations by which a coverage may miss 90 %: 86 to 94 % at 300 trials.
const DEVIATIONS: f64 = 2.3;
/// What is calibrated may be a point estimate off by so many posterior deviations on average.
pub const BIAS: f64 = 0.25;

/// How trials are made.
#[derive(Clone, Copy, Debug)]
pub struct Trials<'a> {
    /// What the measurements are of: the same free values as in `calibrated`, in the same order.
    pub world: Simulator<'a>,
    /// What is calibrated to them; its series have no data.
    pub calibrated: Simulator<'a>,
    /// Places of one truth for all trials; drawn from the prior where there is none.
    pub truth: Option<&'a [f64]>,
    /// Measurements are such figures of requests, not the requests.
    pub figures: Option<Digest>,
    /// The seed.
    pub seed: u64,
    /// Simulations of each search.
    pub simulations: u64,
}

/// Which figures somebody reports of requests: median, p95, CV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// How the CV is computed.
    pub said: CvDefinition,
    /// What it is taken for.
    pub taken: CvDefinition,
    /// Whether the longest TTFT is reported too.
    pub has_max: bool,
}

/// One trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// By quantity: what was found.
    pub found: Vec<Found>,
    /// The metrics that the predictive check refuses.
    pub refused: Vec<&'static str>,
}

/// What a trial found of a quantity, on the scale of the quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// What it was.
    pub truth: f64,
    /// The posterior's median.
    pub estimate: f64,
    /// The ends of its central 90 %.
    pub most: (f64, f64),
    /// Its standard deviation.
    pub deviation: f64,
    /// Draws below the truth, of [`DRAWS`]; those equal to it below or above by lot.
    pub rank: usize,
    /// The rank on 0 to 1, spread evenly over its width.
    pub position: f64,
}

/// What all trials say of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// Trials.
    pub trials: usize,
    /// Trials whose 90 % interval holds the truth.
    pub covered: usize,
    /// How far the estimate is above the truth, in posterior deviations, on average.
    pub bias: f64,
    /// Whether ranks are uniform; `None` with one truth for all, or few trials.
    pub uniformity: Option<Uniformity>,
}

impl Trials<'_> {
    /// What is ranked.
    pub fn quantities(&self) -> Vec<Quantity> {
        Quantity::all(self.calibrated.free)
    }

    /// Trial number `number`.
    pub fn run(&self, number: u64) -> Result<Trial, Impossible> {
        let mut stream = Streams::new(self.seed, number).stream("calibrate/trial");
        let (truth, series) = self.measurement(number, &mut stream)?;
        let simulator = Simulator {
            series: &series,
            ..self.calibrated
        };
        let seed = stream.random();
        let posterior = search(&simulator, seed, self.simulations, &|_| ())?;
        let prediction = predict(&simulator, &posterior, &|| ());
        let refused = prediction.checks.iter().filter(|check| check.fails);
        Ok(Trial {
            found: self.found(&truth, &posterior, &mut stream),
            refused: refused.map(|check| check.metric.name).collect(),
        })
    }

    /// A truth and what is measured there.
    fn measurement(
        &self,
        number: u64,
        stream: &mut Stream,
    ) -> Result<(Vec<f64>, Vec<Series>), Impossible> {
        /// So many settings in a row that are no valid scenario are no accident.
        const TRIES: u64 = 1000;
        for _ in 0..TRIES {
            let drawn = || self.world.free.iter().map(|_| stream.random()).collect();
            let truth = self.truth.map_or_else(drawn, <[f64]>::to_vec);
            let Some(seen) = self.world.run(&truth, number) else {
                continue;
            };
            let pairs = self.calibrated.series.iter().zip(seen);
            let series = pairs.map(|(series, seen)| Series {
                data: match self.figures {
                    None => Data::Requests(seen.shots),
                    Some(digest) => reported(&seen.shots, digest),
                },
                ..series.clone()
            });
            return Ok((truth, series.collect()));
        }
        Err(Impossible {
            impossible: TRIES,
            tried: TRIES,
        })
    }

    fn found(&self, truth: &[f64], posterior: &Posterior, stream: &mut Stream) -> Vec<Found> {
        let draws = posterior.resampled(DRAWS);
        let shown = |places: &[f64]| quantity::shown(&self.calibrated, places);
        let at_truth = shown(truth);
        let at_draws: Vec<quantity::Shown> = draws.iter().map(|places| shown(places)).collect();
        let of = |quantity: &Quantity| {
            let value = |places: &[f64], shown: &quantity::Shown| {
                quantity.value(self.calibrated.free, places, shown)
            };
            let all = draws.iter().zip(&at_draws);
            let all: Vec<f64> = all.map(|(places, shown)| value(places, shown)).collect();
            Found::of(value(truth, &at_truth), all, stream)
        };
        self.quantities().iter().map(of).collect()
    }
}

/// The figures that somebody would report of these requests.
fn reported(shots: &[Shot], digest: Digest) -> Data {
    let exact = |value| Rounded {
        value,
        half_unit: 0.0,
    };
    let Some(sample) = ttfts(shots) else {
        return Data::Requests(shots.to_vec());
    };
    let figures = report(&sample, digest.said);
    Data::Figures(Figures {
        median: exact(figures.median_s),
        p95: exact(figures.p95_s),
        cv_percent: exact(figures.cv_percent),
        max: digest.has_max.then(|| exact(sample.max())),
        std: None,
        definition: Some(digest.taken),
    })
}

impl Found {
    fn of(truth: f64, mut draws: Vec<f64>, stream: &mut Stream) -> Self {
        draws.sort_by(f64::total_cmp);
        let below = draws.partition_point(|draw| *draw < truth);
        let upto = draws.partition_point(|draw| *draw <= truth);
        let rank = stream.random_range(below..=upto);
        let position = (rank as f64 + stream.random::<f64>()) / (draws.len() + 1) as f64;
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>();
        // Of 99 draws the 5th and the 95th bound nine of ten.
        let at = |share: f64| draws[((draws.len() + 1) as f64 * share) as usize - 1];
        Self {
            truth,
            estimate: at(0.5),
            most: (at(0.05), at(0.95)),
            deviation: (square / (draws.len() - 1) as f64).sqrt(),
            rank,
            position,
        }
    }

    /// Whether the 90 % interval holds the truth.
    pub fn is_covered(&self) -> bool {
        (0.05..0.95).contains(&self.position)
    }
}

impl Finding {
    /// Of a quantity, from all trials.
    pub fn of(found: &[Found], is_one_truth: bool) -> Self {
        let positions: Vec<f64> = found.iter().map(|one| one.position).collect();
        let off = found.iter().filter(|one| one.deviation > 0.0);
        let off: Vec<f64> = off
            .map(|one| (one.estimate - one.truth) / one.deviation)
            .collect();
        Self {
            trials: found.len(),
            covered: found.iter().filter(|one| one.is_covered()).count(),
            bias: off.iter().sum::<f64>() / off.len().max(1) as f64,
            uniformity: (!is_one_truth)
                .then(|| Uniformity::of(&positions))
                .flatten(),
        }
    }

    /// The share of the trials whose interval holds the truth.
    pub fn coverage(&self) -> f64 {
        self.covered as f64 / self.trials as f64
    }

    /// Between which shares a coverage of 90 % lies by chance.
    pub fn coverage_bounds(&self) -> (f64, f64) {
        let width = DEVIATIONS * (0.9 * 0.1 / self.trials as f64).sqrt();
        (0.9 - width, (0.9 + width).min(1.0))
    }

    /// What is wrong, in a word each.
    pub fn faults(&self) -> Vec<&'static str> {
        let (low, high) = self.coverage_bounds();
        let p = |of: fn(&Uniformity) -> f64| self.uniformity.as_ref().map_or(1.0, of);
        let all = [
            ("coverage", !(low..=high).contains(&self.coverage())),
            ("bias", self.bias.abs() > BIAS),
            ("ranks", p(|one| one.ks_probability) < LEAST_PROBABILITY),
            ("bins", p(|one| one.chi2_probability) < LEAST_PROBABILITY),
        ];
        let wrong = all.into_iter().filter(|(_, is_wrong)| *is_wrong);
        wrong.map(|(name, _)| name).collect()
    }
}
