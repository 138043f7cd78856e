//! What an iteration's end does.

use super::sequence::Sequence;
use super::{Continuous, Phase, Sure};
use crate::batching::finishing::Finish;
use crate::batching::segment::Segment;
use crate::batching::{Listener, Step};
use crate::time::Time;

impl Continuous {
    /// Goes to where the replica is by now, if it has slept through a boundary, and forgets what was sure, because somebody comes
    /// or goes.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Time) {
        let (Some(sure), Phase::Iterating(segment)) = (self.sure.take(), self.phase) else {
            return;
        };
        if segment.end() <= now {
            self.wake(now, segment, sure);
        }
    }

    #[inline(never)]
    fn wake(&mut self, now: Time, segment: Segment, sure: Sure) {
        self.end_segment(segment);
        self.phase = if segment.end() == now {
            Phase::Boundary(now)
        } else {
            debug_assert_eq!(sure.blocks, self.kv.growth(self.clock, 1), "not so sure");
            self.kv.take(sure.blocks);
            Phase::Iterating(sure.segment)
        };
    }

    #[inline(always)]
    pub(super) fn end_segment(&mut self, segment: Segment) {
        self.ended = (segment.end(), segment.carry());
        self.advance(segment.count());
        self.complete_chunks();
    }

    /// Counts `count` iterations of the current batch.
    #[inline(always)]
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
    #[inline(always)]
    fn complete_chunks(&mut self) {
        if std::mem::take(&mut self.chunks) == 0 {
            return;
        }
        // Budget is given in this order, so behind the first that stays incomplete nobody got any.
        let mut complete = 0;
        while let Some(&slot) = self.prefilling.get(complete)
            && self.complete_chunk(slot)
        {
            complete += 1;
        }
        if complete == self.prefilling.len() {
            self.prefilling.clear();
        } else {
            self.prefilling.drain(..complete);
        }
    }

    /// A prompt advances by its chunk; whether it is complete.
    #[inline(always)]
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

    #[inline(always)]
    pub(super) fn begin_decoding(&mut self, slot: u32) {
        let sequence = &mut self.sequences[slot as usize];
        sequence.decoding = true;
        sequence.since = self.clock;
        let context = sequence.context(self.clock);
        let remaining = sequence.held.output_tokens - sequence.held.generated;
        let clock = self.clock + u64::from(remaining);
        self.finishing
            .push(Finish::new(clock, sequence.admitted, slot));
        self.kv.enter(self.clock, context);
        self.decoding += 1;
        self.context += context;
    }

    /// Lets the sequences go that have all their tokens.
    #[inline(always)]
    pub(super) fn finish(&mut self, now: Time, steps: &mut impl Listener) {
        while let Some(next) = self.next_finish()
            && next.clock() == self.clock
        {
            self.finishing.take_next();
            let Sequence {
                held, cancelled, ..
            } = self.release(next.slot());
            let tokens = u64::from(held.output_tokens);
            if cancelled {
                self.cancelled -= 1;
                self.counters.abandoned_tokens += tokens;
            } else {
                self.counters.finished += 1;
                self.counters.finished_tokens += tokens;
                steps.hear(Step::Finished {
                    key: held.key,
                    at: now,
                });
            }
        }
    }

    /// The earliest finish.
    #[inline(always)]
    pub(super) fn next_finish(&mut self) -> Option<Finish> {
        let sequences = &self.sequences;
        self.finishing.next(|finish| {
            let there = sequences.get(finish.slot() as usize);
            there.is_some_and(|sequence| sequence.admitted == finish.admitted())
        })
    }

    /// Lets the cancelled sequences go.
    pub(super) fn purge(&mut self) {
        if self.cancelled > 0 {
            self.purge_cancelled();
        }
    }

    #[cold]
    fn purge_cancelled(&mut self) {
        let cancelled = self.sequences.iter().filter(|(_, one)| one.cancelled);
        let cancelled: Vec<usize> = cancelled.map(|(slot, _)| slot).collect();
        for slot in cancelled {
            let sequence = self.release(slot as u32);
            self.counters.abandoned_tokens += sequence.generated(self.clock);
        }
        self.cancelled = 0;
    }

    /// Takes a sequence out of the batch, at a boundary before the decoding sequences have got the blocks of their next token.
    pub(super) fn release(&mut self, slot: u32) -> Sequence {
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
