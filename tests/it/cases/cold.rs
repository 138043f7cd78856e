//! Cold starts, the ladder of warmth, who wakes a model.

use crate::support::{
    bench, fleet, ledger, moved, plan, requests, simulate, starts, summary, waits,
};
use thermocline::fleet::{Stage, StartPhase};
use thermocline::measure::verdict::Verdict;
use thermocline::observation::Outcome;
use thermocline::stats::CvDefinition;
use thermocline::time::{Duration, Time};

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs(seconds)
}

/// A request waits until the model is loaded, not only until the container answers.
#[test]
fn c001_service_begins_when_the_model_is_loaded() {
    let result = simulate(&bench(
        &["0s"],
        "",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "500ms", decode = "1s" }
        cold_start = { container = "3s", load_weights = "20s" }
        scaling.max = 1
        "#,
    ));
    let (seen, trace) = &result.lanes[0].requests[0];
    assert_eq!(seen.outcome(), Outcome::Succeeded);
    assert_eq!(seen.ttft(), Some(seconds(23.5)));
    assert_eq!(seen.latency(), seconds(24.5));
    let parts = trace.as_ref().expect("it reached the fleet").parts;
    assert_eq!(parts.start[StartPhase::Container as usize], seconds(3.0));
    assert_eq!(parts.start[StartPhase::LoadWeights as usize], seconds(20.0));
    assert_eq!(parts.queue, Duration::ZERO);
    assert_eq!(ledger(&result, 0).cold_starts(), 1);
}

/// All clients time out against zero replicas: no figure is zero or NaN, there is none.
#[test]
fn c002_nothing_but_timeouts_gives_no_figures() {
    let result = simulate(&bench(
        &["0s"; 5],
        "timeout = \"20s\"",
        r#"
        [providers.p.deployments.m]
        cold_start.load_weights = "40s"
        "#,
    ));
    let summary = summary(&result);
    assert_eq!(
        (summary.requests, summary.succeeded, summary.timed_out),
        (5, 0, 5)
    );
    assert_eq!(summary.failure_percent, Some(100.0));
    assert_eq!((&summary.ttft, summary.cv_interval_percent), (&None, None));
    assert_eq!(
        Verdict::of(&summary, CvDefinition::StdOverMean),
        Verdict::NoData
    );
    for (seen, _) in &result.lanes[0].requests {
        assert_eq!((seen.ttft(), seen.latency()), (None, seconds(20.0)));
    }
    assert_eq!(ledger(&result, 0).timed_out, 5);
}

const SLOW_START: &str = r#"
    [providers.p.deployments.m]
    service.slots = { prefill = "1s", decode = "1s" }
    cold_start = { provision = "240s", image = "300s", load_weights = "90s" }
    scaling.max = 1
    scaling.keep_alive = "600s"
"#;

const EVERY_TWO_MINUTES: [&str; 7] = ["0s", "120s", "240s", "360s", "480s", "600s", "720s"];

/// A start longer than the keep-alive goes on when its clients leave, and serves the ones that come later.
#[test]
fn c004_a_start_outlives_its_clients() {
    let text = bench(&EVERY_TWO_MINUTES, "timeout = \"60s\"", SLOW_START);
    let result = simulate(&text);
    let summary = summary(&result);
    assert_eq!((summary.timed_out, summary.succeeded), (5, 2));
    assert_eq!(starts(&result, 0), [630.0, 720.0]);
    assert_eq!(waits(&result, 0), [30.0, 0.0]);
    assert_eq!(ledger(&result, 0).cold_starts(), 1);
    assert_eq!(ledger(&result, 0).cancelled_starts, 0);
}

/// Where surplus starts are given up, each client's start dies with its patience, and the GPU time is on the bill.
#[test]
fn c004_starts_given_up_with_their_clients_are_billed() {
    let text = bench(&EVERY_TWO_MINUTES, "timeout = \"60s\"", SLOW_START);
    let result = simulate(&format!("{text}scaling.cancel_surplus_starts = true\n"));
    let ledger = ledger(&result, 0);
    assert_eq!(
        (
            ledger.timed_out,
            ledger.cold_starts(),
            ledger.cancelled_starts
        ),
        (7, 7, 7)
    );
    assert_eq!(ledger.cancelled_gpu_time, 7 * 60 * 1_000_000_000);
    assert_eq!(ledger.replica_time_total(), seconds(7.0 * 60.0));
}

fn polled(rule: &str) -> String {
    bench(
        &["1s", "61s", "121s"],
        "timeout = \"20s\"",
        &format!(
            "[providers.p.deployments.m]
            cold_start.load_weights = \"40s\"
            service.slots = {{ prefill = \"1s\", decode = \"1s\" }}
            scaling = {{ keep_alive = \"30s\", rule = {{ {rule} }} }}"
        ),
    )
}

/// An arrival starts a replica at once; a scaler that only looks now and then misses what comes and goes in between.
#[test]
fn c016_arrivals_wake_a_model_and_polls_may_miss_them() {
    let by_arrival = simulate(&polled("arrival = {}"));
    assert_eq!(moved(&by_arrival, 0, Stage::Ready)[0], 41.0);
    let outcomes: Vec<Outcome> = by_arrival.lanes[0]
        .requests
        .iter()
        .map(|(seen, _)| seen.outcome())
        .collect();
    // Warm at 61 s; idle from 63 s to 93 s, so that the third comes too late again.
    assert_eq!(
        outcomes,
        [Outcome::TimedOut, Outcome::Succeeded, Outcome::TimedOut]
    );
    assert_eq!(ledger(&by_arrival, 0).missed_by_sampling, 0);

    let by_poll = simulate(&polled("poll = { interval = \"30s\" }"));
    let ledger = ledger(&by_poll, 0);
    assert_eq!(
        (
            ledger.timed_out,
            ledger.cold_starts(),
            ledger.missed_by_sampling
        ),
        (3, 0, 3)
    );
}

fn ladder(service: &str) -> String {
    fleet(
        "1h",
        &format!(
            r#"
            [providers.p.deployments.m]
            price = "1usd/h"
            service.slots = {{ prefill = "1s", decode = "{service}" }}
            cold_start.load_weights = "180s"
            warmth.host_ram = {{ capacity = 2, initial = 2, price = "0.1usd/h", start.load_weights = "15s" }}
            scaling = {{ min = 1, keep_alive = "infinite" }}
            traffic.t.arrivals.at.times = ["0s", "0s", "0s", "0s"]
            "#
        ),
    )
}

/// Hot, sleeping and cold replicas have their own start times and idle costs. With the reference's S = 60 s the fourth request
/// would not wait 180 s, because requests bind late: the hot replica is free again at 60 s. Both are held here.
#[test]
fn c021_warmth_is_a_ladder() {
    let result = simulate(&ladder("599s"));
    assert_eq!(waits(&result, 0), [0.0, 15.0, 15.0, 180.0]);
    assert_eq!(ledger(&result, 0).starts, [2, 1]);
    assert_eq!(waits(&simulate(&ladder("59s")), 0), [0.0, 15.0, 15.0, 60.0]);

    let mut idle = plan(&ladder("59s"));
    idle.providers[0].fleet.deployments[0].traffic.clear();
    let idle = crate::support::run_plan(&idle);
    let cost = ledger(&idle, 0).cost_usd();
    assert!((cost - 1.2).abs() < 1e-12, "an idle hour costs {cost}");
}

fn one_hot_three_sleeping(refill: bool) -> String {
    fleet(
        "600s",
        &format!(
            r#"
            [providers.p.deployments.m]
            service.slots = {{ prefill = "1s", decode = "599s" }}
            cold_start.load_weights = "100s"
            warmth.host_ram = {{ capacity = 3, initial = 3, price = "1usd/h", start.load_weights = "15s", refill = {refill} }}
            scaling = {{ min = 1, buffer = 1, keep_alive = "infinite" }}
            traffic.t.arrivals.at.times = ["0s"]
            "#
        ),
    )
}

/// A buffer of one promotes one sleeping replica, not all; a refilled rung gets its third back after a remote start.
#[test]
fn c029_one_missing_replica_promotes_one() {
    for (refill, asleep_hours) in [(false, 600.0 * 2.0), (true, 600.0 * 2.0 + 500.0)] {
        let result = simulate(&one_hot_three_sleeping(refill));
        assert_eq!(ledger(&result, 0).starts, [1, 0]);
        assert_eq!(moved(&result, 0, Stage::Ready), [0.0, 15.0]);
        let asleep = ledger(&result, 0).rungs_usd * 3600.0;
        assert!((asleep - asleep_hours).abs() < 1e-6, "{asleep} s asleep");
    }
}

fn probed(wakes: bool) -> String {
    let models: Vec<String> = (0..10)
        .map(|model| {
            format!(
                "[providers.p.deployments.m{model}]
                price = \"1usd/h\"
                cold_start.load_weights = \"10s\"
                scaling.keep_alive = \"infinite\"
                traffic.probe = {{ arrivals.deterministic = {{ rate = \"1/min\" }}, wakes = {wakes} }}\n"
            )
        })
        .collect();
    fleet("1h", &models.concat())
}

/// Probes flagged as not waking start nothing and are refused; all models stay in the result.
#[test]
fn c031_probes_do_not_wake_a_sleeping_model() {
    let asleep = simulate(&probed(false));
    assert_eq!(asleep.fleet.len(), 10);
    for did in &asleep.fleet {
        assert_eq!((did.ledger.cold_starts(), did.ledger.cost_usd()), (0, 0.0));
        assert_eq!((did.ledger.arrived, did.ledger.rejected_cold), (60, 60));
    }
    let awake = simulate(&probed(true));
    assert!(awake.fleet.iter().all(|did| did.ledger.cold_starts() == 1));
    assert_eq!(
        requests(&awake, 9)[0].first_token,
        Some(Time::from_secs(10.3))
    );
}
