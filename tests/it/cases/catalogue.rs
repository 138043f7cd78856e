//! Many models under one roof: who is cold, and where the warm money goes.

use crate::support::{fleet, plan, run_plan};
use thermocline::experiment::Did;
use thermocline::stats::Histogram;
use thermocline::time::Duration;

/// Share of requests that met a cold start [%].
fn cold_percent<'d>(all: impl Iterator<Item = &'d Did>) -> f64 {
    let (cold, arrived) = all.fold((0, 0), |(cold, arrived), did| {
        (
            cold + did.ledger.cold_requests,
            arrived + did.ledger.arrived,
        )
    });
    100.0 * cold as f64 / arrived as f64
}

/// The fleet's median never sees the tail: a model's cold share follows from its own rate, `exp(-rate (keep-alive + service))`.
#[test]
fn c108_the_median_of_the_fleet_hides_the_tail() {
    let text = fleet(
        "7d",
        r#"
        popularity = { models = 100, rate = "1/s", law = 1.0 }
        [providers.p.catalogue.deployment]
        service.slots = { slots = "unlimited", prefill = "0s", decode = "1s" }
        cold_start.load_weights = "5s"
        scaling.keep_alive = "300s"
        "#,
    );
    let plan = plan(&text);
    let result = run_plan(&plan);
    let rows = &result.fleet;
    let arrived = |rows: &[Did]| rows.iter().map(|did| did.ledger.arrived).sum::<u64>() as f64;
    let top = 100.0 * arrived(&rows[..10]) / arrived(rows);
    assert!((top - 56.5).abs() < 0.5, "the top ten get {top} %");
    for (rank, expected) in [(1, 0.0), (50, 31.0), (100, 55.0)] {
        let cold = cold_percent(rows[rank - 1..rank].iter());
        assert!(
            (cold - expected).abs() < 5.0,
            "rank {rank}: {cold} % for {expected}"
        );
    }
    let all = cold_percent(rows.iter());
    assert!((all - 9.0).abs() < 1.0, "the fleet: {all} %");
    let median = |ttft: &Histogram| ttft.quantile(0.5).expect("requests").as_secs();
    let mut together = Histogram::new();
    for did in rows {
        together.merge(&did.ttft);
    }
    assert_eq!(together.quantile(0.5), Some(Duration::ZERO));
    let cold_models = rows.iter().filter(|did| median(&did.ttft) > 1.0).count();
    assert!(
        (1..50).contains(&cold_models),
        "{cold_models} models have a cold median"
    );
    assert!(median(&rows[99].ttft) > 4.9);
}
