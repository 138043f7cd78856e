//! Figures that know that a time-out is a TTFT longer than the client waited.
//!
//! Dropping time-outs flatters the endpoint most where it is worst: with 5 % cold starts of about 30 s a client that gives up
//! after 10 s and drops what it gave up reports a CV of 20 % instead of 347 %. Requests that were refused or broke off have no
//! TTFT of any length and stay out.

use crate::observation::{Observation, Outcome};
use crate::stats::{KaplanMeier, Sample, Watched};
use crate::time::Duration;

/// A quantile when some values are known only from below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CensoredQuantile {
    /// This long \[s\].
    Seconds(f64),
    /// Longer than every request was watched.
    Beyond,
}

/// What is known when some requests timed out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Censored {
    /// Requests that timed out.
    pub timed_out: usize,
    /// The shortest time after which the client gave up \[s\].
    pub limit_s: f64,
    /// Median of answered and timed-out requests.
    pub median: CensoredQuantile,
    /// Its interval \[s\]; an end is `None` beyond what was watched.
    pub median_interval_s: (Option<f64>, Option<f64>),
    /// 95th percentile of the same.
    pub p95: CensoredQuantile,
    /// Its interval \[s\].
    pub p95_interval_s: (Option<f64>, Option<f64>),
    /// The mean with time-outs counted at their limits \[s\]: the true one is not shorter.
    pub mean_at_least_s: f64,
    /// Std/mean with time-outs counted at their limits [%], where the true one cannot be smaller; `None` otherwise.
    pub cv_at_least_percent: Option<f64>,
}

/// Confidence of the intervals.
const CONFIDENCE: f64 = super::summary::CONFIDENCE;

impl Censored {
    /// What is known; `None` without a time-out or without an answer.
    pub fn of<'a>(seen: impl IntoIterator<Item = &'a Observation>) -> Option<Self> {
        let watched: Vec<Watched> = seen.into_iter().filter_map(watched).collect();
        let limits = || {
            watched
                .iter()
                .filter(|one| !one.has_ended)
                .map(|one| one.span)
        };
        let timed_out = limits().count();
        if timed_out == 0 {
            return None;
        }
        let limit_s = limits().fold(f64::INFINITY, f64::min);
        let sample = Sample::new(watched.iter().map(|one| one.span).collect())?;
        let fit = KaplanMeier::of(watched)?;
        let quantile = |p| {
            let found = fit.quantile(p);
            found.map_or(CensoredQuantile::Beyond, CensoredQuantile::Seconds)
        };
        Some(Self {
            timed_out,
            limit_s,
            median: quantile(0.5),
            median_interval_s: fit.interval(0.5, CONFIDENCE),
            p95: quantile(0.95),
            p95_interval_s: fit.interval(0.95, CONFIDENCE),
            mean_at_least_s: sample.mean(),
            cv_at_least_percent: least_cv(&sample, limit_s),
        })
    }
}

/// Std/mean [%], if making any value from `limit` on longer makes it larger.
///
/// It grows with a value as long as that exceeds `sum(x^2) / sum(x)`, which lies below the longest value but not always below
/// the shortest time-out.
fn least_cv(sample: &Sample, limit: f64) -> Option<f64> {
    let sum: f64 = sample.values().iter().sum();
    let squares: f64 = sample.values().iter().map(|x| x * x).sum();
    let cv = sample.cv()?;
    (limit * sum >= squares).then_some(100.0 * cv)
}

/// How long a request was watched for its first token.
fn watched(seen: &Observation) -> Option<Watched> {
    match seen.outcome() {
        Outcome::Succeeded => Some(Watched {
            span: seen.ttft().map(Duration::as_secs)?,
            has_ended: true,
        }),
        Outcome::TimedOut => Some(Watched {
            span: seen.end().since(seen.sent()).as_secs(),
            has_ended: false,
        }),
        Outcome::Rejected { .. } | Outcome::Failed | Outcome::ClientFault => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{EndpointId, RequestId};
    use crate::time::Time;

    fn seen(seconds: f64, outcome: Outcome) -> Observation {
        let end = Time::from_secs(seconds);
        let first = (outcome == Outcome::Succeeded).then_some(end);
        let (id, endpoint) = (RequestId(0), EndpointId(0));
        Observation::new(id, endpoint, Time::ZERO, Time::ZERO, first, end, 1, outcome)
    }

    fn mixed(ok: usize, timed_out: usize) -> Vec<Observation> {
        let ok = vec![seen(1.0, Outcome::Succeeded); ok];
        let timed_out = vec![seen(30.0, Outcome::TimedOut); timed_out];
        [ok, timed_out].concat()
    }

    #[test]
    fn time_outs_bound_what_they_hide() {
        let found = Censored::of(&mixed(94, 6)).expect("time-outs");
        assert_eq!(found.median, CensoredQuantile::Seconds(1.0));
        assert_eq!(found.p95, CensoredQuantile::Beyond);
        assert_eq!(found.limit_s, 30.0);
        assert!((found.mean_at_least_s - 2.74).abs() < 1e-12);
        // Six values of 30 beside 94 of 1: population deviation sqrt(0.06 * 0.94) * 29 over 2.74, times sqrt(100 / 99).
        let expected = 100.0 * (0.06_f64 * 0.94).sqrt() * 29.0 / 2.74 * (100.0_f64 / 99.0).sqrt();
        let cv = found
            .cv_at_least_percent
            .expect("time-outs are the largest");
        assert!((cv - expected).abs() < 1e-9, "{cv}");
    }

    #[test]
    fn no_bound_is_claimed_that_longer_time_outs_would_break() {
        // One time-out after 2 s beside answers of 100 s: were it longer, the CV would fall.
        let mut rows = vec![seen(1.0, Outcome::Succeeded); 5];
        rows.extend([seen(100.0, Outcome::Succeeded); 5]);
        rows.push(seen(2.0, Outcome::TimedOut));
        let found = Censored::of(&rows).expect("a time-out");
        assert_eq!(found.cv_at_least_percent, None);
    }

    #[test]
    fn nothing_is_said_without_time_outs_or_answers() {
        assert_eq!(Censored::of(&mixed(5, 0)), None);
        assert_eq!(Censored::of(&mixed(0, 5)), None);
        let refused = [seen(1.0, Outcome::Rejected { status: 503 })];
        assert_eq!(Censored::of(&refused), None);
    }
}
