//! The best single setting: the one whose simulations come nearest to what was measured.
//!
//! A minimum, found by CMA-ES (Hansen & Ostermeier 2001, Evol. Comput. 9:159; the `cmaes` crate), of the search's own distance:
//! how far the summaries of the simulations lie from those of the measurement, in deviations, averaged over replications that are the
//! same for every setting. So the distance is a plain function of the setting, and two settings differ by what they decide alone.
//! The optimiser starts from the medians, steps as far as the posterior is wide, and stays within its central `WITHIN`.
//!
//! A median is the middle of each value for itself. Along a ridge - rate against keep-alive - the medians of both need not lie on
//! it; the best setting does, at some place of it that the measurement does not tell from others. So it is no better an estimate:
//! over 30 measurements of `results/trials/sleeps.toml`, 2,000 simulations each, the median missed rate, keep-alive and load by 0.115,
//! 0.062 and 0.071 of the allowed range on average, the best setting by 0.123, 0.064 and 0.071. What is written are the medians.
//!
//! Invariant: seed and budget alone decide what is found. Choices stay as the most probable combination has them.

use cmaes::{CMAESOptions, DVector};
use rayon::prelude::*;

use super::distance::Lens;
use super::observed::Simulator;
use super::posterior::Posterior;
use super::search::statistics;

/// Replications apart from those of search, check and suggestion.
const FIRST_REPLICATION: u64 = 1 << 44;
/// Replications at every setting.
const REPLICATIONS: u64 = 10;
/// The share of the posterior, value by value, in which the optimum is sought: beyond, the summaries were never fitted.
const WITHIN: f64 = 0.98;
/// The first step, in posterior deviations.
const STEP: f64 = 0.5;
/// As far off as a setting that the scenario forbids.
const FORBIDDEN: f64 = 1e9;

/// Simulations that looking for the optimum takes at most, beside a search of so many.
pub fn most_simulations(simulations: u64) -> u64 {
    (simulations / 5).clamp(200, 5000)
}

/// Places of the best setting. `progress` hears of every simulation, from any thread.
pub fn optimum(
    simulator: &Simulator<'_>,
    posterior: &Posterior,
    seed: u64,
    progress: &(dyn Fn() + Sync),
) -> Vec<f64> {
    let valley = Valley::of(simulator, posterior, progress);
    let most = most_simulations(posterior.simulations) / REPLICATIONS;
    let start = DVector::zeros(valley.axes.len());
    if start.is_empty() {
        return valley.start;
    }
    let at_start = valley.depth(&start);
    let mut search = CMAESOptions::new(start.clone(), STEP)
        .max_function_evals(most as usize - 1)
        .seed(seed)
        .build(|at: &DVector<f64>| valley.depth(at))
        .expect("a start and a step are given");
    let found = search.run_parallel().overall_best;
    let found = found.filter(|best| best.value < at_start);
    valley.places(&found.map_or(start, |best| best.point))
}

/// What is minimised.
struct Valley<'a> {
    simulator: &'a Simulator<'a>,
    posterior: &'a Posterior,
    lenses: Vec<Lens>,
    /// The posterior's point.
    start: Vec<f64>,
    axes: Vec<Axis>,
    progress: &'a (dyn Fn() + Sync),
}

/// A number that is varied.
struct Axis {
    index: usize,
    /// What a step of one is, as a place.
    deviation: f64,
    /// Between which places it stays.
    ends: (f64, f64),
}

impl<'a> Valley<'a> {
    fn of(
        simulator: &'a Simulator<'a>,
        posterior: &'a Posterior,
        progress: &'a (dyn Fn() + Sync),
    ) -> Self {
        let numbers =
            (0..posterior.free.len()).filter(|&index| posterior.free[index].choices().is_none());
        let axis = |index: usize| {
            let at = |p| posterior.quantile(index, p);
            let tail = 0.5 * (1.0 - WITHIN);
            Axis {
                index,
                // One deviation on either side of the middle of a normal distribution.
                deviation: (0.5 * (at(0.841) - at(0.159))).max(1e-6),
                ends: (at(tail), at(1.0 - tail)),
            }
        };
        Self {
            lenses: simulator.series.iter().map(Lens::of).collect(),
            start: posterior.point(),
            axes: numbers.map(axis).collect(),
            simulator,
            posterior,
            progress,
        }
    }

    /// The places of a point, in posterior deviations from the start; the nearest within the ends.
    fn places(&self, at: &DVector<f64>) -> Vec<f64> {
        let mut places = self.start.clone();
        for (axis, off) in self.axes.iter().zip(at.iter()) {
            let (low, high) = axis.ends;
            places[axis.index] = (places[axis.index] + off * axis.deviation).clamp(low, high);
        }
        places
    }

    /// How far simulations at a point lie from the measurement, and how far the point lies beyond the ends.
    fn depth(&self, at: &DVector<f64>) -> f64 {
        let places = self.places(at);
        let beyond = self.axes.iter().zip(at.iter()).map(|(axis, off)| {
            let wanted = self.start[axis.index] + off * axis.deviation;
            ((wanted - places[axis.index]) / axis.deviation).powi(2)
        });
        let beyond: f64 = beyond.sum();
        let one = |replication| {
            let seen = self.simulator.run(&places, FIRST_REPLICATION + replication);
            (self.progress)();
            Some(statistics(&self.lenses, &seen?))
        };
        let all = (0..REPLICATIONS).into_par_iter().map(one);
        let all: Option<Vec<Vec<f64>>> = all.collect();
        all.map_or(FORBIDDEN, |all| self.posterior.distance(&all)) + beyond
    }
}
