//! How many replicas, when.

use crate::support::{
    Life, fleet, ledger, lives, most_at_once, moved, problems, requests, simulate, starts, waits,
};
use std::fmt::Write;
use thermocline::fleet::{RequestTrace, Stage};
use thermocline::time::{Duration, Time};

/// Two replicas that start are two, whatever factor the scaler may grow by: none is added while nobody comes.
#[test]
fn c005_no_growth_without_demand() {
    for rule in [
        "concurrency = { max_scale_up_rate = 2, tick = \"2s\" }",
        "rate = { target = \"1/s\", max_scale_up_rate = 2, tick = \"2s\" }",
        "arrival = {}",
        "poll = { interval = \"2s\" }",
    ] {
        let result = simulate(&fleet(
            "600s",
            &format!(
                "[providers.p.deployments.m]
                cold_start.load_weights = \"60s\"
                scaling = {{ min = 2, max = 10, initial = 0, rule = {{ {rule} }} }}"
            ),
        ));
        assert_eq!(most_at_once(&result, 0), 2, "{rule}");
        assert_eq!(
            ledger(&result, 0).replica_time_total(),
            Duration::from_secs(1200.0),
            "{rule}"
        );
        assert_eq!(
            ledger(&result, 0).below_floor,
            Duration::from_secs(60.0),
            "{rule}"
        );
    }
}

/// A replica that is loading answers the same demand as a ready one: the scaler does not order it again at each tick.
#[test]
fn c006_loading_replicas_count() {
    let result = simulate(&fleet(
        "600s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "100ms", decode = "900ms" }
        cold_start.load_weights = "60s"
        scaling = { min = 1, rule = { rate = { target = "1/s", utilisation = "100%", tick = "15s" } } }
        traffic.t.arrivals.deterministic = { rate = "1.25/s" }
        "#,
    ));
    assert_eq!(
        moved(&result, 0, Stage::Provisioning),
        [15.0],
        "one order, at the first look"
    );
    let lives = lives(&result.replicas);
    let count = |at: f64, born: fn(&Life) -> Time, over: fn(&Life) -> Time| {
        let at = Time::from_secs(at);
        lives
            .iter()
            .filter(|life| born(life) <= at && at < over(life))
            .count()
    };
    let series = |at| {
        let ready = count(at, |life| life.ready, |life| life.closed);
        (ready, count(at, |life| life.born, |life| life.ready))
    };
    let seen = [0.0, 14.0, 15.0, 74.0, 75.0, 400.0].map(series);
    assert_eq!(
        seen,
        [(1, 0), (1, 0), (1, 1), (1, 1), (2, 0), (2, 0)],
        "(ready, loading)"
    );
}

/// A request takes whichever replica is free first: one just started, or one busy until then while another loads.
#[test]
fn c010_requests_bind_late() {
    let spare = simulate(&fleet(
        "60s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "29s" }
        cold_start.load_weights = "10s"
        scaling = { min = 1, max = 2, buffer = 1 }
        traffic.t.arrivals.at.times = ["0s", "12s"]
        "#,
    ));
    assert_eq!(waits(&spare, 0), [0.0, 0.0]);
    let loading = simulate(&fleet(
        "100s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "1s", decode = "4s" }
        cold_start.load_weights = "59s"
        scaling = { min = 1, max = 2 }
        traffic.t.arrivals.at.times = ["0s", "1s"]
        "#,
    ));
    assert_eq!(starts(&loading, 0), [0.0, 5.0]);
    let replicas: Vec<_> = requests(&loading, 0)
        .iter()
        .map(|trace| trace.replica)
        .collect();
    assert_eq!(replicas, [Some(0), Some(0)]);
    assert_eq!(moved(&loading, 0, Stage::Ready), [0.0, 60.0]);
}

/// Going down gives up starts before it touches what serves: when the warm pool shrinks by the clock ...
#[test]
fn c013_a_smaller_pool_gives_up_starts_first() {
    let result = simulate(&fleet(
        "300s",
        r#"
        [providers.p.deployments.m]
        cold_start.load_weights = "120s"
        scaling = { min = 1, initial = 1, warm_hours = [{ from = "00:00", to = "00:00:05", min = 4 }] }
        traffic.t.arrivals.at.times = ["10s"]
        "#,
    ));
    assert_eq!(waits(&result, 0), [0.0]);
    let ledger = ledger(&result, 0);
    assert_eq!((ledger.cold_starts(), ledger.cancelled_starts), (3, 3));
    assert_eq!(ledger.cancelled_gpu_time, 3 * 5 * 1_000_000_000);
    assert_eq!(
        ledger.replica_time_total(),
        Duration::from_secs(300.0 + 15.0)
    );
}

/// ... and when a windowed rule has seen a burst pass.
#[test]
fn c013_a_burst_that_has_passed_gives_up_starts_first() {
    let result = simulate(&fleet(
        "60s",
        r#"
        [providers.p.deployments.m]
        service.slots = { prefill = "100ms", decode = "0s" }
        cold_start.load_weights = "120s"
        [providers.p.deployments.m.scaling]
        min = 1
        rule.rate = { target = "0.2/s", utilisation = "100%", stable_window = "5s", tick = "5s", panic_threshold = "10000%", max_scale_down_rate = 4 }
        [providers.p.deployments.m.traffic.t]
        arrivals.at.times = ["1s", "2s", "3s", "4s", "12s"]
        "#,
    ));
    assert_eq!(moved(&result, 0, Stage::Provisioning), [5.0; 3]);
    assert_eq!(moved(&result, 0, Stage::Stopped), [10.0; 3]);
    assert_eq!(ledger(&result, 0).cancelled_starts, 3);
    assert_eq!(waits(&result, 0), [0.0; 5]);
}

/// `models` models; each is used at two times of its own in the first 90 s.
fn many(models: u32) -> String {
    let mut text = String::new();
    for model in 0..models {
        let (first, last) = (model % 40, 41 + model % 49);
        write!(
            text,
            "[providers.p.deployments.m{model}]
            service.slots = {{ prefill = \"500ms\", decode = \"500ms\" }}
            cold_start.load_weights = \"10s\"
            scaling.keep_alive = \"120s\"
            traffic.t.arrivals.at.times = [\"{first}s\", \"{last}s\"]\n"
        )
        .expect("text");
    }
    fleet("600s", &text)
}

/// Each model goes to sleep by its own clock, however many others there are.
#[test]
fn c027_many_models_scale_to_zero_each_by_itself() {
    let (sixty, three) = (simulate(&many(60)), simulate(&many(3)));
    for model in 0..60 {
        let end = 41.0 + f64::from(model % 49) + 1.0;
        assert_eq!(
            moved(&sixty, model, Stage::Stopped),
            [end + 120.0],
            "model {model}"
        );
        let from = f64::from(model % 40);
        let life = Duration::from_secs(end + 120.0 - from);
        assert_eq!(
            ledger(&sixty, model as usize).replica_time_total(),
            life,
            "model {model}"
        );
    }
    let story = |traces: Vec<&RequestTrace>| {
        traces
            .iter()
            .map(|trace| (trace.arrived, trace.first_token, trace.end, trace.parts))
            .collect::<Vec<_>>()
    };
    for model in 0..3 {
        assert_eq!(
            story(requests(&sixty, model)),
            story(requests(&three, model))
        );
        assert_eq!(
            ledger(&sixty, model as usize),
            ledger(&three, model as usize)
        );
    }
}

/// A warm pool that lost a replica is filled up at once, the time below its size is counted, the survivor serves.
#[test]
fn c028_a_pool_is_filled_up_after_a_loss() {
    let result = simulate(&fleet(
        "300s",
        r#"
        [providers.p.deployments.m]
        cold_start.load_weights = "60s"
        scaling.min = 2
        losses.failures_at = ["100s"]
        traffic.t.arrivals.at.times = ["130s"]
        "#,
    ));
    assert_eq!(moved(&result, 0, Stage::Ready), [0.0, 0.0, 160.0]);
    assert_eq!(ledger(&result, 0).below_floor, Duration::from_secs(60.0));
    assert_eq!(
        (
            ledger(&result, 0).failures,
            ledger(&result, 0).cold_requests
        ),
        (1, 0)
    );
    assert_eq!(waits(&result, 0), [0.0]);
}

#[test]
fn a_replica_for_each_request_and_no_queue() {
    let result = simulate(&fleet(
        "60s",
        "[providers.p.deployments.m]\nservice.slots = { prefill = \"2s\", decode = \"0s\" }\n\
         cold_start.load_weights = \"10s\"\nscaling = { rule = \"per-request\", max = 2, keep_alive = \"30s\" }\n\
         traffic.t.arrivals.at.times = [\"0s\", \"1s\", \"2s\", \"12.5s\", \"13s\"]",
    ));
    // The third finds both replicas starting and is refused. The first two wait for their own ones, at 10 s and 11 s; the fourth
    // takes the one that is idle since 12 s, the fifth the other.
    assert_eq!(starts(&result, 0), [10.0, 11.0, 12.5, 13.0]);
    let ledger = ledger(&result, 0);
    assert_eq!((ledger.cold_starts(), ledger.rejected_queue), (2, 1));
    assert_eq!((ledger.cold_requests, ledger.succeeded), (2, 4));
}

#[test]
fn a_replica_for_each_request_takes_gpus_or_refuses() {
    let model = |name: &str, arrivals: &str| {
        format!(
            "[providers.p.deployments.{name}]\ngpu = \"h\"\ngpus = 2\nservice.slots = {{ prefill = \"2s\", decode = \"0s\" }}\n\
             scaling = {{ rule = \"per-request\", keep_alive = \"30s\" }}\ntraffic.t.arrivals.at.times = {arrivals}\n"
        )
    };
    let models = [model("a", "[\"0s\"]"), model("b", "[\"1s\", \"5s\"]")].concat();
    let refused = |evict: bool| {
        let head = format!("[providers.p]\ngpus.h = 3\nevict_idle = {evict}\n");
        let result = simulate(&fleet("60s", &format!("{head}{models}")));
        let ledger = ledger(&result, 1);
        assert_eq!(ledger.cold_starts() + ledger.rejected_queue, 2);
        ledger.rejected_queue
    };
    // At 1 s the other model is busy; at 5 s it is idle and may have to go.
    assert_eq!([refused(false), refused(true)], [2, 1]);
}

#[test]
fn nothing_is_held_where_each_request_has_a_replica() {
    let shown = problems(
        "[providers.p.deployments.m]\nscaling.rule = \"per-request\"\nrouter = \"random\"\n\
         queue = { limit = 3, hold_while_cold = false }",
    );
    assert_eq!(
        shown
            .matches("the rule `per-request` holds no requests")
            .count(),
        3,
        "{shown}"
    );
}
