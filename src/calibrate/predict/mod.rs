//! Would the calibrated scenario have given these figures? A posterior predictive check, metric by metric and series by series.
//!
//! The measurement is simulated again at settings drawn from the posterior. A metric fails when what was measured lies so far out
//! among the simulated ones that chance would put any of the metrics there once in twenty times (`joint`); then the scenario,
//! whatever its free values, does not do what was measured. Errors are signed: simulated over measured, less one.
//!
//! Gelman, Meng & Stern 1996, Stat. Sinica 6:733.

mod joint;
mod metrics;

use rayon::prelude::*;

use super::distance::Lens;
use super::observed::{Data, Seen, Shot, Simulator};
use super::posterior::Posterior;
use crate::stats::{PercentileMethod, Sample};
use joint::{Column, Probability, probabilities};
use metrics::{Eye, of_curve};

/// Measurements of so many series that a check simulates, beside a search of so many simulations.
///
/// Each metric is farthest out in two of them: with fewer than a thousand by series nothing could be too improbable.
pub fn predictions(simulations: u64, series: usize) -> usize {
    let least = 1000 * series;
    (simulations as usize / 5).clamp(least, least.max(5000))
}

/// By chance one of the metrics fails with this probability.
pub const LEVEL: f64 = 0.05;
/// Replications of the check, apart from those of the search.
const FIRST_REPLICATION: u64 = 1 << 40;
/// Points of a curve.
const POINTS: usize = 200;
/// Of what is simulated: the ends of the central 90 %, and the middle.
const ENDS: [f64; 3] = [0.05, 0.5, 0.95];
const METHOD: PercentileMethod = PercentileMethod::Linear;

/// What a metric counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Percent.
    Percent,
    /// Requests.
    Requests,
    /// Nothing.
    One,
}

/// How many requests were under way when those of a metric were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Any number.
    All,
    /// At most this many, which half of the requests met.
    Quiet(usize),
    /// More.
    Busy(usize),
}

/// A metric of one series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// What it is called.
    pub name: &'static str,
    /// What it counts in.
    pub unit: Unit,
    /// Which requests it is of.
    pub load: Load,
}

/// A metric as measured and as simulated.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Index of the series.
    pub series: usize,
    /// What is compared.
    pub metric: Metric,
    /// As measured.
    pub measured: f64,
    /// The 5 % quantile of the simulated ones.
    pub low: f64,
    /// Their median.
    pub middle: f64,
    /// Their 95 % quantile.
    pub high: f64,
    /// How probable it is that chance puts a value as far out.
    pub probability: f64,
    /// How probable it is that chance puts any of all metrics as far out.
    pub any_probability: f64,
    /// Whether that is too improbable.
    pub fails: bool,
}

/// A quantile of TTFT as measured and as simulated.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Which quantile.
    pub p: f64,
    /// As measured \[s\]; `None` where only figures are known.
    pub measured_s: Option<f64>,
    /// The 5 % quantile of the simulated ones \[s\].
    pub low_s: f64,
    /// Their median \[s\].
    pub middle_s: f64,
    /// Their 95 % quantile \[s\].
    pub high_s: f64,
}

/// What the check found.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Every metric of every series.
    pub checks: Vec<Check>,
    /// By series: quantiles of TTFT.
    pub curves: Vec<Vec<Point>>,
    /// Measurements simulated.
    pub predictions: usize,
}

impl Check {
    fn of(series: usize, metric: Metric, column: &Column, probability: Probability) -> Self {
        let simulated = Sample::new(column.simulated.iter().flatten().copied().collect());
        let simulated = simulated.expect("more than half of the simulations have the metric");
        let [low, middle, high] = ENDS.map(|p| simulated.quantile(p, METHOD));
        Self {
            series,
            metric,
            measured: column.measured,
            low,
            middle,
            high,
            probability: probability.alone,
            any_probability: probability.any,
            fails: probability.any <= LEVEL,
        }
    }

    /// Simulated over measured, less one; `None` where nothing was measured, and of correlations and deviations, which may be
    /// about zero.
    pub fn error(&self) -> Option<f64> {
        let is_ratio = self.measured != 0.0 && self.metric.unit != Unit::One;
        is_ratio.then(|| self.middle / self.measured - 1.0)
    }
}

impl Prediction {
    /// Whether nothing fails.
    pub fn is_calibrated(&self) -> bool {
        self.checks.iter().all(|check| !check.fails)
    }
}

/// Simulates the measurement at settings from the posterior and compares. `progress` hears of every simulation, from any thread.
pub fn predict(
    simulator: &Simulator<'_>,
    posterior: &Posterior,
    progress: &(dyn Fn() + Sync),
) -> Prediction {
    let settings = posterior.resampled(predictions(posterior.simulations, simulator.series.len()));
    let one = |(index, places): (usize, &[f64])| {
        let seen = simulator.run(places, FIRST_REPLICATION + index as u64);
        progress();
        seen
    };
    let seen: Vec<Vec<Seen>> = settings
        .into_par_iter()
        .enumerate()
        .filter_map(one)
        .collect();
    let (mut looked_at, mut curves) = (Vec::new(), Vec::new());
    for (index, series) in simulator.series.iter().enumerate() {
        let lens = Lens::of(series);
        let simulated: Vec<&Seen> = seen.iter().map(|all| &all[index]).collect();
        let curve = curve(&series.data, &simulated);
        let mut columns = Eye::of(&series.data, &lens).columns(&series.data, &simulated);
        columns.extend(of_curve(&series.data, &simulated, &curve));
        looked_at.extend(columns.into_iter().map(|column| (index, column)));
        curves.push(curve);
    }
    Prediction {
        checks: judged(looked_at),
        curves,
        predictions: seen.len(),
    }
}

/// Metrics by series, all of which are judged together.
fn judged(looked_at: Vec<(usize, (Metric, Column))>) -> Vec<Check> {
    let (names, columns): (Vec<(usize, Metric)>, Vec<Column>) = looked_at
        .into_iter()
        .map(|(series, (metric, column))| ((series, metric), column))
        .unzip();
    let all = names.iter().zip(&columns).zip(probabilities(&columns));
    all.map(|(((series, metric), column), probability)| {
        Check::of(*series, *metric, column, probability)
    })
    .collect()
}

fn sample(shots: &[Shot], of: impl Fn(&Shot) -> Option<f64>) -> Option<Sample> {
    Sample::new(shots.iter().filter_map(of).collect())
}

/// Quantiles of TTFT over the simulated measurements.
fn curve(data: &Data, simulated: &[&Seen]) -> Vec<Point> {
    let samples: Vec<Sample> = simulated
        .iter()
        .filter_map(|seen| sample(&seen.shots, |shot| shot.ttft_s))
        .collect();
    let measured = match data {
        Data::Requests(shots) => sample(shots, |shot| shot.ttft_s),
        Data::Figures(_) => None,
    };
    let point = |index: usize| {
        let p = (index as f64 + 0.5) / POINTS as f64;
        let all = samples.iter().map(|sample| sample.quantile(p, METHOD));
        let all = Sample::new(all.collect())?;
        let [low_s, middle_s, high_s] = ENDS.map(|p| all.quantile(p, METHOD));
        Some(Point {
            p,
            measured_s: measured.as_ref().map(|sample| sample.quantile(p, METHOD)),
            low_s,
            middle_s,
            high_s,
        })
    };
    (0..POINTS).filter_map(point).collect()
}
