//! What holds in every run, whatever the scenario: requests and replica time are conserved, causes come first, parts add up,
//! nobody waits beside a free replica, nothing works faster than it can, one more replica never hurts, watching changes
//! nothing, and another model changes nobody's demand.

mod laws;
mod scenarios;

use crate::journal::Digest;
use crate::support::{config, hold, one_of, plan, requests, run_plan, waited};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use scenarios::{ANY, FINITE, Wish, scenario};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use thermocline::experiment::{Keep, Plan, Run, RunResult, run};
use thermocline::fleet::{Ledger, RequestTrace};
use thermocline::scenario::{self, Overrides};
use thermocline::time::{Duration, Time};

/// Random scenarios for each law.
const CASES: u32 = 100;

/// The plan of a scenario that nobody measures: the benchmark's requests end at their client, a network's way after they
/// have left the fleet.
fn unmeasured(text: &str) -> Plan {
    let mut plan = plan(text);
    plan.providers[0].benchmarked.clear();
    plan
}

proptest! {
    #![proptest_config(config(CASES))]

    #[test]
    fn every_run_obeys_the_books(text in scenario(ANY)) {
        let plan = plan(&text);
        let result = run_plan(&plan);
        for trace in &result.everybody {
            laws::check_trace(trace, &plan);
        }
        for lane in &result.lanes {
            prop_assert_eq!(lane.requests.len() + lane.discarded, plan.benchmark.total() as usize);
            for (seen, trace) in &lane.requests {
                let parts = trace.as_ref().map(|trace| trace.parts.total());
                prop_assert!(parts.is_some());
                prop_assert_eq!(seen.ttft(), parts.filter(|_| seen.first_token().is_some()));
            }
        }
        laws::check_accounts(&result, &plan);
    }

    /// On GPUs that never run out, replica time is the sum of the lives that the moves tell, exactly.
    #[test]
    fn replica_time_is_the_sum_of_lives(text in scenario(Wish { has_stock: false, ..ANY })) {
        let plan = plan(&text);
        let result = run_plan(&plan);
        for (deployment, did) in result.fleet.iter().enumerate() {
            let alive = laws::alive(&result, deployment);
            prop_assert_eq!(did.ledger.replica_time_total().as_nanos(), alive);
            let place = &plan.providers[0].fleet.deployments[deployment].placements[0];
            let usd = alive as f64 / 3.6e12 * f64::from(place.gpus) * place.share.part() * 2.0;
            prop_assert!((did.ledger.gpu_usd - usd).abs() < 1e-9, "{} USD, not {}", did.ledger.gpu_usd, usd);
        }
    }

    #[test]
    fn watching_changes_nothing(text in scenario(ANY)) {
        let plan = plan(&text);
        let mut watched = run_plan(&plan);
        watched.everybody.clear();
        watched.replicas.clear();
        let first = Run { provider: 0, session: 0, replication: 0 };
        prop_assert_eq!(Digest::of(&run(&plan, first, Keep::default())), Digest::of(&watched));
    }

    /// What `check` prints can be read, and means the same.
    #[test]
    fn a_scenario_as_understood_is_a_scenario(text in scenario(ANY)) {
        let understood = |text: &str| match scenario::load("any.toml", text, &Overrides::default()) {
            Ok((_, understood)) => understood.to_plain_toml(),
            Err(error) => format!("{error}"),
        };
        let once = understood(&text);
        prop_assert_eq!(understood(&once), once);
    }

    /// Where GPUs do not run out, one model more leaves all others exactly as they were: their demand and all that becomes
    /// of it. Only the numbers of the replicas change.
    #[test]
    fn another_model_changes_nothing_for_the_others(text in scenario(Wish { has_stock: false, ..ANY }), rate in 1_u32..5) {
        let more = format!(
            "{text}[providers.p.deployments.another]\nscaling.min = 1\nlosses.failure = \"1/min\"\n\
             router = \"random\"\ntraffic.t0.arrivals = \"{rate}/s\"\n"
        );
        let [alone, beside] = [text, more].map(|text| run_plan(&unmeasured(&text)));
        prop_assert_eq!(stories(&alone, alone.fleet.len()), stories(&beside, alone.fleet.len()));
        for (alone, beside) in alone.fleet.iter().zip(&beside.fleet) {
            // Costs are sums of spans that other models' events cut differently: equal but for rounding.
            let (usd, other) = (alone.ledger.gpu_usd, beside.ledger.gpu_usd);
            prop_assert!((usd - other).abs() <= 1e-12 * usd, "{} USD, not {}", other, usd);
            let beside = Ledger { gpu_usd: usd, ..beside.ledger.clone() };
            prop_assert_eq!(&alone.ledger, &beside);
        }
    }

}

/// The stories of the first models' requests, but for the numbers of their replicas.
fn stories(result: &RunResult, models: usize) -> Vec<RequestTrace> {
    let own = result.everybody.iter();
    let own = own.filter(|trace| (trace.deployment as usize) < models);
    own.map(|trace| RequestTrace {
        replica: trace.replica.map(|_| 0),
        ..trace.clone()
    })
    .collect()
}

/// Once all have ended, the time in the system is the sum over requests: Little's law as an identity on the sample path.
#[test]
fn littles_law_is_an_identity() {
    let whole = Cell::new(0);
    hold(CASES, &scenario(FINITE), |text| {
        let result = run_plan(&unmeasured(&text));
        for (deployment, did) in result.fleet.iter().enumerate() {
            if did.ledger.in_flight_end > 0 {
                continue;
            }
            let own = requests(&result, deployment as u32);
            whole.set(whole.get() + own.len());
            let total: u128 = own
                .iter()
                .map(|trace| u128::from(trace.end.since(trace.arrived).as_nanos()))
                .sum();
            assert_eq!(total, did.ledger.request_time, "{text}");
        }
    });
    assert!(whole.get() > 100, "only {} requests", whole.get());
}

/// Nobody waits beside a free slot, and nothing does more than it can.
#[test]
fn free_slots_are_used_and_nothing_exceeds_the_hardware() {
    let (judged, loads) = (Cell::new(0), Cell::new(0));
    hold(CASES, &scenario(FINITE), |text| {
        let plan = unmeasured(&text);
        let result = run_plan(&plan);
        judged.set(judged.get() + laws::check_late_binding(&result, &plan));
        laws::check_work(&result, &plan);
        loads.set(loads.get() + laws::check_loads(&result, &plan));
    });
    // How many of random scenarios a law speaks of is chance; that it speaks of some is not.
    assert!(judged.get() > 0 && loads.get() > 0);
}

/// The scenarios above say something about every key of the language, but for those listed here.
#[test]
fn every_key_of_the_language_is_tried() {
    // A title decides nothing, published figures are for the report, and own entries of the catalogue have tests of their own, as
    // have the ranks of a popularity, which becomes deployments like any others.
    const EXEMPT: [&str; 3] = ["title", "published", "benchmark.ranks"];
    let (mut known, mut stated) = (BTreeSet::new(), BTreeSet::new());
    let mut runner = TestRunner::deterministic();
    for _ in 0..300 {
        let text = scenario(ANY)
            .new_tree(&mut runner)
            .expect("a scenario")
            .current();
        let (_, understood) = scenario::load("any.toml", &text, &Overrides::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let mut table = String::new();
        for line in understood.to_toml().lines() {
            if let Some(header) = line.strip_prefix('[') {
                table = header.trim_matches(['[', ']']).to_owned();
                // A list of tables; an empty one is a default.
                stated.insert(general(&table));
            } else if let Some((key, value)) = line.split_once(" = ") {
                let path = general(&format!("{table}.{key}"));
                if !value.ends_with("# default") {
                    stated.insert(path.clone());
                }
                known.insert(path);
            }
        }
    }
    let untried: Vec<&String> = known
        .difference(&stated)
        .filter(|path| !EXEMPT.contains(&path.trim_start_matches('.')))
        .collect();
    assert!(untried.is_empty(), "{untried:#?}");
    assert!(known.len() > 100, "{known:#?}");
}

/// A key's path with the names of models and streams left out.
fn general(path: &str) -> String {
    let is_own = |part: &&str| {
        let (letter, number) = part.split_at(1);
        matches!(letter, "m" | "t") && number.parse::<u32>().is_ok()
    };
    let parts = path.split('.').map(|part| {
        if !part.is_empty() && is_own(&part) {
            "*"
        } else {
            part
        }
    });
    parts.collect::<Vec<_>>().join(".")
}

proptest! {
    #![proptest_config(config(CASES))]

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
            let result = run_plan(&plan(&text));
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

const LESSON: &str = include_str!("../../../scenarios/lesson.toml");

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
