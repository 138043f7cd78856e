//! The fleet against the slow oracle ([`crate::reference`]): on random small workloads every request gets its first token and
//! ends at the same nanosecond, in the same way, in both.

use crate::reference::workload::{
    Continuous, Model, Nanos, Service, Sharing, Stream, Times, Workload,
};
use crate::reference::{fast, first_difference, fleet, text};
use crate::support::{fleet as scenario, hold, one_of, requests, simulate};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use thermocline::observation::Outcome;

/// Random workloads of each kind.
const CASES: u32 = 1000;

const MS: Nanos = 1_000_000;
const S: Nanos = 1_000_000_000;

/// Holds random workloads of a kind against the slow oracle. All the `ends` must occur among their requests.
fn agree(workloads: &impl Strategy<Value = Workload>, ends: &[&str]) {
    let seen = RefCell::new(BTreeMap::new());
    hold(CASES, workloads, |workload| {
        let (ours, theirs) = (fast(&workload), fleet::simulate(&workload));
        if let Some(difference) = first_difference(&ours, &theirs) {
            panic!("{difference}\n{}", text(&workload));
        }
        let mut seen = seen.borrow_mut();
        for one in theirs {
            *seen.entry(one.outcome).or_insert(0_u32) += 1;
            *seen.entry("cold".to_owned()).or_insert(0) += u32::from(one.cold);
        }
    });
    let seen = seen.into_inner();
    for &end in ends {
        let often = seen.get(end).is_some_and(|&times| times > 10);
        assert!(often, "{end} among {seen:?}");
    }
}

const SERVED: &str = "Succeeded";
const LATE: &str = "TimedOut";
const LOST: &str = "Failed";
const FULL: &str = "Rejected { status: 429 }";
const ASLEEP: &str = "Rejected { status: 503 }";
const TOO_LONG: &str = "Rejected { status: 413 }";
const COLD: &str = "cold";

/// Up to `most` instants: multiples of `grain`, so that a coarse one makes many of them equal.
fn instants(most: usize, grain: Nanos, until: Nanos) -> impl Strategy<Value = Vec<Nanos>> {
    prop::collection::vec(0..until / grain, 0..most).prop_map(move |mut steps| {
        steps.sort_unstable();
        steps.into_iter().map(|step| step * grain).collect()
    })
}

fn maybe(spans: &'static [Nanos]) -> impl Strategy<Value = Option<Nanos>> {
    prop::option::of(prop::sample::select(spans))
}

/// Somebody's requests, of stated lengths.
fn stream(
    grain: Nanos,
    until: Nanos,
    timeouts: &'static [Nanos],
    lengths: impl Strategy<Value = (u32, u32, u32)>,
) -> impl Strategy<Value = Stream> {
    (
        instants(14, grain, until),
        lengths,
        0_u8..3,
        prop::bool::weighted(0.8),
        maybe(timeouts),
    )
        .prop_map(
            |(times, (prompt_tokens, cached_percent, output_tokens), priority, wakes, timeout)| {
                Stream {
                    times,
                    prompt_tokens,
                    cached_percent,
                    output_tokens,
                    model: 0,
                    priority,
                    wakes,
                    timeout,
                }
            },
        )
}

/// Answers differ at least by a little: which of two replicas expires first that became idle at one instant is no rule.
fn times() -> impl Strategy<Value = Times> {
    let prefill = prop::sample::select(&[0, 300 * MS, S][..]);
    let decode = prop::sample::select(&[(0, MS), (S, S + MS), (500 * MS, 4 * S)][..]);
    (prefill, decode).prop_map(|(prefill, (decode_low, decode_high))| Times {
        prefill,
        decode_low,
        decode_high,
    })
}

fn slots() -> impl Strategy<Value = Service> {
    (1_u32..4, times()).prop_map(|(slots, times)| Service::Slots { slots, times })
}

fn fixed() -> impl Strategy<Value = Service> {
    let window = prop::sample::select(&[0, 500 * MS, 2 * S][..]);
    (1_u32..5, window, any::<bool>(), times()).prop_map(
        |(batch_size, window, release_early, times)| Service::Static {
            batch_size,
            window,
            release_early,
            times,
        },
    )
}

/// A continuous batch with more memory than its requests can fill, or with much less.
fn batch(is_tight: bool) -> impl Strategy<Value = Service> {
    let memory = if is_tight {
        400_u32..1_200
    } else {
        100_000..100_001
    };
    let limits = (
        1_u32..8,
        prop::sample::select(&[1_u32, 60, 300, 8192][..]),
        prop::sample::select(&[1_u32, 4, 16][..]),
        memory,
        prop::sample::select(&[850_u32, 5_000][..]),
        any::<bool>(),
    );
    let times = (
        prop::sample::select(&[10 * MS, 20 * MS, 23_000_001][..]),
        prop::sample::select(&[0, MS, 333_333][..]),
        prop::sample::select(&[0, 1_000, 777][..]),
        prop::sample::select(&[0, 50_000, 123_457][..]),
        prop::sample::select(&[0, 2, 46][..]),
    );
    (limits, times).prop_map(|(limits, times)| {
        let (
            max_sequences,
            max_batched_tokens,
            block_tokens,
            kv_tokens,
            max_context_tokens,
            is_by_priority,
        ) = limits;
        let (base, per_sequence, per_context_token, per_prompt_token, per_pair) = times;
        Service::Continuous(Continuous {
            max_sequences,
            max_batched_tokens,
            kv_tokens,
            block_tokens,
            max_context_tokens,
            is_by_priority,
            base,
            per_sequence,
            per_context_token,
            per_prompt_token,
            per_pair,
        })
    })
}

/// Three streams for a continuous batch, in four seconds.
fn tokens(grain: Nanos) -> impl Strategy<Value = Vec<Stream>> {
    let cached = prop::sample::select(&[0_u32, 0, 50, 100][..]);
    let answer = prop_oneof![Just(1_u32), 1_u32..20, 1_u32..300];
    let one = stream(
        grain,
        4 * S,
        &[200 * MS, S, 5 * S],
        (1_u32..600, cached, answer),
    );
    prop::collection::vec(one, 1..4)
}

/// A model that scales in any way.
fn model(
    service: impl Strategy<Value = Service>,
    streams: impl Strategy<Value = Vec<Stream>>,
) -> impl Strategy<Value = Model> {
    const STARTS: [&[Nanos]; 3] = [&[], &[3 * S], &[S, 4 * S + 1]];
    let scaling = (
        0_u32..3,
        0_u32..3,
        0_u32..4,
        0_u32..2,
        1_u32..4,
        maybe(&[0, 1, 3 * S, 10 * S]),
        any::<bool>(),
    );
    let queue = (
        prop::option::of(0_u32..6),
        maybe(&[2 * S, 5 * S]),
        prop::bool::weighted(0.8),
    );
    let start = prop::sample::select(&STARTS[..]);
    let order = one_of(&["most-recently-idle", "least-recently-idle", "newest"]);
    let failures = prop_oneof![Just(Vec::new()), instants(9, 500 * MS, 40 * S)];
    (service, streams, scaling, queue, start, order, failures).prop_map(
        |(service, streams, scaling, queue, start, idle_order, failures)| {
            let (min, more, initial, buffer, target, keep_alive, cancel) = scaling;
            let (queue_limit, queue_timeout, hold_while_cold) = queue;
            let max = (min + more).max(1);
            Model {
                service,
                start: start.to_vec(),
                min,
                max,
                initial: initial.min(max),
                buffer,
                target,
                keep_alive,
                cancel_surplus_starts: cancel,
                idle_order,
                queue_limit,
                queue_timeout,
                hold_while_cold,
                sharing: None,
                failures,
                streams,
            }
        },
    )
}

/// Up to four models on the replicas of each, in batches of one at a time or as adapters.
fn shared(
    service: impl Strategy<Value = Service> + Clone + 'static,
) -> impl Strategy<Value = Workload> {
    let switch = prop::sample::select(&[0, 500 * MS, 2 * S + 1][..]);
    let sharing = (1_u32..4, any::<bool>(), switch, any::<bool>());
    let wants = prop::collection::vec(0_usize..4, 12);
    (many(service, &[500 * MS, 1]), sharing, wants).prop_map(
        |(mut workload, (at_once, keeps_own, switch, first_fit), wants)| {
            let mut wants = wants.into_iter().cycle();
            for model in &mut workload.models {
                model.sharing = Some(Sharing {
                    at_once,
                    keeps_own,
                    switch,
                    first_fit,
                });
                for stream in &mut model.streams {
                    stream.model = wants.next().unwrap_or(0);
                }
            }
            workload
        },
    )
}

/// A model that has one replica and never another.
fn one_replica(
    service: impl Strategy<Value = Service>,
    streams: impl Strategy<Value = Vec<Stream>>,
    limits: impl Strategy<Value = (Option<u32>, Option<Nanos>)>,
) -> impl Strategy<Value = Workload> {
    (service, streams, limits, any::<u32>()).prop_map(
        |(service, streams, (queue_limit, queue_timeout), seed)| Workload {
            seed,
            gpus: None,
            evict_idle: false,
            models: vec![Model {
                service,
                start: Vec::new(),
                min: 1,
                max: 1,
                initial: 1,
                buffer: 0,
                target: 1,
                keep_alive: None,
                cancel_surplus_starts: false,
                idle_order: "newest",
                queue_limit,
                queue_timeout,
                hold_while_cold: true,
                sharing: None,
                failures: Vec::new(),
                streams,
            }],
        },
    )
}

/// Some models that share what GPUs there are.
fn many(
    service: impl Strategy<Value = Service> + Clone + 'static,
    grains: &'static [Nanos],
) -> impl Strategy<Value = Workload> {
    let models = prop::sample::select(grains).prop_flat_map(move |grain| {
        let lengths = (1_u32..100, Just(0), 1_u32..20);
        let streams =
            prop::collection::vec(stream(grain, 40 * S, &[S, 3 * S, 9 * S], lengths), 1..4);
        prop::collection::vec(model(service.clone(), streams), 1..4)
    });
    (
        models,
        any::<u32>(),
        prop::option::of(1_u32..5),
        any::<bool>(),
    )
        .prop_map(|(models, seed, gpus, evict_idle)| Workload {
            seed,
            gpus,
            evict_idle,
            models,
        })
}

#[test]
fn slots_and_scaling_agree_with_the_slow_fleet() {
    let workloads = many(slots().boxed(), &[500 * MS, 1]);
    agree(&workloads, &[SERVED, LATE, LOST, FULL, ASLEEP, COLD]);
}

#[test]
fn static_batches_agree_with_the_slow_fleet() {
    let workloads = many(fixed().boxed(), &[500 * MS, 1]);
    agree(&workloads, &[SERVED, LATE, LOST, FULL, ASLEEP, COLD]);
}

#[test]
fn models_that_share_slots_agree_with_the_slow_fleet() {
    agree(
        &shared(slots().boxed()),
        &[SERVED, LATE, LOST, FULL, ASLEEP, COLD],
    );
}

#[test]
fn models_that_share_batches_agree_with_the_slow_fleet() {
    agree(
        &shared(fixed().boxed()),
        &[SERVED, LATE, LOST, FULL, ASLEEP, COLD],
    );
}

/// Instants on a coarse grid meet the boundaries of iterations, those on a fine one do not.
fn grains() -> impl Strategy<Value = Nanos> {
    prop::sample::select(&[10 * MS, MS, 1][..])
}

#[test]
fn batches_short_of_memory_agree_with_plain_iterations() {
    let workloads = grains().prop_flat_map(|grain| {
        let equals = tokens(grain).prop_map(|mut streams| {
            for stream in &mut streams {
                stream.priority = 0;
            }
            streams
        });
        one_replica(batch(true), equals, Just((None, None)))
    });
    agree(&workloads, &[SERVED, LATE, TOO_LONG]);
}

#[test]
fn batches_with_priorities_agree_with_plain_iterations() {
    let workloads = grains().prop_flat_map(|grain| {
        let limits = (prop::option::of(0_u32..6), maybe(&[S, 3 * S]));
        one_replica(batch(false), tokens(grain), limits)
    });
    agree(&workloads, &[SERVED, LATE, FULL, ASLEEP]);
}

#[test]
fn fleets_of_batches_agree_with_the_slow_fleet() {
    let workloads = many(batch(false).boxed(), &[1]);
    agree(&workloads, &[SERVED, LATE, LOST, FULL, ASLEEP, COLD]);
}

/// A batch is open at its boundaries: whoever comes at the very instant of one joins there, also where the iteration before it
/// computed a prompt and nobody left, and whoever gives up at that instant does not join.
#[test]
fn a_batch_is_open_at_the_instant_of_a_boundary() {
    let result = simulate(&scenario(
        "10s",
        r#"
        [providers.p.deployments.m]
        scaling = { initial = 1, max = 1 }
        service.continuous = { max_sequences = 2, step = { base = "100ms", per_sequence = "0s", prefill_per_token = "1ms" } }
        [providers.p.deployments.m.traffic]
        first = { arrivals.at.times = ["0s"], prompt_tokens = 100, output_tokens = 5 }
        second = { arrivals.at.times = ["100ms"], prompt_tokens = 50, cached_share = "100%", output_tokens = 1 }
        third = { arrivals.at.times = ["150ms"], prompt_tokens = 50, output_tokens = 1, timeout = "50ms" }
        fourth = { arrivals.at.times = ["200ms"], prompt_tokens = 50, cached_share = "100%", output_tokens = 1 }
        "#,
    ));
    let ends: Vec<(Outcome, f64)> = requests(&result, 0)
        .iter()
        .map(|trace| (trace.outcome, trace.end.as_secs()))
        .collect();
    let expected = [
        (Outcome::Succeeded, 0.5),
        (Outcome::Succeeded, 0.2),
        (Outcome::TimedOut, 0.2),
        (Outcome::Succeeded, 0.3),
    ];
    assert_eq!(ends, expected);
}
