//! How long one pass over a batch takes.
//!
//! An iteration gives every decoding sequence one token and may carry chunks of prompts along. With `B` decoding sequences
//! that have `C` tokens of context between them, and chunks `P`:
//!
//! `time = pass(B, P) + c(B) C`, and `pass(B, nothing) = base(B)`
//!
//! The weights are read once for the whole pass, so the linear layers take either the time to read them or the time to
//! compute all tokens of the pass, whichever is longer (the roofline; the reason why chunked prefill is nearly free until the
//! pass becomes compute-bound, Agrawal et al., Sarathi-Serve, OSDI 2024). Reading the decoding sequences' KV cache comes on
//! top.

use std::fmt::Debug;
use std::sync::Arc;

/// Time of an iteration without chunks: `base_s + per_context_token_s x C` (s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Time without any context: weights, launches, per-sequence work (s); more than zero.
    pub base_s: f64,
    /// Time to read one token of context from the KV cache (s).
    pub per_context_token_s: f64,
}

/// A piece of a prompt, computed in one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptChunk {
    /// Its length (tokens), at least one.
    pub tokens: u32,
    /// Tokens of the prompt before it, computed or cached.
    pub before: u32,
}

/// A model of iteration times: pure functions of the batch.
pub trait IterationCost: Debug + Send + Sync {
    /// Coefficients of an iteration with `sequences` decoding sequences; zero gives the time to read the weights, the floor
    /// of an iteration with chunks only. The base may be non-linear, as in mixtures of experts.
    fn step(&self, sequences: u32) -> Coefficients;

    /// Time of an iteration that carries these chunks along, without reading the decoding sequences' context (s).
    fn pass(&self, sequences: u32, chunks: &[PromptChunk]) -> f64;

    /// Time that a chunk takes by itself (s): what its own prompt costs a request.
    fn prefill(&self, chunk: PromptChunk) -> f64;
}

/// Coefficients stated by a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedCost {
    /// `a`: time of every iteration (s); more than zero.
    pub base_s: f64,
    /// `b`: time for each decoding sequence (s).
    pub per_sequence_s: f64,
    /// `c`: time for each token of context (s).
    pub per_context_token_s: f64,
    /// Time for each prompt token (s).
    pub prefill_per_token_s: f64,
    /// Time for each pair of a prompt token and a token before it (s): `n` tokens behind `m` make `n m + n^2 / 2` pairs.
    pub prefill_per_pair_s: f64,
}

impl IterationCost for StatedCost {
    fn step(&self, sequences: u32) -> Coefficients {
        Coefficients {
            base_s: self.base_s + self.per_sequence_s * f64::from(sequences),
            per_context_token_s: self.per_context_token_s,
        }
    }

    fn pass(&self, sequences: u32, chunks: &[PromptChunk]) -> f64 {
        let compute: f64 = chunks.iter().map(|&chunk| self.prefill(chunk)).sum();
        self.step(sequences).base_s.max(compute)
    }

    fn prefill(&self, chunk: PromptChunk) -> f64 {
        let (new, before) = (f64::from(chunk.tokens), f64::from(chunk.before));
        self.prefill_per_token_s * new + self.prefill_per_pair_s * new * (before + new / 2.0)
    }
}

/// Where iteration times come from. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Cost {
    /// Stated coefficients.
    Stated(StatedCost),
    /// A model, such as a roofline of the hardware.
    Modelled(Arc<dyn IterationCost>),
}

impl Cost {
    /// See [`IterationCost::step`].
    pub fn step(&self, sequences: u32) -> Coefficients {
        match self {
            Self::Stated(stated) => stated.step(sequences),
            Self::Modelled(model) => model.step(sequences),
        }
    }

    /// See [`IterationCost::pass`].
    pub fn pass(&self, sequences: u32, chunks: &[PromptChunk]) -> f64 {
        match self {
            Self::Stated(stated) => stated.pass(sequences, chunks),
            Self::Modelled(model) => model.pass(sequences, chunks),
        }
    }

    /// See [`IterationCost::prefill`].
    pub fn prefill(&self, chunk: PromptChunk) -> f64 {
        match self {
            Self::Stated(stated) => stated.prefill(chunk),
            Self::Modelled(model) => model.prefill(chunk),
        }
    }
}
