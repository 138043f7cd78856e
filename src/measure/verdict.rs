//! What a coefficient of variation says about an endpoint.
//!
//! The classes are those of the benchmark's protocol: below 40 % well supported, 40-100 % variable and fine where latency is
//! not critical, above 100 % cold starts are happening, above 300 % not fit for latency-sensitive production. A value on a
//! limit belongs to the milder class where the text says "above": 100 is variable and 300 is cold starts; 40 is variable,
//! since only values below it are well supported.

use std::fmt;

use super::summary::Summary;
use crate::stats::{CvDefinition, PercentileMethod, Sample, bootstrap};
use crate::streams::Stream;

/// From this CV on, latency varies [%].
const VARIABLE: f64 = 40.0;
/// Above this CV, cold starts are happening [%].
const COLD_STARTS: f64 = 100.0;
/// Above this CV, the endpoint is not fit for latency-sensitive production [%].
const NOT_PRODUCTION_READY: f64 = 300.0;

/// The class of an endpoint by the spread of its TTFT, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// CV below 40 %.
    WellSupported,
    /// CV from 40 % to 100 %.
    Variable,
    /// CV above 100 %, up to 300 %.
    ColdStarts,
    /// CV above 300 %.
    NotProductionReady,
    /// The CV is undefined: fewer than two successes, or all TTFTs zero.
    NoData,
}

impl Verdict {
    /// Every verdict, from best to worst.
    pub const ALL: [Self; 5] = [
        Self::WellSupported,
        Self::Variable,
        Self::ColdStarts,
        Self::NotProductionReady,
        Self::NoData,
    ];

    /// The class of a CV [%]; an undefined one is no data.
    pub fn of_percent(cv_percent: Option<f64>) -> Self {
        match cv_percent {
            Some(cv) if cv < VARIABLE => Self::WellSupported,
            Some(cv) if cv <= COLD_STARTS => Self::Variable,
            Some(cv) if cv <= NOT_PRODUCTION_READY => Self::ColdStarts,
            Some(cv) if cv > NOT_PRODUCTION_READY => Self::NotProductionReady,
            _ => Self::NoData,
        }
    }

    /// The class of a summary, by std/mean unless asked otherwise.
    pub fn of(summary: &Summary, definition: CvDefinition) -> Self {
        Self::of_percent(summary.spread_percent(definition))
    }

    /// The name used in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::WellSupported => "well-supported",
            Self::Variable => "variable",
            Self::ColdStarts => "cold-starts",
            Self::NotProductionReady => "not-production-ready",
            Self::NoData => "no-data",
        }
    }
}

/// A class is called decided from this probability on.
pub const DECIDED: f64 = 0.8;

/// How probable each class is, by resampling the successes: the class of one benchmark is partly luck.
///
/// The shares describe other benchmarks of the same length at an endpoint that answers as this one did. They know only what was
/// seen: with fewer than [`COLD_NEEDED`](super::summary::COLD_NEEDED) cold requests no interval of a CV keeps its promise, and neither do they.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Classes {
    /// Share of the resamples in each class, in the order of [`Verdict::ALL`].
    pub shares: [f64; Verdict::ALL.len()],
}

impl Classes {
    /// The classes of resamples; `None` where the relative spread itself is undefined.
    pub fn of(
        sample: &Sample,
        definition: CvDefinition,
        percentile: PercentileMethod,
        rng: &mut Stream,
    ) -> Option<Self> {
        let spread = |sample: &Sample| {
            let below = match definition {
                CvDefinition::StdOverMean => sample.mean(),
                CvDefinition::StdOverMedian => sample.quantile(0.5, percentile),
            };
            let std = sample.std().filter(|_| below > 0.0)?;
            Some(100.0 * std / below)
        };
        spread(sample)?;
        let classes = bootstrap(sample, rng, |sample| Verdict::of_percent(spread(sample)));
        let share = |class: Verdict| {
            let count = classes.iter().filter(|&&one| one == class).count();
            count as f64 / classes.len() as f64
        };
        Some(Self {
            shares: Verdict::ALL.map(share),
        })
    }

    /// The classes that occur, most probable first.
    pub fn ranked(&self) -> Vec<(Verdict, f64)> {
        let mut ranked: Vec<(Verdict, f64)> = Verdict::ALL
            .into_iter()
            .zip(self.shares)
            .filter(|&(_, share)| share > 0.0)
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }

    /// How probable a class is.
    pub fn share(&self, verdict: Verdict) -> f64 {
        self.shares[verdict as usize]
    }

    /// The class that has [`DECIDED`] of the probability, if one has.
    pub fn decided(&self) -> Option<Verdict> {
        let (verdict, share) = *self.ranked().first()?;
        (share >= DECIDED).then_some(verdict)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_fall_where_the_text_puts_them() {
        for (cv, verdict) in [
            (0.0, Verdict::WellSupported),
            (39.999, Verdict::WellSupported),
            (40.0, Verdict::Variable),
            (100.0, Verdict::Variable),
            (100.001, Verdict::ColdStarts),
            (300.0, Verdict::ColdStarts),
            (300.001, Verdict::NotProductionReady),
        ] {
            assert_eq!(Verdict::of_percent(Some(cv)), verdict, "{cv} %");
        }
        assert_eq!(Verdict::of_percent(None), Verdict::NoData);
        assert_eq!(Verdict::of_percent(Some(f64::NAN)), Verdict::NoData);
    }

    #[test]
    fn names_are_those_of_the_results() {
        let names = Verdict::ALL.map(|verdict| verdict.to_string());
        let expected = [
            "well-supported",
            "variable",
            "cold-starts",
            "not-production-ready",
            "no-data",
        ];
        assert_eq!(names, expected);
    }
}
