//! Renewal processes in operational time: exponential and Gamma gaps.

use statrs::function::gamma::{digamma, gamma_lr, ln_gamma};

use super::sample::Sample;
use super::{Fitted, Law};
use crate::stats::ks_distance;

/// The Poisson process: its rate is one over the mean gap.
pub(super) fn poisson(sample: &Sample) -> Fitted {
    let (n, rate) = (sample.gaps() as f64, sample.rate());
    let predicted = sample
        .all()
        .map(|gap| -(-rate * gap.operational_s()).exp_m1());
    Fitted {
        law: Law::Poisson { rate },
        errors: vec![Some(1.0 / n.sqrt())],
        log_likelihood: n * (rate.ln() - 1.0) + sample.log_curve(),
        ks: ks_distance(predicted.collect()),
    }
}

/// Gamma gaps: the mean is that of the gaps, the shape solves `ln k - digamma(k) = ln(mean) - mean(ln)`.
pub(super) fn renewal(sample: &Sample) -> Fitted {
    let (n, rate) = (sample.gaps() as f64, sample.rate());
    let log_mean = sample
        .all()
        .map(|gap| gap.operational_s().ln())
        .sum::<f64>()
        / n;
    let shape = shape(-rate.ln() - log_mean);
    let scale = 1.0 / (rate * shape);
    let per_gap = (shape - 1.0) * log_mean - shape - shape * scale.ln() - ln_gamma(shape);
    let predicted = sample
        .all()
        .map(|gap| gamma_lr(shape, gap.operational_s() / scale));
    // Fisher's information of shape and mean is diagonal.
    let of_shape = (shape * shape * (trigamma(shape) - 1.0 / shape) * n).sqrt();
    Fitted {
        law: Law::Gamma {
            rate,
            cv: 1.0 / shape.sqrt(),
        },
        errors: vec![Some(1.0 / (n * shape).sqrt()), Some(0.5 / of_shape)],
        log_likelihood: n * per_gap + sample.log_curve(),
        ks: ks_distance(predicted.collect()),
    }
}

/// The shape whose `ln k - digamma(k)` is this, by bisection: it falls as the shape grows. Between the CVs that a scenario
/// takes, 20 and 0.02.
fn shape(excess: f64) -> f64 {
    let (mut low, mut high) = (0.0025_f64, 2500.0_f64);
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        if middle.ln() - digamma(middle) > excess {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}

/// The derivative of digamma, by a central difference.
fn trigamma(x: f64) -> f64 {
    let step = 1e-4 * x;
    (digamma(x + step) - digamma(x - step)) / (2.0 * step)
}
