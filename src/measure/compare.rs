//! Two series side by side: how probably one is quicker than the other.
//!
//! Requests without an answer count as longer than everything, so that an endpoint does not win by failing where it is slow.
//! Requests that failed in the client's own network do not count.

use crate::observation::{Observation, Outcome};
use crate::stats::{PercentileMethod, Sample, resample, rounds};
use crate::streams::Stream;
use crate::time::Duration;

/// Stands for a request without an answer \[s\]: longer than everything, and a finite number.
const UNANSWERED_S: f64 = 1e12;

/// How probably the first series is quicker than the second. Ties count half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// That its median is shorter, over resamples of both.
    pub median: f64,
    /// That its 95th percentile is shorter, over resamples of both.
    pub p95: f64,
    /// That a request to it is quicker than one to the other: over all pairs (Mann & Whitney 1947).
    pub request: f64,
}

impl Comparison {
    /// Compares requests; `None` if a series has none that count.
    pub fn of(
        first: &[Observation],
        second: &[Observation],
        method: PercentileMethod,
        rng: &mut Stream,
    ) -> Option<Self> {
        let (first, second) = (times(first)?, times(second)?);
        let rounds = rounds(first.len().max(second.len()));
        let (mut median, mut p95) = (0.0, 0.0);
        for _ in 0..rounds {
            let (one, other) = (resample(&first, rng), resample(&second, rng));
            let shorter = |p| {
                let place = |sample: &Sample| sample.quantile(p, method).min(UNANSWERED_S);
                half_for_ties(place(&one), place(&other))
            };
            median += shorter(0.5);
            p95 += shorter(0.95);
        }
        Some(Self {
            median: median / rounds as f64,
            p95: p95 / rounds as f64,
            request: superiority(&first, &second),
        })
    }
}

/// One if the first is smaller, a half if both are equal.
fn half_for_ties(first: f64, second: f64) -> f64 {
    match first.total_cmp(&second) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 0.0,
    }
}

/// The share of pairs in which the first is smaller, ties half.
fn superiority(first: &Sample, second: &Sample) -> f64 {
    let values = second.values();
    let beaten = first.values().iter().map(|value| {
        let not_above = values.partition_point(|other| other <= value);
        let below = values.partition_point(|other| other < value);
        (values.len() - not_above) as f64 + 0.5 * (not_above - below) as f64
    });
    beaten.sum::<f64>() / (first.len() * second.len()) as f64
}

/// TTFTs \[s\] of the requests that count.
fn times(seen: &[Observation]) -> Option<Sample> {
    let counted = seen
        .iter()
        .filter(|seen| seen.outcome() != Outcome::ClientFault);
    let times = counted.map(|seen| {
        let ttft = seen.ttft().filter(|_| seen.succeeded());
        ttft.map_or(UNANSWERED_S, Duration::as_secs)
    });
    Sample::new(times.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{EndpointId, RequestId};
    use crate::streams::Streams;
    use crate::time::Time;

    fn seen(seconds: f64, outcome: Outcome) -> Observation {
        let end = Time::from_secs(seconds);
        let first = (outcome == Outcome::Succeeded).then_some(end);
        let (id, endpoint) = (RequestId(0), EndpointId(0));
        Observation::new(id, endpoint, Time::ZERO, Time::ZERO, first, end, 1, outcome)
    }

    fn ok(values: impl IntoIterator<Item = f64>) -> Vec<Observation> {
        let ok = |seconds| seen(seconds, Outcome::Succeeded);
        values.into_iter().map(ok).collect()
    }

    fn compared(first: &[Observation], second: &[Observation]) -> Comparison {
        let mut rng = Streams::new(3, 0).stream("compare");
        Comparison::of(first, second, PercentileMethod::Linear, &mut rng).expect("requests")
    }

    #[test]
    fn equals_are_a_coin_toss_and_opposites_add_up() {
        let values: Vec<f64> = (0..75).map(|i| 0.3 + 0.01 * f64::from(i)).collect();
        let same = compared(&ok(values.clone()), &ok(values.clone()));
        assert_eq!(same.request, 0.5);
        // 2000 tosses of a fair coin: 99.9 % lie within 0.037.
        assert!((same.median - 0.5).abs() < 0.04, "{same:?}");
        let slower = ok(values.iter().map(|value| value + 0.2));
        let there = compared(&ok(values.clone()), &slower);
        let back = compared(&slower, &ok(values));
        assert!((there.request + back.request - 1.0).abs() < 1e-12);
        assert!(there.median > 0.95 && there.request > 0.7 && back.median < 0.05);
    }

    #[test]
    fn one_in_two_pairs_by_hand() {
        // 1 < 2, 1 < 3, 2 = 2, 2 < 3: 3.5 of 4.
        assert_eq!(compared(&ok([1.0, 2.0]), &ok([2.0, 3.0])).request, 0.875);
    }

    #[test]
    fn failing_quickly_is_no_way_to_win() {
        let steady = ok([1.0; 20]);
        let mut flaky = ok([0.5; 10]);
        flaky.extend(vec![seen(0.001, Outcome::Rejected { status: 503 }); 10]);
        let found = compared(&flaky, &steady);
        assert_eq!(found.request, 0.5);
        assert!(found.p95 < 0.01, "{found:?}");
        let mut network = ok([0.5; 10]);
        network.extend(vec![seen(0.0, Outcome::ClientFault); 10]);
        assert_eq!(compared(&network, &steady).request, 1.0);
    }
}
