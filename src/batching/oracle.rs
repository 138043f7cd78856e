//! The oracle: continuous batching one iteration at a time, in real-valued seconds, without any shortcut, and the comparison
//! of the fast model with it on random traces.
//!
//! The fast model rounds instants to a nanosecond without letting the roundings add up; with the oracle's own summation
//! error they may differ by one nanosecond.

use super::drive::{Event, Outcome, drive};
use super::{Admission, Config, ContinuousConfig, Cost, Job, PromptChunk, StatedCost};
use crate::time::{Duration, Time};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;

/// What the oracle says of a job: instants in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Expected {
    joined: Option<f64>,
    first_token: Option<f64>,
    prefill: f64,
    finished: Option<f64>,
    dropped: bool,
}

struct Sequence {
    job: Job,
    generated: u32,
    computed: u32,
    prefill: f64,
    blocks: u32,
    admitted: u64,
    cancelled: bool,
}

struct Oracle<'a> {
    config: &'a ContinuousConfig,
    now: f64,
    waiting: Vec<Sequence>,
    running: Vec<Sequence>,
    expected: Vec<Expected>,
    iterations: u64,
    /// Iterations that differ from the one before in their sequences or that compute prompts, or follow one that does.
    changes: u64,
    batch: Vec<u64>,
    tokens: u64,
    preemptions: u64,
    admissions: u64,
}

impl Oracle<'_> {
    fn rank(&self, job: &Job) -> u8 {
        if self.config.admission == Admission::Priority {
            job.priority
        } else {
            0
        }
    }

    fn blocks(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.config.block_tokens)
    }

    fn free(&self) -> u32 {
        self.config.kv_blocks - self.running.iter().map(|s| s.blocks).sum::<u32>()
    }

    fn arrive(&mut self, job: Job) {
        let total = job.prompt_tokens + job.output_tokens;
        if total > self.config.max_context_tokens || self.blocks(total) > self.config.kv_blocks {
            self.expected[job.key as usize].dropped = true;
            return;
        }
        let rank = self.rank(&job);
        let place = self
            .waiting
            .iter()
            .position(|s| self.rank(&s.job) < rank)
            .unwrap_or(self.waiting.len());
        let sequence = Sequence {
            job,
            generated: 0,
            computed: 0,
            prefill: 0.0,
            blocks: 0,
            admitted: 0,
            cancelled: false,
        };
        self.waiting.insert(place, sequence);
    }

    fn cancel(&mut self, key: u32) {
        self.waiting.retain(|s| s.job.key != key);
        for sequence in &mut self.running {
            sequence.cancelled |= sequence.job.key == key;
        }
    }

    fn preempt_until_decoding_fits(&mut self) {
        loop {
            let need = |s: &Sequence| {
                if decodes(s) {
                    self.blocks(s.job.prompt_tokens + s.generated) - s.blocks
                } else {
                    0
                }
            };
            if self.running.iter().map(need).sum::<u32>() <= self.free() {
                break;
            }
            let order = |s: &Sequence| (self.rank(&s.job), u64::MAX - s.admitted);
            let victim = (0..self.running.len())
                .min_by_key(|i| order(&self.running[*i]))
                .expect("somebody holds blocks");
            let mut victim = self.running.remove(victim);
            (victim.blocks, victim.computed) = (0, 0);
            let rank = self.rank(&victim.job);
            let place = self
                .waiting
                .iter()
                .position(|s| self.rank(&s.job) <= rank)
                .unwrap_or(self.waiting.len());
            self.waiting.insert(place, victim);
            self.preemptions += 1;
        }
        for i in 0..self.running.len() {
            if decodes(&self.running[i]) {
                self.running[i].blocks =
                    self.blocks(self.running[i].job.prompt_tokens + self.running[i].generated);
            }
        }
    }

    /// Puts the next iteration together: chunk sizes by position in `running`.
    fn compose(&mut self) -> Vec<u32> {
        self.preempt_until_decoding_fits();
        let decoding = self.running.iter().filter(|s| decodes(s)).count() as u32;
        let mut budget = self.config.max_batched_tokens - decoding;
        let mut chunks = Vec::new();
        for sequence in &self.running {
            let chunk = missing(sequence).min(budget);
            budget -= chunk;
            chunks.push(chunk);
        }
        while budget > 0
            && !self.waiting.is_empty()
            && self.running.len() < self.config.max_sequences as usize
        {
            let blocks = self.blocks(self.waiting[0].job.prompt_tokens + self.waiting[0].generated);
            if blocks > self.free() {
                break;
            }
            let mut sequence = self.waiting.remove(0);
            self.admissions += 1;
            (sequence.blocks, sequence.admitted, sequence.computed) =
                (blocks, self.admissions, sequence.job.cached_tokens);
            self.expected[sequence.job.key as usize]
                .joined
                .get_or_insert(self.now);
            let chunk = missing(&sequence).min(budget);
            budget -= chunk.max(1);
            chunks.push(chunk);
            self.running.push(sequence);
        }
        chunks
    }

    /// One iteration; the jobs stay in the batch until `leave`.
    fn iterate(&mut self) {
        let chunks = self.compose();
        self.count_change(&chunks);
        let (mut sequences, mut context, mut pass) = (0, 0, Vec::new());
        for (sequence, chunk) in self.running.iter_mut().zip(&chunks) {
            if decodes(sequence) {
                sequences += 1;
                context += sequence.job.prompt_tokens + sequence.generated;
            } else if *chunk > 0 {
                let chunk = PromptChunk {
                    tokens: *chunk,
                    before: sequence.computed,
                };
                sequence.prefill += self.config.cost.prefill(chunk);
                pass.push(chunk);
            }
        }
        let step = self.config.cost.step(sequences);
        self.now +=
            self.config.cost.pass(sequences, &pass) + step.per_context_token_s * f64::from(context);
        self.iterations += 1;
        for (sequence, chunk) in self.running.iter_mut().zip(&chunks) {
            let decoded = decodes(sequence);
            sequence.computed += chunk;
            if decoded || (*chunk > 0 && decodes(sequence)) {
                sequence.generated += 1;
                self.tokens += 1;
                // A decoding sequence's newest token is computed with the next one.
                sequence.computed += 1;
                let expected = &mut self.expected[sequence.job.key as usize];
                if expected.first_token.is_none() {
                    (expected.first_token, expected.prefill) = (Some(self.now), sequence.prefill);
                }
            }
        }
    }

    fn count_change(&mut self, chunks: &[u32]) {
        let batch: Vec<u64> = self.running.iter().map(|s| s.admitted).collect();
        let pure = chunks.iter().all(|chunk| *chunk == 0);
        self.changes += u64::from(!pure || batch != self.batch);
        self.batch = if pure { batch } else { Vec::new() };
    }

    fn leave(&mut self) {
        for sequence in &self.running {
            if sequence.generated == sequence.job.output_tokens && !sequence.cancelled {
                self.expected[sequence.job.key as usize].finished = Some(self.now);
            }
        }
        self.running
            .retain(|s| !s.cancelled && s.generated < s.job.output_tokens);
    }
}

/// Whether prompt and answer so far are in the cache, but for the token to compute next.
fn decodes(sequence: &Sequence) -> bool {
    missing(sequence) == 0
}

fn missing(sequence: &Sequence) -> u32 {
    sequence.job.prompt_tokens + sequence.generated - sequence.computed
}

fn simulate<'a>(config: &'a ContinuousConfig, trace: &[(Time, Event)]) -> Oracle<'a> {
    let mut oracle = Oracle {
        config,
        now: 0.0,
        waiting: Vec::new(),
        running: Vec::new(),
        expected: vec![Expected::default(); trace.len()],
        iterations: 0,
        changes: 0,
        batch: Vec::new(),
        tokens: 0,
        preemptions: 0,
        admissions: 0,
    };
    let mut trace = trace.iter().peekable();
    loop {
        if oracle.running.is_empty() && oracle.waiting.is_empty() {
            let Some((at, _)) = trace.peek() else {
                return oracle;
            };
            oracle.now = at.as_secs();
        }
        while let Some((_, event)) = trace.next_if(|(at, _)| at.as_secs() <= oracle.now) {
            match event {
                Event::Arrive(job) => oracle.arrive(*job),
                Event::Cancel(key) => oracle.cancel(*key),
            }
        }
        oracle.leave();
        if !(oracle.running.is_empty() && oracle.waiting.is_empty()) {
            oracle.iterate();
        }
    }
}

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
