//! Which law of arrivals a trace follows.
//!
//! Three laws are fitted by maximum likelihood, all under the daily and weekly curve that the trace shows when it is long enough:
//!
//! - a Poisson process,
//! - a renewal process with Gamma gaps, in the operational time of the curve,
//! - a Markov-modulated Poisson process of two states (`mmpp`).
//!
//! Their Akaike information criteria are those of one sample, so they compare. How bad a law is in itself tell the
//! Kolmogorov-Smirnov distance of its one-step predictions from the uniform law (Brown et al. 2002, time rescaling), and the
//! dispersion of counts in arrivals that the law itself makes, found as the trace's was. Stamps that rows share are spread over
//! their step first, by a fixed seed.

mod check;
mod gamma;
mod mmpp;
mod sample;

use super::survey::Survey;
use super::{Dispersion, Trace};
use crate::foreign::ImportError;
use crate::stats::{Interval, normal_quantile};
use crate::workload::Curve;

use sample::Sample;

/// Fewer gaps say nothing.
const LEAST_GAPS: u64 = 20;
/// Fewer windows give no dispersion worth a comparison.
const LEAST_WINDOWS: u64 = 10;
/// From this span on a trace shows its daily curve \[s\]: every hour twice.
const CURVE_FROM_S: f64 = 172_800.0;

/// A law of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Independent exponential gaps.
    Poisson {
        /// Mean rate [1/s].
        rate: f64,
    },
    /// Independent Gamma gaps.
    Gamma {
        /// Mean rate [1/s].
        rate: f64,
        /// Standard deviation of gaps over their mean.
        cv: f64,
    },
    /// A Poisson process whose rate changes between two values, calm first.
    Mmpp {
        /// Rate in each state [1/s].
        rates: [f64; 2],
        /// Mean length of each state \[s\].
        sojourns: [f64; 2],
    },
}

impl Law {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Poisson { .. } => "poisson",
            Self::Gamma { .. } => "gamma",
            Self::Mmpp { .. } => "mmpp",
        }
    }

    /// Its parameters by name.
    pub fn parameters(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Self::Poisson { rate } => vec![("rate_per_s", rate)],
            Self::Gamma { rate, cv } => vec![("rate_per_s", rate), ("gap_cv", cv)],
            Self::Mmpp { rates, sojourns } => vec![
                ("calm_rate_per_s", rates[0]),
                ("burst_rate_per_s", rates[1]),
                ("calm_mean_s", sojourns[0]),
                ("burst_mean_s", sojourns[1]),
            ],
        }
    }
}

/// A law fitted to a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The law.
    pub law: Law,
    /// Standard error of the logarithm of each parameter, from the curvature of the likelihood given the curve; `None` where it
    /// has none.
    pub errors: Vec<Option<f64>>,
    /// Logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Akaike information criterion; less is better.
    pub aic: f64,
    /// Kolmogorov-Smirnov distance of the predictions from the uniform law: none 0, all wrong 1.
    pub ks: f64,
    /// CV of the gaps that the law makes; `None` where it makes too few.
    pub gap_cv: Option<f64>,
    /// Dispersion of its counts, at the trace's windows.
    pub dispersion: Vec<Dispersion>,
}

impl Fit {
    /// How far the dispersion of its counts is from the trace's: the mean size of the logarithm of their ratio over windows of
    /// which the trace has enough, and which are longer than a step of its stamps.
    pub fn dispersion_distance(&self, trace: &Survey) -> Option<f64> {
        let step_s = trace.step.map_or(0.0, |step| step.length.as_secs());
        let is_fit = |window: &Dispersion| {
            window.windows >= LEAST_WINDOWS && window.window_s as f64 >= 2.0 * step_s
        };
        let windows = self.dispersion.iter().zip(&trace.dispersion);
        let windows = windows.filter(|(_, trace)| is_fit(trace));
        let ratios = windows.filter_map(|(own, trace)| Some(own.index? / trace.index?));
        let sizes: Vec<f64> = ratios.map(|ratio| ratio.ln().abs()).collect();
        (!sizes.is_empty()).then(|| sizes.iter().sum::<f64>() / sizes.len() as f64)
    }

    /// Where each parameter lies with this confidence.
    pub fn intervals(&self, confidence: f64) -> Vec<Option<Interval>> {
        let z = normal_quantile(0.5 + 0.5 * confidence);
        let parameters = self.law.parameters().into_iter().zip(&self.errors);
        let interval = |((_, value), error): ((_, f64), &Option<f64>)| {
            error.map(|error| Interval {
                low: value * (-z * error).exp(),
                high: value * (z * error).exp(),
                confidence,
            })
        };
        parameters.map(interval).collect()
    }
}

/// Laws fitted to one trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Fits {
    /// Multipliers by hour of the day under all laws; `None` where the trace is too short to show them.
    pub daily: Option<[f64; 24]>,
    /// Multipliers by day of the week, Monday first.
    pub weekly: Option<[f64; 7]>,
    /// Gaps that were fitted: all, or as many in stretches all over the trace.
    pub gaps: usize,
    /// How many stretches.
    pub stretches: usize,
    /// The laws, best first.
    pub laws: Vec<Fit>,
}

impl Fits {
    /// The law whose counts are dispersed most like the trace's.
    pub fn closest(&self, trace: &Survey) -> Option<&Fit> {
        let distances = self.laws.iter();
        let distances = distances.filter_map(|fit| Some((fit.dispersion_distance(trace)?, fit)));
        let nearest = distances.min_by(|a, b| a.0.total_cmp(&b.0));
        nearest.map(|(_, fit)| fit)
    }
}

/// A law before its predictions are checked.
struct Fitted {
    law: Law,
    errors: Vec<Option<f64>>,
    log_likelihood: f64,
    ks: f64,
}

impl Trace {
    /// Fits laws to its arrivals; `None` where there are too few or all come at once.
    pub fn fit(&self, survey: &Survey) -> Result<Option<Fits>, ImportError> {
        let gaps = survey.rows.saturating_sub(1);
        if gaps < LEAST_GAPS || survey.rate().is_none() {
            return Ok(None);
        }
        let (daily, weekly) = curve(survey);
        let curve = Curve::new(&daily.unwrap_or([1.0; 24]), &weekly.unwrap_or([1.0; 7]));
        let sample = Sample::of(self, survey, curve)?;
        let free = f64::from(u8::from(daily.is_some()) * 23 + u8::from(weekly.is_some()) * 6);
        let fitted = [
            gamma::poisson(&sample),
            gamma::renewal(&sample),
            mmpp::fit(&sample),
        ];
        let mut laws: Vec<Fit> = fitted
            .into_iter()
            .map(|one| {
                let (gap_cv, dispersion) = check::made(&one.law, &sample, survey);
                let parameters = one.law.parameters().len() as f64 + free;
                Fit {
                    law: one.law,
                    errors: one.errors,
                    log_likelihood: one.log_likelihood,
                    aic: 2.0 * (parameters - one.log_likelihood),
                    ks: one.ks,
                    gap_cv,
                    dispersion,
                }
            })
            .collect();
        laws.sort_by(|a, b| a.aic.total_cmp(&b.aic));
        Ok(Some(Fits {
            daily,
            weekly,
            gaps: sample.gaps(),
            stretches: sample.stretches.len(),
            laws,
        }))
    }
}

/// The trace's curve over the day and the week, with mean 1, where it is long enough to show one.
fn curve(survey: &Survey) -> (Option<[f64; 24]>, Option<[f64; 7]>) {
    if survey.span.as_secs() < CURVE_FROM_S {
        return (None, None);
    }
    let dated = survey.first_ns.is_some();
    let daily = survey.hours.daily().map(over_mean);
    let weekly = survey.hours.weekly().filter(|_| dated).map(over_mean);
    (daily, weekly)
}

fn over_mean<const N: usize>(rates: [f64; N]) -> [f64; N] {
    let mean = rates.iter().sum::<f64>() / N as f64;
    rates.map(|rate| rate / mean)
}
