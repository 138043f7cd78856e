//! Attention memory in blocks of tokens, and when the decoding sequences fill it.
//!
//! A sequence holds `ceil(context / block)` blocks. While the batch decodes, every context grows by one token per iteration,
//! so a sequence needs its next block every `block` iterations, at a phase that stays the same as long as it decodes. Counting
//! the sequences by phase gives the blocks needed by any run of iterations without looking at the sequences.

use std::hint::cold_path;

/// The KV cache of a replica. The *clock* counts its iterations.
#[derive(Clone, Debug)]
pub(super) struct KvCache {
    block: u64,
    /// Binary logarithm of the block where it has one, as all usual blocks do: shifting is quicker than dividing.
    shift: Option<u32>,
    blocks: u64,
    used: u64,
    /// Number of decoding sequences by `(context - clock) mod block`.
    phases: Vec<u32>,
    decoding: u64,
}

impl KvCache {
    /// An empty cache of `blocks` blocks of `block_tokens` tokens each.
    pub(super) fn new(blocks: u32, block_tokens: u32) -> Self {
        Self {
            block: u64::from(block_tokens),
            shift: block_tokens
                .is_power_of_two()
                .then(|| block_tokens.trailing_zeros()),
            blocks: u64::from(blocks),
            used: 0,
            phases: vec![0; block_tokens as usize],
            decoding: 0,
        }
    }

    /// Blocks that `tokens` tokens of context occupy.
    #[inline]
    pub(super) fn blocks_for(&self, tokens: u64) -> u64 {
        let (whole, rest) = self.split(tokens);
        whole + u64::from(rest > 0)
    }

    /// Whole blocks in `tokens` tokens, and the rest.
    #[inline(always)]
    fn split(&self, tokens: u64) -> (u64, u64) {
        if let Some(shift) = self.shift {
            (tokens >> shift, tokens & (self.block - 1))
        } else {
            cold_path();
            (tokens / self.block, tokens % self.block)
        }
    }

    /// Whether `blocks` more blocks are free.
    #[inline]
    pub(super) fn fits(&self, blocks: u64) -> bool {
        self.used + blocks <= self.blocks
    }

    pub(super) fn take(&mut self, blocks: u64) {
        self.used += blocks;
        debug_assert!(self.used <= self.blocks, "more KV blocks than there are");
    }

    pub(super) fn give(&mut self, blocks: u64) {
        self.used -= blocks;
    }

    /// A sequence with `context` tokens decodes from iteration `clock` on.
    pub(super) fn enter(&mut self, clock: u64, context: u64) {
        let phase = self.phase(clock, context);
        self.phases[phase] += 1;
        self.decoding += 1;
    }

    /// A sequence that has `context` tokens before iteration `clock` decodes no more.
    pub(super) fn leave(&mut self, clock: u64, context: u64) {
        let phase = self.phase(clock, context);
        self.phases[phase] -= 1;
        self.decoding -= 1;
    }

    /// Blocks that the decoding sequences need in addition for the `count` iterations from `clock` on.
    #[inline(always)]
    pub(super) fn growth(&self, clock: u64, count: u64) -> u64 {
        match count {
            0 => 0,
            1 => u64::from(self.phases[self.phase(clock, 1)]),
            _ => self.growth_over(clock, count),
        }
    }

    #[inline(never)]
    fn growth_over(&self, clock: u64, count: u64) -> u64 {
        let (whole, rest) = self.split(count);
        let number = |tokens: u64| i32::try_from(tokens).unwrap_or(i32::MAX);
        let first = number(self.phase(clock, 1) as u64);
        let (rest, block) = (number(rest), number(self.block));
        // One pass over all phases, without a branch: which of them are due can hardly be foretold.
        let due = (0..).zip(&self.phases).map(|(phase, sequences)| {
            let turns: i32 = first - phase;
            let wait = if turns < 0 { turns + block } else { turns };
            if wait < rest { *sequences } else { 0 }
        });
        whole * self.decoding + u64::from(due.sum::<u32>())
    }

    /// Whether a sequence with `context` tokens needs a block for the last of them.
    pub(super) fn opens_block(&self, context: u64) -> bool {
        self.split(context - 1).1 == 0
    }

    /// Whether `count` iterations of so many decoding sequences fit in any case, when the first one gets these blocks.
    pub(super) fn lasts(&self, sequences: u32, blocks: u64, count: u64) -> bool {
        self.fits(blocks + (self.split(count).0 + 1) * u64::from(sequences))
    }

    /// How many iterations from `clock` on fit, at most `limit`, when the first one has its blocks already.
    #[inline(always)]
    pub(super) fn iterations(&self, clock: u64, limit: u64) -> u64 {
        let free = self.blocks - self.used;
        if self.decoding == 0 || (self.split(limit).0 + 1) * self.decoding <= free {
            return limit;
        }
        // Less than one block per sequence is left after the whole rounds, so one more round does not fit.
        let whole = free / self.decoding;
        let mut left = free % self.decoding;
        let rest = self.due(clock + 1).take_while(|blocks| {
            let fits = *blocks <= left;
            left -= if fits { *blocks } else { 0 };
            fits
        });
        limit.min(1 + whole * self.block + rest.count() as u64)
    }

    /// Blocks that each of the `block` iterations from `clock` on needs: one for every sequence whose context has just passed
    /// a multiple of the block.
    fn due(&self, clock: u64) -> impl Iterator<Item = u64> {
        let (now, later) = self.phases.split_at(self.phase(clock, 1) + 1);
        now.iter()
            .rev()
            .chain(later.iter().rev())
            .map(|sequences| u64::from(*sequences))
    }

    #[inline(always)]
    fn phase(&self, clock: u64, context: u64) -> usize {
        let (_, rest) = self.split(clock);
        self.split(context + self.block - rest).1 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks before and after each iteration by counting every sequence.
    fn plain_growth(contexts: &[u64], block: u64, steps: u64) -> u64 {
        let blocks = |extra: u64| {
            contexts
                .iter()
                .map(|c| (c + extra).div_ceil(block))
                .sum::<u64>()
        };
        // The first of these iterations needs blocks for the contexts as they are; one token less was held before.
        let held: u64 = contexts.iter().map(|c| (c - 1).div_ceil(block)).sum();
        if steps == 0 {
            0
        } else {
            blocks(steps - 1) - held
        }
    }

    #[test]
    fn growth_by_phases_equals_growth_by_counting() {
        for block in [1, 3, 16] {
            for clock in [0, 5, 1000] {
                let contexts = [1, 2, 15, 16, 17, 33, 100, 1001];
                let mut cache = KvCache::new(1000, block as u32);
                for context in contexts {
                    cache.enter(clock, context);
                }
                for steps in 0..60 {
                    assert_eq!(
                        cache.growth(clock, steps),
                        plain_growth(&contexts, block, steps)
                    );
                }
            }
        }
    }

    #[test]
    fn iterations_stop_exactly_where_the_blocks_end() {
        for block in [1, 4, 16] {
            for free in 0..40 {
                let mut cache = KvCache::new(free, block);
                for context in [3, 9, 16, 17, 40] {
                    cache.enter(7, context);
                }
                let count = cache.iterations(7, 500);
                assert!(cache.growth(8, count - 1) <= u64::from(free));
                assert!(count == 500 || cache.growth(8, count) > u64::from(free));
            }
        }
    }
}
