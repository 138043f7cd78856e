//! What is known of the free values after a search: weighted draws, and what they say.

use super::free::Free;
use super::search::Compass;

/// A value whose 90 % interval is narrower than the prior's by less than this share is not identified.
pub const IDENTIFIED: f64 = 0.3;
/// Two values that correlate by more than this cannot be told apart.
pub const TIED: f64 = 0.8;

/// One setting that would have given the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// Where each free value lies on `[0, 1)`.
    pub places: Vec<f64>,
    /// How much it counts.
    pub weight: f64,
}

/// What is known of the free values.
#[derive(Clone, Debug)]
pub struct Posterior {
    /// The free values.
    pub free: Vec<Free>,
    /// Settings.
    pub draws: Vec<Draw>,
    /// Simulations behind them.
    pub simulations: u64,
    /// Settings that the scenario forbids, and that were left out.
    pub impossible: u64,
    /// How far simulations are from the measurement.
    compass: Compass,
}

/// What is known of one number; all as places on `[0, 1)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marginal {
    /// The median.
    pub point: f64,
    /// The central 50 %.
    pub half: (f64, f64),
    /// The central 90 %.
    pub most: (f64, f64),
    /// By how much the 90 % interval is narrower than the prior's, as a share.
    pub contraction: f64,
}

/// Two numbers that go together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Index of the first.
    pub first: usize,
    /// Index of the second.
    pub second: usize,
    /// Their correlation, on their scales.
    pub correlation: f64,
}

impl Posterior {
    /// From weighted draws.
    pub(super) fn new(
        free: Vec<Free>,
        draws: Vec<Draw>,
        simulations: u64,
        impossible: u64,
        compass: Compass,
    ) -> Self {
        Self {
            free,
            draws,
            simulations,
            impossible,
            compass,
        }
    }

    /// How far simulations of one setting, by their statistics, lie from the measurement on average \[deviations of the summaries\].
    pub(super) fn distance(&self, statistics: &[Vec<f64>]) -> f64 {
        self.compass.distance(statistics)
    }

    /// The weighted quantile of a value's place.
    pub fn quantile(&self, index: usize, p: f64) -> f64 {
        quantile(
            self.draws
                .iter()
                .map(|draw| (draw.places[index], draw.weight)),
            p,
        )
    }

    /// What is known of a number.
    pub fn marginal(&self, index: usize) -> Marginal {
        let [low, quarter, point, three_quarters, high] =
            [0.05, 0.25, 0.5, 0.75, 0.95].map(|p| self.quantile(index, p));
        Marginal {
            point,
            half: (quarter, three_quarters),
            most: (low, high),
            contraction: 1.0 - (high - low) / 0.9,
        }
    }

    /// The shares of a value's choices.
    pub fn shares(&self, index: usize) -> Vec<f64> {
        let count = self.free[index].choices().unwrap_or(1);
        let mut shares = vec![0.0; count];
        for draw in &self.draws {
            shares[chosen(draw.places[index], count)] += draw.weight;
        }
        let total: f64 = shares.iter().sum();
        shares.into_iter().map(|share| share / total).collect()
    }

    /// The point estimate: the most probable combination of choices, and the medians of the numbers beside it.
    pub fn point(&self) -> Vec<f64> {
        let combination = |draw: &Draw| -> Vec<usize> {
            let pairs = self.free.iter().zip(&draw.places);
            pairs
                .filter_map(|(free, &place)| Some(chosen(place, free.choices()?)))
                .collect()
        };
        let mut weights: Vec<(Vec<usize>, f64)> = Vec::new();
        for draw in &self.draws {
            let key = combination(draw);
            match weights.iter_mut().find(|(known, _)| *known == key) {
                Some((_, weight)) => *weight += draw.weight,
                None => weights.push((key, draw.weight)),
            }
        }
        let best = weights
            .into_iter()
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let best = best.map(|(key, _)| key).unwrap_or_default();
        let members = || self.draws.iter().filter(|draw| combination(draw) == best);
        let place = |(index, free): (usize, &Free)| match free.choices() {
            Some(count) => members().next().map_or(0.0, |draw| {
                (chosen(draw.places[index], count) as f64 + 0.5) / count as f64
            }),
            None => quantile(members().map(|draw| (draw.places[index], draw.weight)), 0.5),
        };
        self.free.iter().enumerate().map(place).collect()
    }

    /// The correlation of two numbers, on their scales.
    pub fn correlation(&self, first: usize, second: usize) -> f64 {
        let total: f64 = self.draws.iter().map(|draw| draw.weight).sum();
        let mean = |of: &dyn Fn(&Draw) -> f64| {
            self.draws
                .iter()
                .map(|draw| draw.weight * of(draw))
                .sum::<f64>()
                / total
        };
        let (a, b) = (
            mean(&|draw| draw.places[first]),
            mean(&|draw| draw.places[second]),
        );
        let product = mean(&|draw| (draw.places[first] - a) * (draw.places[second] - b));
        let square = |index: usize, about: f64| mean(&|draw| (draw.places[index] - about).powi(2));
        let scale = (square(first, a) * square(second, b)).sqrt();
        if scale > 0.0 { product / scale } else { 0.0 }
    }

    /// Pairs of numbers that the measurement cannot tell apart.
    pub fn tied(&self) -> Vec<Pair> {
        let numbers: Vec<usize> = (0..self.free.len())
            .filter(|&index| self.free[index].choices().is_none())
            .collect();
        let mut pairs = Vec::new();
        for (at, &first) in numbers.iter().enumerate() {
            for &second in &numbers[at + 1..] {
                let correlation = self.correlation(first, second);
                if correlation.abs() >= TIED {
                    pairs.push(Pair {
                        first,
                        second,
                        correlation,
                    });
                }
            }
        }
        pairs
    }

    /// So many settings, each draw as often as it counts; always the same ones.
    pub fn resampled(&self, count: usize) -> Vec<&[f64]> {
        let total: f64 = self.draws.iter().map(|draw| draw.weight).sum();
        let (mut sum, mut index) = (0.0, 0);
        let mut chosen = Vec::with_capacity(count);
        for number in 0..count {
            let goal = (number as f64 + 0.5) / count as f64 * total;
            while sum + self.draws[index].weight < goal && index + 1 < self.draws.len() {
                sum += self.draws[index].weight;
                index += 1;
            }
            chosen.push(self.draws[index].places.as_slice());
        }
        chosen
    }
}

/// The index of a choice at a place.
fn chosen(place: f64, count: usize) -> usize {
    ((place * count as f64) as usize).min(count - 1)
}

/// The weighted quantile of some values.
pub(super) fn quantile(values: impl Iterator<Item = (f64, f64)>, p: f64) -> f64 {
    let mut values: Vec<(f64, f64)> = values.collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    for &(value, weight) in &values {
        sum += weight;
        if sum >= p * total {
            return value;
        }
    }
    values.last().map_or(0.0, |(value, _)| *value)
}
