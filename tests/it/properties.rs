//! What holds in every run, whatever the scenario: requests and replica time are conserved, causes come first, parts add up,
//! nobody waits beside a free replica, one more replica never hurts, watching changes nothing.

use crate::determinism::digest;
use crate::support::{EVERYTHING, Life, begun, lives, plan, requests, waited};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::BTreeMap;
use std::fmt::Write;
use thermocline::experiment::{Keep, Plan, Run, RunResult, run};
use thermocline::fleet::config::Router;
use thermocline::fleet::{Origin, RequestTrace};
use thermocline::observation::Outcome;
use thermocline::scenario::{self, Overrides};
use thermocline::time::{Duration, Time};

/// Some cases, and no file of failures beside the sources.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    }
}

fn first(plan: &Plan, keep: Keep) -> RunResult {
    let (provider, session, replication) = (0, 0, 0);
    run(
        plan,
        Run {
            provider,
            session,
            replication,
        },
        keep,
    )
}

fn one_of(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(choices)
}

/// The tables of a deployment that decide how it scales, queues and loses.
fn deployment() -> impl Strategy<Value = String> {
    let service = (
        1_u32..4,
        one_of(&["\"1s\"", "{ exponential.mean = \"1s\" }", "\"0s\""]),
        one_of(&[
            "\"0s\"",
            "\"3s\"",
            "{ gamma = { mean = \"4s\", cv = 1.5 } }",
        ]),
    )
        .prop_map(|(slots, prefill, decode)| {
            format!(
                "service.slots = {{ slots = {slots}, prefill = {prefill}, decode = {decode} }}\n"
            )
        });
    let start = one_of(&[
        "",
        "cold_start.load_weights = \"7s\"\n",
        "cold_start = { provision = \"2s\", load_weights.exponential.mean = \"9s\", warm_up = \"1s\" }\n",
    ]);
    let rungs = one_of(&[
        "",
        "warmth.host_ram = { capacity = 2, initial = 1, keep = \"20s\", start.load_weights = \"2s\", refill = true, price = \"1usd/h\" }\n",
    ]);
    let rule = one_of(&[
        "arrival = {}",
        "arrival.target = 1",
        "poll.interval = \"5s\"",
        "concurrency = { tick = \"2s\", stable_window = \"20s\", scale_to_zero_grace = \"5s\" }",
        "rate = { target = \"0.3/s\", tick = \"2s\", stable_window = \"20s\", scale_to_zero_grace = \"5s\" }",
    ]);
    let scaling = (rule, 0_u32..3, 1_u32..4, 0_u32..3, one_of(&["none", "3s", "10s", "infinite"]), 0_u32..3, any::<bool>(), any::<bool>()).prop_map(
        |(rule, min, more, initial, keep_alive, buffer, cancel, hours)| {
            let max = min + more;
            let is_arrival = rule.starts_with("arrival");
            let buffer = if is_arrival || rule.starts_with("poll") { buffer } else { 0 };
            let hours = if hours { "warm_hours = [{ from = \"00:00:30\", to = \"00:01:10\", min = 2 }], " } else { "" };
            format!(
                "scaling = {{ min = {min}, max = {max}, initial = {}, buffer = {buffer}, keep_alive = \"{keep_alive}\", \
                 cancel_surplus_starts = {}, {hours}rule.{rule} }}\n",
                initial.min(max),
                cancel && is_arrival
            )
        },
    );
    let queue = one_of(&[
        "",
        "queue.limit = 3\n",
        "queue = { limit = 5, timeout = \"6s\" }\n",
        "queue = { hold_while_cold = false, timeout = \"4s\" }\n",
    ]);
    let losses = one_of(&[
        "",
        "losses = { failure = \"1/min\", eviction = \"3/min\", failures_at = [\"10s\", \"33s\"] }\n",
    ]);
    let router = one_of(&[
        "shared-queue",
        "shared-queue",
        "shared-queue",
        "round-robin",
        "random",
        "least-outstanding",
        "two-choices",
    ]);
    let order = one_of(&["most-recently-idle", "least-recently-idle", "newest"]);
    (service, start, rungs, scaling, queue, losses, router, order).prop_map(|(service, start, rungs, scaling, queue, losses, router, order)| {
        format!("gpu = \"h100-sxm\"\nprice = \"2usd/h\"\nrouter = \"{router}\"\nidle_order = \"{order}\"\n{service}{start}{rungs}{scaling}{queue}{losses}")
    })
}

fn traffic() -> impl Strategy<Value = String> {
    let arrivals = one_of(&[
        "deterministic.rate = \"0.5/s\"",
        "poisson.rate = \"0.6/s\"",
        "gamma = { rate = \"0.5/s\", cv = 3 }",
        "mmpp = { calm_rate = \"0.1/s\", burst_rate = \"3/s\", calm_mean = \"20s\", burst_mean = \"3s\" }",
        "at.times = [\"0s\", \"0s\", \"10s\", \"10s\", \"10s\", \"40s\"]",
    ]);
    (arrivals, one_of(&["none", "2s", "9s"]), 0_u8..3, prop::bool::weighted(0.8))
        .prop_map(|(arrivals, timeout, priority, wakes)| format!("{{ arrivals.{arrivals}, timeout = \"{timeout}\", priority = {priority}, wakes = {wakes} }}"))
}

/// A whole scenario: some models on a stock of GPUs, a benchmark across a network, an optional warm-up.
fn scenario(warm_up: bool) -> impl Strategy<Value = String> {
    let models =
        prop::collection::vec((deployment(), prop::collection::vec(traffic(), 0..3)), 1..4);
    let bench = (
        0_u32..6,
        one_of(&[
            "\"0s\"",
            "\"4s\"",
            "{ even.over = \"60s\" }",
            "{ bursts = { size = 2, gap = \"0s\", every = \"20s\" } }",
        ]),
        one_of(&["3s", "20s", "5m"]),
    );
    (models, bench, any::<u32>(), 1_u32..6, any::<bool>(), one_of(&["\"0s\"", "\"80ms\"", "{ exponential.mean = \"1s\" }"]), one_of(&["0s", "13s"])).prop_map(
        move |(models, (requests, gaps, timeout), seed, gpus, evict, rtt, before)| {
            let before = if warm_up { before } else { "0s" };
            let mut text = format!(
                "seed = {seed}\ntime = {{ warm_up = \"{before}\", horizon = \"100s\" }}\n\
                 benchmark = {{ requests = {requests}, discard = 1, gaps = {gaps}, timeout = \"{timeout}\" }}\n\
                 [providers.p]\ngpus.h100-sxm = {gpus}\nevict_idle = {evict}\nnetwork.rtt = {rtt}\n"
            );
            for (index, (model, streams)) in models.into_iter().enumerate() {
                write!(text, "[providers.p.deployments.m{index}]\n{model}").expect("text");
                for (stream, traffic) in streams.into_iter().enumerate() {
                    writeln!(text, "traffic.t{stream} = {traffic}").expect("text");
                }
            }
            text
        },
    )
}

/// Causes come before effects, and the parts of a wait make the whole.
fn check_trace(trace: &RequestTrace, plan: &Plan) {
    assert!(
        trace.sent <= trace.arrived || trace.outcome == Outcome::TimedOut,
        "{trace:?}"
    );
    assert!(
        trace.arrived <= trace.end || trace.outcome == Outcome::TimedOut,
        "{trace:?}"
    );
    if let Some(first) = trace.first_token {
        assert!(trace.arrived <= first && first <= trace.end, "{trace:?}");
        assert_eq!(first.since(trace.sent), trace.parts.total(), "{trace:?}");
        assert!(
            trace.replica.is_some() && trace.placement.is_some(),
            "{trace:?}"
        );
    }
    if trace.outcome == Outcome::Succeeded {
        assert!(trace.first_token.is_some(), "{trace:?}");
    }
    let started: Duration = trace.parts.start.iter().copied().sum();
    assert!(
        trace.cold || started == Duration::ZERO,
        "a warm request waited for a start: {trace:?}"
    );
    let timeout = match trace.origin {
        Origin::Traffic(stream) => {
            plan.providers[0].fleet.deployments[trace.deployment as usize].traffic[stream as usize]
                .timeout
        }
        Origin::Benchmark(_) => plan.benchmark.timeout,
    };
    if let (Some(timeout), Some(first)) = (timeout, trace.first_token) {
        assert!(
            first.since(trace.sent) <= timeout,
            "later than its client waited: {trace:?}"
        );
    }
    if trace.outcome == Outcome::TimedOut {
        assert_eq!(Some(trace.end.since(trace.sent)), timeout);
    }
}

/// Counters of the ledger agree with the requests and the replicas' moves.
fn check_accounts(result: &RunResult, plan: &Plan) {
    let closed = result.opened + result.fleet[0].ledger.window;
    let all = lives(&result.replicas);
    for (deployment, did) in result.fleet.iter().enumerate() {
        let ledger = &did.ledger;
        assert!(ledger.is_conserved(), "{ledger:?}");
        let own = || {
            result
                .everybody
                .iter()
                .filter(|trace| trace.deployment as usize == deployment)
        };
        // One that its client gave up on the network never reached the fleet.
        let count = |test: fn(Outcome) -> bool| {
            own()
                .filter(|trace| test(trace.outcome) && trace.end.min(closed) >= result.opened)
                .count() as u64
        };
        assert_eq!(count(|outcome| outcome == Outcome::Failed), ledger.failed);
        assert_eq!(
            count(|outcome| matches!(outcome, Outcome::Rejected { .. })),
            ledger.rejected()
        );
        assert_eq!(
            count(|outcome| outcome == Outcome::Succeeded),
            ledger.succeeded
        );
        assert!(count(|outcome| outcome == Outcome::TimedOut) >= ledger.timed_out);
        // A start that waits for its GPU holds none, so lives bound the time of replicas from above.
        let alive: u64 = all
            .iter()
            .filter(|life| life.deployment as usize == deployment)
            .map(|life| overlap(life.born.max(result.opened), life.stopped.min(closed)))
            .sum();
        let booked = ledger.replica_time_total().as_nanos();
        assert!(booked <= alive, "booked {booked} of {alive} ns");
        let gpu: u128 = ledger.gpu_time.iter().sum();
        assert_eq!(gpu, u128::from(booked), "one GPU a replica");
        let max = plan.providers[0].fleet.deployments[deployment].scaling.max;
        assert!(
            ledger.peak_replicas <= max,
            "{} replicas of at most {max}",
            ledger.peak_replicas
        );
    }
    // The stock is never exceeded.
    let stock = u64::from(plan.providers[0].fleet.pools[0].gpus);
    let booked: u64 = result
        .fleet
        .iter()
        .map(|did| did.ledger.replica_time_total().as_nanos())
        .sum();
    assert!(booked <= stock * closed.since(result.opened).as_nanos());
}

fn overlap(from: Time, until: Time) -> u64 {
    until.saturating_since(from).as_nanos()
}

/// With one queue, nobody waits at any time while a ready replica of the model has a free slot.
fn check_late_binding(result: &RunResult, plan: &Plan) {
    let closed = result.opened + result.fleet[0].ledger.window;
    for (deployment, config) in plan.providers[0].fleet.deployments.iter().enumerate() {
        if config.router != Router::SharedQueue {
            continue;
        }
        let thermocline::batching::Config::Slots { slots } = config.placements[0].batching else {
            continue;
        };
        let own = requests(result, deployment as u32);
        let replicas: Vec<Life> = lives(&result.replicas)
            .into_iter()
            .filter(|life| life.deployment as usize == deployment)
            .collect();
        // The fleet's side of each request: when it came, when service began and when it was over.
        let over = |trace: &RequestTrace| {
            let downlink = match trace.origin {
                Origin::Traffic(_) => Duration::ZERO,
                Origin::Benchmark(_) => return None,
            };
            Some((
                trace.arrived,
                begun(trace),
                trace
                    .end
                    .saturating_since(Time::ZERO)
                    .saturating_sub(downlink),
            ))
        };
        // The benchmark's requests end at the client; without them the picture is whole only where there are none.
        let Some(spans) = own
            .iter()
            .map(|trace| over(trace))
            .collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let mut instants: Vec<Time> = spans
            .iter()
            .flat_map(|(came, began, end)| [Some(*came), *began, Some(Time::ZERO + *end)])
            .flatten()
            .collect();
        instants.extend(replicas.iter().flat_map(|life| [life.ready, life.closed]));
        instants.retain(|&at| at < closed);
        instants.sort_unstable();
        instants.dedup();
        // Requests still in the system at the end are not among the traces: they may hold slots.
        let unseen = result.fleet[deployment].ledger.in_flight_end;
        if unseen > 0 {
            continue;
        }
        for at in instants {
            let waiting = spans
                .iter()
                .filter(|(came, began, end)| *came <= at && at < began.unwrap_or(Time::ZERO + *end))
                .count();
            let running = spans
                .iter()
                .filter(|(_, began, end)| {
                    began.is_some_and(|began| began <= at) && at < Time::ZERO + *end
                })
                .count();
            let draining = replicas
                .iter()
                .filter(|life| life.closed <= at && at < life.stopped)
                .count();
            let ready = replicas
                .iter()
                .filter(|life| life.ready <= at && at < life.closed)
                .count();
            let room = ready * slots as usize;
            assert!(
                waiting == 0 || draining > 0 || running >= room,
                "{waiting} wait at {at} beside {ready} replicas that run {running}"
            );
        }
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn every_run_obeys_the_books(text in scenario(true)) {
        let plan = plan(&text);
        let result = first(&plan, EVERYTHING);
        for trace in &result.everybody {
            check_trace(trace, &plan);
        }
        for lane in &result.lanes {
            prop_assert_eq!(lane.requests.len() + lane.discarded, plan.benchmark.total() as usize);
            for (seen, trace) in &lane.requests {
                prop_assert!(trace.is_some());
                prop_assert_eq!(seen.ttft(), seen.first_token().map(|_| trace.as_ref().expect("checked").parts.total()));
            }
        }
        check_accounts(&result, &plan);
        check_late_binding(&result, &plan);
    }

    /// Without warm-up, and once all have ended, the time in the system is the sum over requests (Little's law on the path).
    #[test]
    fn littles_law_is_an_identity(text in scenario(false)) {
        let mut plan = plan(&text);
        // The benchmark's requests end at their client, a network's way after they have left the system.
        plan.providers[0].benchmarked.clear();
        let result = first(&plan, EVERYTHING);
        for (deployment, did) in result.fleet.iter().enumerate() {
            if did.ledger.in_flight_end > 0 {
                continue;
            }
            let total: u128 = requests(&result, deployment as u32).iter().map(|trace| u128::from(trace.end.since(trace.arrived).as_nanos())).sum();
            prop_assert_eq!(total, did.ledger.request_time);
        }
    }

    /// On GPUs that never run out, replica time is the sum of the lives that the moves tell, exactly.
    #[test]
    fn replica_time_is_the_sum_of_lives(text in scenario(true)) {
        let plan = plan(&text.replace("gpus.h100-sxm = ", "gpus.a100-80gb = "));
        let result = first(&plan, EVERYTHING);
        let closed = result.opened + result.fleet[0].ledger.window;
        for (deployment, did) in result.fleet.iter().enumerate() {
            let own = lives(&result.replicas).into_iter().filter(|life| life.deployment as usize == deployment);
            let alive: u64 = own.map(|life| overlap(life.born.max(result.opened), life.stopped.min(closed))).sum();
            prop_assert_eq!(did.ledger.replica_time_total().as_nanos(), alive);
            let cost = did.ledger.gpu_usd - alive as f64 / 3.6e12 * 2.0;
            prop_assert!(cost.abs() < 1e-9, "off by {} USD", cost);
        }
    }

    #[test]
    fn watching_changes_nothing(text in scenario(true)) {
        let plan = plan(&text);
        let (plain, mut watched) = (first(&plan, Keep::default()), first(&plan, EVERYTHING));
        watched.everybody.clear();
        watched.replicas.clear();
        prop_assert_eq!(digest(&plain), digest(&watched));
    }

    /// With replicas that are always there and one queue, one more makes nobody wait longer: all requests bring their own
    /// randomness with them.
    #[test]
    fn one_more_replica_never_lengthens_a_wait(
        seed in any::<u32>(),
        replicas in 1_u32..5,
        slots in 1_u32..3,
        service in one_of(&["{ exponential.mean = \"2s\" }", "\"2s\"", "{ gamma = { mean = \"2s\", cv = 3 } }"]),
        rate in one_of(&["0.3/s", "1/s", "3/s"]),
        order in one_of(&["most-recently-idle", "least-recently-idle", "newest"]),
    ) {
        let waits = |replicas: u32| {
            let text = format!(
                "seed = {seed}\ntime = {{ warm_up = \"0s\", horizon = \"300s\" }}\nbenchmark = {{ requests = 0, discard = 0 }}\n\
                 [providers.p.deployments.m]\nidle_order = \"{order}\"\n\
                 service.slots = {{ slots = {slots}, prefill = \"0s\", decode = {service} }}\n\
                 scaling = {{ min = {replicas}, max = {replicas} }}\n\
                 traffic.t.arrivals = \"{rate}\""
            );
            let result = first(&plan(&text), EVERYTHING);
            let ended = requests(&result, 0).into_iter().map(|trace| (trace.arrived, waited(trace)));
            ended.collect::<BTreeMap<Time, Duration>>()
        };
        let (few, more) = (waits(replicas), waits(replicas + 1));
        for (arrived, without) in few {
            let with = more.get(&arrived).expect("it ends no later");
            prop_assert!(*with <= without, "came {}: waits {} with one more, {} without", arrived, with, without);
        }
    }
}

const LESSON: &str = include_str!("../../scenarios/lesson.toml");

proptest! {
    #![proptest_config(config(300))]

    /// Whatever becomes of a scenario's text, reading it gives a plan or problems, never a panic.
    #[test]
    fn reading_a_mangled_scenario_never_panics(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, prop::sample::select(&[
            "", "\"", "=", "[", "]", "{", "}", "\n", "-", "1e308", "\"-1s\"", "nan", "0", "true", "[[x]]\n", "seed = 1\n",
            "µ", "\u{0}", "\"5m\"", "{ exponential.mean = \"1s\" }", "infinite", "'''", "#",
        ][..])), 1..6),
    ) {
        let mut text = LESSON.to_owned();
        for (at, length, insert) in edits {
            let start = text.floor_char_boundary(at.index(text.len() + 1));
            let end = text.ceil_char_boundary((start + length).min(text.len()));
            text.replace_range(start..end, insert);
        }
        if let Err(error) = scenario::load("mangled.toml", &text, &Overrides::default()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    /// The same for what the command line sets.
    #[test]
    fn setting_anything_never_panics(
        known in one_of(&[
            "", "seed", "time.horizon", "benchmark.gaps", "providers.breadth-first.deployments.niche-model.scaling.keep_alive",
        ]),
        path in "[a-z._\\[\\]0-9\"-]{0,40}",
        value in "[ -~]{0,20}",
    ) {
        let path = if known.is_empty() { path.as_str() } else { known };
        let overrides = Overrides { set: vec![format!("{path}={value}")], ..Overrides::default() };
        if let Err(error) = scenario::load("lesson.toml", LESSON, &overrides) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
