//! How long one pass over a batch takes.
//!
//! An iteration gives every decoding sequence one token and may carry chunks of prompts along. With `B` decoding sequences
//! that have `C` tokens of context between them, and chunks whose computation takes `P`:
//!
//! `time = max(base(B), P) + c(B) C`
//!
//! The weights are read once for the whole pass, so the linear layers take either the time to read them (`base`) or the time
//! to compute the chunks, whichever is longer (the roofline; the reason why chunked prefill is nearly free until the pass
//! becomes compute-bound, Agrawal et al., Sarathi-Serve, OSDI 2024). Reading the decoding sequences' KV cache comes on top.
//! A pass without chunks takes `base(B) + c(B) C`, one without decoding sequences `max(base(0), P)`.

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

/// A model of iteration times: pure functions of the batch.
pub trait IterationCost: Debug + Send + Sync {
    /// Coefficients of an iteration with `sequences` decoding sequences; zero gives the time to read the weights, the floor
    /// of an iteration with chunks only. The base may be non-linear, as in mixtures of experts.
    fn step(&self, sequences: u32) -> Coefficients;

    /// Time to compute `new_tokens` of a prompt behind `context_before` tokens, attention included, floor for reading the
    /// weights *not* included (s). No tokens take no time.
    fn prefill(&self, new_tokens: u32, context_before: u32) -> f64;
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

    fn prefill(&self, new_tokens: u32, context_before: u32) -> f64 {
        let (new, before) = (f64::from(new_tokens), f64::from(context_before));
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

    /// See [`IterationCost::prefill`].
    pub fn prefill(&self, new_tokens: u32, context_before: u32) -> f64 {
        match self {
            Self::Stated(stated) => stated.prefill(new_tokens, context_before),
            Self::Modelled(model) => model.prefill(new_tokens, context_before),
        }
    }
}
