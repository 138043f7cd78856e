//! The search: which settings of the free values would have given what was measured.
//!
//! Approximate Bayesian computation over a prior that is cut down in rounds. Every round draws settings uniformly from the region
//! that the rounds before left, simulates the measurement at each, and fits a regression of the values on the statistics of the
//! simulations (semi-automatic summaries, Fearnhead & Prangle 2012, J. R. Stat. Soc. B 74:419). Settings whose summaries come near
//! those of the measurement span the next region, with a margin. At the end the nearest settings of all rounds that lie in the last
//! region - uniform draws from it, whichever round made them - are corrected by a local-linear regression (Beaumont, Zhang & Balding
//! 2002, Genetics 162:2025) on the logit scale, so that no draw leaves its range.
//!
//! Rejection without that correction is too wide, and SBC shows it (theory.md §5.3). Regions in place of weighted particles (SMC)
//! need no importance weights, so no few particles carry the whole answer.
//!
//! Invariant: simulation number `i` uses streams of its own, so neither threads nor the budget change what it gives.

use rand::RngExt as _;
use rayon::prelude::*;

use super::distance::{Lens, statistics_of_figures};
use super::free::Free;
use super::linear::{Linear, cholesky, forward};
use super::observed::{Data, Seen, Series, Simulator};
use super::posterior::{Draw, Posterior};
use crate::streams::{Stream, Streams};

/// Rounds of a search.
const ROUNDS: u64 = 4;
/// Simulations between two words of progress.
const CHUNK: u64 = 250;
/// Replications of the scenario below this one are left to `simulate`, which may have made the measurement.
const FIRST_REPLICATION: u64 = 1 << 24;
/// This share of a round's settings spans the next region.
const SPANS: f64 = 0.3;
/// A region is wider than the settings that span it, by this share on each side.
const MARGIN: f64 = 0.1;
/// This share of the settings in the last region, by distance, is the answer.
const KEEP: f64 = 0.12;
/// But so many at least.
const KEEP_LEAST: usize = 200;
/// Fewer simulations tell nothing.
pub const LEAST: u64 = 1000;

/// How a search goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The round, from one.
    pub round: u64,
    /// Simulations made.
    pub done: u64,
    /// Simulations to make.
    pub simulations: u64,
    /// Share of the prior that is still searched.
    pub region: f64,
    /// Distance within which settings were kept in the round before, in deviations; infinite in the first.
    pub distance: f64,
}

/// The scenario forbids almost every setting within the ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{impossible} of {tried} settings within the ranges are no valid scenario")]
pub struct Impossible {
    /// Settings that are none.
    pub impossible: u64,
    /// Settings tried.
    pub tried: u64,
}

/// One simulated measurement.
#[derive(Clone, Debug)]
pub(super) struct Simulated {
    pub(super) places: Vec<f64>,
    pub(super) statistics: Vec<f64>,
}

/// The statistics of a simulated measurement of all series.
pub fn statistics(lenses: &[Lens], seen: &[Seen]) -> Vec<f64> {
    let pairs = lenses.iter().zip(seen);
    pairs
        .flat_map(|(lens, seen)| lens.statistics(seen))
        .collect()
}

/// The statistics of what was measured.
pub fn measured(series: &[Series], lenses: &[Lens]) -> Vec<f64> {
    let of = |(one, lens): (&Series, &Lens)| match &one.data {
        Data::Figures(figures) => statistics_of_figures(figures),
        Data::Requests(shots) => lens.statistics(&Seen {
            shots: shots.clone(),
            definition: crate::stats::CvDefinition::default(),
        }),
    };
    series.iter().zip(lenses).flat_map(of).collect()
}

/// Searches with so many simulations, at least [`LEAST`].
pub fn search(
    simulator: &Simulator<'_>,
    seed: u64,
    simulations: u64,
    progress: &dyn Fn(Progress),
) -> Result<Posterior, Impossible> {
    let lenses: Vec<Lens> = simulator.series.iter().map(Lens::of).collect();
    let observed = measured(simulator.series, &lenses);
    let mut table: Vec<Simulated> = Vec::new();
    let mut regions: Vec<Region> = Vec::new();
    let mut tried = 0;
    let mut told = Progress {
        round: 0,
        done: 0,
        simulations,
        region: 1.0,
        distance: f64::INFINITY,
    };
    for round in 1..=ROUNDS {
        told.round = round;
        let end = simulations.max(LEAST) * round / ROUNDS;
        while tried < end {
            let last = (tried + CHUNK).min(end);
            let made = (tried..last).into_par_iter();
            let made = made.map(|number| simulated(simulator, &lenses, &regions, seed, number));
            let made: Vec<Option<Simulated>> = made.collect();
            table.extend(made.into_iter().flatten());
            tried = last;
            progress(Progress {
                done: tried,
                ..told
            });
        }
        let pool = within(&table, &regions);
        if (pool.len() as u64) < LEAST / 10 {
            let impossible = tried - table.len() as u64;
            return Err(Impossible { impossible, tried });
        }
        let compass = Compass::of(simulator.free, &pool, &observed);
        if round == ROUNDS {
            let impossible = tried - table.len() as u64;
            let kept = ((pool.len() as f64 * KEEP) as usize).max(KEEP_LEAST);
            let draws = answer(simulator.free, &compass, &pool, kept);
            return Ok(Posterior::new(
                simulator.free.to_vec(),
                draws,
                tried,
                impossible,
                compass,
            ));
        }
        let kept = ((pool.len() as f64 * SPANS) as usize).max(KEEP_LEAST);
        let (near, distance) = compass.nearest(&pool, kept);
        let span: Vec<&Simulated> = near.iter().map(|&(index, _)| pool[index]).collect();
        let region = Region::around(simulator.free, &span);
        told.region *= region.share_of(&pool);
        told.distance = distance;
        regions.push(region);
    }
    unreachable!("the last round returns")
}

/// Simulation number `number`; `None` where the scenario forbids its setting.
fn simulated(
    simulator: &Simulator<'_>,
    lenses: &[Lens],
    regions: &[Region],
    seed: u64,
    number: u64,
) -> Option<Simulated> {
    let mut stream = Streams::new(seed, number).stream("calibrate/places");
    let places = drawn(simulator.free.len(), regions, &mut stream);
    let seen = simulator.run(&places, FIRST_REPLICATION + number)?;
    Some(Simulated {
        statistics: statistics(lenses, &seen),
        places,
    })
}

/// A setting, uniform in all regions.
fn drawn(width: usize, regions: &[Region], stream: &mut Stream) -> Vec<f64> {
    /// A region that so many draws miss is a point, and any place in its box will do.
    const TRIES: u32 = 100_000;
    let mut places = vec![0.0; width];
    for _ in 0..TRIES {
        for (index, place) in places.iter_mut().enumerate() {
            let (low, high) = regions
                .last()
                .map_or((0.0, 1.0), |region| region.ends[index]);
            *place = low + (high - low) * stream.random::<f64>();
        }
        if regions.iter().all(|region| region.contains(&places)) {
            break;
        }
    }
    places
}

fn within<'a>(table: &'a [Simulated], regions: &[Region]) -> Vec<&'a Simulated> {
    let is_within = |one: &&Simulated| regions.iter().all(|region| region.contains(&one.places));
    table.iter().filter(is_within).collect()
}

/// A part of the prior: a box along the directions in which some settings vary together.
#[derive(Clone, Debug)]
struct Region {
    /// By free value: the box that holds it all.
    ends: Vec<(f64, f64)>,
    /// Which free values are numbers.
    numbers: Vec<usize>,
    centre: Vec<f64>,
    root: Vec<Vec<f64>>,
    /// Along each direction.
    sides: Vec<(f64, f64)>,
    /// By free value: which choices are left; empty for numbers.
    choices: Vec<Vec<bool>>,
}

impl Region {
    /// The region that some settings span.
    fn around(free: &[Free], settings: &[&Simulated]) -> Self {
        let numbers: Vec<usize> = (0..free.len())
            .filter(|&i| free[i].choices().is_none())
            .collect();
        let count = settings.len() as f64;
        let mean = |i: &usize| settings.iter().map(|one| one.places[*i]).sum::<f64>() / count;
        let centre: Vec<f64> = numbers.iter().map(mean).collect();
        let covariance = |a: usize, b: usize| {
            let product = |one: &&Simulated| {
                (one.places[numbers[a]] - centre[a]) * (one.places[numbers[b]] - centre[b])
            };
            settings.iter().map(product).sum::<f64>() / count
        };
        let all = 0..numbers.len();
        let matrix = all
            .clone()
            .map(|a| all.clone().map(|b| covariance(a, b)).collect());
        let mut region = Self {
            ends: vec![(0.0, 1.0); free.len()],
            root: cholesky(matrix.collect()),
            sides: Vec::new(),
            choices: choices(free, settings),
            centre,
            numbers,
        };
        let along: Vec<Vec<f64>> = settings
            .iter()
            .map(|one| region.along(&one.places))
            .collect();
        region.sides = all
            .map(|i| widened(along.iter().map(|row| row[i])))
            .collect();
        for &i in &region.numbers {
            let (low, high) = widened(settings.iter().map(|one| one.places[i]));
            region.ends[i] = (low.max(0.0), high.min(1.0));
        }
        region
    }

    fn along(&self, places: &[f64]) -> Vec<f64> {
        let off = self.numbers.iter().zip(&self.centre);
        forward(
            &self.root,
            off.map(|(&i, centre)| places[i] - centre).collect(),
        )
    }

    fn contains(&self, places: &[f64]) -> bool {
        let in_box = places
            .iter()
            .zip(&self.ends)
            .all(|(place, (low, high))| low <= place && place <= high);
        let chosen = places.iter().zip(&self.choices).all(|(place, left)| {
            left.is_empty() || left[((place * left.len() as f64) as usize).min(left.len() - 1)]
        });
        let along = self.along(places);
        let mut sides = along.iter().zip(&self.sides);
        in_box && chosen && sides.all(|(at, (low, high))| low <= at && at <= high)
    }

    fn share_of(&self, pool: &[&Simulated]) -> f64 {
        let inside = pool.iter().filter(|one| self.contains(&one.places)).count();
        inside as f64 / pool.len() as f64
    }
}

/// Which choices some settings made.
fn choices(free: &[Free], settings: &[&Simulated]) -> Vec<Vec<bool>> {
    let of = |(index, free): (usize, &Free)| {
        let count = free.choices().unwrap_or(0);
        let mut left = vec![false; count];
        for one in settings.iter().filter(|_| count > 0) {
            left[((one.places[index] * count as f64) as usize).min(count - 1)] = true;
        }
        left
    };
    free.iter().enumerate().map(of).collect()
}

/// From the least to the largest, and a margin.
fn widened(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let margin = MARGIN * (high - low);
    (low - margin, high + margin)
}

/// Tells from statistics what the values were.
#[derive(Clone, Debug)]
pub(super) struct Compass {
    linear: Linear,
    observed: Vec<f64>,
    /// By target: what the statistics leave open.
    residual: Vec<f64>,
    /// What the measurement points at.
    goal: Vec<f64>,
}

impl Compass {
    pub(super) fn of(free: &[Free], pool: &[&Simulated], observed: &[f64]) -> Self {
        let expanded: Vec<Vec<f64>> = pool
            .par_iter()
            .map(|one| expanded(&one.statistics, observed))
            .collect();
        let features: Vec<&[f64]> = expanded.iter().map(Vec::as_slice).collect();
        let targets: Vec<Vec<f64>> = pool.iter().map(|one| targets(free, &one.places)).collect();
        let linear = Linear::fit(&features, &targets, &vec![1.0; pool.len()]);
        let mut residual = vec![0.0; targets[0].len()];
        for (row, target) in features.iter().zip(&targets) {
            for (sum, (found, is)) in residual
                .iter_mut()
                .zip(linear.predict(row).iter().zip(target))
            {
                *sum += (found - is).powi(2);
            }
        }
        for sum in &mut residual {
            *sum = (*sum / pool.len() as f64).sqrt().max(1e-6);
        }
        let goal = linear.predict(&self::expanded(observed, observed));
        Self {
            linear,
            observed: observed.to_vec(),
            residual,
            goal,
        }
    }

    /// The same for another measurement: squares about one span what squares about another do.
    pub(super) fn aimed(&self, observed: &[f64]) -> Self {
        Self {
            goal: self.linear.predict(&expanded(observed, &self.observed)),
            ..self.clone()
        }
    }

    /// How far a simulation's summaries lie from the measurement's, in deviations, by target.
    fn off(&self, statistics: &[f64]) -> Vec<f64> {
        let found = self.linear.predict(&expanded(statistics, &self.observed));
        let pairs = found.iter().zip(&self.goal).zip(&self.residual);
        pairs
            .map(|((found, goal), residual)| (found - goal) / residual)
            .collect()
    }

    /// How far the mean summaries of some simulations lie from the measurement's, in deviations.
    pub(super) fn distance(&self, simulations: &[Vec<f64>]) -> f64 {
        let mut mean = vec![0.0; self.goal.len()];
        for statistics in simulations {
            for (sum, off) in mean.iter_mut().zip(self.off(statistics)) {
                *sum += off / simulations.len() as f64;
            }
        }
        norm(&mean)
    }

    /// The nearest simulations, by index, with how far off they are; and how far the last of them is.
    fn nearest(&self, pool: &[&Simulated], count: usize) -> (Vec<(usize, Vec<f64>)>, f64) {
        let offs: Vec<Vec<f64>> = pool
            .par_iter()
            .map(|one| self.off(&one.statistics))
            .collect();
        let mut all: Vec<(usize, Vec<f64>)> = offs.into_iter().enumerate().collect();
        all.sort_by(|a, b| norm(&a.1).total_cmp(&norm(&b.1)).then(a.0.cmp(&b.0)));
        all.truncate(count.min(pool.len()));
        let distance = all.last().map_or(0.0, |(_, off)| norm(off));
        (all, distance)
    }
}

fn norm(off: &[f64]) -> f64 {
    off.iter().map(|one| one * one).sum::<f64>().sqrt()
}

/// Statistics and, as far as there are simulations to tell them apart, their squares and products about the measurement's.
fn expanded(statistics: &[f64], observed: &[f64]) -> Vec<f64> {
    /// So many statistics have all their products.
    const FEW: usize = 8;
    /// So many have their squares.
    const SOME: usize = 80;
    let off: Vec<f64> = statistics
        .iter()
        .zip(observed)
        .map(|(a, b)| a - b)
        .collect();
    let mut all = off.clone();
    match off.len() {
        few if few <= FEW => {
            for (index, a) in off.iter().enumerate() {
                all.extend(off[index..].iter().map(|b| a * b));
            }
        }
        some if some <= SOME => all.extend(off.iter().map(|a| a * a)),
        _ => {}
    }
    all
}

/// What is regressed: numbers by their place, choices by whether each but the first was made.
fn targets(free: &[Free], places: &[f64]) -> Vec<f64> {
    let mut all = Vec::new();
    for (free, &place) in free.iter().zip(places) {
        match free.choices() {
            None => all.push(place),
            Some(count) => {
                let chosen = ((place * count as f64) as usize).min(count - 1);
                all.extend((1..count).map(|one| f64::from(u8::from(one == chosen))));
            }
        }
    }
    all
}

/// The nearest settings, weighted by distance and corrected for it.
pub(super) fn answer(
    free: &[Free],
    compass: &Compass,
    pool: &[&Simulated],
    kept: usize,
) -> Vec<Draw> {
    let (near, distance) = compass.nearest(pool, kept);
    let distance = distance.max(1e-9);
    // Epanechnikov's kernel.
    let weight = |off: &Vec<f64>| (1.0 - (norm(off) / distance).powi(2)).max(1e-6);
    let weights: Vec<f64> = near.iter().map(|(_, off)| weight(off)).collect();
    let features: Vec<&[f64]> = near.iter().map(|(_, off)| off.as_slice()).collect();
    let numbers: Vec<usize> = (0..free.len())
        .filter(|&i| free[i].choices().is_none())
        .collect();
    let logits = |index: usize| {
        numbers
            .iter()
            .map(|&i| logit(pool[index].places[i]))
            .collect()
    };
    let targets: Vec<Vec<f64>> = near.iter().map(|&(index, _)| logits(index)).collect();
    let linear = Linear::fit(&features, &targets, &weights);
    let goal = linear.predict(&vec![0.0; features[0].len()]);
    let draw = |((index, off), weight): (&(usize, Vec<f64>), &f64)| {
        let mut places = pool[*index].places.clone();
        let expected = linear.predict(off);
        for (at, &i) in numbers.iter().enumerate() {
            places[i] = logistic(logit(places[i]) + goal[at] - expected[at]);
        }
        Draw {
            places,
            weight: *weight,
        }
    };
    near.iter().zip(&weights).map(draw).collect()
}

fn logit(place: f64) -> f64 {
    let place = place.clamp(1e-9, 1.0 - 1e-9);
    (place / (1.0 - place)).ln()
}

fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}
