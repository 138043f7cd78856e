//! What a summary says of numbers, and what it refuses to say.

use crate::support::{bench, simulate, summary};
use std::collections::BTreeSet;
use thermocline::measure::summary::{AwareQuantile, Summary, Ttft, Warning};
use thermocline::observation::{Observation, Outcome};
use thermocline::request::{EndpointId, RequestId};
use thermocline::stats::{CvDefinition, Histogram, PercentileMethod, Sample, rank_interval};
use thermocline::time::{Duration, Time};

/// An observation that took `seconds`.
fn seen(seconds: f64, outcome: Outcome) -> (Observation, Option<bool>) {
    let end = Time::from_secs(seconds);
    let first = (outcome == Outcome::Succeeded).then_some(end);
    let (id, endpoint) = (RequestId(0), EndpointId(0));
    (
        Observation::new(id, endpoint, Time::ZERO, Time::ZERO, first, end, 1, outcome),
        None,
    )
}

fn ok(seconds: f64) -> (Observation, Option<bool>) {
    seen(seconds, Outcome::Succeeded)
}

fn of(seconds: impl IntoIterator<Item = f64>, method: PercentileMethod) -> Summary {
    Summary::of(&seconds.into_iter().map(ok).collect::<Vec<_>>(), method)
}

fn ttft(summary: &Summary) -> &Ttft {
    summary.ttft.as_ref().expect("a success")
}

/// Rows of a run, down to the nanosecond: the parts make the TTFT, the rows make the summary.
#[test]
fn c063_rows_add_up_and_reproduce_the_summary() {
    let times: Vec<String> = (0..120).map(|index| format!("{}s", 37 * index)).collect();
    let times: Vec<&str> = times.iter().map(String::as_str).collect();
    let result = simulate(&bench(
        &times,
        "",
        r#"
        [providers.p.network]
        rtt = { lognormal = { median = "20ms", p95 = "60ms" } }
        gateway = "3ms"
        connection = "new"
        [providers.p.deployments.m]
        service.slots = { slots = 2, prefill = { gamma = { mean = "400ms", cv = 0.5 } }, decode = { exponential = { mean = "9s" } } }
        cold_start = { provision = "1s", load_weights = { lognormal = { median = "10s", p95 = "20s" } } }
        scaling = { keep_alive = "60s", max = 2 }
        traffic.t.arrivals = "1/min"
        "#,
    ));
    let rows = &result.lanes[0].requests;
    let mut recomputed: Vec<f64> = Vec::new();
    for (seen, trace) in rows {
        let trace = trace.as_ref().expect("it reached the fleet");
        let first = trace.first_token.expect("a token");
        assert_eq!(Some(trace.parts.total()), seen.ttft());
        assert_eq!(first.since(trace.sent), trace.parts.total());
        assert_eq!(
            seen.ttft().expect("a token") + trace.end.since(first),
            seen.latency()
        );
        recomputed.push(seen.ttft().expect("a token").as_nanos() as f64 / 1e9);
    }
    for trace in &result.everybody {
        if let Some(first) = trace.first_token {
            assert_eq!(first.since(trace.sent), trace.parts.total(), "{trace:?}");
        }
    }
    let sample = Sample::new(recomputed).expect("rows");
    let summary = summary(&result);
    assert_eq!(sample.len(), 120);
    assert_eq!(
        ttft(&summary).median_s,
        sample.quantile(0.5, PercentileMethod::Linear)
    );
    assert_eq!(
        ttft(&summary).p95_s,
        sample.quantile(0.95, PercentileMethod::Linear)
    );
    assert!(
        rows.iter()
            .any(|(_, trace)| trace.as_ref().is_some_and(|trace| trace.cold))
    );
}

/// The same values, three rules: each has a name, each can be chosen, and the order of the values does not matter.
#[test]
fn c089_which_percentile() {
    let one_to = |n: u32| (1..=n).map(f64::from).collect::<Vec<_>>();
    let tens = [("nearest-rank", 9.0), ("linear", 9.1), ("exclusive", 9.9)];
    let hundreds = [
        ("nearest-rank", 95.0),
        ("linear", 95.05),
        ("exclusive", 95.95),
    ];
    for (values, p, expected) in [(one_to(10), 0.9, tens), (one_to(100), 0.95, hundreds)] {
        let sorted = Sample::new(values.clone()).expect("values");
        let shuffled: Vec<f64> = values
            .iter()
            .rev()
            .step_by(2)
            .chain(values.iter().rev().skip(1).step_by(2))
            .copied()
            .collect();
        let shuffled = Sample::new(shuffled).expect("values");
        for (name, quantile) in expected {
            let method: PercentileMethod = name.parse().expect("a method");
            assert_eq!(method.name(), name);
            assert!(
                (sorted.quantile(p, method) - quantile).abs() < 1e-12,
                "{name}"
            );
            assert_eq!(sorted, shuffled);
            let summary = of(values.clone(), method);
            assert_eq!(summary.method, method);
            assert_eq!(
                ttft(&summary).p95_s,
                sorted.quantile(0.95, method),
                "one rule everywhere"
            );
        }
    }
}

/// A p95 of 19 requests is the largest of them, and the summary says so; so is a p99 of 71. Neither has an interval.
#[test]
fn c090_a_percentile_that_is_the_maximum() {
    let nineteen = of((1..=19).map(f64::from), PercentileMethod::NearestRank);
    assert_eq!(ttft(&nineteen).p95_s, ttft(&nineteen).max_s);
    assert!(nineteen.warnings.contains(&Warning::P95AtMaximum {
        requests: 19,
        needed: 20,
        equal: true
    }));
    assert_eq!(ttft(&nineteen).p95_interval_s, None);
    let many = of((1..=71).map(f64::from), PercentileMethod::NearestRank);
    assert!(
        !many
            .warnings
            .iter()
            .any(|warning| matches!(warning, Warning::P95AtMaximum { .. }))
    );
    let sample = Sample::new((1..=71).map(f64::from).collect()).expect("values");
    assert_eq!(
        sample.quantile(0.99, PercentileMethod::NearestRank),
        sample.max()
    );
    assert_eq!(rank_interval(71, 0.99, 0.95), None);
    assert_eq!(thermocline::stats::needed_below_maximum(0.99), 100);
}

/// Time-outs stand beside the figures of the successes; quick refusals do not lower the median.
#[test]
fn c092_failures_are_neither_left_out_nor_let_in() {
    let mut rows = vec![ok(1.0); 94];
    rows.extend([seen(20.0, Outcome::TimedOut); 6]);
    let slow = Summary::of(&rows, PercentileMethod::Linear);
    assert_eq!(
        (ttft(&slow).p95_s, slow.aware_p95),
        (1.0, Some(AwareQuantile::Unbounded))
    );
    assert_eq!(slow.aware_p50, Some(AwareQuantile::Seconds(1.0)));

    let mut rows = vec![ok(0.018); 25];
    rows.extend([seen(0.0005, Outcome::Rejected { status: 429 }); 5]);
    let busy = Summary::of(&rows, PercentileMethod::Linear);
    assert_eq!(ttft(&busy).median_s, 0.018);
    assert!(
        busy.failure_percent
            .is_some_and(|percent| (percent - 100.0 / 6.0).abs() < 1e-12)
    );
    assert_eq!(
        busy.warnings[0],
        Warning::Unsuccessful {
            unsuccessful: 5,
            requests: 30
        }
    );
}

/// Two per cent of starts of 300 s: no bucket swallows them.
#[test]
fn c093_histograms_neither_invent_nor_cap_the_tail() {
    let mut times: Vec<String> = Vec::new();
    for burst in 0..4 {
        let at = burst * 7200;
        times.push(format!("{at}s"));
        times.extend((0..49).map(|index| format!("{}s", at + 400 + 10 * index)));
    }
    let times: Vec<&str> = times.iter().map(String::as_str).collect();
    let result = simulate(&bench(
        &times,
        "timeout = \"none\"",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "500ms", decode = "1s" }
        cold_start.load_weights = "300s"
        "#,
    ));
    let seen: Vec<f64> = result.lanes[0]
        .requests
        .iter()
        .filter_map(|(seen, _)| seen.ttft())
        .map(Duration::as_secs)
        .collect();
    let sample = Sample::new(seen).expect("values");
    assert_eq!(
        (
            sample.len(),
            sample.quantile(0.99, PercentileMethod::NearestRank)
        ),
        (200, 300.5)
    );
    let histogram = &result.fleet[0].ttft;
    assert_eq!(
        (histogram.count(), histogram.max()),
        (200, Some(Duration::from_secs(300.5)))
    );
    for p in [0.01, 0.5, 0.95, 0.98, 0.985, 0.99, 1.0] {
        let exact = sample.quantile(p, PercentileMethod::NearestRank);
        let bucket = histogram.quantile(p).expect("values").as_secs();
        assert!(
            (bucket - exact).abs() <= Histogram::RELATIVE_ERROR * exact,
            "p{p}: {bucket} for {exact}"
        );
    }
}

/// Spread of one value, of nothing but zeros, of two, of equals.
#[test]
fn c094_spread_where_there_is_none() {
    let spread = |values: &[f64]| {
        let summary = of(values.iter().copied(), PercentileMethod::Linear);
        (
            ttft(&summary).std_s,
            summary.spread_percent(CvDefinition::StdOverMean),
            summary.warnings,
        )
    };
    let (std, cv, warnings) = spread(&[1.0]);
    assert_eq!((std, cv, warnings), (None, None, vec![Warning::OneRequest]));
    let (std, cv, warnings) = spread(&[0.0, 0.0, 0.0]);
    assert_eq!((std, cv), (Some(0.0), None));
    assert!(warnings.contains(&Warning::AllZero { requests: 3 }));
    let (std, cv, _) = spread(&[1.0, 3.0]);
    assert!(std.is_some_and(|std| (std - 2_f64.sqrt()).abs() < 1e-12));
    assert!(cv.is_some_and(|cv| (cv - 100.0 / 2_f64.sqrt()).abs() < 1e-10));
    let (std, cv, _) = spread(&[2.0; 4]);
    assert_eq!((std, cv), (Some(0.0), Some(0.0)));
}

/// Five slow requests among ever more quick ones: the mean falls, may lie above p95, and the number of slow ones is said.
/// The reference's quantiles are nearest ranks: the linear median of five and five lies between them, and so does the linear
/// p95 of 95 and 5.
#[test]
fn c099_a_mean_above_p95_and_a_mean_that_is_diluted() {
    for (n, mean, p95) in [(10, 125.25, 250.0), (100, 12.975, 0.5), (1000, 1.7475, 0.5)] {
        let values = || (0..n).map(|index| if index < 5 { 250.0 } else { 0.5 });
        let summary = of(values(), PercentileMethod::NearestRank);
        let ttft = ttft(&summary);
        assert!(
            (ttft.mean_s - mean).abs() < 1e-9 * mean,
            "{} for {mean}",
            ttft.mean_s
        );
        assert_eq!((ttft.median_s, ttft.p95_s), (0.5, p95));
        let warned = summary.warnings.contains(&Warning::MeanAboveP95 {
            slow: 5,
            requests: n,
        });
        assert_eq!(warned, mean > p95);
    }
    let linear = of(
        (0..10).map(|index| if index < 5 { 250.0 } else { 0.5 }),
        PercentileMethod::Linear,
    );
    assert_eq!(ttft(&linear).median_s, 125.25);
    let texts: BTreeSet<String> = of(
        (0..100).map(|index| if index < 5 { 250.0 } else { 0.5 }),
        PercentileMethod::NearestRank,
    )
    .warnings
    .iter()
    .map(ToString::to_string)
    .collect();
    assert!(
        texts
            .iter()
            .any(|text| text.contains('5') && text.contains("p95")),
        "{texts:?}"
    );
}
