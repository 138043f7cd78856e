//! Simulated fleets against closed forms.
//!
//! Each claim is judged by independent replications at a fixed seed: the closed form must lie inside the 99.9 % interval of
//! the mean over replications (Student's t). The interval comes from the replications themselves; no tolerance is chosen.

use crate::support::{EVERYTHING, plan, waited};
use rayon::prelude::*;
use std::collections::BTreeMap;
use thermocline::experiment::{Did, Keep, Run, RunResult, run};
use thermocline::fleet::Activity;
use thermocline::stats::{Estimate, PercentileMethod, Sample};
use thermocline::theory::{
    KeptAlive, Mmc, Setup, cold_share, erlang_b, lognormal_moments, mg1_mean_wait, mg1_wait_std,
    poisson_tail,
};
use thermocline::time::{Duration, Time};

/// The probability with which an interval misses a true claim is 1 - this.
const CONFIDENCE: f64 = 0.999;

/// A scenario of one deployment without a benchmark.
fn queue(warm_up: &str, horizon: &str, deployment: &str) -> String {
    format!(
        "seed = 20\ntime = {{ warm_up = \"{warm_up}\", horizon = \"{horizon}\" }}\nbenchmark = {{ requests = 0, discard = 0 }}\n\
         [providers.p.deployments.m]\n{deployment}"
    )
}

/// Holds what `measure` finds in each of `replications` runs against `claims`, by name.
fn hold(
    scenario: &str,
    replications: u64,
    keep: Keep,
    claims: &[(&str, f64)],
    measure: impl Fn(&RunResult) -> Vec<(&'static str, f64)> + Sync,
) {
    let plan = plan(scenario);
    let one = |replication| {
        let (provider, session) = (0, 0);
        measure(&run(
            &plan,
            Run {
                provider,
                session,
                replication,
            },
            keep,
        ))
    };
    let runs: Vec<_> = (0..replications).into_par_iter().map(one).collect();
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in runs.into_iter().flatten() {
        found.entry(name).or_default().push(value);
    }
    assert_eq!(found.len(), claims.len(), "every figure has a claim");
    for &(name, claim) in claims {
        let sample = Sample::new(found[name].clone()).expect("finite figures");
        let estimate = Estimate::of_mean(&sample, CONFIDENCE);
        let interval = estimate.interval.expect("several replications");
        assert!(
            interval.contains(claim),
            "{name}: {claim} lies outside {} to {} ({} from {replications} replications)",
            interval.low,
            interval.high,
            estimate.point
        );
    }
}

fn did(result: &RunResult) -> &Did {
    &result.fleet[0]
}

/// Waits of all requests that ended in the window \[s\].
fn sampled_waits(result: &RunResult) -> Sample {
    let waits = result.everybody.iter().map(|trace| waited(trace).as_secs());
    Sample::new(waits.collect()).expect("requests ended")
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Mean number of requests in the system over the window.
fn in_system(result: &RunResult) -> f64 {
    did(result).ledger.request_time as f64 / did(result).ledger.window.as_nanos() as f64
}

/// Share of the window that replicas spent on `activity`, summed over replicas.
fn time_share(result: &RunResult, activity: Activity) -> f64 {
    let ledger = &did(result).ledger;
    ledger.replica_time[activity as usize].as_secs() / ledger.window.as_secs()
}

fn first_come_first_served(servers: u32, arrivals: &str, replications: u64, horizon: &str) {
    let arrival_rate: f64 = arrivals.trim_end_matches("/s").parse().expect("a rate");
    let law = Mmc {
        arrival_rate,
        service_rate: 1.0,
        servers,
    };
    let deployment = format!(
        "service.slots = {{ prefill.exponential.mean = \"1s\", decode = \"0s\" }}\n\
         scaling = {{ min = {servers}, max = {servers} }}\ntraffic.t.arrivals = \"{arrivals}\""
    );
    let claims = [
        ("mean wait", law.mean_wait()),
        ("share that waits", law.wait_share()),
        ("p95 of the wait", law.wait_quantile(0.95)),
        ("utilisation", law.utilisation()),
        ("mean number", arrival_rate * law.mean_time()),
    ];
    hold(
        &queue("2000s", horizon, &deployment),
        replications,
        EVERYTHING,
        &claims,
        |result| {
            let waits = sampled_waits(result);
            let waiting = waits.values().iter().filter(|&&wait| wait > 0.0).count();
            vec![
                ("mean wait", waits.mean()),
                ("share that waits", waiting as f64 / waits.len() as f64),
                (
                    "p95 of the wait",
                    waits.quantile(0.95, PercentileMethod::Linear),
                ),
                (
                    "utilisation",
                    did(result).ledger.utilisation().expect("a replica"),
                ),
                ("mean number", in_system(result)),
            ]
        },
    );
}

/// Q01.
#[test]
fn one_exponential_server() {
    first_come_first_served(1, "0.8/s", 32, "50000s");
}

/// Q02.
#[test]
fn four_exponential_servers() {
    first_come_first_served(4, "3.2/s", 32, "12500s");
}

/// Q03.
#[test]
fn one_server_with_lognormal_service() {
    let deployment = format!(
        "service.slots = {{ prefill.lognormal = {{ mean = \"1s\", cv = {:?} }}, decode = \"0s\" }}\n\
         scaling = {{ min = 1, max = 1 }}\ntraffic.t.arrivals = \"0.5/s\"",
        2_f64.sqrt()
    );
    let moments = lognormal_moments(1.0, 2_f64.sqrt());
    let mean = mg1_mean_wait(0.5, 1.0, 2_f64.sqrt());
    let claims = [
        ("mean wait", mean),
        (
            "mean square wait",
            mean * mean + mg1_wait_std(0.5, moments).powi(2),
        ),
        ("share that waits", 0.5),
    ];
    hold(
        &queue("1000s", "60000s", &deployment),
        32,
        EVERYTHING,
        &claims,
        |result| {
            let waits = sampled_waits(result);
            let mean = |of: fn(f64) -> f64| {
                waits.values().iter().map(|&wait| of(wait)).sum::<f64>() / waits.len() as f64
            };
            vec![
                ("mean wait", mean(|wait| wait)),
                ("mean square wait", mean(|wait| wait * wait)),
                (
                    "share that waits",
                    mean(|wait| f64::from(u8::from(wait > 0.0))),
                ),
            ]
        },
    );
}

/// Q09: ten servers, no queue; the law of the service does not matter.
#[test]
fn a_loss_system_is_insensitive() {
    let blocked = erlang_b(8.0, 10);
    let claims = [
        ("share refused", blocked),
        ("busy replicas", 8.0 * (1.0 - blocked)),
    ];
    for service in ["prefill.exponential.mean = \"1s\"", "prefill = \"1s\""] {
        let deployment = format!(
            "service.slots = {{ {service}, decode = \"0s\" }}\nscaling = {{ min = 10, max = 10 }}\nqueue.limit = 0\n\
             traffic.t.arrivals = \"8/s\""
        );
        hold(
            &queue("100s", "2000s", &deployment),
            32,
            Keep::default(),
            &claims,
            |result| {
                let ledger = &did(result).ledger;
                vec![
                    (
                        "share refused",
                        share(ledger.rejected_queue, ledger.arrived),
                    ),
                    ("busy replicas", time_share(result, Activity::Busy)),
                ]
            },
        );
    }
}

/// Q10: a replica for each request, at once; their number is Poisson for any law of the service.
#[test]
fn unlimited_scale_out_is_poisson() {
    let deployment = format!(
        "service.slots = {{ prefill.gamma = {{ mean = \"2s\", cv = {:?} }}, decode = \"0s\" }}\nscaling.keep_alive = \"none\"\n\
         traffic.t.arrivals = \"5/s\"",
        1.5_f64.sqrt()
    );
    let claims = [
        ("mean", 10.0),
        ("variance", 10.0),
        ("16 or more", poisson_tail(10.0, 16)),
    ];
    hold(
        &queue("100s", "2000s", &deployment),
        32,
        EVERYTHING,
        &claims,
        |result| {
            let ledger = &did(result).ledger;
            let replica_time = u128::from(ledger.replica_time_total().as_nanos());
            assert_eq!(
                replica_time, ledger.request_time,
                "a replica lives as long as its request"
            );
            // Requests under way at the end are not among the traces: none is as old as this.
            let until = result.opened + ledger.window.saturating_sub(Duration::from_secs(200.0));
            let mut changes: Vec<(Time, i32)> = Vec::new();
            for trace in &result.everybody {
                changes.push((trace.arrived.max(result.opened), 1));
                changes.push((trace.end, -1));
            }
            changes.sort_unstable();
            let (mut number, mut from) = (0, result.opened);
            let mut sums = [0.0; 4];
            for (at, change) in changes.into_iter().take_while(|(at, _)| *at < until) {
                let span = at.since(from).as_secs();
                let value = f64::from(number);
                let is_many = f64::from(u8::from(number >= 16));
                for (sum, of) in sums
                    .iter_mut()
                    .zip([1.0, value, (value - 10.0).powi(2), is_many])
                {
                    *sum += span * of;
                }
                (number, from) = (number + change, at);
            }
            let [time, mean, variance, many] = sums;
            vec![
                ("mean", mean / time),
                ("variance", variance / time),
                ("16 or more", many / time),
            ]
        },
    );
}

/// S01: off as soon as idle, exponential set-up.
#[test]
fn one_server_with_setup() {
    let law = Setup {
        arrival_rate: 0.6,
        service_rate: 1.0,
        mean_setup: 10.0,
    };
    let deployment = "service.slots = { prefill.exponential.mean = \"1s\", decode = \"0s\" }\n\
         cold_start.load_weights.exponential.mean = \"10s\"\nscaling = { max = 1, keep_alive = \"none\" }\n\
         traffic.t.arrivals = \"0.6/s\"";
    let claims = [
        ("mean wait", law.mean_wait()),
        ("share that starts it", law.trigger_share()),
        ("share that meets a start", law.cold_share()),
        ("time in set-up", law.setup_share()),
        ("time off", law.trigger_share()),
        ("mean number", 0.6 * law.mean_time()),
    ];
    hold(
        &queue("2000s", "40000s", deployment),
        32,
        EVERYTHING,
        &claims,
        |result| {
            let ledger = &did(result).ledger;
            vec![
                ("mean wait", sampled_waits(result).mean()),
                (
                    "share that starts it",
                    share(ledger.cold_starts(), ledger.arrived),
                ),
                (
                    "share that meets a start",
                    share(ledger.cold_requests, ledger.arrived),
                ),
                ("time in set-up", time_share(result, Activity::Starting)),
                (
                    "time off",
                    1.0 - ledger.replica_time_total().as_secs() / ledger.window.as_secs(),
                ),
                ("mean number", in_system(result)),
            ]
        },
    );
}

/// K01: the share of cold requests by keep-alive, for two laws of the service with one mean.
#[test]
fn keep_alive_decides_the_cold_share() {
    let cold = cold_share(0.01, 60.0, 2.0);
    let claims = [("cold share", cold), ("time up", 1.0 - cold)];
    for service in [
        "prefill.lognormal = { mean = \"2s\", cv = 1 }",
        "prefill = \"2s\"",
    ] {
        let deployment = format!(
            "service.slots = {{ slots = \"unlimited\", {service}, decode = \"0s\" }}\nscaling = {{ max = 1, keep_alive = \"60s\" }}\n\
             traffic.t.arrivals = \"0.01/s\""
        );
        hold(
            &queue("1000s", "1000000s", &deployment),
            32,
            Keep::default(),
            &claims,
            |result| {
                let ledger = &did(result).ledger;
                vec![
                    ("cold share", share(ledger.cold_requests, ledger.arrived)),
                    (
                        "time up",
                        ledger.replica_time_total().as_secs() / ledger.window.as_secs(),
                    ),
                ]
            },
        );
    }
}

/// K02: the same with a set-up during which requests wait.
#[test]
fn keep_alive_with_setup() {
    let law = KeptAlive {
        arrival_rate: 0.02,
        keep_alive: 60.0,
        setup: 20.0,
        service: 2.0,
    };
    let deployment = "service.slots = { slots = \"unlimited\", prefill = \"2s\", decode = \"0s\" }\n\
         cold_start.load_weights = \"20s\"\nscaling = { max = 1, keep_alive = \"60s\" }\ntraffic.t.arrivals = \"0.02/s\"";
    let claims = [
        ("share that starts it", law.trigger_share()),
        ("share that waits", law.wait_share()),
        ("mean wait", law.mean_wait()),
        ("time up", law.up_share()),
    ];
    hold(
        &queue("1000s", "500000s", deployment),
        32,
        EVERYTHING,
        &claims,
        |result| {
            let ledger = &did(result).ledger;
            vec![
                (
                    "share that starts it",
                    share(ledger.cold_starts(), ledger.arrived),
                ),
                (
                    "share that waits",
                    share(ledger.cold_requests, ledger.arrived),
                ),
                ("mean wait", sampled_waits(result).mean()),
                (
                    "time up",
                    ledger.replica_time_total().as_secs() / ledger.window.as_secs(),
                ),
            ]
        },
    );
}

/// A benchmark on top of a few other users; its first request is thrown away.
fn probed(gaps: &str) -> String {
    format!(
        "seed = 20\ntime.warm_up = \"1000s\"\n[benchmark]\nrequests = 75\ndiscard = 1\ngaps = {gaps}\n\
         [providers.p.deployments.m]\nservice.slots = {{ slots = \"unlimited\", prefill = \"2s\", decode = \"0s\" }}\n\
         scaling = {{ max = 1, keep_alive = \"60s\" }}\ntraffic.t.arrivals = \"0.005/s\""
    )
}

fn cold_among_probes(result: &RunResult) -> f64 {
    result.lanes[0]
        .observations()
        .iter()
        .filter(|(_, cold)| *cold == Some(true))
        .count() as f64
}

/// K04: probes further apart than the keep-alive meet a binomial number of cold starts.
#[test]
fn sparse_probes_meet_a_binomial_number_of_cold_starts() {
    let times: Vec<String> = (0..76).map(|index| format!("{}s", 90 * index)).collect();
    let cold = cold_share(0.005, 60.0, 2.0);
    let claims = [
        ("mean", 75.0 * cold),
        ("variance", 75.0 * cold * (1.0 - cold)),
    ];
    hold(
        &probed(&format!("{{ at.times = {times:?} }}")),
        2000,
        Keep::default(),
        &claims,
        |result| {
            let met = cold_among_probes(result);
            vec![("mean", met), ("variance", (met - 75.0 * cold).powi(2))]
        },
    );
}

/// K05: probes no further apart than the keep-alive warm the model for themselves, up to the very instant of its end.
#[test]
fn dense_probes_meet_no_cold_start() {
    for gap in ["3s", "60s"] {
        let plan = plan(&probed(&format!("\"{gap}\"")));
        for replication in 0..20 {
            let (provider, session) = (0, 0);
            let result = run(
                &plan,
                Run {
                    provider,
                    session,
                    replication,
                },
                Keep::default(),
            );
            assert_eq!(
                cold_among_probes(&result),
                0.0,
                "gap {gap}, replication {replication}"
            );
        }
    }
    let plan = plan(&probed("\"60.000000001s\""));
    let one = |replication| {
        let (provider, session) = (0, 0);
        cold_among_probes(&run(
            &plan,
            Run {
                provider,
                session,
                replication,
            },
            Keep::default(),
        ))
    };
    assert!(
        (0..5).map(one).all(|cold| cold > 30.0),
        "a nanosecond more and most are cold"
    );
}
