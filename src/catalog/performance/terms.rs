//! The parts of a predicted time, each with its formula in numbers and its source.

use super::{Performance, PrefillParts};

/// One part of a predicted time.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// What takes the time.
    pub name: &'static str,
    /// How long \[s\].
    pub seconds: f64,
    /// How it was reckoned, with numbers.
    pub formula: String,
    /// Where the coefficients come from.
    pub source: String,
}

impl Performance {
    /// The parts of [`Performance::prefill`]; they add up to it.
    pub fn prefill_terms(&self, new_tokens: u32, context_before: u32) -> Vec<Term> {
        let (n, context) = (f64::from(new_tokens), f64::from(context_before));
        let parts = self.prefill_parts(n, context);
        let kernels = parts.linear.max(parts.weights) + parts.attention + parts.gaps;
        vec![
            self.linear_term(&parts, n),
            Term {
                name: "attention",
                seconds: parts.attention,
                formula: format!(
                    "{:.3e} FLOP per pair x {:.3e} pairs / ({:.3e} FLOP/s x {:.2})",
                    self.attention_flops,
                    self.pairs(n, context),
                    self.attention_rate,
                    self.attention_curve.logarithmic(n + context)
                ),
                source: self.notes.scalars.clone(),
            },
            Term {
                name: "launch gaps, head, sampling",
                seconds: parts.gaps,
                formula: format!(
                    "max(kernels x (1/{:.2} - 1), {:.0} layers x {:.0} us)",
                    self.kernel_factor,
                    self.layers,
                    self.layer_overhead_s * 1e6
                ),
                source: self.notes.scalars.clone(),
            },
            Term {
                name: "engine and speculation",
                seconds: (self.prefill_factor - 1.0) * kernels,
                formula: format!("x {:.3}", self.prefill_factor),
                source: self.notes.engine.clone(),
            },
            self.allreduce_term(parts.allreduce, n, false),
        ]
    }

    /// The parts of [`Performance::step`]; they add up to it.
    pub fn step_terms(&self, sequences: u32, context_tokens: f64) -> Vec<Term> {
        let tokens = f64::from(sequences) * (1.0 + self.draft_tokens);
        let (weights, arithmetic) = (self.weight_read(tokens), self.linear(tokens));
        let cache = self.kv_read_s * context_tokens;
        let (overhead, allreduce) = (
            self.layers * self.layer_overhead_s,
            self.step_allreduce(tokens),
        );
        let plain = weights.max(arithmetic) + cache + overhead + allreduce;
        let parts = PrefillParts {
            linear: arithmetic,
            weights,
            attention: 0.0,
            gaps: 0.0,
            allreduce,
        };
        vec![
            self.linear_term(&parts, tokens),
            Term {
                name: "cache read",
                seconds: cache,
                formula: format!("{context_tokens:.0} tokens x {:.4e} s", self.kv_read_s),
                source: self.notes.scalars.clone(),
            },
            Term {
                name: "layer overhead",
                seconds: overhead,
                formula: format!(
                    "{:.0} layers x {:.0} us",
                    self.layers,
                    self.layer_overhead_s * 1e6
                ),
                source: self.notes.scalars.clone(),
            },
            self.allreduce_term(allreduce, tokens, true),
            Term {
                name: "engine and speculation",
                seconds: (self.decode_factor - 1.0) * plain,
                formula: format!(
                    "x {:.3}, for {:.2} tokens",
                    self.decode_factor, self.tokens_per_iteration
                ),
                source: self.notes.engine.clone(),
            },
        ]
    }

    fn linear_term(&self, parts: &PrefillParts, tokens: f64) -> Term {
        let reads = parts.weights > parts.linear;
        Term {
            name: if reads {
                "weight read"
            } else {
                "linear layers"
            },
            seconds: parts.linear.max(parts.weights),
            formula: if reads {
                format!(
                    "{:.3e} s dense + {:.3e} s experts x {:.3} reached by {tokens:.0} tokens",
                    self.dense.read_s,
                    self.experts.read_s,
                    self.coverage(tokens)
                )
            } else {
                format!(
                    "{:.3e} FLOP x ({tokens:.0} + {:.0}) / {:.3e} FLOP/s",
                    self.linear_flops,
                    self.n_half.min(tokens),
                    self.linear_rate
                )
            },
            source: self.notes.efficiency.clone(),
        }
    }

    fn allreduce_term(&self, seconds: f64, tokens: f64, beyond_smallest: bool) -> Term {
        let bytes = tokens * self.message_bytes;
        Term {
            name: "all-reduce",
            seconds,
            formula: match (&self.allreduce, beyond_smallest) {
                (None, _) => "one GPU".to_owned(),
                (Some(_), false) => format!("2 x {:.0} layers at {bytes:.0} bytes", self.layers),
                (Some(_), true) => format!(
                    "2 x {:.0} layers at {bytes:.0} bytes, beyond the smallest message",
                    self.layers
                ),
            },
            source: self.notes.allreduce.clone(),
        }
    }
}
