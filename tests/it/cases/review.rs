//! Troubles found in this fleet itself.

use crate::support::{
    bench, fleet, ledger, moved, plan, problems, requests, run_plan, simulate, starts, waits,
};
use thermocline::fleet::{Origin, Stage};
use thermocline::observation::Outcome;
use thermocline::time::{Duration, Time};

/// A benchmark request at the very end of a keep-alive finds the replica warm, like anybody's.
#[test]
fn a_request_at_the_instant_of_expiry_is_warm() {
    let result = simulate(&bench(
        &["0s", "72s", "135s"],
        "",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "1s" }
        cold_start.load_weights = "10s"
        scaling.keep_alive = "60s"
        "#,
    ));
    assert_eq!(waits(&result, 0), [10.0, 0.0, 10.0]);
    assert_eq!(moved(&result, 0, Stage::Stopped), [134.0]);
}

/// Requests at the opening of the window belong to it, with and without a warm-up.
#[test]
fn the_window_holds_its_first_instant() {
    for warm_up in ["0s", "1h"] {
        let body = r#"
            [providers.p.deployments.m]
            cold_start.load_weights = "10s"
            traffic.t.arrivals.at.times = ["0s", "0s"]
            losses.failures_at = ["0s"]
        "#;
        let text =
            fleet("100s", body).replace("warm_up = \"0s\"", &format!("warm_up = \"{warm_up}\""));
        let result = simulate(&text);
        let ledger = ledger(&result, 0);
        assert_eq!(
            (ledger.in_flight_start, ledger.arrived, ledger.succeeded),
            (0, 2, 2),
            "after {warm_up}"
        );
        assert_eq!(
            (ledger.cold_starts(), ledger.failures),
            (2, 0),
            "after {warm_up}"
        );
    }
}

/// A benchmark's client that gives up while its request is on the way leaves nothing behind that another request could trip
/// over, although its place is used again at once.
#[test]
fn a_request_given_up_on_the_way_never_arrives() {
    let result = simulate(&bench(
        &["0s", "100ms", "200ms", "300ms", "10s"],
        "timeout = \"1s\"",
        r#"
        [providers.p.network]
        gateway.empirical.values = ["5s"]
        [providers.p.deployments.m]
        service.slots = { prefill = "100ms", decode = "100ms" }
        scaling.min = 1
        traffic.t.arrivals.deterministic.rate = "10/s"
        "#,
    ));
    assert!(
        result.lanes[0]
            .requests
            .iter()
            .all(|(seen, _)| seen.outcome() == Outcome::TimedOut)
    );
    let ledger = ledger(&result, 0);
    let traffic = result
        .everybody
        .iter()
        .filter(|trace| matches!(trace.origin, Origin::Traffic(_)))
        .count() as u64;
    assert_eq!(
        ledger.arrived,
        traffic + ledger.in_flight_end,
        "only traffic reached the fleet"
    );
}

/// A first token that is still on its way back when the client's patience ends comes too late, even if the fleet is done.
#[test]
fn a_token_on_the_way_back_may_come_too_late() {
    let result = simulate(&bench(
        &["0s", "10s"],
        "timeout = \"1s\"",
        r#"
        [providers.p.network]
        rtt = "200ms"
        [providers.p.deployments.m]
        service.slots = { prefill.empirical.values = ["850ms"], decode = "0s" }
        scaling.min = 1
        "#,
    ));
    for (seen, trace) in &result.lanes[0].requests {
        assert_eq!(
            (seen.outcome(), seen.first_token()),
            (Outcome::TimedOut, None)
        );
        assert_eq!(seen.latency(), Duration::from_secs(1.0));
        assert_eq!(
            trace.as_ref().map(|trace| trace.outcome),
            Some(Outcome::TimedOut)
        );
    }
    assert_eq!(
        (ledger(&result, 0).timed_out, ledger(&result, 0).succeeded),
        (2, 0)
    );
}

/// An idle replica that outlived its keep-alive because the load wanted as many goes when the load goes.
#[test]
fn a_replica_kept_by_the_load_goes_with_it() {
    let result = simulate(&fleet(
        "1000s",
        r#"
        [providers.p.deployments.m]
        service.slots = { slots = 2, prefill = "1s", decode = "99s" }
        cold_start.load_weights = "10s"
        scaling = { keep_alive = "20s", rule.arrival.target = 1, initial = 1 }
        traffic.t.arrivals.at.times = ["0s", "1s"]
        "#,
    ));
    // Both run on the first replica; the second is idle from 11 s and wanted until 100 s.
    assert_eq!(waits(&result, 0), [0.0, 0.0]);
    assert_eq!(moved(&result, 0, Stage::Stopped), [100.0, 121.0]);
}

/// With a buffer, the replica that served last keeps its whole keep-alive; only the idle spare goes with the load.
#[test]
fn the_last_busy_replica_keeps_its_keep_alive() {
    let result = simulate(&fleet(
        "1000s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "39s" }
        cold_start.load_weights = "10s"
        scaling = { keep_alive = "20s", buffer = 1 }
        traffic.t.arrivals.at.times = ["0s", "60s"]
        "#,
    ));
    // First: 10 to 50 s; its spare is ready at 10 s and goes at 50 s. The first replica serves again from 60 s to 100 s, with
    // a new spare from 70 s on.
    assert_eq!(starts(&result, 0), [10.0, 60.0]);
    assert_eq!(moved(&result, 0, Stage::Stopped), [50.0, 100.0, 120.0]);
}

/// A start that was ordered for a waiting request is given up when a busy replica takes that request, not at the next arrival.
#[test]
fn a_surplus_start_is_given_up_when_a_request_ends() {
    let result = simulate(&fleet(
        "300s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "9s" }
        cold_start.load_weights = "60s"
        scaling = { min = 1, cancel_surplus_starts = true }
        traffic.t.arrivals.at.times = ["0s", "1s"]
        "#,
    ));
    assert_eq!(starts(&result, 0), [0.0, 10.0]);
    assert_eq!(moved(&result, 0, Stage::Stopped), [10.0]);
    assert_eq!(ledger(&result, 0).cancelled_gpu_time, 9 * 1_000_000_000);
}

/// The rate rule sees arrivals only; requests that wait behind a long one keep their replica all the same.
#[test]
fn requests_behind_a_long_one_are_served_when_arrivals_have_ceased() {
    let result = simulate(&fleet(
        "30m",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "299s" }
        cold_start.load_weights = "10s"
        scaling = { max = 1, rule.rate.target = "1/s" }
        traffic.t.arrivals.at.times = ["0s", "1s", "2s"]
        "#,
    ));
    assert_eq!(starts(&result, 0), [10.0, 310.0, 610.0]);
    assert_eq!(ledger(&result, 0).in_flight_end, 0);
    // Nothing is wanted any more: gone at the first look after the end.
    assert_eq!(moved(&result, 0, Stage::Stopped), [910.0]);
}

/// What may not wake a model does not wait for one that has gone: it is refused when the last replica dies.
#[test]
fn requests_that_wake_nothing_do_not_wait_for_nothing() {
    let result = simulate(&fleet(
        "300s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "99s" }
        scaling = { initial = 1, keep_alive = "5m" }
        losses.failures_at = ["50s"]
        [providers.p.deployments.m.traffic.probe]
        arrivals.at.times = ["0s", "1s", "60s"]
        wakes = false
        "#,
    ));
    let seen: Vec<(Outcome, f64)> = requests(&result, 0)
        .iter()
        .map(|trace| (trace.outcome, trace.end.as_secs()))
        .collect();
    let refused = Outcome::Rejected { status: 503 };
    assert_eq!(
        seen,
        [(Outcome::Failed, 50.0), (refused, 50.0), (refused, 60.0)]
    );
    assert_eq!(
        (
            ledger(&result, 0).cold_starts(),
            ledger(&result, 0).rejected_cold
        ),
        (0, 2)
    );
}

/// A dead replica's own queue goes back to the router: to those that are left, or to the hold queue until one is ready.
#[test]
fn a_dead_replicas_queue_is_routed_again() {
    let text = |min: u32| {
        fleet(
            "300s",
            &format!(
                r#"
                [providers.p.deployments.m]
                router = "round-robin"
                service.slots = {{ prefill = "1s", decode = "9s" }}
                cold_start.load_weights = "20s"
                scaling = {{ min = {min}, max = {min} }}
                losses.failures_at = ["5s"]
                traffic.t.arrivals.at.times = ["0s", "1s", "2s", "3s"]
                "#
            ),
        )
    };
    // Two: the first dies with one request, and the one in its queue goes behind the other's two.
    let two = simulate(&text(2));
    assert_eq!((ledger(&two, 0).failed, ledger(&two, 0).succeeded), (1, 3));
    assert_eq!(starts(&two, 0), [0.0, 1.0, 21.0, 11.0]);
    // One: three are held until the next replica is ready at 25 s.
    let one = simulate(&text(1));
    assert_eq!((ledger(&one, 0).failed, ledger(&one, 0).succeeded), (1, 3));
    assert_eq!(starts(&one, 0), [0.0, 25.0, 35.0, 45.0]);
    assert_eq!(ledger(&one, 0).cold_requests, 3);
}

/// A drained replica finishes what it runs and gives its queue back.
#[test]
fn a_draining_replica_gives_its_queue_back() {
    let result = simulate(&fleet(
        "300s",
        r#"
        [providers.p.deployments.m]
        router = "round-robin"
        service.slots = { prefill = "1s", decode = "59s" }
        cold_start.load_weights = "1s"
        [providers.p.deployments.m.scaling]
        initial = 2
        max = 2
        rule.rate = { target = "1/s", stable_window = "10s", tick = "10s", max_scale_down_rate = 2, scale_to_zero_grace = "1h" }
        [providers.p.deployments.m.traffic.t]
        arrivals.at.times = ["0s", "1s", "2s", "3s"]
        "#,
    ));
    // At 10 s four arrivals in ten seconds want one replica: the older of two equally loaded ones drains, and its second
    // request goes behind those of the other.
    assert_eq!(moved(&result, 0, Stage::Draining), [10.0]);
    assert_eq!(starts(&result, 0), [0.0, 1.0, 121.0, 61.0]);
    assert_eq!(ledger(&result, 0).succeeded, 4);
    assert_eq!(ledger(&result, 0).stops, 1);
}

/// Replicas' own queues have the limit, too, and the time-out of a request counts from its arrival wherever it waits.
#[test]
fn own_queues_obey_limit_and_timeout() {
    let result = simulate(&fleet(
        "300s",
        r#"
        [providers.p.deployments.m]
        router = "least-outstanding"
        service.slots = { prefill = "1s", decode = "29s" }
        scaling = { min = 2, max = 2 }
        queue = { limit = 1, timeout = "40s" }
        losses.failures_at = ["10s"]
        cold_start.load_weights = "1h"
        traffic.t.arrivals.at.times = ["0s", "1s", "2s", "3s", "4s"]
        "#,
    ));
    let seen: Vec<(Outcome, f64)> = requests(&result, 0)
        .iter()
        .map(|trace| (trace.outcome, trace.end.as_secs()))
        .collect();
    let (full, late) = (
        Outcome::Rejected { status: 429 },
        Outcome::Rejected { status: 503 },
    );
    // The first dies at 10 s; the one queued behind it finds the other queue full.
    let expected = [
        (Outcome::Failed, 10.0),
        (Outcome::Succeeded, 31.0),
        (full, 10.0),
        (Outcome::Succeeded, 61.0),
        (full, 4.0),
    ];
    assert_eq!(seen, expected);
    let mut patient = plan(&fleet(
        "300s",
        r#"
        [providers.p.deployments.m]
        router = "least-outstanding"
        service.slots = { prefill = "1s", decode = "59s" }
        scaling = { min = 2, max = 2 }
        queue.timeout = "40s"
        losses.failures_at = ["10s"]
        cold_start.load_weights = "1h"
        traffic.t.arrivals.at.times = ["0s", "1s", "2s"]
        "#,
    ));
    patient.seed = 3;
    let result = run_plan(&patient);
    // Queued at the dying replica at 2 s, routed again at 10 s, refused 40 s after it came.
    assert_eq!(requests(&result, 0)[2].outcome, late);
    assert_eq!(requests(&result, 0)[2].end, Time::from_secs(42.0));
}

/// Warm hours: the pool grows and shrinks by the clock, and what outlived its keep-alive goes when they end.
#[test]
fn warm_hours_end_for_replicas_past_their_keep_alive() {
    let result = simulate(&fleet(
        "4h",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "1s" }
        cold_start.load_weights = "60s"
        scaling = { min = 1, keep_alive = "10m", warm_hours = [{ from = "01:00", to = "02:00", min = 3 }] }
        traffic.t.arrivals.at.times = ["115m", "115m"]
        "#,
    ));
    assert_eq!(moved(&result, 0, Stage::Ready), [0.0, 3660.0, 3660.0]);
    // At 2 h the one that served nothing goes; of the two that worked at 115 min one goes ten minutes later.
    assert_eq!(
        moved(&result, 0, Stage::Stopped),
        [7200.0, 6900.0 + 2.0 + 600.0]
    );
    assert_eq!(ledger(&result, 0).below_floor, Duration::from_secs(60.0));
}

/// A hard limit below the demand: never more replicas than it, and every request is served in its turn.
#[test]
fn the_limit_holds_under_any_demand() {
    let result = simulate(&fleet(
        "600s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "9s" }
        cold_start.load_weights = "5s"
        scaling = { max = 2, buffer = 5, keep_alive = "none" }
        traffic.t.arrivals.at.times = ["0s", "0s", "0s", "0s", "0s"]
        "#,
    ));
    assert_eq!(starts(&result, 0), [5.0, 5.0, 15.0, 15.0, 25.0]);
    assert_eq!(ledger(&result, 0).peak_replicas, 2);
    assert_eq!(ledger(&result, 0).in_flight_end, 0);
}

/// Places of replicas and requests are used again hundreds of times; nothing of an earlier holder shows.
#[test]
fn places_are_used_again_without_a_trace() {
    let result = simulate(&bench(
        &["1h"],
        "",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "1s" }
        cold_start.load_weights = "3s"
        scaling.keep_alive = "none"
        traffic.t = { arrivals.deterministic.rate = "6/min", timeout = "30s" }
        "#,
    ));
    assert_eq!(ledger(&result, 0).cold_starts(), 362);
    for trace in requests(&result, 0) {
        assert_eq!(trace.parts.queue, Duration::ZERO);
        assert_eq!(
            trace.first_token.map(|first| first.since(trace.arrived)),
            Some(Duration::from_secs(4.0))
        );
    }
    let numbers: Vec<_> = requests(&result, 0)
        .iter()
        .filter_map(|trace| trace.replica)
        .collect();
    assert!(
        numbers.windows(2).all(|pair| pair[0] < pair[1]),
        "serial numbers are never used twice"
    );
}

/// A start that gives up counts only the GPU time inside the window, and so do its totals.
#[test]
fn accounts_begin_with_the_window() {
    let text = bench(
        &["0s"],
        "timeout = \"30s\"",
        r#"
        [providers.p.deployments.m]
        cold_start.load_weights = "1h"
        scaling = { cancel_surplus_starts = true, warm_hours = [{ from = "00:00", to = "01:00:10", min = 1 }], initial = 0 }
        "#,
    )
    .replace("warm_up = \"0s\"", "warm_up = \"59m59s\"");
    let text = text.replace(
        "cold_start.load_weights = \"1h\"",
        "cold_start.load_weights = \"2h\"",
    );
    let result = simulate(&text);
    let ledger = ledger(&result, 0);
    assert_eq!(ledger.cancelled_starts, 1);
    assert_eq!(ledger.cancelled_gpu_time, 30 * 1_000_000_000);
    assert_eq!(ledger.replica_time_total(), Duration::from_secs(30.0));
    assert_eq!(ledger.cold_starts(), 0, "it began before the window");
}

/// Long windows over short ticks cost no more than short ones: a day of 10 ms ticks would otherwise take hours.
#[test]
fn long_windows_of_short_ticks_are_cheap() {
    let result = simulate(&fleet(
        "1h",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "9s" }
        [providers.p.deployments.m.scaling]
        max = 3
        rule.concurrency = { tick = "10ms", stable_window = "1d", panic_window = "100%", scale_down_delay = "1d" }
        [providers.p.deployments.m.traffic.t]
        arrivals.deterministic.rate = "0.2/s"
        "#,
    ));
    // Two requests at a time over a target of 0.7 want three, and the delay keeps them.
    assert_eq!(ledger(&result, 0).peak_replicas, 3);
    assert!(moved(&result, 0, Stage::Stopped).is_empty());
}

/// Stopping one of several expired replicas may end another: its GPUs start a replica elsewhere, and so on.
#[test]
fn a_warm_pool_that_shrinks_stops_each_replica_once() {
    let text = "seed = 476095492\n\
        time = { warm_up = \"0s\", horizon = \"100s\" }\n\
        benchmark = { requests = 2, discard = 1, gaps = \"0s\", timeout = \"3s\" }\n\
        [providers.p]\n\
        gpus.h100-sxm = 5\n\
        [providers.p.deployments.m0]\n\
        gpu = \"h100-sxm\"\n\
        service.slots = { prefill = \"0s\", decode.gamma = { mean = \"4s\", cv = 1.5 } }\n\
        scaling = { max = 3, keep_alive = \"none\", warm_hours = [{ from = \"00:00:30\", to = \"00:01:10\", min = 2 }], rule.concurrency = { tick = \"2s\", stable_window = \"20s\", scale_to_zero_grace = \"5s\" } }\n\
        queue.limit = 3\n\
        traffic.t0.arrivals = \"0.6/s\"\n\
        [providers.p.deployments.m1]\n\
        gpu = \"h100-sxm\"\n\
        service.slots = { prefill = \"1s\", decode = \"0s\" }\n\
        warmth.host_ram = { capacity = 2, initial = 1, keep = \"20s\", start.load_weights = \"2s\", refill = true }\n\
        scaling = { min = 1, max = 3, initial = 0, keep_alive = \"3s\", rule.concurrency = { tick = \"2s\", stable_window = \"20s\", scale_to_zero_grace = \"5s\" } }\n\
        queue.limit = 3\n\
        traffic.t0 = { arrivals.deterministic.rate = \"0.5/s\", wakes = false }\n\
        traffic.t1.arrivals.gamma = { rate = \"0.5/s\", cv = 3 }\n";
    let result = simulate(text);
    for did in &result.fleet {
        assert!(did.ledger.is_conserved());
    }
}

/// Two loads are through at one instant, and the first replica to be ready makes the other start pointless.
#[test]
fn loads_that_end_together_may_cancel_each_other() {
    let result = simulate(&fleet(
        "100s",
        r#"
        [providers.p]
        links.store = "4GB/s"
        [providers.p.deployments.m]
        cold_start.load_weights.transfer = { bytes = "8GB", link = "store" }
        scaling = { max = 2, buffer = 1, keep_alive = "none", cancel_surplus_starts = true }
        queue.hold_while_cold = false
        traffic.t.arrivals.at.times = ["0s"]
        "#,
    ));
    let ledger = ledger(&result, 0);
    assert_eq!(
        (ledger.cold_starts(), ledger.cancelled_starts, ledger.stops),
        (2, 1, 1)
    );
}

/// A start that waits for the GPU of an idle replica gets it when the replica's own second start, first in line, is given up.
#[test]
fn a_start_given_up_lets_the_next_one_evict() {
    let result = simulate(&fleet(
        "100s",
        r#"
        [providers.p]
        gpus.g = 1
        evict_idle = true
        [providers.p.deployments.a]
        gpu = "g"
        service.slots = { prefill = "1s", decode = "9s" }
        scaling = { initial = 1, buffer = 1, keep_alive = "infinite", cancel_surplus_starts = true }
        traffic.t.arrivals.at.times = ["0s"]
        [providers.p.deployments.b]
        gpu = "g"
        cold_start.load_weights = "5s"
        traffic.t.arrivals.at.times = ["1s"]
        "#,
    ));
    assert_eq!(starts(&result, 1), [15.0]);
}

/// A replica that was idle all the time can be spared, for another model's start, from when a request at its neighbour ends.
#[test]
fn a_request_that_ends_lets_a_start_evict_the_neighbour() {
    let result = simulate(&fleet(
        "100s",
        r#"
        [providers.p]
        gpus.g = 2
        evict_idle = true
        [providers.p.deployments.a]
        gpu = "g"
        service.static = { batch_size = 2, window = "1s", release_early = true, prefill = "0s", decode = "3s" }
        scaling = { initial = 1, keep_alive = "infinite", rule.arrival.target = 1 }
        traffic.short.arrivals.at.times = ["0s"]
        traffic.long = { arrivals.at.times = ["500ms"], decode = "30s" }
        [providers.p.deployments.b]
        gpu = "g"
        cold_start.load_weights = "5s"
        traffic.t.arrivals.at.times = ["2s"]
        "#,
    ));
    assert_eq!(starts(&result, 1), [8.5]);
}

/// What a scenario asks for and cannot be is refused, with the nearest that can.
#[test]
fn what_would_be_capped_or_never_come_is_refused() {
    let one = |head: &str, keys: &str| {
        format!(
            "time.horizon = \"10m\"\n[providers.p]\n{head}\n[providers.p.deployments.m]\n\
             gpu = \"h100-sxm\"\ngpus = 2\n{keys}\ntraffic.t.arrivals = \"1/m\""
        )
    };
    let hours =
        "scaling = { max = 2, warm_hours = [{ from = \"08:00\", to = \"18:00\", min = 3 }] }";
    let fallback = "fallback = [{ gpu = \"h200-sxm\", gpus = 1 }]";
    let cases: [(&str, String, &[&str]); 7] = [
        (
            "a stock of nothing",
            one("gpus.h100-smx = 8", ""),
            &[
                "test.toml:3:17",
                "there is no GPU `h100-smx`",
                "did you mean `h100-sxm`?",
            ],
        ),
        (
            "half a replica",
            one("gpus.h100-sxm = 1", ""),
            &["test.toml:3:17", "it needs 2 h100-sxm, and there are 1"],
        ),
        (
            "half a replica here and none there",
            one("gpus = { h100-sxm = 1, h200-sxm = 0 }", fallback),
            &["no replica of `m` can ever start"],
        ),
        (
            "half a replica here, but one there",
            one("gpus = { h100-sxm = 1, h200-sxm = 1 }", fallback),
            &["nothing: it is accepted"],
        ),
        (
            "a known GPU that nothing uses",
            one("gpus = { h100-sxm = 2, b200 = 8 }", ""),
            &["nothing: it is accepted"],
        ),
        (
            "warm hours above the most",
            one("", hours),
            &[
                "`warm_hours` must not keep more than `max`",
                "is more than max = 2",
            ],
        ),
        (
            "no requests and no horizon",
            one("", "").replace("time.horizon = \"10m\"", "benchmark.requests = 0"),
            &[
                "without requests nothing says for how long to measure",
                "set time.horizon",
            ],
        ),
    ];
    for (case, text, expected) in cases {
        let found = problems(&text);
        for expected in expected {
            assert!(found.contains(expected), "{case}: no {expected}: {found}");
        }
    }
}

/// A problem is told once, where it is, with what may stand there.
#[test]
fn a_problem_is_told_where_it_is() {
    let one = |keys: &str| format!("time.horizon = \"10m\"\n[providers.p.deployments.m]\n{keys}\n");
    let cases: [(String, &[&str], &[&str]); 4] = [
        (
            one("traffic.t = { arrivals = \"1/m\", daily = \"azure-2024-convers\" }"),
            &[
                "or one of flat, azure-2024-code",
                "did you mean `azure-2024-conversation`?",
            ],
            &[],
        ),
        (
            one("gpu = \"h100-sxm\"\nengine = { model = \"qwen3-33b\" }"),
            &["test.toml:4:20", "did you mean `qwen3-32b`?"],
            &[],
        ),
        (
            "[providers.\"a b\".deployments.m]".to_owned(),
            &["cannot be a name"],
            &["is missing"],
        ),
        (
            one("scaling = { min = 5, max = 2 }"),
            &["`max` must not be below `min`"],
            &["`initial`"],
        ),
    ];
    for (text, expected, unwanted) in cases {
        let found = problems(&text);
        for expected in expected {
            assert!(found.contains(expected), "no {expected}: {found}");
        }
        for unwanted in unwanted {
            assert!(!found.contains(unwanted), "{unwanted}: {found}");
        }
    }
}
