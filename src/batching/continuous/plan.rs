//! How the next iteration is put together.

use super::sequence::Sequence;
use super::{Continuous, Phase, Sure};
use crate::batching::segment::Segment;
use crate::batching::{Coefficients, Listener, PromptChunk, Step};
use crate::time::{Duration, Time};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// Sequences whose first token an iteration gives.
type FirstTokens = SmallVec<[u32; 8]>;

impl Continuous {
    #[inline(always)]
    pub(super) fn plan(&mut self, now: Time, steps: &mut impl Listener) {
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
    #[inline(always)]
    fn grow(&mut self, now: Time, steps: &mut impl Listener) {
        let mut blocks = self.kv.growth(self.clock, 1);
        while !self.kv.fits(blocks) {
            self.preempt(now, steps);
            blocks = self.kv.growth(self.clock, 1);
        }
        self.kv.take(blocks);
    }

    /// Sends the sequence of lowest priority, then the one admitted last, back to wait.
    #[cold]
    fn preempt(&mut self, now: Time, steps: &mut impl Listener) {
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
        steps.hear(Step::Preempted {
            key: held.key,
            at: now,
        });
    }

    /// Lets the first waiting job join if there are a place and blocks.
    #[inline(always)]
    fn admit(&mut self, now: Time, steps: &mut impl Listener) -> Option<u32> {
        let blocks = self.blocks_to_join(self.waiting.front()?);
        if self.sequences.len() >= self.config.max_sequences as usize || !self.kv.fits(blocks) {
            return None;
        }
        let held = self.waiting.pop()?;
        self.waiting_blocks -= blocks;
        self.kv.take(blocks);
        self.admissions += 1;
        steps.hear(Step::Joined {
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
    #[inline(always)]
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
    #[inline(always)]
    fn start(&mut self, now: Time, first_tokens: &[u32], steps: &mut impl Listener) {
        if self.sequences.is_empty() {
            debug_assert!(self.waiting.is_empty(), "an empty replica lets jobs wait");
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
            steps.hear(Step::FirstToken {
                key: held.key,
                at,
                prefill: Duration::from_secs(held.prefill_s),
            });
        }
    }

    /// What follows an iteration that completes all prompts, if nobody can join, leave or run out of blocks at its end.
    #[inline(always)]
    fn look_ahead(&mut self, now: Segment) -> Option<Sure> {
        let is_alone = self.waiting.is_empty() && self.cancelled == 0;
        if !is_alone || self.chunks == 0 || self.chunks < self.prefilling.len() {
            return None;
        }
        let clock = self.clock + 1;
        let mut first = self.next_finish().map_or(u64::MAX, |next| next.clock());
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
    #[inline(always)]
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
    #[inline(always)]
    fn iterations_unchanged(&mut self) -> u64 {
        match self.next_finish() {
            Some(next) if self.chunks == 0 => {
                self.kv.iterations(self.clock, next.clock() - self.clock)
            }
            _ => 1,
        }
    }
}

/// Decoding sequences, and their total context (tokens).
#[derive(Clone, Copy, Debug)]
struct Batch {
    sequences: u32,
    context: u64,
}

/// `count` iterations of a batch, each of `base_s` and the time to read the context (s).
#[inline(always)]
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
