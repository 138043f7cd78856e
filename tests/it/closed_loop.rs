//! The loop closes: one benchmark of one scenario, in virtual time and over HTTP against `serve`, says the same.
//!
//! Tolerance. The benchmark over HTTP is one more draw from the distribution that replications in virtual time have, so each of
//! its figures must lie within `SPREAD` standard deviations of their mean (one in 100,000 if they were normal). A client on a
//! busy machine sees a little more than that: how much is measured in the same run on a provider whose every answer is known,
//! as `selftest` does, and added.

use std::net::SocketAddr;
use std::ops::ControlFlow;

use thermocline::experiment::{Keep, Plan, Run, run};
use thermocline::http::{self, ApiKind, Clock, Endpoint};
use thermocline::measure::drive::{Lane, Seen, drive};
use thermocline::measure::protocol::{GapPlan, Protocol};
use thermocline::observation::Observation;
use thermocline::request::EndpointId;
use thermocline::target::Target as _;
use thermocline::time::{Duration, Time};

use crate::endpoint::Endpoint as Served;
use crate::support::plan;

/// A provider whose times never vary, one that is always warm, and two with cold starts: of a model that nobody else uses, and
/// of one whose other users keep it warm now and then.
const SCENARIO: &str = r#"
seed = 5
time = { warm_up = "30m", horizon = "0s" }
benchmark = { requests = 30, discard = 1, gaps = "15s", prompt_tokens = 16, output_tokens = 4 }

[providers.known.deployments.model]
scaling.min = 1
service.slots = { slots = 1, prefill = "1s", decode = "100ms" }

[providers.warm.network]
rtt = "40ms"
[providers.warm.deployments.model]
scaling.min = 2
service.slots = { slots = 4, prefill = { lognormal = { median = "1s", p95 = "2s" } }, decode = "1s" }
traffic.others.arrivals = "360/h"

[providers.lonely.deployments.model]
scaling = { keep_alive = { exponential = { mean = "25s" } } }
service.slots = { slots = 4, prefill = { lognormal = { median = "1s", p95 = "1.5s" } }, decode = "1s" }
cold_start = { container = "5s", load_weights = { lognormal = { median = "15s", p95 = "25s" } } }

[providers.shared.deployments.model]
scaling = { keep_alive = "12s" }
service.continuous = { step.base = "200ms", step.prefill_per_token = "50ms" }
cold_start = { container = "5s", load_weights = { lognormal = { median = "15s", p95 = "25s" } } }
traffic.others = { arrivals = "60/h", prompt_tokens = 16, output_tokens = 4 }
"#;
/// Virtual seconds in a second: 30 requests take about ten seconds.
const SPEED: f64 = 80.0;
/// What lies above is a cold start: warm answers take about a second, cold ones more than ten \[s\].
const COLD: f64 = 8.0;
const REPLICATIONS: u64 = 300;
/// Standard deviations.
const SPREAD: f64 = 4.5;

/// The figures of a benchmark that are compared.
#[derive(Clone, Debug)]
struct Figures {
    cold_share: f64,
    median: f64,
    warm_median: Option<f64>,
    cold_median: Option<f64>,
}

impl Figures {
    fn of(ttfts: &[f64]) -> Self {
        let (cold, warm): (Vec<f64>, Vec<f64>) = ttfts.iter().partition(|ttft| **ttft > COLD);
        Self {
            cold_share: cold.len() as f64 / ttfts.len() as f64,
            median: median(ttfts).expect("there are some"),
            warm_median: median(&warm),
            cold_median: median(&cold),
        }
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle)?;
    if sorted.len().is_multiple_of(2) {
        Some(f64::midpoint(sorted[middle - 1], *upper))
    } else {
        Some(*upper)
    }
}

/// What the benchmark reports in replications in virtual time.
fn simulated(plan: &Plan, provider: usize) -> Vec<Figures> {
    let replication = |replication| {
        let run = run(
            plan,
            Run {
                provider,
                session: 0,
                replication,
            },
            Keep::default(),
        );
        let seen = run.lanes[0].requests.iter();
        let ttfts = seen.map(|(seen, _)| seen.ttft().expect("a token").as_secs());
        Figures::of(&ttfts.collect::<Vec<f64>>())
    };
    (1..=REPLICATIONS).map(replication).collect()
}

/// The times to first token of the same benchmark over HTTP, by provider, in virtual seconds.
fn measured(plan: &Plan, served: &Served) -> Vec<Vec<f64>> {
    let prompt = " the".repeat(plan.benchmark.prompt_tokens as usize);
    let endpoint = |(address, provider, model): &(SocketAddr, String, String)| Endpoint {
        api: ApiKind::Completions,
        ..Endpoint::new(provider, format!("http://{address}/v1"), model, &prompt)
    };
    let endpoints = served.doors.iter().map(endpoint).collect();
    let clock = Clock::starting_at(Time::ZERO);
    let mut target = http::Target::new(endpoints, clock, Box::new(|_| ())).expect("it is sound");
    let GapPlan::Fixed(gap) = plan.benchmark.gaps else {
        panic!("another plan");
    };
    let protocol = Protocol {
        gaps: GapPlan::Fixed(Duration::from_secs(gap.as_secs() / SPEED)),
        timeout: None,
        ..plan.benchmark.clone()
    };
    let lane = |index| Lane {
        endpoint: EndpointId(index),
        protocol: protocol.clone(),
        start: target.now(),
        moves: vec![0; protocol.total() as usize],
        done: Vec::new(),
    };
    let lanes: Vec<Lane> = (0..served.doors.len() as u32).map(lane).collect();
    let seen = drive(&lanes, &mut target, Time::MAX, &mut |_| {
        ControlFlow::Continue(())
    });
    let ttfts = |seen: &Seen| {
        let counted = seen.counted.iter();
        let ttft = |one: &Observation| one.ttft().expect("a token").as_secs() * SPEED;
        counted.map(ttft).collect()
    };
    seen.iter().map(ttfts).collect()
}

/// A figure lies where replications have it, give or take `error`.
fn assert_agrees(what: &str, seen: Option<f64>, expected: &[Option<f64>], error: f64) {
    let Some(seen) = seen else {
        return;
    };
    let expected: Vec<f64> = expected.iter().copied().flatten().collect();
    let n = expected.len() as f64;
    let mean = expected.iter().sum::<f64>() / n;
    let variance = expected.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let tolerance = SPREAD * variance.sqrt() + error;
    assert!(
        (seen - mean).abs() <= tolerance,
        "{what}: {seen} over HTTP, {mean} +- {tolerance} in virtual time"
    );
}

#[test]
fn http_and_virtual_time_agree() {
    let plan = plan(SCENARIO);
    let speed = SPEED.to_string();
    let served = Served::start(SCENARIO, plan.providers.len(), &["--speed", &speed]);
    let seen = measured(&plan, &served);
    let slip = served.figure("thermocline:clock_slip_seconds_total");
    // The client's own error on answers that come after exactly a second, but for a tenth of them.
    let mut late: Vec<f64> = seen[0].iter().map(|ttft| ttft - 1.0).collect();
    late.sort_by(f64::total_cmp);
    let error = late[late.len() * 9 / 10];
    // More would blur the two levels.
    assert!(
        late[0] >= 0.0 && error < 3.0,
        "late by {late:?}; {slip} s lost"
    );
    for (index, ttfts) in seen.iter().enumerate().skip(1) {
        let name = &plan.providers[index].name;
        let (figures, expected) = (Figures::of(ttfts), simulated(&plan, index));
        let of = |figure: fn(&Figures) -> Option<f64>| {
            expected.iter().map(figure).collect::<Vec<Option<f64>>>()
        };
        assert_agrees(
            &format!("cold share of {name}"),
            Some(figures.cold_share),
            &of(|one| Some(one.cold_share)),
            0.0,
        );
        // Between the warm and the cold level a median can lie anywhere.
        if figures.cold_share < 0.3 {
            assert_agrees(
                &format!("median of {name}"),
                Some(figures.median),
                &of(|one| Some(one.median)),
                error,
            );
        }
        assert_agrees(
            &format!("warm median of {name}"),
            figures.warm_median,
            &of(|one| one.warm_median),
            error,
        );
        assert_agrees(
            &format!("cold median of {name}"),
            figures.cold_median,
            &of(|one| one.cold_median),
            error,
        );
    }
}
