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

use super::{
    AllReduce, Catalog, Compute, Defaults, Efficiency, Engine, Format, Gpu, Model, Speculation,
    native,
};
use crate::batching::{Coefficients, IterationCost, PromptChunk};
use std::fmt;

/// Bytes in a GB.
pub const GB: f64 = 1e9;
/// The least cache that a deployment must have room for, unless it states more \[tokens\].
pub const MINIMUM_KV_TOKENS: f64 = 2048.0;

/// How the attention cache is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KvFormat {
    /// 16 bits.
    #[default]
    Bf16,
    /// 8 bits: half the bytes, slightly worse bandwidth.
    Fp8,
}

impl KvFormat {
    /// Share of the 16-bit bytes.
    const fn factor(self) -> f64 {
        match self {
            Self::Bf16 => 1.0,
            Self::Fp8 => 0.5,
        }
    }
}

impl fmt::Display for KvFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bf16 => "bf16",
            Self::Fp8 => "fp8",
        })
    }
}

/// A deployment in the catalogue's names.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment<'a> {
    /// GPU tier.
    pub gpu: &'a str,
    /// GPUs of one replica, tensor parallel.
    pub gpus: u32,
    /// Model.
    pub model: &'a str,
    /// Weight format; the model's own when `None`.
    pub format: Option<&'a str>,
    /// Cache format.
    pub kv: KvFormat,
    /// Engine.
    pub engine: &'a str,
    /// Speculation and draft tokens per iteration.
    pub speculation: Option<(&'a str, u32)>,
    /// Share of GPU memory that the engine takes; the catalogue's when `None`.
    pub memory_utilization: Option<f64>,
    /// Cache that must fit \[bytes\]; [`MINIMUM_KV_TOKENS`] when `None`.
    pub kv_reserve_bytes: Option<f64>,
}

impl<'a> Deployment<'a> {
    /// A model on some GPUs with everything else at its default: own format, 16-bit cache, vLLM, no speculation.
    pub const fn new(model: &'a str, gpu: &'a str, gpus: u32) -> Self {
        Self {
            gpu,
            gpus,
            model,
            format: None,
            kv: KvFormat::Bf16,
            engine: "vllm",
            speculation: None,
            memory_utilization: None,
            kv_reserve_bytes: None,
        }
    }
}

/// Why a deployment cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeploymentProblem {
    /// A name that the catalogue lacks.
    #[error("there is no {kind} {id} in the catalogue")]
    Unknown {
        /// The kind.
        kind: &'static str,
        /// The name.
        id: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The GPU cannot compute in the format.
    #[error("{gpu} has no {format}")]
    NoFormat {
        /// The GPU tier.
        gpu: String,
        /// The format.
        format: String,
    },
    /// More or fewer draft tokens than are known.
    #[error("{speculation} has acceptance lengths for 1 to {longest} draft tokens, not {asked}")]
    DraftTokens {
        /// The speculation.
        speculation: String,
        /// What was asked.
        asked: u32,
        /// The longest known.
        longest: usize,
    },
    /// A number out of range.
    #[error("{key} must be {allowed}, is {value}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// What is allowed.
        allowed: &'static str,
        /// What it is.
        value: f64,
    },
    /// Weights and cache exceed the GPUs.
    #[error("{0}")]
    TooLarge(Memory),
}

/// What a replica's memory holds. Bytes are over all its GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Weights \[bytes\].
    pub weight_bytes: f64,
    /// Cache per token, with every copy that GPUs must hold \[bytes\].
    pub kv_bytes_per_token: f64,
    /// Cache that must fit \[bytes\].
    pub kv_reserve_bytes: f64,
    /// Memory for weights and cache \[bytes\].
    pub available_bytes: f64,
    /// GPUs.
    pub gpus: u32,
}

impl Memory {
    /// What weights and the least cache need \[bytes\].
    pub fn needed_bytes(&self) -> f64 {
        self.weight_bytes + self.kv_reserve_bytes
    }

    /// Whether they fit.
    pub fn fits(&self) -> bool {
        self.needed_bytes() <= self.available_bytes
    }

    /// Tokens that the cache holds; `u64::MAX` for a model that keeps none.
    pub fn kv_capacity_tokens(&self) -> u64 {
        let free = (self.available_bytes - self.weight_bytes).max(0.0);
        if self.kv_bytes_per_token > 0.0 {
            (free / self.kv_bytes_per_token) as u64
        } else {
            u64::MAX
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "needs {:.0} bytes ({:.1} GB: weights {:.1} GB, cache {:.1} GB), available are {:.0} bytes ({:.1} GB on {} GPU{})",
            self.needed_bytes(),
            self.needed_bytes() / GB,
            self.weight_bytes / GB,
            self.kv_reserve_bytes / GB,
            self.available_bytes,
            self.available_bytes / GB,
            self.gpus,
            if self.gpus == 1 { "" } else { "s" },
        )
    }
}

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

/// A resolved deployment: references into the catalogue.
#[derive(Clone, Debug)]
pub struct Hardware<'a> {
    /// GPU tier.
    pub gpu: &'a Gpu,
    /// GPUs, tensor parallel.
    pub gpus: u32,
    /// Model.
    pub model: &'a Model,
    /// Weight format.
    pub weights: &'a Format,
    /// What the GPU reaches with it.
    pub efficiency: Efficiency,
    /// Bytes per weight and bandwidth efficiency of all but routed experts.
    pub dense: (f64, f64),
    /// The same of routed experts.
    pub experts: (f64, f64),
    /// Bytes of all weights.
    pub weight_bytes: f64,
    /// Cache format.
    pub kv: KvFormat,
    /// Engine.
    pub engine: &'a Engine,
    /// Speculation with its draft tokens.
    pub speculation: Option<(&'a Speculation, u32)>,
    /// All-reduce times.
    pub allreduce: &'a AllReduce,
    /// Scalars.
    pub scalars: &'a Defaults,
    /// Share of GPU memory that the engine takes.
    pub memory_utilization: f64,
    /// Cache that must fit \[bytes\].
    pub kv_reserve_bytes: Option<f64>,
}

impl Catalog {
    /// Resolves a deployment's names, without asking whether it fits.
    ///
    /// # Errors
    /// If a name is unknown, the GPU lacks the format, or a number is out of range.
    pub fn hardware(&self, deployment: &Deployment<'_>) -> Result<Hardware<'_>, DeploymentProblem> {
        let gpu = find(&self.gpus, "gpu", deployment.gpu)?;
        let model = find(&self.models, "model", deployment.model)?;
        let weights = find(
            &self.formats,
            "format",
            deployment.format.unwrap_or(&model.native_format),
        )?;
        if !native(gpu, weights) && weights.fallback_compute.is_none() {
            return Err(DeploymentProblem::NoFormat {
                gpu: gpu.id.clone(),
                format: weights.id.clone(),
            });
        }
        let is_native = weights.id == model.native_format;
        let part = |own: &Option<String>| -> Result<(f64, f64), DeploymentProblem> {
            let format = match own {
                Some(own) if is_native => find(&self.formats, "format", own)?,
                _ => weights,
            };
            Ok((
                format.bytes_per_weight,
                self.efficiency(gpu, format).decode_weight_bw_eff,
            ))
        };
        let checkpoint = if is_native {
            model.native_checkpoint_gb
        } else {
            model.params_total_b * weights.bytes_per_weight
        };
        let scalars = self.scalars();
        Ok(Hardware {
            gpu,
            gpus: gpus(deployment)?,
            model,
            weights,
            efficiency: self.efficiency(gpu, weights),
            dense: part(&model.native_dense_format)?,
            experts: part(&model.native_expert_format)?,
            weight_bytes: checkpoint * GB,
            kv: deployment.kv,
            engine: find(&self.engines, "engine", deployment.engine)?,
            speculation: self.drafts(deployment)?,
            allreduce: find(&self.allreduces, "allreduce", &gpu.allreduce)?,
            scalars,
            memory_utilization: utilization(deployment, scalars)?,
            kv_reserve_bytes: deployment.kv_reserve_bytes,
        })
    }

    /// The performance of a deployment.
    ///
    /// # Errors
    /// As [`Catalog::hardware`], and if weights and cache do not fit.
    pub fn performance(
        &self,
        deployment: &Deployment<'_>,
    ) -> Result<Performance, DeploymentProblem> {
        Performance::new(&self.hardware(deployment)?)
    }

    fn drafts(
        &self,
        deployment: &Deployment<'_>,
    ) -> Result<Option<(&Speculation, u32)>, DeploymentProblem> {
        let Some((id, asked)) = deployment.speculation else {
            return Ok(None);
        };
        let speculation = find(&self.speculations, "speculation", id)?;
        let longest = speculation.acceptance_len.len();
        if asked == 0 || asked as usize > longest {
            return Err(DeploymentProblem::DraftTokens {
                speculation: id.to_owned(),
                asked,
                longest,
            });
        }
        Ok(Some((speculation, asked)))
    }
}

fn find<'a, T: super::Entry>(
    shelf: &'a super::Shelf<T>,
    kind: &'static str,
    id: &str,
) -> Result<&'a T, DeploymentProblem> {
    shelf.get(id).ok_or_else(|| DeploymentProblem::Unknown {
        kind,
        id: id.to_owned(),
        known: shelf.iter().map(|entry| entry.id().to_owned()).collect(),
    })
}

fn gpus(deployment: &Deployment<'_>) -> Result<u32, DeploymentProblem> {
    match deployment.gpus {
        0 => Err(DeploymentProblem::OutOfRange {
            key: "gpus",
            allowed: "at least 1",
            value: 0.0,
        }),
        gpus => Ok(gpus),
    }
}

fn utilization(deployment: &Deployment<'_>, scalars: &Defaults) -> Result<f64, DeploymentProblem> {
    let value = deployment
        .memory_utilization
        .unwrap_or(scalars.gpu_memory_utilization);
    if value > 0.0 && value <= 1.0 {
        return Ok(value);
    }
    Err(DeploymentProblem::OutOfRange {
        key: "memory_utilization",
        allowed: "above 0 and at most 1",
        value,
    })
}

/// How a model's parameters are split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Routed experts.
    pub experts: f64,
    /// All others.
    pub dense: f64,
    /// Input embedding, where it is a matrix of its own: looked up, never read whole.
    pub embedding: f64,
    /// Head.
    pub head: f64,
    /// Share of the experts that a token reaches.
    pub routed_share: f64,
}

impl Parameters {
    /// The split of a model. Routed experts, unless given, follow from total = dense + experts and
    /// active = dense + share · experts.
    pub fn of(model: &Model) -> Self {
        let routed_share = if model.experts > 0 {
            f64::from(model.experts_per_token) / f64::from(model.experts)
        } else {
            0.0
        };
        let derived = if model.experts > 0 {
            (model.params_total_b - model.params_active_b) / (1.0 - routed_share)
        } else {
            0.0
        };
        let experts = model
            .params_experts_b
            .unwrap_or(derived)
            .min(model.params_total_b)
            * GB;
        let head = f64::from(model.vocab) * f64::from(model.hidden);
        Self {
            experts,
            dense: model.params_total_b * GB - experts,
            embedding: if model.tied_embeddings { 0.0 } else { head },
            head,
            routed_share,
        }
    }

    /// Linear parameters that a prompt token passes through: neither embedding nor head.
    pub fn linear(&self) -> f64 {
        (self.dense - self.embedding - self.head).max(0.0) + self.experts * self.routed_share
    }
}

impl Hardware<'_> {
    /// What the memory holds.
    ///
    /// Available are `gpus · (mem · utilisation − reserve)`. The cache is split over as many GPUs as there are key-value
    /// heads; the rest hold copies.
    pub fn memory(&self) -> Memory {
        let gpus = f64::from(self.gpus);
        let per_token =
            self.model.kv_bytes_per_token_bf16 * self.kv.factor() * gpus / self.cache_shards();
        let per_gpu = self.gpu.mem_gb * self.memory_utilization - self.scalars.gpu_reserve_gb;
        Memory {
            weight_bytes: self.weight_bytes,
            kv_bytes_per_token: per_token,
            kv_reserve_bytes: self
                .kv_reserve_bytes
                .unwrap_or(per_token * MINIMUM_KV_TOKENS),
            available_bytes: (per_gpu * GB).max(0.0) * gpus,
            gpus: self.gpus,
        }
    }

    fn cache_shards(&self) -> f64 {
        f64::from(self.gpus.min(self.model.kv_heads))
    }

    /// The rate of the matrix products per GPU [FLOP/s]. Dequantised weights run at the 16-bit rate.
    fn rate(&self) -> f64 {
        let own = if native(self.gpu, self.weights) {
            Some(self.weights.compute)
        } else {
            self.weights.fallback_compute
        };
        let rate = match own {
            Some(Compute::Fp8) => self.gpu.fp8_dense_tflops,
            Some(Compute::Int8) => self.gpu.int8_dense_tops,
            Some(Compute::Fp4) => self.gpu.fp4_dense_tflops,
            Some(Compute::Bf16) | None => None,
        };
        rate.unwrap_or(self.gpu.bf16_dense_tflops) * 1e12
    }

    fn read(&self, count: f64, (bytes, efficiency): (f64, f64)) -> Weights {
        let rate = self.gpu.mem_bw_tbps * 1e12 * efficiency * f64::from(self.gpus);
        Weights {
            count,
            read_s: count * bytes / rate,
        }
    }

    fn kv_read_s(&self) -> f64 {
        let efficiency = match self.kv {
            KvFormat::Bf16 => self.scalars.decode_kv_bw_eff_bf16,
            KvFormat::Fp8 => self.scalars.decode_kv_bw_eff_fp8,
        };
        let bytes = self.model.kv_bytes_per_token_bf16 * self.kv.factor();
        bytes / (self.gpu.mem_bw_tbps * 1e12 * efficiency * self.cache_shards())
    }

    /// Fixed cost of a layer \[s\]: measured at 1, 4 and 8 GPUs, linear in between.
    fn layer_overhead_s(&self) -> f64 {
        let scalars = self.scalars;
        if self.model.experts > 0 {
            return scalars.decode_layer_overhead_us_moe * 1e-6;
        }
        let points = [
            scalars.decode_layer_overhead_us_dense_tp1,
            scalars.decode_layer_overhead_us_dense_tp4,
            scalars.decode_layer_overhead_us_dense_tp8,
        ];
        Curve::new(&[1.0, 4.0, 8.0], &points).linear(f64::from(self.gpus)) * 1e-6
    }
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

/// A function given by points, constant to their left.
#[derive(Clone, Debug, PartialEq)]
struct Curve {
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// From abscissae, rising, and as many ordinates.
    fn new(x: &[f64], y: &[f64]) -> Self {
        debug_assert_eq!(x.len(), y.len());
        Self {
            points: x.iter().copied().zip(y.iter().copied()).collect(),
        }
    }

    /// Linear between the points, constant outside.
    fn linear(&self, x: f64) -> f64 {
        self.between(x, |x| x)
    }

    /// Linear in the logarithm of `x` between the points, constant outside.
    fn logarithmic(&self, x: f64) -> f64 {
        self.between(x, f64::ln)
    }

    /// A message's time: linear in its bytes between the points, constant below, proportional beyond the last, where only
    /// the link's rate matters.
    fn message(&self, bytes: f64) -> f64 {
        match self.points.last() {
            Some(&(last, time)) if bytes > last => time * bytes / last,
            _ => self.linear(bytes),
        }
    }

    fn between(&self, x: f64, scale: impl Fn(f64) -> f64) -> f64 {
        let right = self.points.partition_point(|point| point.0 < x);
        if right == 0 {
            return self.points[0].1;
        }
        let Some(&(x1, y1)) = self.points.get(right) else {
            return self.points[right - 1].1;
        };
        let (x0, y0) = self.points[right - 1];
        y0 + (y1 - y0) * (scale(x) - scale(x0)) / (scale(x1) - scale(x0))
    }
}
