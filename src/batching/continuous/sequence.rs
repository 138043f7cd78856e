//! What a replica with continuous batching holds.

use crate::batching::Job;

/// A job and how far it has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) key: u32,
    pub(super) prompt_tokens: u32,
    pub(super) cached_tokens: u32,
    pub(super) output_tokens: u32,
    pub(super) priority: u8,
    /// Output tokens so far; in a decoding sequence, before the clock at which it began.
    pub(super) generated: u32,
    /// Time spent computing its prompt (s).
    pub(super) prefill_s: f64,
}

/// A job at work: one line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Sequence {
    pub(super) held: Held,
    /// Number of its admission.
    pub(super) admitted: u64,
    /// Prompt tokens that are computed or cached; all of them in a decoding sequence.
    pub(super) computed: u32,
    /// Prompt tokens that the current iteration computes.
    pub(super) chunk: u32,
    /// Clock at which it began to decode.
    pub(super) since: u64,
    pub(super) decoding: bool,
    pub(super) cancelled: bool,
}

impl Held {
    pub(super) fn new(job: &Job) -> Self {
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
    pub(super) fn prompt(&self) -> u32 {
        self.prompt_tokens + self.generated
    }
}

impl Sequence {
    /// Output tokens before iteration `clock`.
    pub(super) fn generated(&self, clock: u64) -> u64 {
        let decoded = if self.decoding { clock - self.since } else { 0 };
        u64::from(self.held.generated) + decoded
    }

    /// Context before iteration `clock`, when decoding (tokens).
    pub(super) fn context(&self, clock: u64) -> u64 {
        u64::from(self.held.prompt_tokens) + self.generated(clock)
    }
}
