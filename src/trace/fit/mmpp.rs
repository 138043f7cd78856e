//! A Markov-modulated Poisson process of two states, by expectation maximisation on the gaps themselves.
//!
//! With generator `Q` of the states and rates `L`, a gap of length `t` carries the vector of the states' probabilities on by
//! `exp((Q - m L) t) m L`, `m` the curve's multiplier. Forward and backward products give the expected time in each state,
//! changes between them and arrivals in each, which are the next parameters. Source: Rydén 1996, "An EM algorithm for
//! estimation in Markov-modulated Poisson processes". The matrices are 2 x 2, so exponentials and the integrals over them are
//! closed forms in their eigenvalues.

use super::sample::{Sample, Step};
use super::{Fitted, Law};
use crate::stats::ks_distance;

/// Iterations at most, and of each start before the best is chosen.
const MOST: usize = 1000;
const TRIAL: usize = 8;
/// It has converged when an iteration wins less log-likelihood.
const CONVERGED: f64 = 1e-4;
/// Change of the logarithm of a parameter by which curvature is taken.
const CHANGE: f64 = 1e-3;
/// No parameter is smaller, so that logarithms exist [1/s].
const LEAST: f64 = 1e-12;
/// A state lasts 364 days at most and a second at least, as in a scenario [1/s].
const LEAVES: [f64; 2] = [1.0 / (364.0 * 86_400.0), 1.0];

type Vector = [f64; 2];

/// Rates, and at which rate each state is left [1/s].
#[derive(Clone, Copy, Debug)]
struct Parameters {
    rates: Vector,
    leaves: Vector,
}

/// Fits the process.
pub(super) fn fit(sample: &Sample) -> Fitted {
    let stretches = sample.steps();
    let mut best = start(&stretches, sample.rate());
    let mut before = f64::NEG_INFINITY;
    for _ in 0..MOST {
        let (next, log_likelihood) = improved(&stretches, &best);
        best = next;
        if log_likelihood - before < CONVERGED {
            break;
        }
        before = log_likelihood;
    }
    let best = best.calm_first();
    let mut predicted = Vec::with_capacity(sample.gaps());
    let log_likelihood = log_likelihood(&stretches, &best, |u| predicted.push(u));
    Fitted {
        law: Law::Mmpp {
            rates: best.rates,
            sojourns: best.leaves.map(|leaves| 1.0 / leaves),
        },
        errors: errors(&stretches, &best),
        log_likelihood: log_likelihood + sample.log_curve(),
        ks: ks_distance(predicted),
    }
}

/// The best of several starts after a few iterations.
fn start(stretches: &[Vec<Step>], rate: f64) -> Parameters {
    let mut tried: Vec<(f64, Parameters)> = Vec::new();
    for [calm, burst] in [[0.1, 3.0], [0.7, 1.5]] {
        for gaps in [5.0, 50.0, 500.0] {
            let mut parameters = Parameters {
                rates: [calm * rate, burst * rate],
                leaves: [(rate / gaps).clamp(LEAVES[0], LEAVES[1]); 2],
            };
            let mut reached = f64::NEG_INFINITY;
            for _ in 0..TRIAL {
                (parameters, reached) = improved(stretches, &parameters);
            }
            tried.push((reached, parameters));
        }
    }
    let best = tried.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    best.expect("there are starts").1
}

impl Parameters {
    fn calm_first(self) -> Self {
        if self.rates[0] <= self.rates[1] {
            return self;
        }
        let [a, b] = self.rates;
        let [c, d] = self.leaves;
        Self {
            rates: [b, a],
            leaves: [d, c],
        }
    }

    /// Probabilities of the states at an arrival.
    fn at_arrival(&self) -> Vector {
        let weights = [
            self.leaves[1] * self.rates[0],
            self.leaves[0] * self.rates[1],
        ];
        let total = weights[0] + weights[1];
        weights.map(|weight| weight / total)
    }

    /// The states and what follows, over an arrival.
    fn weighted(&self, vector: Vector) -> Vector {
        [vector[0] * self.rates[0], vector[1] * self.rates[1]]
    }
}

/// `exp((Q - m L) t)` of one step, by its eigenvalues and their projections.
struct Exponential {
    length_s: f64,
    /// Eigenvalues, both negative, and their exponentials.
    values: Vector,
    grown: Vector,
    projections: [[Vector; 2]; 2],
}

impl Exponential {
    fn new(parameters: &Parameters, step: &Step) -> Self {
        let Parameters { rates, leaves } = parameters;
        let diagonal = [0, 1].map(|state: usize| -leaves[state] - step.multiplier * rates[state]);
        let middle = f64::midpoint(diagonal[0], diagonal[1]);
        let half = 0.5 * (diagonal[0] - diagonal[1]);
        let root = (half * half + leaves[0] * leaves[1]).sqrt().max(LEAST);
        let values = [middle + root, middle - root];
        // P = (A - other eigenvalue) / (this one - other).
        let projection = |sign: f64| {
            let off = sign / (2.0 * root);
            [
                [0.5 + off * half, off * leaves[0]],
                [off * leaves[1], 0.5 - off * half],
            ]
        };
        Self {
            length_s: step.length_s,
            values,
            grown: values.map(|value| (value * step.length_s).exp()),
            projections: [projection(1.0), projection(-1.0)],
        }
    }

    /// A row vector times it.
    fn after(&self, before: Vector) -> Vector {
        self.sum(|index| row_times(before, &self.projections[index]))
    }

    /// It times a column vector.
    fn before(&self, after: Vector) -> Vector {
        self.sum(|index| times_column(&self.projections[index], after))
    }

    fn sum(&self, part: impl Fn(usize) -> Vector) -> Vector {
        let parts = [part(0), part(1)];
        [0, 1].map(|state: usize| self.grown[0] * parts[0][state] + self.grown[1] * parts[1][state])
    }

    /// The integral over the step of what was in state `i` at `u` given the row vector before, times what follows from `j`
    /// given the column vector after.
    fn integral(&self, before: Vector, after: Vector) -> [Vector; 2] {
        let rows = [0, 1].map(|index: usize| row_times(before, &self.projections[index]));
        let columns = [0, 1].map(|index: usize| times_column(&self.projections[index], after));
        let mut found = [[0.0; 2]; 2];
        for (a, row) in rows.iter().enumerate() {
            for (b, column) in columns.iter().enumerate() {
                let weight = if a == b {
                    self.length_s * self.grown[a]
                } else {
                    (self.grown[0] - self.grown[1]) / (self.values[0] - self.values[1])
                };
                for (i, line) in found.iter_mut().enumerate() {
                    for (j, cell) in line.iter_mut().enumerate() {
                        *cell += weight * row[i] * column[j];
                    }
                }
            }
        }
        found
    }
}

fn row_times(row: Vector, matrix: &[Vector; 2]) -> Vector {
    [0, 1].map(|j: usize| row[0] * matrix[0][j] + row[1] * matrix[1][j])
}

fn times_column(matrix: &[Vector; 2], column: Vector) -> Vector {
    [0, 1].map(|i: usize| matrix[i][0] * column[0] + matrix[i][1] * column[1])
}

/// Where a step leaves the states, and how likely that was.
fn stepped(
    states: Vector,
    exponential: &Exponential,
    step: &Step,
    of: &Parameters,
) -> (Vector, f64) {
    let silent = exponential.after(states);
    let next = if step.arrives {
        of.weighted(silent)
    } else {
        silent
    };
    let likelihood = (next[0] + next[1]).max(f64::MIN_POSITIVE);
    (next.map(|state| state / likelihood), likelihood)
}

/// The logarithm of the likelihood without the curve's part; `predicted` gets how likely each gap was to be over by then.
fn log_likelihood(
    stretches: &[Vec<Step>],
    parameters: &Parameters,
    mut predicted: impl FnMut(f64),
) -> f64 {
    let mut total = 0.0;
    for stretch in stretches {
        let mut states = parameters.at_arrival();
        let mut silent = 1.0;
        for step in stretch {
            let exponential = Exponential::new(parameters, step);
            let after = exponential.after(states);
            silent *= after[0] + after[1];
            if step.arrives {
                predicted(1.0 - silent);
                silent = 1.0;
            }
            let likelihood;
            (states, likelihood) = stepped(states, &exponential, step, parameters);
            total += likelihood.ln();
        }
    }
    total
}

/// What an iteration expects.
#[derive(Debug, Default)]
struct Expected {
    time: Vector,
    /// Time weighted with the curve.
    operational: Vector,
    left: Vector,
    arrivals: Vector,
    log_likelihood: f64,
}

/// The next parameters, and the log-likelihood of the present ones.
fn improved(stretches: &[Vec<Step>], parameters: &Parameters) -> (Parameters, f64) {
    let mut expected = Expected::default();
    for stretch in stretches {
        expect(stretch, parameters, &mut expected);
    }
    let over = |above: Vector, below: Vector| {
        [0, 1].map(|state: usize| (above[state] / below[state].max(LEAST)).max(LEAST))
    };
    let leaves = over(expected.left, expected.time);
    let next = Parameters {
        rates: over(expected.arrivals, expected.operational),
        leaves: leaves.map(|leaves| leaves.clamp(LEAVES[0], LEAVES[1])),
    };
    (next, expected.log_likelihood)
}

/// A step on the way back: the states before it, its exponential, how likely it was.
struct Passed<'a> {
    step: &'a Step,
    before: Vector,
    exponential: Exponential,
    likelihood: f64,
}

/// Adds what a stretch makes one expect.
fn expect(stretch: &[Step], parameters: &Parameters, expected: &mut Expected) {
    let mut passed = Vec::with_capacity(stretch.len());
    let mut states = parameters.at_arrival();
    for step in stretch {
        let exponential = Exponential::new(parameters, step);
        let (next, likelihood) = stepped(states, &exponential, step, parameters);
        expected.log_likelihood += likelihood.ln();
        passed.push(Passed {
            step,
            before: states,
            exponential,
            likelihood,
        });
        states = next;
    }
    // What follows a step, as a column vector.
    let mut follows = [1.0; 2];
    for one in passed.iter().rev() {
        follows = follows.map(|follows| follows / one.likelihood);
        if one.step.arrives {
            follows = parameters.weighted(follows);
            let silent = one.exponential.after(one.before);
            for state in [0, 1] {
                expected.arrivals[state] += silent[state] * follows[state];
            }
        }
        let integral = one.exponential.integral(one.before, follows);
        for state in [0, 1] {
            expected.time[state] += integral[state][state];
            expected.operational[state] += one.step.multiplier * integral[state][state];
            expected.left[state] += parameters.leaves[state] * integral[state][1 - state];
        }
        follows = one.exponential.before(follows);
    }
}

/// Standard errors of the logarithms of rates and mean sojourns, from the observed information.
fn errors(stretches: &[Vec<Step>], parameters: &Parameters) -> Vec<Option<f64>> {
    let at = |changes: [f64; 4]| {
        let changed = |value: Vector, first: usize| {
            [
                value[0] * changes[first].exp(),
                value[1] * changes[first + 1].exp(),
            ]
        };
        let parameters = Parameters {
            rates: changed(parameters.rates, 0),
            leaves: changed(parameters.leaves, 2),
        };
        log_likelihood(stretches, &parameters, |_| {})
    };
    let here = at([0.0; 4]);
    let bend = |i: usize, j: usize| {
        let both = |a: f64, b: f64| {
            let mut changes = [0.0; 4];
            changes[i] += a;
            changes[j] += b;
            at(changes)
        };
        if i == j {
            return (both(CHANGE, 0.0) - 2.0 * here + both(-CHANGE, 0.0)) / (CHANGE * CHANGE);
        }
        let mixed = both(CHANGE, CHANGE) - both(CHANGE, -CHANGE) - both(-CHANGE, CHANGE)
            + both(-CHANGE, -CHANGE);
        mixed / (4.0 * CHANGE * CHANGE)
    };
    let information =
        [0, 1, 2, 3].map(|i: usize| [0, 1, 2, 3].map(|j: usize| -bend(i.min(j), i.max(j))));
    match inverted(information) {
        Some(covariance) => (0..4)
            .map(|i| Some(covariance[i][i]).filter(|v| *v > 0.0).map(f64::sqrt))
            .collect(),
        None => vec![None; 4],
    }
}

/// The inverse of a matrix, by Gauss and Jordan with pivots; `None` of a singular one.
fn inverted(mut matrix: [[f64; 4]; 4]) -> Option<[[f64; 4]; 4]> {
    let mut inverse = [[0.0; 4]; 4];
    for (index, row) in inverse.iter_mut().enumerate() {
        row[index] = 1.0;
    }
    for column in 0..4 {
        let pivot = (column..4).max_by(|&a, &b| {
            let (a, b) = (matrix[a][column].abs(), matrix[b][column].abs());
            a.total_cmp(&b)
        })?;
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        let scale = matrix[column][column];
        if scale.is_nan() || scale.abs() < 1e-9 {
            return None;
        }
        for cell in 0..4 {
            matrix[column][cell] /= scale;
            inverse[column][cell] /= scale;
        }
        for row in (0..4).filter(|&row| row != column) {
            let factor = matrix[row][column];
            for cell in 0..4 {
                matrix[row][cell] -= factor * matrix[column][cell];
                inverse[row][cell] -= factor * inverse[column][cell];
            }
        }
    }
    Some(inverse)
}
