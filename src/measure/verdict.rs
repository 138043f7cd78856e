//! What a coefficient of variation says about an endpoint.
//!
//! The classes are those of the benchmark's protocol: below 40 % well supported, 40-100 % variable and fine where latency is
//! not critical, above 100 % cold starts are happening, above 300 % not fit for latency-sensitive production. A value on a
//! limit belongs to the milder class where the text says "above": 100 is variable and 300 is cold starts; 40 is variable,
//! since only values below it are well supported.

use std::fmt;

use super::summary::Summary;
use crate::stats::CvDefinition;

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
