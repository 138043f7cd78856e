//! The figures of one benchmark: what its requests showed, how sure that is, and what a reader must know first.
//!
//! TTFT figures describe the successes; a failure has no TTFT. Because that flatters an endpoint that fails when it is slow,
//! p50 and p95 exist a second time with every failure, time-out and reject counted as longer than everything. A figure that
//! is undefined is `None`, never 0 and never NaN.

use std::fmt;

use crate::observation::{Observation, Outcome};
use crate::stats::{
    CvDefinition, Estimate, Interval, PercentileMethod, Sample, clopper_pearson, cv_interval,
    needed_below_maximum, needed_for_quantile, rank_interval,
};
use crate::time::Duration;

/// The nominal confidence of every interval here.
pub const CONFIDENCE: f64 = 0.95;

/// A CV has an interval from this many cold requests on.
///
/// With fewer, its third and fourth moments rest on a handful of values and no interval keeps its promise: at 1 % cold
/// starts and 75 requests the delta method covers 42 % and the best bootstrap 38 %, at twelve cold starts 94 %.
pub const COLD_NEEDED: usize = 12;

/// What one benchmark of one endpoint showed. Times in seconds, from when a request was sent to its first token.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Requests made, those left out that failed in the client's own network.
    pub requests: usize,
    /// Requests that failed in the client's own network; no figure knows them.
    pub client_faults: usize,
    /// Answered to the last token.
    pub succeeded: usize,
    /// Broken off or reported as an error by the server.
    pub failed: usize,
    /// Given up by the client.
    pub timed_out: usize,
    /// Refused by the server.
    pub rejected: usize,
    /// Requests that did not succeed [%]; `None` without requests.
    pub failure_percent: Option<f64>,
    /// How every percentile here is read off the values.
    pub method: PercentileMethod,
    /// TTFT of the successes; `None` without a success.
    pub ttft: Option<Ttft>,
    /// Median with everything that did not succeed counted as longer than everything; `None` without requests.
    pub aware_p50: Option<AwareQuantile>,
    /// 95th percentile, likewise.
    pub aware_p95: Option<AwareQuantile>,
    /// What is known of cold starts; `None` unless every success says whether it met one.
    pub cold: Option<Cold>,
    /// Interval of `cv_percent` [%], only with at least [`COLD_NEEDED`] cold requests; see [`cv_interval`] for the method.
    pub cv_interval_percent: Option<Interval>,
    /// What a reader must know before trusting the figures.
    pub warnings: Vec<Warning>,
}

/// TTFT of the successes \[s\].
#[derive(Clone, Debug, PartialEq)]
pub struct Ttft {
    /// Median \[s\].
    pub median_s: f64,
    /// 95th percentile \[s\].
    pub p95_s: f64,
    /// Mean \[s\].
    pub mean_s: f64,
    /// Sample standard deviation, divisor `n - 1` \[s\]; `None` for one success.
    pub std_s: Option<f64>,
    /// Shortest \[s\].
    pub min_s: f64,
    /// Longest \[s\].
    pub max_s: f64,
    /// Standard deviation over mean [%]; `None` for one success or a zero mean.
    pub cv_percent: Option<f64>,
    /// Standard deviation over median [%]; `None` for one success or a zero median.
    pub std_over_median_percent: Option<f64>,
    /// Interval of the median by ranks of order statistics \[s\]; `None` below 6 successes.
    pub median_interval_s: Option<Interval>,
    /// Interval of p95 by ranks of order statistics \[s\]; `None` below 59 successes.
    pub p95_interval_s: Option<Interval>,
}

/// A quantile over all requests, whatever became of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AwareQuantile {
    /// It falls among the successes \[s\].
    Seconds(f64),
    /// It falls among requests that never got their answer: longer than any time-out.
    Unbounded,
}

/// Cold starts that the requests met.
#[derive(Clone, Debug, PartialEq)]
pub struct Cold {
    /// Requests that met a cold start, answered or not.
    pub requests: usize,
    /// Their share of the requests that say, with the exact (Clopper-Pearson) interval; `None` when none says.
    pub share: Option<Estimate>,
    /// Median TTFT of warm successes \[s\].
    pub warm_median_s: Option<f64>,
    /// 95th percentile of the TTFT of warm successes \[s\].
    pub warm_p95_s: Option<f64>,
    /// Shortest TTFT of cold successes \[s\].
    pub cold_min_s: Option<f64>,
    /// Median TTFT of cold successes \[s\].
    pub cold_median_s: Option<f64>,
    /// Longest TTFT of cold successes \[s\].
    pub cold_max_s: Option<f64>,
}

impl Summary {
    /// Summarises observations, each with whether it met a cold start where that is known.
    pub fn of(rows: &[(Observation, Option<bool>)], method: PercentileMethod) -> Self {
        let reached: Vec<(Observation, Option<bool>)> = rows
            .iter()
            .filter(|(seen, _)| seen.outcome() != Outcome::ClientFault)
            .copied()
            .collect();
        let client_faults = rows.len() - reached.len();
        let rows = reached.as_slice();
        let count = |test: fn(Outcome) -> bool| {
            rows.iter().filter(|(seen, _)| test(seen.outcome())).count()
        };
        let requests = rows.len();
        let succeeded = count(|outcome| outcome == Outcome::Succeeded);
        let sample = ttfts(rows);
        let cold = Cold::of(rows, method);
        let mut summary = Self {
            requests,
            client_faults,
            succeeded,
            failed: count(|outcome| outcome == Outcome::Failed),
            timed_out: count(|outcome| outcome == Outcome::TimedOut),
            rejected: count(|outcome| matches!(outcome, Outcome::Rejected { .. })),
            failure_percent: percent(requests - succeeded, requests),
            method,
            ttft: sample.as_ref().map(|sample| Ttft::of(sample, method)),
            aware_p50: aware_quantile(sample.as_ref(), requests, 0.50, method),
            aware_p95: aware_quantile(sample.as_ref(), requests, 0.95, method),
            cv_interval_percent: sample
                .as_ref()
                .and_then(|sample| spread_interval(sample, cold.as_ref())),
            cold,
            warnings: Vec::new(),
        };
        summary.warnings = summary.seen(sample.as_ref());
        summary
    }

    /// The relative spread by `definition` [%], where it is defined.
    pub fn spread_percent(&self, definition: CvDefinition) -> Option<f64> {
        let ttft = self.ttft.as_ref()?;
        match definition {
            CvDefinition::StdOverMean => ttft.cv_percent,
            CvDefinition::StdOverMedian => ttft.std_over_median_percent,
        }
    }

    /// Requests that met a cold start, where that is known.
    pub fn cold_requests(&self) -> Option<usize> {
        self.cold.as_ref().map(|cold| cold.requests)
    }

    /// What is to be warned of, gravest first.
    fn seen(&self, sample: Option<&Sample>) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.succeeded < self.requests {
            warnings.push(Warning::Unsuccessful {
                unsuccessful: self.requests - self.succeeded,
                requests: self.requests,
            });
        }
        let faults = self.client_faults;
        warnings.extend((faults > 0).then_some(Warning::ClientFaults { faults }));
        if let Some(sample) = sample {
            warnings.extend(warnings_of(sample, self.method));
        }
        if let Some(cold) = &self.cold {
            // Only a CV that looks good misleads.
            let looks_good = self
                .spread_percent(CvDefinition::StdOverMean)
                .is_some_and(|cv| cv <= 100.0);
            let mostly = looks_good && cold.requests * 2 > self.requests;
            warnings.extend(mostly.then_some(Warning::MostlyCold {
                cold: cold.requests,
                requests: self.requests,
            }));
            let few = cold.requests < COLD_NEEDED && self.succeeded > 1;
            warnings.extend(few.then_some(Warning::FewColdRequests {
                cold: cold.requests,
            }));
        }
        warnings
    }
}

impl Ttft {
    fn of(sample: &Sample, method: PercentileMethod) -> Self {
        let as_percent = |ratio: f64| 100.0 * ratio;
        let median_s = sample.quantile(0.50, method);
        // By the median that is printed, so that a reader can divide for themselves.
        let std_over_median = sample
            .std()
            .filter(|_| median_s > 0.0)
            .map(|std| std / median_s);
        Self {
            median_s,
            p95_s: sample.quantile(0.95, method),
            mean_s: sample.mean(),
            std_s: sample.std(),
            min_s: sample.min(),
            max_s: sample.max(),
            cv_percent: sample.cv().map(as_percent),
            std_over_median_percent: std_over_median.map(as_percent),
            median_interval_s: order_interval(sample, 0.50),
            p95_interval_s: order_interval(sample, 0.95),
        }
    }
}

impl Cold {
    /// What the flags say; `None` when a success has no flag, or nothing has one.
    fn of(rows: &[(Observation, Option<bool>)], method: PercentileMethod) -> Option<Self> {
        let known = rows.iter().filter(|(_, flag)| flag.is_some()).count();
        let all_known = rows
            .iter()
            .all(|(seen, flag)| flag.is_some() || !seen.succeeded());
        if known == 0 || !all_known {
            return None;
        }
        let requests = rows.iter().filter(|(_, flag)| *flag == Some(true)).count();
        let warm = ttfts_where(rows, |flag| flag == Some(false));
        let cold = ttfts_where(rows, |flag| flag == Some(true));
        Some(Self {
            requests,
            share: clopper_pearson(requests, known, CONFIDENCE),
            warm_median_s: warm.as_ref().map(|sample| sample.quantile(0.50, method)),
            warm_p95_s: warm.as_ref().map(|sample| sample.quantile(0.95, method)),
            cold_min_s: cold.as_ref().map(Sample::min),
            cold_median_s: cold.as_ref().map(|sample| sample.quantile(0.50, method)),
            cold_max_s: cold.as_ref().map(Sample::max),
        })
    }
}

/// TTFTs \[s\] of the successes; `None` without one.
pub fn ttfts(rows: &[(Observation, Option<bool>)]) -> Option<Sample> {
    ttfts_where(rows, |_| true)
}

/// TTFTs \[s\] of the successes whose flag passes.
fn ttfts_where(
    rows: &[(Observation, Option<bool>)],
    wanted: fn(Option<bool>) -> bool,
) -> Option<Sample> {
    let successes = rows
        .iter()
        .filter(|(seen, flag)| seen.succeeded() && wanted(*flag));
    let spans = successes.filter_map(|(seen, _)| seen.ttft());
    Sample::new(spans.map(Duration::as_secs).collect())
}

/// The `p` quantile of `requests`, of which the sample's are the shortest.
fn aware_quantile(
    sample: Option<&Sample>,
    requests: usize,
    p: f64,
    method: PercentileMethod,
) -> Option<AwareQuantile> {
    if requests == 0 {
        return None;
    }
    let place = method.position(requests, p);
    let values = sample.map_or(&[][..], Sample::values);
    let low = values.get(place.index).copied();
    let high = if place.fraction == 0.0 {
        low
    } else {
        values.get(place.index + 1).copied()
    };
    let between = low
        .zip(high)
        .map(|(low, high)| (low + place.fraction * (high - low)).min(high));
    Some(between.map_or(AwareQuantile::Unbounded, AwareQuantile::Seconds))
}

/// The interval of the `p` quantile between two order statistics.
fn order_interval(sample: &Sample, p: f64) -> Option<Interval> {
    let (lower, upper) = rank_interval(sample.len(), p, CONFIDENCE)?;
    Some(Interval {
        low: sample.values()[lower - 1],
        high: sample.values()[upper - 1],
        confidence: CONFIDENCE,
    })
}

/// The interval of the CV [%], when enough cold requests carry it.
fn spread_interval(sample: &Sample, cold: Option<&Cold>) -> Option<Interval> {
    cold.filter(|cold| cold.requests >= COLD_NEEDED)?;
    let interval = cv_interval(sample, CONFIDENCE)?;
    Some(Interval {
        low: 100.0 * interval.low,
        high: 100.0 * interval.high,
        ..interval
    })
}

fn percent(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// What the values themselves warn of.
fn warnings_of(sample: &Sample, method: PercentileMethod) -> Vec<Warning> {
    let requests = sample.len();
    if requests == 1 {
        return vec![Warning::OneRequest];
    }
    let mut warnings = Vec::new();
    if sample.max() == 0.0 {
        warnings.push(Warning::AllZero { requests });
    }
    let p95 = sample.quantile(0.95, method);
    let needed = needed_below_maximum(0.95);
    if requests < needed {
        let equal = p95 == sample.max();
        warnings.push(Warning::P95AtMaximum {
            requests,
            needed,
            equal,
        });
    } else if rank_interval(requests, 0.95, CONFIDENCE).is_none() {
        let needed = needed_for_quantile(0.95, CONFIDENCE).one_sided;
        warnings.push(Warning::P95Unbounded { requests, needed });
    }
    if sample.mean() > p95 {
        let slow = sample
            .values()
            .iter()
            .filter(|&&ttft| ttft > sample.mean())
            .count();
        warnings.push(Warning::MeanAboveP95 { slow, requests });
    }
    warnings
}

/// Something that a reader must know before trusting the figures. Counts are of successes unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Some requests did not succeed.
    Unsuccessful {
        /// Failed, timed out or rejected.
        unsuccessful: usize,
        /// All requests.
        requests: usize,
    },
    /// Some requests failed in the client's own network.
    ClientFaults {
        /// How many; they are not counted among the requests.
        faults: usize,
    },
    /// More requests met a cold start than not.
    MostlyCold {
        /// Requests that met one.
        cold: usize,
        /// All requests.
        requests: usize,
    },
    /// There is a single success.
    OneRequest,
    /// No TTFT is above zero.
    AllZero {
        /// How many there are.
        requests: usize,
    },
    /// p95 equals the largest value or is read off next to it.
    P95AtMaximum {
        /// How many there are.
        requests: usize,
        /// From this many on p95 is below the maximum.
        needed: usize,
        /// Whether p95 is the maximum itself.
        equal: bool,
    },
    /// p95 has no interval.
    P95Unbounded {
        /// How many there are.
        requests: usize,
        /// From this many on it has one.
        needed: usize,
    },
    /// The mean exceeds p95.
    MeanAboveP95 {
        /// Values above the mean.
        slow: usize,
        /// How many there are.
        requests: usize,
    },
    /// Too few cold requests carry the CV for an interval.
    FewColdRequests {
        /// Requests that met a cold start.
        cold: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unsuccessful {
                unsuccessful,
                requests,
            } => write!(
                f,
                "{:.1} % of requests did not succeed ({unsuccessful} of {requests}): figures of the successes leave them out, \
                 the failure-aware p50 and p95 do not",
                100.0 * unsuccessful as f64 / requests as f64
            ),
            Self::ClientFaults { faults } => {
                let (noun, verb) = if faults == 1 {
                    ("request", "is")
                } else {
                    ("requests", "are")
                };
                write!(
                    f,
                    "{faults} {noun} failed on the client's side (no such host, no way there, no connection in time) and {verb} left out \
                     of every figure"
                )
            }
            Self::OneRequest => {
                f.write_str("one request only: no spread, and every percentile is that request")
            }
            Self::AllZero { requests } => write!(
                f,
                "all TTFTs are zero: CV undefined, {requests} answers without any delay are a fault of the measurement"
            ),
            Self::P95AtMaximum {
                requests,
                needed,
                equal,
            } => {
                let seen = if equal { "equals" } else { "leans on" };
                write!(
                    f,
                    "p95 {seen} the maximum of {requests} requests: one slow request decides it; it needs at least {needed} requests"
                )
            }
            Self::P95Unbounded { requests, needed } => write!(
                f,
                "p95 has no 95 % interval at {requests} requests: the true one may lie above all of them; \
                 it needs at least {needed} requests"
            ),
            Self::MeanAboveP95 { slow, requests } => write!(
                f,
                "mean above p95: a few slow requests carry it ({slow} of {requests}), so it falls as requests are added \
                 while their number stays the same"
            ),
            Self::MostlyCold { cold, requests } => write!(
                f,
                "{cold} of {requests} requests met a cold start: a low CV then says that all are slow alike, not that the \
                 model is well supported"
            ),
            Self::FewColdRequests { cold: 0 } => f.write_str(
                "no request met a cold start: the CV describes warm requests only, and a single cold one would change it; \
                 read the upper end of the cold share",
            ),
            Self::FewColdRequests { cold: 1 } => write!(
                f,
                "one cold request carries the CV: no interval can be given for it below {COLD_NEEDED}; \
                 trust the cold share and the warm figures instead"
            ),
            Self::FewColdRequests { cold } => write!(
                f,
                "{cold} cold requests carry the CV: no interval can be given for it below {COLD_NEEDED}; \
                 trust the cold share and the warm figures instead"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::verdict::Verdict;
    use crate::request::{EndpointId, RequestId};
    use crate::time::Time;

    type Row = (Observation, Option<bool>);

    fn row(seconds: f64, outcome: Outcome, cold: Option<bool>) -> Row {
        let end = Time::from_secs(seconds);
        let first = (outcome == Outcome::Succeeded).then_some(end);
        let (id, endpoint) = (RequestId(0), EndpointId(0));
        (
            Observation::new(id, endpoint, Time::ZERO, Time::ZERO, first, end, 1, outcome),
            cold,
        )
    }

    fn ok(seconds: f64) -> Row {
        row(seconds, Outcome::Succeeded, None)
    }

    fn flagged(warm: usize, cold: usize, cold_s: f64) -> Vec<Row> {
        let warm = (0..warm).map(|_| row(0.5, Outcome::Succeeded, Some(false)));
        let cold = (0..cold).map(|_| row(cold_s, Outcome::Succeeded, Some(true)));
        warm.chain(cold).collect()
    }

    fn linear(rows: &[Row]) -> Summary {
        Summary::of(rows, PercentileMethod::Linear)
    }

    fn ttft(summary: &Summary) -> &Ttft {
        summary.ttft.as_ref().expect("a success")
    }

    #[test]
    fn nothing_measured_is_no_figure() {
        let summary = linear(&[]);
        assert_eq!((summary.requests, summary.failure_percent), (0, None));
        assert_eq!(
            (
                summary.ttft.clone(),
                summary.aware_p95,
                summary.cold_requests()
            ),
            (None, None, None)
        );
        assert_eq!(summary.warnings, []);
        assert_eq!(
            Verdict::of(&summary, CvDefinition::StdOverMean),
            Verdict::NoData
        );
    }

    #[test]
    fn time_outs_leave_p95_of_the_successes_alone_but_not_the_aware_one() {
        // C092 (i)
        let timeouts = (0..6).map(|_| row(30.0, Outcome::TimedOut, None));
        let rows: Vec<Row> = (0..94).map(|_| ok(1.0)).chain(timeouts).collect();
        let summary = linear(&rows);
        assert_eq!(ttft(&summary).p95_s, 1.0);
        assert_eq!(summary.aware_p95, Some(AwareQuantile::Unbounded));
        assert_eq!(summary.aware_p50, Some(AwareQuantile::Seconds(1.0)));
        assert_eq!((summary.timed_out, summary.failure_percent), (6, Some(6.0)));
        let text = summary.warnings[0].to_string();
        assert!(
            text.starts_with("6.0 % of requests did not succeed (6 of 100)"),
            "{text}"
        );
    }

    #[test]
    fn quick_rejects_do_not_lower_the_median() {
        // C092 (ii)
        let rejects = (0..5).map(|_| row(0.0005, Outcome::Rejected { status: 429 }, None));
        let rows: Vec<Row> = rejects.chain((0..25).map(|_| ok(0.018))).collect();
        let summary = linear(&rows);
        assert_eq!(ttft(&summary).median_s, 0.018);
        assert_eq!(summary.aware_p50, Some(AwareQuantile::Seconds(0.018)));
        assert_eq!((summary.rejected, summary.failed), (5, 0));
        assert!((summary.failure_percent.expect("30 requests") - 100.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn only_failures_are_unbounded_and_no_data() {
        let summary = linear(&[
            row(1.0, Outcome::Failed, None),
            row(2.0, Outcome::Failed, None),
        ]);
        assert_eq!(summary.ttft, None);
        assert_eq!(summary.aware_p50, Some(AwareQuantile::Unbounded));
        assert_eq!(
            Verdict::of(&summary, CvDefinition::StdOverMedian),
            Verdict::NoData
        );
    }

    #[test]
    fn one_request_shows_no_spread_and_zeros_have_no_cv() {
        // C094
        let one = linear(&[ok(0.4)]);
        assert_eq!((ttft(&one).std_s, ttft(&one).cv_percent), (None, None));
        assert_eq!(one.warnings, [Warning::OneRequest]);
        let zeros: Vec<Row> = (0..80).map(|_| ok(0.0)).collect();
        let zeros = linear(&zeros);
        assert_eq!(
            (ttft(&zeros).std_s, ttft(&zeros).cv_percent),
            (Some(0.0), None)
        );
        assert_eq!(zeros.warnings, [Warning::AllZero { requests: 80 }]);
        assert_eq!(
            Verdict::of(&zeros, CvDefinition::StdOverMean),
            Verdict::NoData
        );
        let equal: Vec<Row> = (0..80).map(|_| ok(0.1)).collect();
        assert_eq!(ttft(&linear(&equal)).cv_percent, Some(0.0));
    }

    #[test]
    fn a_p95_that_is_the_maximum_says_so() {
        // C090
        let rows: Vec<Row> = (1..=19).map(|i| ok(f64::from(i))).collect();
        let nearest = Summary::of(&rows, PercentileMethod::NearestRank);
        assert_eq!(
            nearest.warnings[0].to_string(),
            "p95 equals the maximum of 19 requests: one slow request decides it; it needs at least 20 requests"
        );
        assert!(
            linear(&rows).warnings[0]
                .to_string()
                .contains("leans on the maximum")
        );
        let rows: Vec<Row> = (1..=58).map(|i| ok(f64::from(i))).collect();
        assert_eq!(
            linear(&rows).warnings,
            [Warning::P95Unbounded {
                requests: 58,
                needed: 59
            }]
        );
        assert_eq!(ttft(&linear(&rows)).p95_interval_s, None);
    }

    #[test]
    fn the_interval_of_p95_at_75_requests_ends_at_the_maximum() {
        let rows: Vec<Row> = (1..=75).map(|i| ok(f64::from(i))).collect();
        let summary = linear(&rows);
        let interval = ttft(&summary).p95_interval_s.expect("75 requests");
        assert_eq!((interval.low, interval.high), (67.0, 75.0));
        let median = ttft(&summary).median_interval_s.expect("75 requests");
        assert!(median.contains(38.0) && median.half_width() < 10.0);
    }

    #[test]
    fn five_slow_requests_stay_five_while_the_mean_falls() {
        // C099. Its p95 of 0.5 s at n = 100 is the nearest rank's; linear interpolation gives 12.975.
        for (n, mean, p95) in [(10, 125.25, 250.0), (100, 12.975, 0.5), (1000, 1.7475, 0.5)] {
            let summary = Summary::of(&flagged(n - 5, 5, 250.0), PercentileMethod::NearestRank);
            let figures = ttft(&summary);
            assert!((figures.mean_s - mean).abs() < 1e-9, "{}", figures.mean_s);
            assert_eq!(figures.p95_s, p95);
            let carried = Warning::MeanAboveP95 {
                slow: 5,
                requests: n,
            };
            assert_eq!(summary.warnings.contains(&carried), n > 10);
        }
    }

    #[test]
    fn cold_requests_are_split_off_and_their_share_is_bounded() {
        let summary = linear(&flagged(71, 4, 20.0));
        let cold = summary.cold.as_ref().expect("all flagged");
        assert_eq!((cold.requests, summary.cold_requests()), (4, Some(4)));
        assert_eq!(
            (cold.warm_median_s, cold.warm_p95_s),
            (Some(0.5), Some(0.5))
        );
        assert_eq!(
            (cold.cold_min_s, cold.cold_median_s, cold.cold_max_s),
            (Some(20.0), Some(20.0), Some(20.0))
        );
        let share = cold.share.expect("75 flags");
        assert_eq!((share.point, share.n), (4.0 / 75.0, 75));
        assert!(share.interval.is_some_and(|i| i.low > 0.0 && i.high < 0.14));
        assert_eq!(summary.cv_interval_percent, None);
        assert!(
            summary
                .warnings
                .contains(&Warning::FewColdRequests { cold: 4 })
        );
    }

    #[test]
    fn a_low_cv_of_cold_requests_is_no_praise() {
        let summary = linear(&flagged(1, 74, 52.0));
        assert!(ttft(&summary).cv_percent.expect("75 requests") < 40.0);
        let mostly = Warning::MostlyCold {
            cold: 74,
            requests: 75,
        };
        assert!(summary.warnings.contains(&mostly), "{:?}", summary.warnings);
        assert!(
            !linear(&flagged(38, 37, 52.0))
                .warnings
                .iter()
                .any(|one| matches!(one, Warning::MostlyCold { .. }))
        );
    }

    #[test]
    fn twelve_cold_requests_give_the_cv_an_interval() {
        let summary = linear(&flagged(288, COLD_NEEDED, 20.0));
        let interval = summary.cv_interval_percent.expect("twelve");
        assert!(interval.contains(ttft(&summary).cv_percent.expect("300 requests")));
        assert_eq!(
            linear(&flagged(288, COLD_NEEDED - 1, 20.0)).cv_interval_percent,
            None
        );
    }

    #[test]
    fn a_success_without_a_flag_leaves_cold_starts_unknown() {
        let mut rows = flagged(10, 1, 20.0);
        rows.push(row(9.0, Outcome::TimedOut, None));
        rows.push(row(9.0, Outcome::TimedOut, Some(true)));
        let cold = linear(&rows).cold.expect("every success is flagged");
        assert_eq!((cold.requests, cold.share.expect("12 flags").n), (2, 12));
        rows.push(ok(0.5));
        assert_eq!(linear(&rows).cold, None);
    }

    #[test]
    fn std_over_median_uses_the_printed_median() {
        let rows = [ok(1.0), ok(3.0)];
        let nearest = Summary::of(&rows, PercentileMethod::NearestRank);
        let figures = ttft(&nearest);
        assert_eq!(figures.median_s, 1.0);
        // std = sqrt(2) exactly rounded, over 1.
        let percent = figures.std_over_median_percent.expect("two requests");
        assert!((percent - 100.0 * std::f64::consts::SQRT_2).abs() < 1e-12);
    }

    #[test]
    fn both_spreads_stand_side_by_side() {
        let summary = linear(&flagged(75, 5, 20.0));
        let mean = summary
            .spread_percent(CvDefinition::StdOverMean)
            .expect("80 requests");
        let median = summary
            .spread_percent(CvDefinition::StdOverMedian)
            .expect("80 requests");
        let figures = ttft(&summary);
        assert!((median / mean - figures.mean_s / figures.median_s).abs() < 1e-12);
        assert_eq!(
            Verdict::of(&summary, CvDefinition::StdOverMean),
            Verdict::ColdStarts
        );
        assert_eq!(
            Verdict::of(&summary, CvDefinition::StdOverMedian),
            Verdict::NotProductionReady
        );
    }
}
