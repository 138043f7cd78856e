//! Would the calibrated scenario have given these figures? A posterior predictive check, metric by metric and series by series.
//!
//! The measurement is simulated again at settings drawn from the posterior. A metric fails when what was measured lies so far out
//! among the simulated ones that chance would put any of the metrics there once in twenty times; then the scenario, whatever its
//! free values, does not do what was measured. Errors are signed: simulated over measured, less one.

use rayon::prelude::*;

use super::distance::{Lens, log, report, together};
use super::observed::{Data, Figures, Seen, Shot, Simulator};
use super::posterior::Posterior;
use crate::observation::Outcome;
use crate::stats::{CvDefinition, PercentileMethod, Sample};

/// Measurements that a check simulates, beside a search of so many simulations.
pub fn predictions(simulations: u64) -> usize {
    (simulations / 5).clamp(1000, 5000) as usize
}

/// All metrics of a calibrated scenario pass with one less this probability.
pub const LEVEL: f64 = 0.05;
/// Replications of the check, apart from those of the search.
const FIRST_REPLICATION: u64 = 1 << 40;
/// Points of a curve.
const POINTS: usize = 200;
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
    /// Simulated over measured, less one; `None` where nothing was measured.
    pub fn error(&self) -> Option<f64> {
        (self.measured != 0.0).then(|| self.middle / self.measured - 1.0)
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
    let settings = posterior.resampled(predictions(posterior.simulations));
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
    let (mut checks, mut curves) = (Vec::new(), Vec::new());
    for (index, series) in simulator.series.iter().enumerate() {
        let lens = Lens::of(series);
        let simulated: Vec<&Seen> = seen.iter().map(|all| &all[index]).collect();
        let curve = curve(&series.data, &simulated);
        let eye = Eye::of(&series.data, &lens);
        checks.extend(eye.checks(index, &series.data, &simulated));
        checks.extend(of_curve(index, &series.data, &simulated, &curve));
        curves.push(curve);
    }
    judge(&mut checks, seen.len());
    Prediction {
        checks,
        curves,
        predictions: seen.len(),
    }
}

/// Says which metrics fail, given how many there are.
fn judge(checks: &mut [Check], simulated: usize) {
    let finest = 3.0 / (simulated as f64 + 1.0);
    let level = (LEVEL / checks.len().max(1) as f64).max(finest);
    for check in checks {
        check.fails = check.probability < level;
    }
}

/// Which metrics a series has.
struct Eye<'a> {
    lens: &'a Lens,
    /// Half of the requests met at most so many others; `None` where all met as many.
    usual_load: Option<usize>,
    has_failures: bool,
}

type Values = Vec<(Metric, Option<f64>)>;

impl<'a> Eye<'a> {
    fn of(data: &Data, lens: &'a Lens) -> Self {
        let Data::Requests(shots) = data else {
            return Self {
                lens,
                usual_load: None,
                has_failures: false,
            };
        };
        let mut loads: Vec<usize> = shots.iter().map(|shot| shot.under_way).collect();
        loads.sort_unstable();
        let usual = loads[loads.len() / 2];
        let least = loads[0];
        let usual = if usual == loads[loads.len() - 1] {
            least
        } else {
            usual
        };
        Self {
            lens,
            usual_load: (least != loads[loads.len() - 1]).then_some(usual),
            has_failures: shots.iter().any(|shot| shot.outcome != Outcome::Succeeded),
        }
    }

    fn checks(&self, series: usize, data: &Data, simulated: &[&Seen]) -> Vec<Check> {
        let measured = match data {
            Data::Figures(figures) => self.stated(figures),
            Data::Requests(shots) => self.values(shots, CvDefinition::default()),
        };
        let values: Vec<Values> = simulated
            .iter()
            .map(|seen| self.values(&seen.shots, seen.definition))
            .collect();
        let of = |(index, (metric, measured)): (usize, &(Metric, Option<f64>))| {
            let all: Vec<f64> = values.iter().filter_map(|one| one[index].1).collect();
            // What too few simulations have cannot be compared.
            let enough = all.len() * 2 > values.len();
            enough
                .then(|| check(series, *metric, (*measured)?, all))
                .flatten()
        };
        measured.iter().enumerate().filter_map(of).collect()
    }

    fn stated(&self, figures: &Figures) -> Values {
        debug_assert!(
            self.lens.figures().is_some(),
            "figures are looked at as figures"
        );
        let mut values = vec![
            (seconds("TTFT p50"), Some(figures.median.value)),
            (seconds("TTFT p95"), Some(figures.p95.value)),
            (percent("CV"), Some(figures.cv_percent.value)),
        ];
        values.extend(
            figures
                .max
                .map(|max| (seconds("TTFT max"), Some(max.value))),
        );
        values.extend(
            figures
                .std
                .map(|std| (seconds("TTFT std"), Some(std.value))),
        );
        values
    }

    /// All metrics of a measurement; always the same, in the same order.
    fn values(&self, shots: &[Shot], definition: CvDefinition) -> Values {
        let ttfts = sample(shots, |shot| shot.ttft_s);
        if let Some(figures) = self.lens.figures() {
            let reported = ttfts.as_ref().map(|sample| report(sample, definition));
            let mut values = vec![
                (seconds("TTFT p50"), reported.map(|one| one.median_s)),
                (seconds("TTFT p95"), reported.map(|one| one.p95_s)),
                (percent("CV"), reported.map(|one| one.cv_percent)),
            ];
            let max = ttfts.as_ref().map(Sample::max);
            values.extend(figures.max.map(|_| (seconds("TTFT max"), max)));
            let std = reported.map(|one| one.std_s);
            values.extend(figures.std.map(|_| (seconds("TTFT std"), std)));
            return values;
        }
        let mut values = quantiles(
            ["TTFT p50", "TTFT p95", "TTFT p99"],
            Load::All,
            ttfts.as_ref(),
        );
        let cv = |definition| {
            ttfts
                .as_ref()
                .map(|sample| report(sample, definition).cv_percent)
        };
        values.extend([
            (seconds("TTFT max"), ttfts.as_ref().map(Sample::max)),
            (percent("std/mean"), cv(CvDefinition::StdOverMean)),
            (percent("std/median"), cv(CvDefinition::StdOverMedian)),
        ]);
        values.extend(self.serial(shots));
        if self.has_failures {
            let failed = shots
                .iter()
                .filter(|shot| shot.outcome != Outcome::Succeeded);
            values.push((requests("unanswered"), Some(failed.count() as f64)));
        }
        if self.lens.has_pace() {
            let pace = sample(shots, |shot| shot.per_token_s);
            let names = ["per token p50", "per token p95", "per token p99"];
            values.extend(quantiles(names, Load::All, pace.as_ref()));
        }
        if self.lens.has_latency() {
            let latency = sample(shots, |shot| shot.latency_s);
            let names = ["latency p50", "latency p95", "latency p99"];
            values.extend(quantiles(names, Load::All, latency.as_ref()));
        }
        values.extend(self.by_load(shots));
        values
    }

    /// How many were cold, how many of them in a row, and whether slow answers come together.
    fn serial(&self, shots: &[Shot]) -> Values {
        let cold: Vec<bool> = shots.iter().map(|shot| self.lens.is_cold(shot)).collect();
        let count = cold.iter().filter(|cold| **cold).count();
        let pairs = cold.windows(2).filter(|pair| pair[0] && pair[1]).count();
        let warm = shots.iter().zip(&cold).filter(|(_, cold)| !**cold);
        let warm: Vec<f64> = warm.filter_map(|(shot, _)| shot.ttft_s).map(log).collect();
        let alike = Metric {
            name: "warm lag-1",
            unit: Unit::One,
            load: Load::All,
        };
        vec![
            (requests("cold"), Some(count as f64)),
            (requests("cold after cold"), Some(pairs as f64)),
            (alike, Some(together(&warm))),
        ]
    }

    /// TTFT apart for requests that met few others and many.
    fn by_load(&self, shots: &[Shot]) -> Values {
        let Some(usual) = self.usual_load else {
            return Vec::new();
        };
        let of = |load: Load, wanted: &dyn Fn(usize) -> bool| {
            let ttft = |shot: &Shot| shot.ttft_s.filter(|_| wanted(shot.under_way));
            let names = ["TTFT p50", "TTFT p95", "TTFT p99"];
            quantiles(names, load, sample(shots, ttft).as_ref())
        };
        let mut values = of(Load::Quiet(usual), &|load| load <= usual);
        values.extend(of(Load::Busy(usual), &|load| load > usual));
        values
    }
}

fn seconds(name: &'static str) -> Metric {
    let (unit, load) = (Unit::Seconds, Load::All);
    Metric { name, unit, load }
}

fn percent(name: &'static str) -> Metric {
    let (unit, load) = (Unit::Percent, Load::All);
    Metric { name, unit, load }
}

fn requests(name: &'static str) -> Metric {
    let (unit, load) = (Unit::Requests, Load::All);
    Metric { name, unit, load }
}

fn sample(shots: &[Shot], of: impl Fn(&Shot) -> Option<f64>) -> Option<Sample> {
    Sample::new(shots.iter().filter_map(of).collect())
}

fn quantiles(names: [&'static str; 3], load: Load, sample: Option<&Sample>) -> Values {
    let pairs = names.into_iter().zip([0.5, 0.95, 0.99]);
    let value = |p| sample.map(|sample| sample.quantile(p, METHOD));
    let metric = |name| Metric {
        load,
        ..seconds(name)
    };
    pairs.map(|(name, p)| (metric(name), value(p))).collect()
}

fn check(series: usize, metric: Metric, measured: f64, all: Vec<f64>) -> Option<Check> {
    let sample = Sample::new(all)?;
    let [low, middle, high] = [0.05, 0.5, 0.95].map(|p| sample.quantile(p, METHOD));
    let tail = |count: usize| (count as f64 + 1.0) / (sample.len() as f64 + 1.0);
    // A rounding may part two ways to compute the same figure.
    let slack = 1e-9 * measured.abs();
    let below = sample
        .values()
        .partition_point(|value| *value <= measured + slack);
    let under = sample
        .values()
        .partition_point(|value| *value < measured - slack);
    let probability = (2.0 * tail(below).min(tail(sample.len() - under))).min(1.0);
    Some(Check {
        series,
        metric,
        measured,
        low,
        middle,
        high,
        probability,
        fails: false,
    })
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
        let [low_s, middle_s, high_s] = [0.05, 0.5, 0.95].map(|p| all.quantile(p, METHOD));
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

/// How far the whole sample lies from the middle of the simulated ones: large is bad, small cannot be.
fn of_curve(series: usize, data: &Data, simulated: &[&Seen], curve: &[Point]) -> Option<Check> {
    let Data::Requests(shots) = data else {
        return None;
    };
    let distance = |shots: &[Shot]| {
        let sample = sample(shots, |shot| shot.ttft_s)?;
        let off =
            |point: &Point| (log(sample.quantile(point.p, METHOD)) - log(point.middle_s)).abs();
        Some(curve.iter().map(off).sum::<f64>() / curve.len() as f64)
    };
    let metric = Metric {
        name: "distance of log TTFT",
        unit: Unit::One,
        load: Load::All,
    };
    let all = simulated.iter().filter_map(|seen| distance(&seen.shots));
    let found = check(series, metric, distance(shots)?, all.collect())?;
    let is_near = found.measured <= found.middle;
    Some(Check {
        probability: if is_near {
            1.0
        } else {
            found.probability / 2.0
        },
        ..found
    })
}
