//! Waiting: limits, time-outs, priorities, and queues that must not stall.

use crate::support::{
    EVERYTHING, bench, fleet, ledger, moved, plan, problems, requests, simulate, starts, summary,
    waited,
};
use rayon::prelude::*;
use std::collections::BTreeSet;
use thermocline::experiment::{Run, run};
use thermocline::fleet::{Stage, StartPhase};
use thermocline::measure::summary::{AwareQuantile, Warning};
use thermocline::observation::Outcome;
use thermocline::stats::{Estimate, Sample};
use thermocline::theory::Mmc;
use thermocline::time::{Duration, Time};

const TOO_MANY: Outcome = Outcome::Rejected { status: 429 };

/// A herd on a sleeping model: as many wait as the queue takes, the others are told at once, and the figures say so.
#[test]
fn c015_held_requests_have_a_limit() {
    let times: Vec<String> = (0..500).map(|index| format!("{}ms", 2 * index)).collect();
    let times: Vec<&str> = times.iter().map(String::as_str).collect();
    let result = simulate(&bench(
        &times,
        "timeout = \"none\"",
        r#"
        [providers.p.deployments.m]
        service.slots = { slots = 4, prefill = "500ms", decode = "500ms" }
        cold_start.load_weights = "60s"
        scaling.max = 1
        queue.limit = 100
        "#,
    ));
    for (index, (seen, trace)) in result.lanes[0].requests.iter().enumerate() {
        if index < 100 {
            let start = Time::from_secs(60.0 + (index / 4) as f64);
            assert_eq!(
                seen.first_token(),
                Some(start + Duration::from_secs(0.5)),
                "request {index}"
            );
        } else {
            assert_eq!(
                (seen.outcome(), seen.end()),
                (TOO_MANY, seen.sent()),
                "request {index}"
            );
            assert_eq!(trace.as_ref().map(|trace| trace.cold), Some(false));
        }
    }
    let summary = summary(&result);
    assert_eq!(
        (summary.succeeded, summary.rejected, summary.requests),
        (100, 400, 500)
    );
    assert_eq!(summary.failure_percent, Some(80.0));
    assert!(
        summary.ttft.is_some_and(|ttft| ttft.p95_s < 85.0),
        "percentiles are over the hundred"
    );
    assert_eq!(summary.aware_p95, Some(AwareQuantile::Unbounded));
    assert!(summary.warnings.contains(&Warning::Unsuccessful {
        unsuccessful: 400,
        requests: 500
    }));
    assert_eq!(ledger(&result, 0).rejected_queue, 400);
}

/// At the most replicas allowed a request waits for a while, and is then refused: neither at once nor when it would be served.
#[test]
fn c026_a_bounded_wait_at_the_limit() {
    let result = simulate(&fleet(
        "200s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "39s" }
        scaling = { min = 1, max = 1 }
        queue = { timeout = "60s", timeout_status = "429" }
        traffic.t.arrivals.at.times = ["0s", "0s", "0s"]
        "#,
    ));
    assert_eq!(starts(&result, 0), [0.0, 40.0]);
    let refused: Vec<f64> = requests(&result, 0)
        .iter()
        .filter(|trace| trace.outcome == TOO_MANY)
        .map(|trace| trace.end.as_secs())
        .collect();
    assert_eq!(refused, [60.0]);
    let ends: BTreeSet<Time> = requests(&result, 0).iter().map(|trace| trace.end).collect();
    assert_eq!(ends, [40.0, 60.0, 80.0].map(Time::from_secs).into());
}

/// A queue goes on when the replica is free, with or without another arrival.
#[test]
fn c064_a_queue_does_not_wait_for_the_next_arrival() {
    let result = simulate(&fleet(
        "100s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "9s" }
        scaling = { min = 1, max = 1 }
        traffic.t.arrivals.at.times = ["0s", "1s"]
        "#,
    ));
    assert_eq!(starts(&result, 0), [0.0, 10.0]);
    assert_eq!(requests(&result, 0)[1].end, Time::from_secs(20.0));
    assert_eq!(ledger(&result, 0).in_flight_end, 0);
}

/// The same with three models that share one GPU: a start that waits gets the GPU as soon as its holder has nothing to do,
/// whether the holder goes by itself or is evicted.
#[test]
fn c064_models_that_share_a_gpu_do_not_stall() {
    for (keep_alive, evict_idle) in [("none", false), ("infinite", true)] {
        let model = |name: &str, at: &str| {
            format!(
                "[providers.p.deployments.{name}]
                gpu = \"h100-sxm\"
                service.slots = {{ prefill = \"1s\", decode = \"9s\" }}
                cold_start.load_weights = \"5s\"
                scaling.keep_alive = \"{keep_alive}\"
                traffic.t.arrivals.at.times = [\"{at}\"]\n"
            )
        };
        let text = format!("[providers.p]\ngpus.h100-sxm = 1\nevict_idle = {evict_idle}\n")
            + &model("a", "0s")
            + &model("b", "1s")
            + &model("c", "2s");
        let result = simulate(&fleet("100s", &text));
        for (model, start) in [(0, 5.0), (1, 20.0), (2, 35.0)] {
            assert_eq!(
                starts(&result, model),
                [start],
                "model {model}, keep-alive {keep_alive}"
            );
            assert_eq!(
                requests(&result, model)[0].end,
                Time::from_secs(start + 10.0)
            );
        }
        let waited_for_gpu = requests(&result, 2)[0].parts.start[StartPhase::GpuWait as usize];
        assert_eq!(waited_for_gpu, Duration::from_secs(28.0));
        let total: f64 = (0..3)
            .map(|model| ledger(&result, model).gpu_hours().iter().sum::<f64>())
            .sum();
        assert!(
            total * 3600.0 <= 100.0 + 1e-6,
            "one GPU worked {total} h in 100 s"
        );
        assert_eq!(moved(&result, 1, Stage::Stopped), [30.0]);
    }
}

/// Queues of theory, by twenty replications: the mean wait of Erlang lies in the 99.9 % interval, and the time-average number
/// of requests is the arrival rate times the mean time in the system (Little 1961), here exactly but for those at the ends.
#[test]
fn c065_waits_are_those_of_queueing_theory() {
    for (servers, rate, expected) in [
        (1, 0.3, 0.428_571),
        (1, 0.7, 2.333_333),
        (4, 3.0, 0.509_434),
    ] {
        let law = Mmc {
            arrival_rate: rate,
            service_rate: 1.0,
            servers,
        };
        assert!(
            (law.mean_wait() - expected).abs() < 1e-6,
            "the case gives {expected} s"
        );
        let plan = plan(&format!(
            "time = {{ warm_up = \"1000s\", horizon = \"{}s\" }}
            benchmark = {{ requests = 0, discard = 0 }}
            [providers.p.deployments.m]
            service.slots = {{ prefill.exponential.mean = \"1s\", decode = \"0s\" }}
            scaling = {{ min = {servers}, max = {servers} }}
            traffic.t.arrivals = \"{rate}/s\"",
            (20_000.0 / rate).round()
        ));
        let waits: Vec<f64> = (0..20_u64)
            .into_par_iter()
            .map(|replication| {
                let result = run(
                    &plan,
                    Run {
                        provider: 0,
                        session: 0,
                        replication,
                    },
                    EVERYTHING,
                );
                let all = requests(&result, 0);
                let ledger = ledger(&result, 0);
                let time: f64 = all
                    .iter()
                    .map(|one| one.end.since(one.arrived).as_secs())
                    .sum();
                let number = ledger.request_time as f64 / ledger.window.as_nanos() as f64;
                let little = time / ledger.window.as_secs();
                assert!(
                    (number / little - 1.0).abs() < 0.005,
                    "{number} and {little}"
                );
                all.iter().map(|one| waited(one).as_secs()).sum::<f64>() / all.len() as f64
            })
            .collect();
        let estimate = Estimate::of_mean(&Sample::new(waits).expect("waits"), 0.999);
        let interval = estimate.interval.expect("twenty replications");
        assert!(
            interval.contains(expected),
            "{expected} s is not in {interval:?}"
        );
        assert!(
            interval.half_width() < 0.12 * expected,
            "{interval:?} shows nothing"
        );
    }
}

/// A full queue and a request of higher priority. Our choice: the newest of the lowest priority gives way, with 429.
#[test]
fn c076_priority_displaces_the_newest_of_the_lowest() {
    let result = simulate(&fleet(
        "400s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "99s" }
        scaling = { min = 1, max = 1 }
        queue.limit = 2
        traffic.low = { arrivals.at.times = ["0s", "1s", "2s", "11s"] }
        traffic.high = { arrivals.at.times = ["10s"], priority = 5 }
        "#,
    ));
    let seen: Vec<(f64, Outcome, f64)> = requests(&result, 0)
        .iter()
        .map(|trace| (trace.arrived.as_secs(), trace.outcome, trace.end.as_secs()))
        .collect();
    let expected = [
        (0.0, Outcome::Succeeded, 100.0),
        (1.0, Outcome::Succeeded, 300.0),
        (2.0, TOO_MANY, 10.0),
        (10.0, Outcome::Succeeded, 200.0),
        (11.0, TOO_MANY, 11.0),
    ];
    assert_eq!(seen, expected);
    let ledger = ledger(&result, 0);
    assert_eq!(
        (ledger.arrived, ledger.succeeded, ledger.rejected_queue),
        (5, 3, 2)
    );
}

/// Equal priorities stay in order, and the queue is never longer than its limit.
#[test]
fn c076_equals_wait_in_order() {
    let result = simulate(&fleet(
        "400s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "9s" }
        scaling = { min = 1, max = 1 }
        queue.limit = 2
        traffic.a = { arrivals.deterministic = { rate = "0.3/s" }, priority = 1 }
        traffic.b = { arrivals.poisson = { rate = "0.1/s" }, priority = 1 }
        traffic.c = { arrivals.poisson = { rate = "0.1/s" } }
        "#,
    ));
    let all = requests(&result, 0);
    let mut important: Vec<_> = all.iter().filter(|trace| trace.replica.is_some()).collect();
    important.retain(|trace| !matches!(trace.origin, thermocline::fleet::Origin::Traffic(2)));
    assert!(
        important.is_sorted_by_key(|trace| trace.arrived + waited(trace)),
        "first come, first served"
    );
    for trace in &all {
        let now = trace.arrived;
        // Those that ended after the horizon are missing, so this undercounts only near the end.
        let waiting = all
            .iter()
            .filter(|other| {
                let leaves = other
                    .replica
                    .map_or(other.end, |_| other.arrived + waited(other));
                other.arrived <= now && now < leaves
            })
            .count();
        assert!(waiting <= 2, "{waiting} wait at {now}");
    }
    assert!(ledger(&result, 0).rejected_queue > 50);
}

/// Tenfold overload: never more tokens than the hardware can make, over any ten seconds.
#[test]
fn c080_throughput_stays_below_capacity() {
    let result = simulate(&fleet(
        "100s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "100ms", decode = "900ms" }
        scaling = { min = 2, max = 2 }
        [providers.p.deployments.m.traffic.t]
        arrivals.poisson = { rate = "20/s" }
        output_tokens = 1000
        timeout = "30s"
        "#,
    ));
    let mut ends: Vec<Time> = requests(&result, 0)
        .iter()
        .filter(|trace| trace.outcome == Outcome::Succeeded)
        .map(|trace| trace.end)
        .collect();
    ends.sort_unstable();
    for (index, &from) in ends.iter().enumerate() {
        let until = from + Duration::from_secs(10.0);
        let done = ends[index..].iter().take_while(|&&end| end < until).count();
        assert!(
            done * 1000 <= 20_000,
            "{done} answers in ten seconds from {from}"
        );
    }
    let ledger = ledger(&result, 0);
    assert_eq!(ledger.output_tokens, 1000 * ledger.succeeded);
    assert!(ledger.output_tokens <= 2 * 1000 * 100);
    assert!(
        ledger
            .utilisation()
            .is_some_and(|busy| (0.99..=1.0).contains(&busy))
    );
    assert!(ledger.timed_out > 1000);
}

#[test]
fn clients_of_a_closed_loop_wait_for_their_answers() {
    let result = simulate(&fleet(
        "20s",
        "[providers.p.deployments.m]\nservice.slots = { prefill = \"2s\", decode = \"0s\" }\nscaling = { min = 1, max = 1 }\n\
         queue.limit = 0\ntraffic.t.arrivals.closed = { clients = 2, think = \"3s\" }",
    ));
    // Both think until 3 s. One is served until 5 s and is back at 8 s; the other is refused, thinks, is served at 6 s, back at
    // 11 s; and so they take turns.
    assert_eq!(starts(&result, 0), [3.0, 6.0, 8.0, 11.0, 13.0, 16.0]);
    assert_eq!(ledger(&result, 0).rejected_queue, 1);
}

#[test]
fn a_closed_loop_needs_time_to_think_and_knows_no_hours() {
    let with = |arrivals: &str| {
        problems(&format!(
            "[providers.p.deployments.m]\n[providers.p.deployments.m.traffic.t]\n{arrivals}"
        ))
    };
    let shown = with("arrivals.closed = { clients = 2, think = \"0s\" }");
    assert!(shown.contains("clients must think for so long"), "{shown}");
    let shown =
        with("arrivals.closed = { clients = 2, think = \"1s\" }\ndaily = \"azure-2024-code\"");
    assert!(shown.contains("cannot vary over the day"), "{shown}");
}

#[test]
fn a_stream_may_take_times_of_its_own() {
    let result = simulate(&fleet(
        "60s",
        "[providers.p.deployments.m]\nservice.slots = { prefill = \"1s\", decode = \"1s\" }\nscaling = { min = 1, max = 1 }\n\
         traffic.short.arrivals.at.times = [\"0s\"]\ntraffic.long = { arrivals.at.times = [\"0s\"], prefill = \"7s\" }\ntraffic.last.arrivals.at.times = [\"0s\"]",
    ));
    assert_eq!(starts(&result, 0), [0.0, 2.0, 10.0]);
    let shown = problems(
        "[providers.p.deployments.m]\nservice.continuous = {}\ntraffic.t.prefill = \"1s\"",
    );
    assert!(shown.contains("prefill"), "{shown}");
}
