//! Continuous batching: sequences join and leave between iterations (Yu et al., Orca, OSDI 2022), over a KV cache in blocks
//! with preemption by recomputation (Kwon et al., `PagedAttention`, SOSP 2023) and chunked prefill (Agrawal et al.,
//! Sarathi-Serve, OSDI 2024), scheduled as vLLM's first version-1 scheduler does.
//!
//! At a boundary, in this order:
//! 1. finished and cancelled sequences have left;
//! 2. decoding sequences get the blocks of their next token; while there are too few, the sequence of lowest priority, then
//!    the one admitted last, is preempted: it gives its blocks back and waits before its equals, to be computed again with
//!    what it has generated as part of its prompt;
//! 3. each decoding sequence takes one token of the iteration's budget;
//! 4. prompts begun earlier take of the rest, in order of admission;
//! 5. waiting jobs are admitted while there is budget, a place, and blocks for their whole prompt; the first that does not
//!    fit blocks those behind it. A prompt that is cached entirely decodes at once.
//!
//! The iteration that completes a prompt gives its first token. Cached tokens save computing, not blocks. Preempted sequences
//! cannot return at the same boundary: the last victim needs more than what it gave back, and it waits before the others.
//!
//! **Fast-forward.** As long as nobody joins or leaves, iteration times follow in closed form (see `segment`), so the replica
//! sleeps until the first finish or the first lack of blocks, and a hand-over or a cancel shortens the sleep to the next
//! boundary, if it changes the batch there. The *clock* counts iterations: a sequence that begins to decode at clock `v` with
//! `n` tokens to go finishes at `v + n` whatever else happens, so nobody's remaining tokens are ever decremented. A job costs a
//! handful of events and O(log B) heap work, however long its answer. Iterations that compute prompts are taken one by one;
//! behind the one that completes all prompts the replica sleeps on, through what is sure to follow if nobody comes or goes
//! (`sure`). Whoever does finds the replica where it would have been.

mod boundary;
mod plan;
mod sequence;

use super::finishing::Finishing;
use super::kv_cache::KvCache;
use super::segment::Segment;
use super::waiting::Waiting;
use super::{Cost, Counters, Job, Listener, Pace, Step};
use crate::time::{Duration, Time};
use sequence::{Held, Sequence};
use slab::Slab;
use smallvec::SmallVec;

/// A replica with continuous batching; already valid.
#[derive(Clone, Debug)]
pub struct ContinuousConfig {
    /// Most sequences at work at once, at least one.
    pub max_sequences: u32,
    /// Most tokens computed in one iteration: one per decoding sequence and the chunks; at least `max_sequences`.
    pub max_batched_tokens: u32,
    /// Size of the KV cache (blocks).
    pub kv_blocks: u32,
    /// Tokens in a block, at least one.
    pub block_tokens: u32,
    /// Longest prompt and answer together (tokens).
    pub max_context_tokens: u32,
    /// Who joins first.
    pub admission: Admission,
    /// Iteration times.
    pub cost: Cost,
}

impl ContinuousConfig {
    /// Longest prompt and answer together that fit into the context limit and, alone, into the KV cache (tokens).
    #[inline]
    pub fn most_tokens(&self) -> u64 {
        let room = u64::from(self.kv_blocks) * u64::from(self.block_tokens);
        room.min(u64::from(self.max_context_tokens))
    }
}

/// Order in which waiting jobs join a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// In order of hand-over; priorities are ignored.
    Fcfs,
    /// Highest priority first; low priority is preempted first.
    Priority,
}

/// A replica with continuous batching.
#[derive(Clone, Debug)]
pub struct Continuous {
    config: ContinuousConfig,
    kv: KvCache,
    waiting: Waiting<Held>,
    /// Blocks that the waiting jobs need to join.
    waiting_blocks: u64,
    /// Sequences at work, by slot.
    sequences: Slab<Sequence>,
    /// Running sequences that decode, and their total context before the next iteration (tokens).
    decoding: u32,
    context: u64,
    /// Running sequences whose prompt is incomplete, in order of admission.
    prefilling: SmallVec<[u32; 4]>,
    /// How many of them have a chunk in the current iteration.
    chunks: usize,
    finishing: Finishing,
    /// Running sequences whose client left.
    cancelled: u32,
    /// Number of iterations done.
    clock: u64,
    admissions: u64,
    phase: Phase,
    /// What follows the current segment unless a job comes or goes before its end.
    sure: Option<Sure>,
    /// The last boundary, and how much later it really was (s).
    ended: (Time, f64),
    counters: Counters,
}

/// What the replica does now.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Idle,
    /// The batch of this instant is not yet fixed.
    Boundary(Time),
    Iterating(Segment),
}

/// The iterations behind one that completes all prompts.
#[derive(Clone, Copy, Debug)]
struct Sure {
    segment: Segment,
    /// Blocks that the decoding sequences get where it begins.
    blocks: u64,
}

/// What the owner calls.
impl Continuous {
    pub(super) fn new(config: ContinuousConfig) -> Self {
        Self {
            kv: KvCache::new(config.kv_blocks, config.block_tokens),
            config,
            waiting: Waiting::default(),
            waiting_blocks: 0,
            sequences: Slab::new(),
            decoding: 0,
            context: 0,
            prefilling: SmallVec::new(),
            chunks: 0,
            finishing: Finishing::default(),
            cancelled: 0,
            clock: 0,
            admissions: 0,
            phase: Phase::Idle,
            sure: None,
            ended: (Time::ZERO, 0.0),
            counters: Counters::default(),
        }
    }

    /// Whether a place and blocks for the prompt are free besides those that waiting jobs will take. In the middle of a
    /// segment the blocks are those of its start. A job that can never fit has room to be dropped.
    #[inline(always)]
    pub(super) fn has_room(&self, now: Time, job: &Job) -> bool {
        let jobs = self.sequences.len() + self.waiting.len();
        let begun = self.sure.filter(|sure| sure.segment.start() < now);
        let blocks = self.waiting_blocks
            + self.kv.blocks_for(u64::from(job.prompt_tokens))
            + begun.map_or(0, |sure| sure.blocks);
        jobs < self.config.max_sequences as usize && self.kv.fits(blocks)
            || job.tokens() > self.config.most_tokens()
    }

    #[inline(never)]
    pub(super) fn push(&mut self, now: Time, job: &Job, steps: &mut impl Listener) {
        debug_assert!(
            job.cached_tokens <= job.prompt_tokens && job.output_tokens > 0,
            "{job:?}"
        );
        if job.tokens() > self.config.most_tokens() {
            steps.hear(Step::Dropped {
                key: job.key,
                at: now,
            });
            return;
        }
        self.catch_up(now);
        let held = Held::new(job);
        self.waiting_blocks += self.blocks_to_join(&held);
        let place = self.waiting.push(self.rank(&held), held);
        match self.phase {
            Phase::Idle => self.phase = Phase::Boundary(now),
            // Behind another one it can join only where that one does, which cuts the segment if need be.
            Phase::Iterating(segment) if place == 0 => self.cut_to_admit(now, segment),
            Phase::Boundary(_) | Phase::Iterating(_) => {}
        }
    }

    #[inline(always)]
    pub(super) fn wake_at(&self) -> Option<Time> {
        match self.phase {
            Phase::Idle => None,
            Phase::Boundary(at) => Some(at),
            Phase::Iterating(segment) => Some(self.sure.map_or(segment, |sure| sure.segment).end()),
        }
    }

    #[inline(never)]
    pub(super) fn run(&mut self, now: Time, steps: &mut impl Listener) {
        if !matches!(self.phase, Phase::Iterating(_)) {
            return self.plan(now, steps);
        }
        self.catch_up(now);
        let Phase::Iterating(segment) = self.phase else {
            return;
        };
        self.end_segment(segment);
        self.finish(now, steps);
        self.purge();
        self.phase = if self.sequences.is_empty() && self.waiting.is_empty() {
            Phase::Idle
        } else {
            Phase::Boundary(now)
        };
    }

    pub(super) fn cancel(&mut self, now: Time, key: u32) {
        self.catch_up(now);
        if let Some(held) = self.waiting.remove(|held| held.key == key) {
            self.waiting_blocks -= self.blocks_to_join(&held);
            self.counters.abandoned_tokens += u64::from(held.generated);
            if let Phase::Iterating(segment) = self.phase {
                self.cut_to_admit(now, segment);
            }
            return;
        }
        let mut running = self.sequences.iter_mut().map(|(_, sequence)| sequence);
        let held = |sequence: &&mut Sequence| !sequence.cancelled && sequence.held.key == key;
        let Some(sequence) = running.find(held) else {
            return;
        };
        sequence.cancelled = true;
        self.cancelled += 1;
        match self.phase {
            Phase::Iterating(segment) => self.cut(segment, segment.next_boundary(now)),
            Phase::Boundary(_) | Phase::Idle => self.purge(),
        }
    }

    pub(super) fn fail(&mut self, now: Time) -> Vec<u32> {
        self.catch_up(now);
        let mut running: Vec<_> = self
            .sequences
            .iter()
            .map(|(_, sequence)| sequence)
            .collect();
        running.sort_unstable_by_key(|sequence| sequence.admitted);
        let running = running
            .into_iter()
            .filter(|sequence| !sequence.cancelled)
            .map(|sequence| sequence.held.key);
        let keys = running
            .chain(self.waiting.iter().map(|held| held.key))
            .collect();
        let abandoned = self.held_tokens();
        let counters = self.counters;
        *self = Self::new(self.config.clone());
        self.counters = counters;
        self.counters.abandoned_tokens += abandoned;
        keys
    }

    pub(super) fn outstanding(&self) -> usize {
        self.sequences.len() - self.cancelled as usize + self.waiting.len()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    /// A decoding sequence gets a token at each boundary of the segment, and one whose prompt the segment completes at its end.
    pub(super) fn pace(&self, now: Time, key: u32) -> Option<Pace> {
        let after = now + Duration::from_nanos(1);
        if self.sure.is_some_and(|sure| sure.segment.start() < after) {
            let mut there = self.clone();
            there.catch_up(after);
            return there.pace(now, key);
        }
        let mut running = self.sequences.iter().map(|(_, sequence)| sequence);
        let sequence = running.find(|sequence| sequence.held.key == key)?;
        let before = sequence.generated(self.clock);
        let Phase::Iterating(segment) = self.phase else {
            return Some(Pace {
                tokens: before as u32,
                next_at: None,
            });
        };
        if !sequence.decoding {
            return Some(Pace {
                tokens: before as u32,
                next_at: Some(segment.end()),
            });
        }
        let next = segment.next_boundary(after);
        Some(Pace {
            tokens: (before + next - 1) as u32,
            next_at: Some(segment.boundary(next)),
        })
    }

    /// Output tokens, up to the last boundary, of jobs that are waiting or at work.
    pub(super) fn held_tokens(&self) -> u64 {
        let running = self.sequences.iter();
        let running: u64 = running
            .map(|(_, sequence)| sequence.generated(self.clock))
            .sum();
        running
            + self
                .waiting
                .iter()
                .map(|held| u64::from(held.generated))
                .sum::<u64>()
    }
}

/// Where the owner's calls meet an iteration.
impl Continuous {
    /// Ends the segment at the next boundary if the first waiting job can join there.
    #[inline(always)]
    fn cut_to_admit(&mut self, now: Time, segment: Segment) {
        let Some(first) = self.waiting.front() else {
            return;
        };
        let place = self.sequences.len() < self.config.max_sequences as usize
            && self.decoding < self.config.max_batched_tokens;
        if !place || segment.count() == 1 {
            return;
        }
        let count = segment.next_boundary(now);
        if self
            .kv
            .fits(self.kv.growth(self.clock + 1, count) + self.blocks_to_join(first))
        {
            self.cut(segment, count);
        }
    }

    #[inline(always)]
    fn cut(&mut self, mut segment: Segment, count: u64) {
        if count < segment.count() {
            segment.cut(count);
            self.phase = Phase::Iterating(segment);
        }
    }

    fn rank(&self, held: &Held) -> u8 {
        match self.config.admission {
            Admission::Fcfs => 0,
            Admission::Priority => held.priority,
        }
    }

    /// Blocks that a job needs to join.
    #[inline(always)]
    fn blocks_to_join(&self, held: &Held) -> u64 {
        self.kv.blocks_for(u64::from(held.prompt()))
    }
}
