//! Which requests look cold, told by their TTFT alone.
//!
//! Two normal laws of log TTFT are held against laws of one kind ([`TwoKinds`]). The answer comes with its probability and may
//! be that nobody can tell: stragglers of one kind and a second kind look alike when there are few of them. Neither answer is
//! about causes: a slow kind may be cold starts, a second region, or the client's network.

use crate::stats::{Estimate, PercentileMethod, Sample, TwoKinds, clopper_pearson};

/// From this probability on there are two kinds.
const SURE: f64 = 0.95;
/// Below this probability there is one.
const UNLIKELY: f64 = 0.5;
/// Two kinds lie this far apart, in deviations: closer, a mixture has a single peak.
const APART: f64 = 2.0;
/// A slow kind takes at least so many times as long: below it no share of it makes a CV of 40 %.
pub const LEAST_RATIO: f64 = 2.18;

/// What the TTFTs of a series fall into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Split {
    /// One kind, or two that do not differ enough to matter.
    One {
        /// How probable a second kind is.
        second: f64,
    },
    /// A second kind is possible but not sure.
    CannotTell {
        /// How probable it is.
        second: f64,
        /// What it would be.
        kinds: Kinds,
    },
    /// Two kinds.
    Two {
        /// How probable that is.
        second: f64,
        /// The two.
        kinds: Kinds,
    },
    /// Too few answers to ask, or some TTFT is zero.
    TooFew,
}

/// Quick and slow requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kinds {
    /// Median of the quick ones \[s\].
    pub warm_median_s: f64,
    /// Their 95th percentile \[s\].
    pub warm_p95_s: f64,
    /// How many are slow.
    pub cold: usize,
    /// Their share, with the exact interval.
    pub share: Estimate,
    /// The shortest slow one \[s\].
    pub cold_min_s: f64,
    /// Their median \[s\].
    pub cold_median_s: f64,
    /// The longest \[s\].
    pub cold_max_s: f64,
}

impl Split {
    /// Splits TTFTs \[s\].
    pub fn of(sample: &Sample, method: PercentileMethod) -> Self {
        if sample.min() <= 0.0 {
            return Self::TooFew;
        }
        let logs: Vec<f64> = sample.values().iter().map(|ttft| ttft.ln()).collect();
        let Some(fit) = TwoKinds::fit(&logs) else {
            return Self::TooFew;
        };
        let second = fit.probability;
        let Some(kinds) = Kinds::of(sample, &fit, method) else {
            return Self::One { second };
        };
        let matters = kinds.cold_median_s >= LEAST_RATIO * kinds.warm_median_s;
        match second {
            _ if !matters || fit.separation() < APART => Self::One { second },
            sure if sure >= SURE => Self::Two { second, kinds },
            unlikely if unlikely < UNLIKELY => Self::One { second },
            _ => Self::CannotTell { second, kinds },
        }
    }

    /// The two kinds, where they are sure or possible.
    pub fn kinds(&self) -> Option<&Kinds> {
        match self {
            Self::Two { kinds, .. } | Self::CannotTell { kinds, .. } => Some(kinds),
            Self::One { .. } | Self::TooFew => None,
        }
    }

    /// From this TTFT on a request looks cold \[s\].
    pub fn cold_from_s(&self) -> Option<f64> {
        self.kinds().map(|kinds| kinds.cold_min_s)
    }
}

impl Kinds {
    /// The kinds, if each has a value that belongs to it rather than to the other.
    fn of(sample: &Sample, fit: &TwoKinds, method: PercentileMethod) -> Option<Self> {
        let values = sample.values();
        let is_slow = |ttft: &f64| fit.of_second(ttft.ln()) > 0.5;
        // Of two laws with different deviations the wider one may claim both ends: slow values are those at the upper end.
        let first_slow = values.iter().rposition(|ttft| !is_slow(ttft))? + 1;
        let slow = Sample::new(values[first_slow..].to_vec())?;
        let quick = Sample::new(values[..first_slow].to_vec())?;
        Some(Self {
            warm_median_s: quick.quantile(0.5, method),
            warm_p95_s: quick.quantile(0.95, method),
            cold: slow.len(),
            share: clopper_pearson(slow.len(), values.len(), super::summary::CONFIDENCE)?,
            cold_min_s: slow.min(),
            cold_median_s: slow.quantile(0.5, method),
            cold_max_s: slow.max(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::{Stream, Streams};
    use rand_distr::{Distribution as _, Exp1, StandardNormal};

    const METHOD: PercentileMethod = PercentileMethod::Linear;
    /// Data sets of each kind: 100 leave a share of 95 % within 7.2 % of what it is, 99.9 times of 100.
    const SETS: usize = 100;

    /// `n` TTFTs, of which the first `cold` are `ratio` times as long.
    fn warm_and_cold(rng: &mut Stream, n: usize, cold: usize, sigma: f64, ratio: f64) -> Sample {
        let value = |index: usize, rng: &mut Stream| {
            let z: f64 = StandardNormal.sample(rng);
            if index < cold {
                0.4 * ratio * (0.3 * z).exp()
            } else {
                0.4 * (sigma * z).exp()
            }
        };
        Sample::new((0..n).map(|index| value(index, rng)).collect()).expect("finite")
    }

    /// Shares of (one kind, cannot tell, two kinds) and of the sets whose slow requests are counted right.
    fn shares(name: &str, cold: usize, mut draw: impl FnMut(&mut Stream) -> Sample) -> [f64; 4] {
        let mut rng = Streams::new(11, 0).stream(name);
        let mut counts = [0_u32; 4];
        for _ in 0..SETS {
            let split = Split::of(&draw(&mut rng), METHOD);
            let kind = match split {
                Split::One { .. } | Split::TooFew => 0,
                Split::CannotTell { .. } => 1,
                Split::Two { .. } => 2,
            };
            counts[kind] += 1;
            let is_counted = split.kinds().is_some_and(|kinds| kinds.cold == cold);
            counts[3] += u32::from(is_counted);
        }
        counts.map(|count| f64::from(count) / SETS as f64)
    }

    #[test]
    fn one_kind_is_not_split_however_skewed() {
        for sigma in [0.2, 0.4, 0.6, 0.8, 1.0] {
            let found = shares(&format!("sigma {sigma}"), 0, |rng| {
                warm_and_cold(rng, 75, 0, sigma, 1.0)
            });
            assert!(found[2] <= 0.05, "sigma {sigma}: {found:?}");
            assert!(found[0] >= 0.90, "sigma {sigma}: {found:?}");
        }
    }

    #[test]
    fn tails_of_one_kind_are_no_second_kind() {
        let exponential = |rng: &mut Stream| -> f64 { Exp1.sample(rng) };
        let found = shares("waits in a queue", 0, |rng| {
            Sample::new((0..75).map(|_| exponential(rng)).collect()).expect("finite")
        });
        assert!(found[2] <= 0.05, "{found:?}");
        let found = shares("shifted waits", 0, |rng| {
            let values = (0..75).map(|_| 0.3 + 0.1 * exponential(rng));
            Sample::new(values.collect()).expect("finite")
        });
        assert!(found[2] <= 0.05, "{found:?}");
        let found = shares("heavy tails", 0, |rng| {
            let values = (0..75).map(|_| {
                let z: f64 = StandardNormal.sample(rng);
                // Student's t with three degrees of freedom.
                let chi: f64 = (0..3)
                    .map(|_| {
                        let q: f64 = StandardNormal.sample(rng);
                        q * q
                    })
                    .sum();
                0.4 * (0.2 * z / (chi / 3.0).sqrt()).exp()
            });
            Sample::new(values.collect()).expect("finite")
        });
        assert!(found[2] <= 0.08, "{found:?}");
    }

    #[test]
    fn cold_starts_are_found_and_counted() {
        // (cold of 75, ratio, least share that says two, least share that counts them right)
        for (cold, ratio, found_least, counted_least) in [
            (1, 50.0, 0.88, 0.95),
            (2, 50.0, 0.93, 0.95),
            (4, 50.0, 0.95, 0.95),
            (8, 50.0, 0.95, 0.95),
            (4, 10.0, 0.88, 0.90),
            (37, 50.0, 0.95, 0.95),
        ] {
            let found = shares(&format!("{cold} of {ratio}"), cold, |rng| {
                warm_and_cold(rng, 75, cold, 0.2, ratio)
            });
            assert!(found[2] >= found_least, "{cold} x {ratio}: {found:?}");
            assert!(found[3] >= counted_least, "{cold} x {ratio}: {found:?}");
        }
    }

    #[test]
    fn a_lone_straggler_of_wide_requests_cannot_be_told() {
        // 20 times a median whose own spread is 0.4: three deviations of the tail that is allowed.
        let found = shares("straggler", 1, |rng| warm_and_cold(rng, 75, 1, 0.4, 20.0));
        assert!(found[1] >= 0.2 && found[2] <= 0.8, "{found:?}");
    }

    #[test]
    fn figures_are_those_of_the_two_kinds() {
        let values = (0..71).map(|i| 0.40 + 0.001 * f64::from(i));
        let sample = Sample::new(values.chain([18.0, 20.0, 22.0, 25.0]).collect()).expect("finite");
        let Split::Two { second, kinds } = Split::of(&sample, METHOD) else {
            panic!("not two kinds");
        };
        assert!(second > 0.999);
        assert_eq!(
            (kinds.cold, kinds.cold_min_s, kinds.cold_max_s),
            (4, 18.0, 25.0)
        );
        assert_eq!(kinds.cold_median_s, 21.0);
        // One rounding of a sum.
        assert!((kinds.warm_median_s - 0.435).abs() < 1e-12);
        let interval = kinds.share.interval.expect("75 trials");
        assert!(interval.contains(4.0 / 75.0) && interval.high < 0.14);
        assert_eq!(Split::of(&sample, METHOD).cold_from_s(), Some(18.0));
    }

    #[test]
    fn too_few_or_zero_are_not_split() {
        let few = Sample::new(vec![0.4; 7]).expect("finite");
        assert_eq!(Split::of(&few, METHOD), Split::TooFew);
        let zero = Sample::new(vec![0.0; 20]).expect("finite");
        assert_eq!(Split::of(&zero, METHOD), Split::TooFew);
        let equal = Sample::new(vec![0.4; 20]).expect("finite");
        assert!(matches!(Split::of(&equal, METHOD), Split::One { .. }));
    }
}
