//! The fast model of continuous batching against the oracle on random traces.
//!
//! The fast model rounds instants to a nanosecond without letting the roundings add up; with the oracle's own summation
//! error they may differ by one nanosecond.

use super::drive::{Outcome, drive};
use super::oracle::{Event, Oracle, simulate};
use super::{Admission, Config, ContinuousConfig, Cost, Job, StatedCost};
use crate::time::{Duration, Time};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;

fn configs() -> impl Strategy<Value = ContinuousConfig> {
    let limits = (
        1_u32..13,
        prop::sample::select(&[1_u32, 4, 16, 16][..]),
        prop::sample::select(&[700_u32, 1100, 100_000][..]),
        prop::sample::select(&[0_u32, 50, 300, 8192][..]),
        prop::sample::select(&[Admission::Fcfs, Admission::Priority][..]),
    );
    let cost = (
        0.005..0.025,
        0.0..0.001,
        prop_oneof![Just(0.0), 0.0..1e-6],
        0.0..1e-4,
        0.0..1e-8,
    );
    (limits, cost).prop_map(
        |((max_sequences, block_tokens, kv_tokens, budget, admission), cost)| ContinuousConfig {
            max_sequences,
            max_batched_tokens: max_sequences + budget,
            kv_blocks: kv_tokens / block_tokens,
            block_tokens,
            max_context_tokens: 850,
            admission,
            cost: Cost::Stated(StatedCost {
                base_s: cost.0,
                per_sequence_s: cost.1,
                per_context_token_s: cost.2,
                prefill_per_token_s: cost.3,
                prefill_per_pair_s: cost.4,
            }),
        },
    )
}

/// A job without a key, how long after the one before it comes, and how long after that it is cancelled; both in mean gaps.
fn jobs() -> impl Strategy<Value = (Job, f64, Option<f64>)> {
    let exponential = || (1e-9..1.0_f64).prop_map(|uniform| -uniform.ln());
    let cached = prop::sample::select(&[0.0, 0.0, 0.5, 1.0][..]);
    let answer = prop_oneof![Just(1_u32), 1_u32..21, 1_u32..301];
    let job = (0_u32..600, cached, answer, 0_u8..3).prop_map(
        |(prompt_tokens, cached, output_tokens, priority)| Job {
            key: 0,
            prompt_tokens,
            cached_tokens: (f64::from(prompt_tokens) * cached) as u32,
            output_tokens,
            priority,
            prefill: Duration::ZERO,
            decode: Duration::ZERO,
        },
    );
    // A fifth arrives together with the one before.
    let gap = prop_oneof![1 => Just(0.0), 4 => exponential()];
    let patience = exponential().prop_map(|gaps| 3.0 * gaps);
    (job, gap, prop::option::weighted(0.25, patience))
}

fn traces() -> impl Strategy<Value = Vec<(Time, Event)>> {
    (
        prop::collection::vec(jobs(), 1..60),
        0.2..2.2,
        any::<bool>(),
    )
        .prop_map(|(jobs, gap, cancelling)| {
            let (mut trace, mut at) = (Vec::new(), 0.0);
            for (key, (job, after, patience)) in (0..).zip(jobs) {
                at += gap * after;
                trace.push((Time::from_secs(at), Event::Arrive(Job { key, ..job })));
                if let Some(patience) = patience.filter(|_| cancelling) {
                    trace.push((Time::from_secs(at + gap * patience), Event::Cancel(key)));
                }
            }
            trace.sort_by_key(|(at, _)| *at);
            trace
        })
}

fn assert_near(what: &str, ours: Option<Time>, theirs: Option<f64>) {
    match (ours, theirs) {
        (Some(at), Some(expected)) => {
            let error = (at.as_nanos() as f64 - expected * 1e9).abs();
            assert!(
                error <= 1.0,
                "{what}: {at}, expected {expected} s, off by {error} ns"
            );
        }
        (ours, theirs) => assert_eq!(
            ours.is_some(),
            theirs.is_some(),
            "{what}: {ours:?} {theirs:?}"
        ),
    }
}

fn assert_agrees(outcome: &Outcome, oracle: &Oracle<'_>, trace: &[(Time, Event)]) {
    let counters = outcome.counters;
    assert_eq!(counters.iterations, oracle.iterations);
    assert_eq!(counters.output_tokens, oracle.tokens);
    assert_eq!(counters.preemptions, oracle.preemptions);
    for (_, event) in trace {
        let Event::Arrive(job) = event else { continue };
        let (ours, theirs) = (
            &outcome.jobs[job.key as usize],
            &oracle.expected[job.key as usize],
        );
        assert_near("joined", ours.joined, theirs.joined);
        assert_near("finished", ours.finished, theirs.finished);
        // An owner that holds jobs back learns late that one does not fit.
        assert!(ours.dropped == theirs.dropped || ours.cancelled);
        if ours.cancelled && theirs.first_token.is_none() {
            continue; // it had been announced, and became void
        }
        assert_near("first token", ours.first_token, theirs.first_token);
        assert!((ours.prefill.as_secs() - theirs.prefill).abs() < 1e-9);
    }
}

/// What happened, over all traces.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    preemptions: u64,
    cancelled: usize,
    dropped: usize,
    finished: usize,
    iterations: u64,
    segments: u64,
}

fn compare(config: &ContinuousConfig, trace: &[(Time, Event)], tally: &mut Tally) {
    let outcome = drive(&Config::Continuous(config.clone()), trace, false);
    let oracle = simulate(config, trace);
    assert_agrees(&outcome, &oracle, trace);
    // Segments end where the batch changes and nowhere else, but for the place that a job would have taken which is
    // cancelled or overtaken between its arrival and the boundary.
    let mut events = trace.iter();
    let cancels = events.any(|(_, event)| matches!(event, Event::Cancel(_)));
    let spurious = outcome.counters.segments - oracle.changes;
    assert!(
        spurious == 0 || spurious <= 3 && (cancels || config.admission == Admission::Priority),
        "{spurious}"
    );
    if config.admission == Admission::Fcfs {
        // Where the queue stands makes no difference to one replica.
        let late = drive(&Config::Continuous(config.clone()), trace, true);
        assert_agrees(&late, &oracle, trace);
    }
    tally.preemptions += outcome.counters.preemptions;
    tally.iterations += outcome.counters.iterations;
    tally.segments += outcome.counters.segments;
    for job in &outcome.jobs {
        tally.cancelled += usize::from(job.cancelled);
        tally.dropped += usize::from(job.dropped);
        tally.finished += usize::from(job.finished.is_some());
    }
}

/// The cases are the same in every run: an arrival within half a nanosecond of a boundary may fall on either side of it, which
/// happens about once in a hundred thousand traces.
#[test]
fn fast_forwarding_agrees_with_plain_iterations_on_random_traces() {
    let config = ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let tally = Cell::new(Tally::default());
    let result =
        TestRunner::new_with_rng(config, rng).run(&(configs(), traces()), |(config, trace)| {
            let mut sum = tally.get();
            compare(&config, &trace, &mut sum);
            tally.set(sum);
            Ok(())
        });
    if let Err(error) = result {
        panic!("{error}");
    }
    // The traces do exercise what they are for.
    let tally = tally.get();
    assert!(
        tally.preemptions > 500
            && tally.cancelled > 1_000
            && tally.dropped > 250
            && tally.finished > 20_000
            && tally.iterations > 2 * tally.segments,
        "{tally:?}"
    );
}
