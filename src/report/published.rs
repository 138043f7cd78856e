//! Published figures beside simulated ones, and whether the published ones can be what they are called.

use super::Report;
use crate::experiment::Published;
use crate::experiment::repeat::{Row, Spread};
use crate::measure::feasible::{self, Assessment, Rounded};
use crate::measure::summary::Ttft;

/// No TTFT of a published row is assumed shorter than this share of its median.
const FLOOR_SHARE: f64 = 0.5;
/// No TTFT of a published row is assumed longer \[s\]: the longest cold start that is customary.
pub(super) const CAP_S: f64 = 90.0;

/// A published row beside a simulated one.
#[derive(Clone, Debug)]
pub(super) struct Pair<'a> {
    /// The simulated row.
    pub(super) row: &'a Row,
    /// The published figures.
    pub(super) published: &'a Published,
    /// Median TTFT \[s\], and so on: of the single benchmark, or the middle of many.
    pub(super) median_s: Option<f64>,
    /// 95th percentile \[s\].
    pub(super) p95_s: Option<f64>,
    /// Standard deviation over mean [%].
    pub(super) cv_percent: Option<f64>,
    /// Standard deviation over median [%].
    pub(super) std_over_median_percent: Option<f64>,
    /// The published row if its CV is std/mean, and if it is std/median.
    pub(super) assessments: [Assessment; 2],
}

/// Every published row with every simulated row of its model.
pub(super) fn pairs<'a>(report: &Report<'a>) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for published in &report.plan.published {
        let assessments = assess(published);
        for row in &report.outcome.rows {
            if report.provider(row) == published.provider && report.model(row) == published.model {
                pairs.push(Pair::of(row, published, assessments));
            }
        }
    }
    pairs
}

impl<'a> Pair<'a> {
    fn of(row: &'a Row, published: &'a Published, assessments: [Assessment; 2]) -> Self {
        let single = |pick: fn(&Ttft) -> Option<f64>| row.summary.ttft.as_ref().and_then(pick);
        let [median_s, p95_s, cv_percent, std_over_median_percent] = match &row.reported {
            Some(many) => [
                many.ttft_median_s.p50,
                many.ttft_p95_s.p50,
                many.cv_percent.p50,
                many.std_over_median_percent.p50,
            ],
            None => [
                single(|ttft| Some(ttft.median_s)),
                single(|ttft| Some(ttft.p95_s)),
                single(|ttft| ttft.cv_percent),
                single(|ttft| ttft.std_over_median_percent),
            ],
        };
        Self {
            row,
            published,
            median_s,
            p95_s,
            cv_percent,
            std_over_median_percent,
            assessments,
        }
    }

    /// How the simulated median, p95, std/mean and std/median spread over many benchmarks, in this order.
    pub(super) fn spreads(&self) -> [Option<Spread>; 4] {
        let many = self.row.reported.as_ref();
        [
            many.map(|many| many.ttft_median_s),
            many.map(|many| many.ttft_p95_s),
            many.map(|many| many.cv_percent),
            many.map(|many| many.std_over_median_percent),
        ]
    }

    /// Which published figures nine in ten benchmarks would not report, the CV by any definition that it can follow; `None` of a
    /// single benchmark.
    pub(super) fn outside(&self) -> Option<Vec<&'static str>> {
        let [median, p95, over_mean, over_median] = self.spreads();
        let published = self.published;
        let within = |spread: Spread, published: f64| {
            let printed = Rounded::shortest(published);
            let (low, high) = (spread.p05?, spread.p95?);
            let (least, most) = (
                printed.value - printed.half_unit,
                printed.value + printed.half_unit,
            );
            Some(low <= most && least <= high)
        };
        let cv = [over_mean?, over_median?]
            .into_iter()
            .zip(self.assessments)
            .filter(|(_, assessment)| assessment.possible_within_cap)
            .any(|(spread, _)| within(spread, published.cv_percent).unwrap_or(false));
        let all = [
            ("median", within(median?, published.ttft_median_s)?),
            ("p95", within(p95?, published.ttft_p95_s)?),
            ("CV", cv),
        ];
        let std = published.ttft_std_s.zip(self.row.reported.as_ref());
        let std = std.and_then(|(std, many)| Some(("std", within(many.ttft_std_s, std)?)));
        let outside = all
            .into_iter()
            .chain(std)
            .filter(|(_, is_within)| !is_within);
        Some(outside.map(|(name, _)| name).collect())
    }

    /// By which definitions the published CV can be, in words.
    pub(super) fn possible(&self) -> &'static str {
        match self.assessments.map(|one| one.possible_within_cap) {
            [true, true] => "either",
            [true, false] => "std/mean",
            [false, true] => "std/median",
            [false, false] => "neither",
        }
    }
}

/// How far a simulated figure lies from the published one [%].
pub(super) fn deviation_percent(simulated: Option<f64>, published: f64) -> Option<f64> {
    simulated.map(|simulated| 100.0 * (simulated / published - 1.0))
}

fn assess(published: &Published) -> [Assessment; 2] {
    let row = feasible::Published {
        median: Rounded::shortest(published.ttft_median_s),
        p95: Rounded::shortest(published.ttft_p95_s),
        cv_percent: Rounded::shortest(published.cv_percent),
        divisor: feasible::Divisor::Population,
    };
    feasible::assess(&row, FLOOR_SHARE, CAP_S)
}
