//! Probability distributions of times and lengths.
//!
//! One closed set serves the scenario file, the simulation and the tests. A value is a plain number; its unit (seconds, tokens)
//! is the owner's. All are non-negative by construction: the constructor's caller has checked the parameters.

use crate::streams::Stream;
use rand::RngExt;
use rand_distr::{Distribution as _, Exp1, Gamma, StandardNormal, Weibull};

/// The 95 % quantile of the standard normal: turns (median, p95) of a lognormal into its sigma.
pub const NORMAL_P95: f64 = 1.644_853_626_951_472_2;

/// A distribution over non-negative numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(f64),
    /// Evenly spread.
    Uniform {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
    },
    /// Memoryless.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// The exponential of a normal.
    Lognormal {
        /// Its median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Gamma, by its moments.
    Gamma {
        /// Its mean.
        mean: f64,
        /// Standard deviation over mean.
        cv: f64,
    },
    /// Weibull.
    Weibull {
        /// Below 1: heavier than exponential.
        shape: f64,
        /// The 63 % quantile.
        scale: f64,
    },
    /// One of several, by weight.
    Mixture(Vec<(f64, Self)>),
    /// One of the listed values, each as likely.
    Empirical(Vec<f64>),
}

impl Distribution {
    /// A lognormal by median and 95 % quantile.
    pub fn lognormal_by_p95(median: f64, p95: f64) -> Self {
        Self::Lognormal {
            median,
            sigma: (p95 / median).ln() / NORMAL_P95,
        }
    }

    /// A lognormal by mean and coefficient of variation.
    pub fn lognormal_by_cv(mean: f64, cv: f64) -> Self {
        let variance = (1.0 + cv * cv).ln();
        Self::Lognormal {
            median: mean / (variance / 2.0).exp(),
            sigma: variance.sqrt(),
        }
    }

    /// A Weibull by mean and coefficient of variation.
    pub fn weibull_by_cv(mean: f64, cv: f64) -> Self {
        let shape = weibull_shape(cv);
        Self::Weibull {
            shape,
            scale: mean / ln_gamma(1.0 + 1.0 / shape).exp(),
        }
    }

    /// Draws a value.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant(value) => *value,
            random => random.draw(stream),
        }
    }

    /// Draws a value of a law that has more than one.
    fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Exponential { mean } => {
                let unit: f64 = Exp1.sample(stream);
                mean * unit
            }
            Self::Lognormal { median, sigma } => {
                let unit: f64 = StandardNormal.sample(stream);
                median * (sigma * unit).exp()
            }
            other => other.draw_other(stream),
        }
    }

    /// Draws a value of a law that is less common.
    #[inline(never)]
    fn draw_other(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant(_) | Self::Exponential { .. } | Self::Lognormal { .. } => {
                self.sample(stream)
            }
            Self::Uniform { low, high } => low + (high - low) * stream.random::<f64>(),
            Self::Gamma { mean, cv } => {
                let shape = 1.0 / (cv * cv);
                Gamma::new(shape, mean / shape)
                    .expect("checked by the scenario")
                    .sample(stream)
            }
            Self::Weibull { shape, scale } => Weibull::new(*scale, *shape)
                .expect("checked by the scenario")
                .sample(stream),
            Self::Mixture(parts) => pick(parts, stream.random()).sample(stream),
            Self::Empirical(values) => values[stream.random_range(0..values.len())],
        }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { low, high } => f64::midpoint(*low, *high),
            Self::Exponential { mean } | Self::Gamma { mean, .. } => *mean,
            Self::Lognormal { median, sigma } => median * (sigma * sigma / 2.0).exp(),
            Self::Weibull { shape, scale } => scale * ln_gamma(1.0 + 1.0 / shape).exp(),
            Self::Mixture(parts) => {
                let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
                parts
                    .iter()
                    .map(|(weight, part)| weight * part.mean())
                    .sum::<f64>()
                    / total
            }
            Self::Empirical(values) => values.iter().sum::<f64>() / values.len() as f64,
        }
    }
}

/// The part of a mixture at `uniform` in [0, 1).
fn pick(parts: &[(f64, Distribution)], uniform: f64) -> &Distribution {
    let mut left = uniform * parts.iter().map(|(weight, _)| weight).sum::<f64>();
    for (weight, part) in parts {
        if left < *weight {
            return part;
        }
        left -= weight;
    }
    &parts.last().expect("a mixture has parts").1
}

/// The Weibull shape whose coefficient of variation is `cv`, by bisection: CV falls as the shape grows.
fn weibull_shape(cv: f64) -> f64 {
    let (mut low, mut high) = (0.05_f64, 100.0_f64);
    for _ in 0..100 {
        let shape = (low * high).sqrt();
        let ratio = (ln_gamma(1.0 + 2.0 / shape) - 2.0 * ln_gamma(1.0 + 1.0 / shape)).exp();
        if (ratio - 1.0).sqrt() > cv {
            low = shape;
        } else {
            high = shape;
        }
    }
    (low * high).sqrt()
}

/// Logarithm of the gamma function for positive arguments (Lanczos, g = 7, n = 9; relative error below 1e-14).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let t = x + 7.5;
    let series = COEFFICIENTS
        .iter()
        .zip(1..)
        .fold(0.999_999_999_999_809_9, |sum, (coefficient, k)| {
            sum + coefficient / (x + f64::from(k))
        });
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + series.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::Streams;

    /// Mean and standard deviation of `n` draws.
    fn moments(distribution: &Distribution, n: u32) -> (f64, f64) {
        let mut stream = Streams::new(1, 0).stream("test");
        let draws: Vec<f64> = (0..n).map(|_| distribution.sample(&mut stream)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n - 1);
        (mean, variance.sqrt())
    }

    #[test]
    fn sample_means_lie_within_a_99_9_percent_interval_of_the_stated_mean() {
        let n = 200_000;
        for distribution in [
            Distribution::Constant(2.0),
            Distribution::Uniform {
                low: 1.0,
                high: 4.0,
            },
            Distribution::Exponential { mean: 3.0 },
            Distribution::lognormal_by_p95(2.0, 5.0),
            Distribution::lognormal_by_cv(4.0, 1.0),
            Distribution::Gamma { mean: 2.0, cv: 2.0 },
            Distribution::weibull_by_cv(2.0, 1.5),
            Distribution::Mixture(vec![
                (0.9, Distribution::Exponential { mean: 0.5 }),
                (0.1, Distribution::Exponential { mean: 5.5 }),
            ]),
            Distribution::Empirical(vec![1.0, 2.0, 6.0]),
        ] {
            let (mean, deviation) = moments(&distribution, n);
            let half_width = 3.29 * deviation / f64::from(n).sqrt() + 1e-9;
            assert!(
                (mean - distribution.mean()).abs() <= half_width,
                "{distribution:?}: {mean} ± {half_width}"
            );
        }
    }

    #[test]
    fn a_stated_cv_is_the_cv_of_the_draws() {
        // Relative standard error of a standard deviation is sqrt((kurtosis - 1) / 4n): below 1 % for these at a million draws.
        for distribution in [
            Distribution::weibull_by_cv(1.0, 0.5),
            Distribution::weibull_by_cv(1.0, 2.0),
            Distribution::Gamma { mean: 1.0, cv: 2.0 },
            Distribution::lognormal_by_cv(1.0, 0.5),
        ] {
            let (mean, deviation) = moments(&distribution, 1_000_000);
            let stated = match distribution {
                Distribution::Weibull { shape, .. } if shape > 1.0 => 0.5,
                Distribution::Lognormal { .. } => 0.5,
                _ => 2.0,
            };
            assert!(
                (deviation / mean / stated - 1.0).abs() < 0.03,
                "{distribution:?}: {}",
                deviation / mean
            );
        }
    }

    #[test]
    fn ln_gamma_matches_factorials() {
        for (n, factorial) in [(1.0, 1.0_f64), (2.0, 1.0), (5.0, 24.0), (11.0, 3_628_800.0)] {
            assert!((ln_gamma(n) - factorial.ln()).abs() < 1e-12, "{n}");
        }
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-12);
    }
}
