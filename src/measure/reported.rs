//! Figures that somebody reports without the requests behind them: can they be, and what do they force?
//!
//! For each definition of the CV and each number of requests: whether any requests have these figures before rounding, how long
//! the longest must have taken, and whether that is possible under the longest TTFT that could have occurred
//! ([`feasible`](super::feasible)). A stated standard deviation is held against the definition too: over the CV it gives what it
//! was divided by.

use super::feasible::{Forced, Published, Rounded};
use crate::stats::CvDefinition;

/// Numbers of requests that are tried when none is reported.
pub const SIZES: [usize; 8] = [20, 30, 50, 75, 100, 200, 500, 1000];
/// No TTFT is assumed longer than this when nothing else is reported \[s\]: the longest cold start that is customary.
pub const CAP_S: f64 = 90.0;

/// What somebody reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reported {
    /// Median, p95 and CV.
    pub published: Published,
    /// How many requests.
    pub n: Option<usize>,
    /// The standard deviation \[s\].
    pub std: Option<Rounded>,
    /// No TTFT is longer than this \[s\], by a time-out or a stated maximum.
    pub cap_s: Option<f64>,
    /// No TTFT is shorter than this \[s\].
    pub floor_s: f64,
}

/// What the figures mean if the CV follows one definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The definition.
    pub definition: CvDefinition,
    /// By number of requests.
    pub sizes: Vec<Size>,
    /// The fewest requests that can have the figures at all, from 5.
    pub smallest_n: Option<usize>,
    /// What the stated standard deviation over the stated CV leaves for the divisor, if both are stated.
    pub divided_by: Option<DividedBy>,
}

/// What the figures mean for a number of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// How many requests.
    pub n: usize,
    /// How long the longest must have taken.
    pub forced: Forced,
    /// Whether that is within the cap.
    pub is_possible: bool,
}

/// The standard deviation over the CV, and what a definition allows there \[s\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DividedBy {
    /// From.
    pub low_s: f64,
    /// To.
    pub high_s: f64,
    /// The least that the definition allows: the least mean, or the median less its rounding.
    pub least_s: f64,
    /// Whether the definition allows it.
    pub is_possible: bool,
}

impl Reported {
    /// The longest TTFT that is allowed \[s\].
    pub fn cap_s(&self) -> f64 {
        self.cap_s.unwrap_or(CAP_S)
    }

    /// The numbers of requests that are tried.
    pub fn sizes(&self) -> Vec<usize> {
        self.n.map_or_else(|| SIZES.to_vec(), |n| vec![n])
    }

    /// What the figures mean under both definitions, in the order of [`CvDefinition::ALL`].
    pub fn answers(&self) -> [Answer; 2] {
        CvDefinition::ALL.map(|definition| self.answer(definition))
    }

    fn answer(&self, definition: CvDefinition) -> Answer {
        let floor_share = self.floor_share();
        let size = |n: usize| {
            let forced = self.published.forced_max(n, definition, floor_share);
            Size {
                n,
                forced,
                is_possible: forced.seconds().is_some_and(|most| most <= self.cap_s()),
            }
        };
        Answer {
            definition,
            sizes: self.sizes().into_iter().map(size).collect(),
            smallest_n: self.published.smallest_n(definition, floor_share),
            divided_by: self.divided_by(definition),
        }
    }

    /// The floor as a share of the median.
    fn floor_share(&self) -> f64 {
        (self.floor_s / self.published.median.value).clamp(0.0, 1.0)
    }

    fn divided_by(&self, definition: CvDefinition) -> Option<DividedBy> {
        let std = self.std?;
        let cv = self.published.cv_percent;
        let low_s = (std.value - std.half_unit) / (cv.value + cv.half_unit) * 100.0;
        let high_s = (std.value + std.half_unit) / (cv.value - cv.half_unit).max(1e-9) * 100.0;
        let median = self.published.median;
        let (least_s, most_s) = match definition {
            CvDefinition::StdOverMean => (self.least_mean(), f64::INFINITY),
            CvDefinition::StdOverMedian => (
                median.value - median.half_unit,
                median.value + median.half_unit,
            ),
        };
        Some(DividedBy {
            low_s,
            high_s,
            least_s,
            is_possible: high_s >= least_s && low_s <= most_s,
        })
    }

    /// The least mean of any number of requests with this median and p95, both rounded down \[s\].
    ///
    /// Half of them lie at the floor, the rest at the median up to p95, and one in twenty at p95 at least.
    fn least_mean(&self) -> f64 {
        let low = |rounded: Rounded| (rounded.value - rounded.half_unit).max(0.0);
        let (median, p95) = (low(self.published.median), low(self.published.p95));
        let mean = |n: usize| {
            let below = (n - 1) / 2;
            let (index, share) = (95 * (n - 1) / 100, (95 * (n - 1) % 100) as f64 / 100.0);
            let between = (index - below) as f64 * median;
            let above = (n - 1 - index) as f64;
            let at_p95 = p95 + above * p95;
            // Or the lower neighbour of p95 at the median, which lifts the upper one and all above it.
            let lifted = if share > 0.0 {
                median + above * (p95 - (1.0 - share) * median) / share
            } else {
                f64::INFINITY
            };
            (below as f64 * self.floor_s + between + at_p95.min(lifted)) / n as f64
        };
        self.sizes()
            .into_iter()
            .map(|n| mean(n.max(5)))
            .fold(f64::INFINITY, f64::min)
    }
}

impl Answer {
    /// Whether some number of requests fits, and the standard deviation too if one is stated.
    pub fn is_possible(&self) -> bool {
        let std_fits = self.divided_by.is_none_or(|one| one.is_possible);
        std_fits && self.sizes.iter().any(|size| size.is_possible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::feasible::Divisor;

    fn reported(median: &str, p95: &str, cv: &str) -> Reported {
        let number = |text| Rounded::parse(text).expect("a number");
        Reported {
            published: Published {
                median: number(median),
                p95: number(p95),
                cv_percent: number(cv),
                divisor: Divisor::Population,
            },
            n: None,
            std: None,
            cap_s: None,
            floor_s: 0.0,
        }
    }

    #[test]
    fn verdicts_are_those_of_the_table() {
        // theory.md §2.2, "feasible with all TTFT <= 90 s": (row, std/mean, std/median).
        for (median, p95, cv, over_mean) in [
            ("0.39", "0.57", "21", true),
            ("0.55", "6.3", "541", true),
            ("0.73", "6.9", "710", false),
            ("0.35", "5.98", "989", false),
            ("0.43", "1.70", "1266", false),
            ("0.25", "1.08", "102", true),
        ] {
            let found = reported(median, p95, cv).answers();
            let possible = [found[0].is_possible(), found[1].is_possible()];
            assert_eq!(possible, [over_mean, true], "{median} {p95} {cv}");
        }
    }

    #[test]
    fn forced_maxima_are_those_of_the_table() {
        let one = Reported {
            n: Some(75),
            ..reported("0.55", "6.3", "541")
        };
        let [over_mean, over_median] = one.answers();
        let forced = |answer: &Answer| answer.sizes[0].forced.seconds().expect("possible");
        assert!((forced(&over_mean) - 71.5).abs() < 0.05, "{over_mean:?}");
        assert!(
            (6.25..6.4).contains(&forced(&over_median)),
            "{over_median:?}"
        );
        let few = Reported {
            n: Some(75),
            ..reported("0.43", "1.70", "1266")
        };
        let [over_mean, over_median] = few.answers();
        assert_eq!(over_mean.sizes[0].forced, Forced::Impossible);
        assert_eq!(over_mean.smallest_n, Some(162));
        assert!(
            (forced(&over_median) - 27.6).abs() < 0.05,
            "{over_median:?}"
        );
    }

    #[test]
    fn a_stated_deviation_tells_the_definition() {
        // Row E: 5.4 / 12.66 is the median, and below the least mean of any sample with that p95.
        let row = Reported {
            std: Rounded::parse("5.4"),
            cap_s: Some(1e9),
            ..reported("0.43", "1.70", "1266")
        };
        let [over_mean, over_median] = row.answers();
        let found = over_median.divided_by.expect("stated");
        assert!(found.low_s < 0.4265 && found.high_s > 0.4265 && found.is_possible);
        let mean = over_mean.divided_by.expect("stated");
        assert!(mean.high_s < 0.432 && mean.least_s > 0.27, "{mean:?}");
        // Without an assumption the mean may be that low; a floor at three quarters of the median forbids it.
        assert!(mean.is_possible);
        let floored = Reported {
            floor_s: 0.32,
            ..row
        };
        let mean = floored.answers()[0].divided_by.expect("stated");
        assert!(!mean.is_possible, "{mean:?}");
    }

    #[test]
    fn a_time_out_caps_what_can_have_been() {
        let with = |cap_s| Reported {
            n: Some(75),
            cap_s: Some(cap_s),
            ..reported("0.55", "6.3", "541")
        };
        assert!(with(120.0).answers()[0].is_possible());
        assert!(!with(60.0).answers()[0].is_possible());
        assert!(with(60.0).answers()[1].is_possible());
    }
}
