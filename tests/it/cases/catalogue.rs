//! Many models under one roof: who is cold, and where the warm money goes.

use crate::support::{fleet, plan, run_plan, waited};
use thermocline::experiment::{Did, Plan};
use thermocline::stats::{Histogram, PercentileMethod, Sample};
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

/// Models asked for every 40 s and every 360 s, and a provider that can keep one of them warm.
fn one_warm_replica(policy: &str) -> Plan {
    plan(&fleet(
        "1h",
        &format!(
            r#"
            [popularity]
            models = 2
            rate = "100/h"
            law.shares.values = ["90%", "10%"]
            arrivals = "deterministic"
            [providers.p.catalogue]
            {policy}
            budget_gpus = 1
            [providers.p.catalogue.deployment]
            service.slots = {{ prefill = "1s", decode = "1s" }}
            cold_start.load_weights = "30s"
            scaling.keep_alive = "5s"
            "#
        ),
    ))
}

/// Everybody's times to first token \[s\], and those of each model.
fn ttfts(plan: &Plan) -> [Sample; 3] {
    let result = run_plan(plan);
    let of = |chosen: &dyn Fn(u32) -> bool| {
        let all = result.everybody.iter().filter(|one| chosen(one.deployment));
        let ttft = all.map(|one| (waited(one) + one.parts.prefill).as_secs());
        Sample::new(ttft.collect()).expect("there are requests")
    };
    [
        of(&|_| true),
        of(&|model| model == 0),
        of(&|model| model == 1),
    ]
}

/// Where a provider puts its warm money decides what its median says.
#[test]
fn c112_warm_money_goes_where_the_policy_says() {
    let linear = |sample: &Sample, p: f64| sample.quantile(p, PercentileMethod::Linear);
    let by_popularity = one_warm_replica("policy = \"proportional\"");
    let [all, popular, niche] = ttfts(&by_popularity);
    assert_eq!((all.values().len(), popular.values().len()), (100, 90));
    assert_eq!(all.quantile(0.9, PercentileMethod::NearestRank), 1.0);
    assert!((linear(&all, 0.9) - 4.0).abs() < 1e-9);
    assert_eq!((linear(&all, 0.5), linear(&all, 0.95)), (1.0, 31.0));
    assert_eq!((linear(&popular, 0.95), linear(&niche, 0.5)), (1.0, 31.0));

    let on_the_niche = "policy.table.rows = [{ models = 1, warm = 0 }, { models = 1, warm = 1 }]";
    let on_the_niche = one_warm_replica(on_the_niche);
    let [all, popular, niche] = ttfts(&on_the_niche);
    assert_eq!((linear(&all, 0.5), linear(&popular, 0.5)), (31.0, 31.0));
    assert_eq!(linear(&niche, 0.95), 1.0);

    for (plan, who) in [(by_popularity, 1), (on_the_niche, 2)] {
        let popularity = plan.popularity.as_ref().expect("it is stated");
        let lots = plan.providers[0].lots(popularity);
        assert_eq!((lots[0].warm, lots[0].ranks.as_slice()), (1, &[who][..]));
        let bet = plan.providers[0].catalogue.as_ref();
        let budget = bet
            .and_then(|one| one.bet.as_ref())
            .expect("a policy")
            .budget;
        assert_eq!((budget.amount(), budget.spent()), (1.0, 1.0));
    }
}
