//! A deployment resolved against the catalogue: what it runs on, and what its memory holds.

use super::curve::Curve;
use super::{GB, MINIMUM_KV_TOKENS, Performance, Weights};
use crate::catalog::{
    AllReduce, Catalog, Compute, Defaults, Efficiency, Engine, Entry, Format, Gpu, Model, Shelf,
    Speculation, native,
};
use std::fmt;

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

fn find<'a, T: Entry>(
    shelf: &'a Shelf<T>,
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

    pub(super) fn cache_shards(&self) -> f64 {
        f64::from(self.gpus.min(self.model.kv_heads))
    }

    /// The rate of the matrix products per GPU [FLOP/s]. Dequantised weights run at the 16-bit rate.
    pub(super) fn rate(&self) -> f64 {
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

    pub(super) fn read(&self, count: f64, (bytes, efficiency): (f64, f64)) -> Weights {
        let rate = self.gpu.mem_bw_tbps * 1e12 * efficiency * f64::from(self.gpus);
        Weights {
            count,
            read_s: count * bytes / rate,
        }
    }

    pub(super) fn kv_read_s(&self) -> f64 {
        let efficiency = match self.kv {
            KvFormat::Bf16 => self.scalars.decode_kv_bw_eff_bf16,
            KvFormat::Fp8 => self.scalars.decode_kv_bw_eff_fp8,
        };
        let bytes = self.model.kv_bytes_per_token_bf16 * self.kv.factor();
        bytes / (self.gpu.mem_bw_tbps * 1e12 * efficiency * self.cache_shards())
    }

    /// Fixed cost of a layer \[s\]: measured at 1, 4 and 8 GPUs, linear in between.
    pub(super) fn layer_overhead_s(&self) -> f64 {
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
