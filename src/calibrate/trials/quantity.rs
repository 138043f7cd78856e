//! What is asked of a posterior: each value, products of two, and what a benchmark shows at its settings.

use crate::calibrate::distance::ttfts;
use crate::calibrate::free::Free;
use crate::calibrate::observed::Simulator;
use crate::stats::PercentileMethod;

/// The replication in which benchmarks of different settings are compared: none of a search's, none of a trial's.
const REPLICATION: u64 = 1 << 50;

/// Something that the free values decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A value, by index.
    Value(usize),
    /// The product of two logarithmic values.
    Product(usize, usize),
    /// The share of cold requests of a benchmark.
    ColdShare,
    /// The p95 of a benchmark.
    P95,
}

/// What one benchmark shows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    cold_share: f64,
    p95_s: f64,
}

/// A benchmark at a setting, always with the same random numbers, so that the setting alone decides.
pub(super) fn shown(simulator: &Simulator<'_>, places: &[f64]) -> Shown {
    let Some(seen) = simulator.run(places, REPLICATION) else {
        return Shown::default();
    };
    let shots = &seen[0].shots;
    let cold = shots.iter().filter(|shot| shot.cold == Some(true)).count();
    Shown {
        cold_share: cold as f64 / shots.len().max(1) as f64,
        p95_s: ttfts(shots).map_or(0.0, |sample| {
            sample.quantile(0.95, PercentileMethod::Linear)
        }),
    }
}

impl Quantity {
    /// All that can be asked.
    pub(super) fn all(free: &[Free]) -> Vec<Self> {
        let mut all: Vec<Self> = (0..free.len()).map(Self::Value).collect();
        let is_log = |index: usize| free[index].is_logarithmic();
        for first in (0..free.len()).filter(|&index| is_log(index)) {
            let others = (first + 1..free.len()).filter(|&index| is_log(index));
            all.extend(others.map(|second| Self::Product(first, second)));
        }
        all.extend([Self::ColdShare, Self::P95]);
        all
    }

    /// What results call it.
    pub fn name(self, free: &[Free]) -> String {
        match self {
            Self::Value(index) => free[index].name.clone(),
            Self::Product(first, second) => format!("{} x {}", free[first].name, free[second].name),
            Self::ColdShare => "cold share".to_owned(),
            Self::P95 => "p95 s".to_owned(),
        }
    }

    /// It at a setting; logarithms where the value has a logarithmic range.
    pub(super) fn value(self, free: &[Free], places: &[f64], shown: &Shown) -> f64 {
        let number = |index: usize| {
            let number = free[index].number(places[index]);
            if free[index].is_logarithmic() {
                number.ln()
            } else {
                number
            }
        };
        match self {
            Self::Value(index) => number(index),
            Self::Product(first, second) => number(first) + number(second),
            Self::ColdShare => shown.cold_share,
            Self::P95 => shown.p95_s.max(1e-9).ln(),
        }
    }

    /// A value of it as people read it: logarithms undone.
    pub fn shown(self, free: &[Free], value: f64) -> f64 {
        let is_log = match self {
            Self::Value(index) => free[index].is_logarithmic(),
            Self::Product(..) | Self::P95 => true,
            Self::ColdShare => false,
        };
        if is_log { value.exp() } else { value }
    }
}
