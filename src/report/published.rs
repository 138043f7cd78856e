//! Published figures beside simulated ones, and whether the published ones can be what they are called.

use super::Report;
use crate::experiment::Published;
use crate::experiment::repeat::Row;
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
        median: rounded(published.ttft_median_s),
        p95: rounded(published.ttft_p95_s),
        cv_percent: rounded(published.cv_percent),
        divisor: feasible::Divisor::Population,
    };
    feasible::assess(&row, FLOOR_SHARE, CAP_S)
}

/// The number with as many decimals as it needs: how it was printed is not known any more.
fn rounded(value: f64) -> Rounded {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    Rounded::parse(text).unwrap_or(Rounded::new(value, 6))
}
