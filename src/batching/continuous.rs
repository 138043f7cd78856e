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

use super::finishing::{Finish, Finishing};
use super::kv_cache::KvCache;
use super::segment::Segment;
use super::waiting::Waiting;
use super::{Coefficients, Cost, Counters, Job, Pace, PromptChunk, Step};
use crate::time::{Duration, Time};
use slab::Slab;
use smallvec::SmallVec;
use std::cmp::Reverse;

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

/// A job and how far it has come.
#[derive(Clone, Copy, Debug)]
struct Held {
    key: u32,
    prompt_tokens: u32,
    cached_tokens: u32,
    output_tokens: u32,
    priority: u8,
    /// Output tokens so far; in a decoding sequence, before the clock at which it began.
    generated: u32,
    /// Time spent computing its prompt (s).
    prefill_s: f64,
}

/// A job at work: one line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Sequence {
    held: Held,
    /// Number of its admission.
    admitted: u64,
    /// Prompt tokens that are computed or cached; all of them in a decoding sequence.
    computed: u32,
    /// Prompt tokens that the current iteration computes.
    chunk: u32,
    /// Clock at which it began to decode.
    since: u64,
    decoding: bool,
    cancelled: bool,
}

/// Sequences whose first token an iteration gives.
type FirstTokens = SmallVec<[u32; 8]>;

impl Held {
    fn new(job: &Job) -> Self {
        Self {
            key: job.key,
            prompt_tokens: job.prompt_tokens,
            cached_tokens: job.cached_tokens,
            output_tokens: job.output_tokens,
            priority: job.priority,
            generated: 0,
            prefill_s: 0.0,
        }
    }

    /// What must be computed or cached before the next token: the prompt, and after a preemption the answer so far.
    fn prompt(&self) -> u32 {
        self.prompt_tokens + self.generated
    }
}

impl Sequence {
    /// Output tokens before iteration `clock`.
    fn generated(&self, clock: u64) -> u64 {
        let decoded = if self.decoding { clock - self.since } else { 0 };
        u64::from(self.held.generated) + decoded
    }

    /// Context before iteration `clock`, when decoding (tokens).
    fn context(&self, clock: u64) -> u64 {
        u64::from(self.held.prompt_tokens) + self.generated(clock)
    }
}

/// What the owner calls.
impl Continuous {
    pub(super) fn new(config: ContinuousConfig) -> Self {
        Self {
            kv: KvCache::new(config.kv_blocks, config.block_tokens),
            config,
            waiting: Waiting::new(),
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
    pub(super) fn has_room(&self, now: Time, job: &Job) -> bool {
        let jobs = self.sequences.len() + self.waiting.len();
        let begun = self.sure.filter(|sure| sure.segment.start() < now);
        let blocks = self.waiting_blocks
            + self.kv.blocks_for(u64::from(job.prompt_tokens))
            + begun.map_or(0, |sure| sure.blocks);
        jobs < self.config.max_sequences as usize && self.kv.fits(blocks)
            || job.tokens() > self.config.most_tokens()
    }

    pub(super) fn push(&mut self, now: Time, job: &Job, steps: &mut Vec<Step>) {
        debug_assert!(
            job.cached_tokens <= job.prompt_tokens && job.output_tokens > 0,
            "{job:?}"
        );
        if job.tokens() > self.config.most_tokens() {
            steps.push(Step::Dropped {
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

    pub(super) fn wake_at(&self) -> Option<Time> {
        match self.phase {
            Phase::Idle => None,
            Phase::Boundary(at) => Some(at),
            Phase::Iterating(segment) => Some(self.sure.map_or(segment, |sure| sure.segment).end()),
        }
    }

    pub(super) fn run(&mut self, now: Time, steps: &mut Vec<Step>) {
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
        self.phase = if self.sequences.is_empty() && self.waiting.len() == 0 {
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

/// What an iteration's end does.
impl Continuous {
    /// Goes to where the replica is by now, if it has slept through a boundary, and forgets what was sure, because somebody comes
    /// or goes.
    fn catch_up(&mut self, now: Time) {
        let (Some(sure), Phase::Iterating(segment)) = (self.sure.take(), self.phase) else {
            return;
        };
        if segment.end() > now {
            return;
        }
        self.end_segment(segment);
        self.phase = if segment.end() == now {
            Phase::Boundary(now)
        } else {
            debug_assert_eq!(sure.blocks, self.kv.growth(self.clock, 1), "not so sure");
            self.kv.take(sure.blocks);
            Phase::Iterating(sure.segment)
        };
    }

    fn end_segment(&mut self, segment: Segment) {
        self.ended = (segment.end(), segment.carry());
        self.advance(segment.count());
        self.complete_chunks();
    }

    /// Counts `count` iterations of the current batch.
    fn advance(&mut self, count: u64) {
        let tokens = u64::from(self.decoding) * count;
        self.kv.take(self.kv.growth(self.clock + 1, count - 1));
        self.clock += count;
        self.context += tokens;
        self.counters.iterations += count;
        self.counters.segments += 1;
        self.counters.output_tokens += tokens;
    }

    /// Prompts advance by their chunks; a complete one gives a token and begins to decode.
    fn complete_chunks(&mut self) {
        if std::mem::take(&mut self.chunks) == 0 {
            return;
        }
        let mut prefilling = std::mem::take(&mut self.prefilling);
        prefilling.retain(|slot| !self.complete_chunk(*slot));
        self.prefilling = prefilling;
    }

    /// A prompt advances by its chunk; whether it is complete.
    fn complete_chunk(&mut self, slot: u32) -> bool {
        let sequence = &mut self.sequences[slot as usize];
        let tokens = std::mem::take(&mut sequence.chunk);
        sequence.computed += tokens;
        self.counters.prefill_tokens += u64::from(tokens);
        let is_complete = sequence.computed == sequence.held.prompt();
        if is_complete {
            sequence.held.generated += 1;
            self.counters.output_tokens += 1;
            self.begin_decoding(slot);
        }
        is_complete
    }

    fn begin_decoding(&mut self, slot: u32) {
        let sequence = &mut self.sequences[slot as usize];
        sequence.decoding = true;
        sequence.since = self.clock;
        let context = sequence.context(self.clock);
        let remaining = sequence.held.output_tokens - sequence.held.generated;
        let clock = self.clock + u64::from(remaining);
        self.finishing.push(Finish {
            clock,
            admitted: sequence.admitted,
            slot,
        });
        self.kv.enter(self.clock, context);
        self.decoding += 1;
        self.context += context;
    }

    /// Lets the sequences go that have all their tokens.
    fn finish(&mut self, now: Time, steps: &mut Vec<Step>) {
        while let Some(slot) = self
            .next_finish()
            .filter(|next| next.clock == self.clock)
            .map(|next| next.slot)
        {
            self.finishing.take_next();
            let Sequence {
                held, cancelled, ..
            } = self.release(slot);
            let tokens = u64::from(held.output_tokens);
            if cancelled {
                self.cancelled -= 1;
                self.counters.abandoned_tokens += tokens;
            } else {
                self.counters.finished += 1;
                self.counters.finished_tokens += tokens;
                steps.push(Step::Finished {
                    key: held.key,
                    at: now,
                });
            }
        }
    }

    /// The earliest finish.
    #[inline]
    fn next_finish(&mut self) -> Option<Finish> {
        let sequences = &self.sequences;
        self.finishing.next(|finish| {
            let there = sequences.get(finish.slot as usize);
            there.is_some_and(|sequence| sequence.admitted == finish.admitted)
        })
    }

    /// Lets the cancelled sequences go.
    fn purge(&mut self) {
        if self.cancelled == 0 {
            return;
        }
        let cancelled = self.sequences.iter().filter(|(_, one)| one.cancelled);
        let cancelled: Vec<usize> = cancelled.map(|(slot, _)| slot).collect();
        for slot in cancelled {
            let sequence = self.release(slot as u32);
            self.counters.abandoned_tokens += sequence.generated(self.clock);
        }
        self.cancelled = 0;
    }

    /// Takes a sequence out of the batch, at a boundary before the decoding sequences have got the blocks of their next token.
    fn release(&mut self, slot: u32) -> Sequence {
        let sequence = self.sequences.remove(slot as usize);
        if sequence.decoding {
            let context = sequence.context(self.clock);
            self.kv.leave(self.clock, context);
            self.kv.give(self.kv.blocks_for(context - 1));
            self.decoding -= 1;
            self.context -= context;
        } else {
            self.kv.give(self.blocks_to_join(&sequence.held));
            self.prefilling.retain(|other| *other != slot);
        }
        sequence
    }
}

/// How the next iteration is put together.
impl Continuous {
    fn plan(&mut self, now: Time, steps: &mut Vec<Step>) {
        self.grow(now, steps);
        let mut first_tokens = FirstTokens::new();
        let mut budget = self.config.max_batched_tokens.saturating_sub(self.decoding);
        for index in 0..self.prefilling.len() {
            budget -= self.add_chunk(self.prefilling[index], budget, &mut first_tokens);
        }
        while budget > 0
            && let Some(slot) = self.admit(now, steps)
        {
            budget -= if self.sequences[slot as usize].decoding {
                first_tokens.push(slot);
                1
            } else {
                self.add_chunk(slot, budget, &mut first_tokens)
            };
        }
        self.start(now, &first_tokens, steps);
    }

    /// Gives each decoding sequence the blocks of its next token, preempting as long as there are too few.
    fn grow(&mut self, now: Time, steps: &mut Vec<Step>) {
        let mut blocks = self.kv.growth(self.clock, 1);
        while !self.kv.fits(blocks) {
            self.preempt(now, steps);
            blocks = self.kv.growth(self.clock, 1);
        }
        self.kv.take(blocks);
    }

    /// Sends the sequence of lowest priority, then the one admitted last, back to wait.
    fn preempt(&mut self, now: Time, steps: &mut Vec<Step>) {
        let victim = self
            .sequences
            .iter()
            .min_by_key(|(_, sequence)| (self.rank(&sequence.held), Reverse(sequence.admitted)));
        let Some((slot, _)) = victim else {
            unreachable!("blocks are missing and nobody holds any");
        };
        let sequence = self.release(slot as u32);
        let mut held = sequence.held;
        held.generated = sequence.generated(self.clock) as u32;
        self.waiting_blocks += self.blocks_to_join(&held);
        self.waiting.push_front(self.rank(&held), held);
        self.counters.preemptions += 1;
        steps.push(Step::Preempted {
            key: held.key,
            at: now,
        });
    }

    /// Lets the first waiting job join if there are a place and blocks.
    fn admit(&mut self, now: Time, steps: &mut Vec<Step>) -> Option<u32> {
        let blocks = self.blocks_to_join(self.waiting.front()?);
        if self.sequences.len() >= self.config.max_sequences as usize || !self.kv.fits(blocks) {
            return None;
        }
        let held = self.waiting.pop()?;
        self.waiting_blocks -= blocks;
        self.kv.take(blocks);
        self.admissions += 1;
        steps.push(Step::Joined {
            key: held.key,
            at: now,
        });
        let computed = held.cached_tokens;
        let sequence = Sequence {
            held,
            admitted: self.admissions,
            computed,
            chunk: 0,
            since: 0,
            decoding: false,
            cancelled: false,
        };
        let slot = self.sequences.insert(sequence) as u32;
        if computed == held.prompt() {
            self.begin_decoding(slot);
        } else {
            self.prefilling.push(slot);
        }
        Some(slot)
    }

    /// Computes as much of a prompt as `budget` allows. Returns the tokens taken.
    fn add_chunk(&mut self, slot: u32, budget: u32, first_tokens: &mut FirstTokens) -> u32 {
        let sequence = &mut self.sequences[slot as usize];
        let missing = sequence.held.prompt() - sequence.computed;
        let tokens = missing.min(budget);
        if tokens > 0 {
            sequence.chunk = tokens;
            self.chunks += 1;
            if tokens == missing && sequence.held.generated == 0 {
                first_tokens.push(slot);
            }
        }
        tokens
    }

    /// Starts the iterations of the batch as it is now.
    fn start(&mut self, now: Time, first_tokens: &[u32], steps: &mut Vec<Step>) {
        if self.sequences.is_empty() {
            debug_assert!(self.waiting.len() == 0, "an empty replica lets jobs wait");
            self.phase = Phase::Idle;
            return;
        }
        let step = self.config.cost.step(self.decoding);
        let base_s = if self.chunks == 0 {
            step.base_s
        } else {
            self.pass_s()
        };
        let count = self.iterations_unchanged();
        let carry = if self.ended.0 == now {
            self.ended.1
        } else {
            0.0
        };
        let segment = segment(now, carry, (base_s, step), self.batch(), count);
        self.phase = Phase::Iterating(segment);
        self.sure = self.look_ahead(segment);
        if first_tokens.is_empty() {
            return;
        }
        let at = segment.boundary(1);
        for &slot in first_tokens {
            let held = &self.sequences[slot as usize].held;
            steps.push(Step::FirstToken {
                key: held.key,
                at,
                prefill: Duration::from_secs(held.prefill_s),
            });
        }
    }

    /// What follows an iteration that completes all prompts, if nobody can join, leave or run out of blocks at its end.
    fn look_ahead(&mut self, now: Segment) -> Option<Sure> {
        let is_alone = self.waiting.len() == 0 && self.cancelled == 0;
        if !is_alone || self.chunks == 0 || self.chunks < self.prefilling.len() {
            return None;
        }
        let clock = self.clock + 1;
        let mut first = self.next_finish().map_or(u64::MAX, |next| next.clock);
        let mut blocks = self.kv.growth(clock, 1);
        let mut batch = self.batch();
        batch.context += u64::from(batch.sequences);
        for &slot in &self.prefilling {
            let sequence = &self.sequences[slot as usize];
            let held = &sequence.held;
            if sequence.computed + sequence.chunk < held.prompt() {
                return None;
            }
            let context = u64::from(held.prompt()) + 1;
            first = first.min(clock + u64::from(held.output_tokens - held.generated - 1));
            blocks += u64::from(self.kv.opens_block(context));
            batch.sequences += 1;
            batch.context += context;
        }
        let count = first - clock;
        if count == 0 || !self.kv.lasts(batch.sequences, blocks, count) {
            return None;
        }
        let step = self.config.cost.step(batch.sequences);
        let segment = segment(now.end(), now.carry(), (step.base_s, step), batch, count);
        Some(Sure { segment, blocks })
    }

    /// The decoding sequences as they are now.
    fn batch(&self) -> Batch {
        Batch {
            sequences: self.decoding,
            context: self.context,
        }
    }

    /// Time of a pass with the chunks (s); what each costs by itself is entered in its sequence's account.
    fn pass_s(&mut self) -> f64 {
        let mut pass = SmallVec::<[PromptChunk; 8]>::new();
        for &slot in &self.prefilling {
            let sequence = &mut self.sequences[slot as usize];
            if sequence.chunk == 0 {
                continue;
            }
            let chunk = PromptChunk {
                tokens: sequence.chunk,
                before: sequence.computed,
            };
            sequence.held.prefill_s += self.config.cost.prefill(chunk);
            pass.push(chunk);
        }
        self.config.cost.pass(self.decoding, &pass)
    }

    /// Number of iterations until somebody finishes, blocks are missing, or a chunk ends.
    fn iterations_unchanged(&mut self) -> u64 {
        match self.next_finish() {
            Some(next) if self.chunks == 0 => {
                self.kv.iterations(self.clock, next.clock - self.clock)
            }
            _ => 1,
        }
    }

    /// Ends the segment at the next boundary if the first waiting job can join there.
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
    fn blocks_to_join(&self, held: &Held) -> u64 {
        self.kv.blocks_for(u64::from(held.prompt()))
    }
}

/// Decoding sequences, and their total context (tokens).
#[derive(Clone, Copy, Debug)]
struct Batch {
    sequences: u32,
    context: u64,
}

/// `count` iterations of a batch, each of `base_s` and the time to read the context (s).
fn segment(
    start: Time,
    carry: f64,
    (base_s, step): (f64, Coefficients),
    batch: Batch,
    count: u64,
) -> Segment {
    let alpha = base_s + step.per_context_token_s * batch.context as f64;
    let beta = step.per_context_token_s * f64::from(batch.sequences);
    Segment::new(start, carry, alpha, beta, count)
}
