//! How long a prefill and a decode step take on given hardware, and what fits its memory.
//!
//! A roofline: the larger of arithmetic and weight reads, plus attention, launch gaps and all-reduce. With `n` new tokens on
//! `c` tokens of context, `G` GPUs, `L` layers and `P` linear parameters per token (embedding and head left out):
//!
//! ```text
//! prefill = [max(2 P n / (F e(n) G), W(n) / (BW e_bw G)) + 4 L h d (n c + n²/2) / (F16 e_a(c + n) G)] / 0.80 + 2 L r(2 n hidden)
//! step    = max(W(b) / (BW e_bw G), 2 P b / (F e(b) G)) + context · KV / (BW e_kv S) + L τ + 2 L [r(2 b hidden) − r(0)]
//! ```
//!
//! `e(n) = e_max n / (n + n_half)`, half of `e_max` below `n_half`. `W` counts each routed expert that some token reaches:
//! with `k` of `E` experts per token, `1 − (1 − k/E)^n` of them. `S` is the number of GPUs that the cache is split over: as many as there are key-value heads.
//! The step's fixed part depends on the number of sequences, the rest is linear in the context, so between changes of
//! the batch a step's time is exactly linear in the tokens held.
//!
//! Sources: fits to aiconfigurator kernel timings, vLLM's published inter-token latencies; see the `defaults` and
//! `efficiency` tables.

mod curve;
mod hardware;
mod terms;

pub use hardware::{Deployment, DeploymentProblem, Hardware, KvFormat, Memory, Parameters};
pub use terms::Term;

use crate::batching::{Coefficients, IterationCost, PromptChunk};
use curve::Curve;

/// Bytes in a GB.
pub const GB: f64 = 1e9;
/// The least cache that a deployment must have room for, unless it states more \[tokens\].
pub const MINIMUM_KV_TOKENS: f64 = 2048.0;

/// Time of a decode step as `base_s + per_sequence_s · sequences + per_context_token_s · context tokens`, exact at the number
/// of sequences it was asked for and tangent there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// At no sequence \[s\].
    pub base_s: f64,
    /// Per sequence \[s\].
    pub per_sequence_s: f64,
    /// Per token held by all sequences \[s\].
    pub per_context_token_s: f64,
}

impl Step {
    /// Time of one iteration \[s\].
    pub fn seconds(&self, sequences: u32, context_tokens: f64) -> f64 {
        self.base_s
            + self.per_sequence_s * f64::from(sequences)
            + self.per_context_token_s * context_tokens
    }
}

/// Weights that one kind of read goes through.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Weights {
    /// Parameters.
    count: f64,
    /// Time to read all of them once, over all GPUs \[s\].
    read_s: f64,
}

/// A deployment's coefficients, ready to evaluate. See the [module](self) text.
#[derive(Clone, Debug, PartialEq)]
pub struct Performance {
    memory: Memory,
    gpus: f64,
    layers: f64,
    /// 2 P [FLOP per token].
    linear_flops: f64,
    /// F · `e_max` · G, experts' factor included [FLOP/s].
    linear_rate: f64,
    n_half: f64,
    /// 4 L h d [FLOP per pair of tokens].
    attention_flops: f64,
    /// F16 · G [FLOP/s].
    attention_rate: f64,
    attention_top: f64,
    attention_curve: Curve,
    /// Read by every token: all but the input embedding and routed experts.
    dense: Weights,
    /// Routed experts.
    experts: Weights,
    /// k / E.
    routed_share: f64,
    kv_read_s: f64,
    layer_overhead_s: f64,
    allreduce: Option<Curve>,
    /// 2 · hidden [bytes per token].
    message_bytes: f64,
    kernel_factor: f64,
    prefill_factor: f64,
    decode_factor: f64,
    draft_tokens: f64,
    tokens_per_iteration: f64,
    notes: Notes,
}

/// Sources, for the lists of terms.
#[derive(Clone, Debug, PartialEq)]
struct Notes {
    efficiency: String,
    scalars: String,
    allreduce: String,
    engine: String,
}

impl Performance {
    /// The coefficients of resolved hardware.
    ///
    /// # Errors
    /// If weights and cache do not fit.
    pub fn new(hardware: &Hardware<'_>) -> Result<Self, DeploymentProblem> {
        let memory = hardware.memory();
        if !memory.fits() {
            return Err(DeploymentProblem::TooLarge(memory));
        }
        let Hardware {
            gpu,
            model,
            scalars,
            engine,
            efficiency,
            ..
        } = hardware;
        let parameters = Parameters::of(model);
        let gpus = f64::from(hardware.gpus);
        let experts_factor = if model.experts > 0 {
            scalars.moe_prefill_eff_factor
        } else {
            1.0
        };
        let width = f64::from(model.q_heads)
            * f64::from(model.attention_head_dim.unwrap_or(model.head_dim));
        let (draft_tokens, tokens_per_iteration) =
            hardware
                .speculation
                .map_or((0.0, 1.0), |(speculation, drafts)| {
                    (
                        f64::from(drafts),
                        speculation.acceptance_len[drafts as usize - 1],
                    )
                });
        let overhead = hardware
            .speculation
            .map_or(0.0, |(speculation, _)| speculation.verify_overhead);
        Ok(Self {
            memory,
            gpus,
            layers: f64::from(model.layers),
            linear_flops: 2.0 * parameters.linear(),
            linear_rate: hardware.rate() * efficiency.prefill_eff_max * experts_factor * gpus,
            n_half: efficiency.prefill_n_half_tokens,
            attention_flops: 4.0
                * f64::from(model.attention_layers.unwrap_or(model.layers))
                * width,
            attention_rate: gpu.bf16_dense_tflops * 1e12 * gpus,
            attention_top: model.attention_top_tokens.map_or(f64::INFINITY, f64::from),
            attention_curve: Curve::new(&scalars.prefill_attn_tokens, &scalars.prefill_attn_eff),
            dense: hardware.read(parameters.dense - parameters.embedding, hardware.dense),
            experts: hardware.read(parameters.experts, hardware.experts),
            routed_share: parameters.routed_share,
            kv_read_s: hardware.kv_read_s(),
            layer_overhead_s: hardware.layer_overhead_s(),
            allreduce: (hardware.gpus > 1)
                .then(|| Curve::new(&hardware.allreduce.bytes, &hardware.allreduce.us)),
            message_bytes: 2.0 * f64::from(model.hidden),
            kernel_factor: scalars.engine_kernel_factor,
            prefill_factor: engine.prefill_time_factor
                * hardware
                    .speculation
                    .map_or(1.0, |(entry, _)| entry.ttft_factor),
            decode_factor: engine.decode_time_factor * (1.0 + overhead),
            draft_tokens,
            tokens_per_iteration,
            notes: Notes {
                efficiency: format!(
                    "efficiency {} ({}): {}",
                    efficiency.id, efficiency.confidence, efficiency.source
                ),
                scalars: format!("defaults ({}): {}", scalars.confidence, scalars.source),
                allreduce: format!(
                    "allreduce {}: {}",
                    hardware.allreduce.id, hardware.allreduce.source
                ),
                engine: format!(
                    "engine {} ({}): {}",
                    engine.id, engine.confidence, engine.source
                ),
            },
        })
    }

    /// What the memory holds.
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Mean tokens that each sequence gains in an iteration: 1 without speculation.
    pub const fn tokens_per_iteration(&self) -> f64 {
        self.tokens_per_iteration
    }

    /// Time to process `new_tokens` of a prompt with `context_before` tokens in the cache already \[s\].
    pub fn prefill(&self, new_tokens: u32, context_before: u32) -> f64 {
        let parts = self.prefill_parts(f64::from(new_tokens), f64::from(context_before));
        parts.total(self.prefill_factor)
    }

    /// The same before launch gaps, engine and communication: what the kernels take \[s\].
    pub fn prefill_kernels(&self, new_tokens: u32, context_before: u32) -> f64 {
        let parts = self.prefill_parts(f64::from(new_tokens), f64::from(context_before));
        parts.linear.max(parts.weights) + parts.attention
    }

    /// Time of one iteration in which `sequences` decode, holding `context_tokens` together \[s\].
    pub fn step(&self, sequences: u32, context_tokens: f64) -> f64 {
        self.step_fixed(f64::from(sequences)) + self.decode_factor * self.kv_read_s * context_tokens
    }

    /// The step's coefficients at a number of sequences.
    pub fn coefficients(&self, sequences: u32) -> Step {
        let at = self.step_fixed(f64::from(sequences));
        let slope = self.step_fixed(f64::from(sequences) + 1.0) - at;
        Step {
            base_s: at - slope * f64::from(sequences),
            per_sequence_s: slope,
            per_context_token_s: self.decode_factor * self.kv_read_s,
        }
    }

    /// Time of one iteration that computes these prompt chunks while `sequences` decode, without reading the decoding
    /// sequences' context \[s\]. All tokens go through the linear layers as one product, so the weights are read once.
    pub fn pass(&self, sequences: u32, chunks: &[PromptChunk]) -> f64 {
        let tokens: u32 = chunks.iter().map(|chunk| chunk.tokens).sum();
        let n = f64::from(tokens) + f64::from(sequences) * (1.0 + self.draft_tokens);
        let attention: f64 = chunks
            .iter()
            .map(|chunk| self.attention(f64::from(chunk.tokens), f64::from(chunk.before)))
            .sum();
        self.parts(n, attention).total(self.prefill_factor)
    }

    fn prefill_parts(&self, n: f64, context: f64) -> PrefillParts {
        self.parts(n, self.attention(n, context))
    }

    /// Attention of `n` tokens on `context` \[s\].
    fn attention(&self, n: f64, context: f64) -> f64 {
        let efficiency = self.attention_curve.logarithmic(n + context);
        self.attention_flops * self.pairs(n, context) / (self.attention_rate * efficiency)
    }

    /// Parts of a pass of `n` tokens with this much attention.
    fn parts(&self, n: f64, attention: f64) -> PrefillParts {
        let (linear, weights) = (self.linear(n), self.weight_read(n));
        let kernels = linear.max(weights) + attention;
        PrefillParts {
            linear,
            weights,
            attention,
            gaps: (kernels * (1.0 / self.kernel_factor - 1.0))
                .max(self.layers * self.layer_overhead_s),
            allreduce: self.allreduce_s(n),
        }
    }

    /// Arithmetic of the linear layers \[s\]: `2 P n / (F e(n) G)`, with `e(n) = e_max n / (n + n_half)` from `n_half` on.
    ///
    /// Below it the efficiency stays at half: what short batches wait for there is the weights, which are counted apart.
    fn linear(&self, n: f64) -> f64 {
        self.linear_flops * (n + self.n_half.min(n)) / self.linear_rate
    }

    /// Share of the routed experts that some of `n` tokens reach, if tokens choose independently.
    fn coverage(&self, n: f64) -> f64 {
        1.0 - (1.0 - self.routed_share).powf(n)
    }

    fn weight_read(&self, n: f64) -> f64 {
        if self.experts.count > 0.0 {
            self.dense.read_s + self.experts.read_s * self.coverage(n)
        } else {
            self.dense.read_s
        }
    }

    /// Pairs of query and key: each new token sees the context, the new tokens before it and itself (half of it, as the
    /// kernels skip the upper triangle), but no more than `attention_top`.
    fn pairs(&self, n: f64, context: f64) -> f64 {
        let growing = n.min((self.attention_top - context).max(0.0));
        growing * context
            + growing * growing / 2.0
            + if growing < n {
                (n - growing) * self.attention_top
            } else {
                0.0
            }
    }

    fn allreduce_s(&self, tokens: f64) -> f64 {
        let once = self
            .allreduce
            .as_ref()
            .map_or(0.0, |curve| curve.message(tokens * self.message_bytes));
        2.0 * self.layers * once * 1e-6
    }

    /// What the all-reduces of a step take beyond the smallest message, which the layer overhead includes.
    fn step_allreduce(&self, tokens: f64) -> f64 {
        self.allreduce_s(tokens) - self.allreduce_s(0.0)
    }

    fn step_fixed(&self, sequences: f64) -> f64 {
        let tokens = sequences * (1.0 + self.draft_tokens);
        let linear = self.weight_read(tokens).max(self.linear(tokens));
        self.decode_factor
            * (linear + self.layers * self.layer_overhead_s + self.step_allreduce(tokens))
    }
}

/// Iterations as the batching engine asks for them. Speculation emits several tokens an iteration, so a token's share of a
/// step is the step divided by the acceptance length; an iteration that carries a prompt gives one token to each.
impl IterationCost for Performance {
    fn step(&self, sequences: u32) -> Coefficients {
        let share = 1.0 / self.tokens_per_iteration;
        Coefficients {
            base_s: self.step_fixed(f64::from(sequences)) * share,
            per_context_token_s: self.decode_factor * self.kv_read_s * share,
        }
    }

    fn pass(&self, sequences: u32, chunks: &[PromptChunk]) -> f64 {
        self.pass(sequences, chunks)
    }

    fn prefill(&self, chunk: PromptChunk) -> f64 {
        self.prefill(chunk.tokens, chunk.before)
    }
}

/// The parts of a prefill \[s\].
#[derive(Clone, Copy, Debug)]
struct PrefillParts {
    linear: f64,
    weights: f64,
    attention: f64,
    gaps: f64,
    allreduce: f64,
}

impl PrefillParts {
    fn total(&self, factor: f64) -> f64 {
        (self.linear.max(self.weights) + self.attention + self.gaps) * factor + self.allreduce
    }
}
