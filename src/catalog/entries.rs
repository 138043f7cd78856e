//! What the catalogue holds: one struct per kind of entry, as written in its table, with ranges that every entry must meet.
//!
//! Every entry says where it comes from (`source`) and how far to trust it (`confidence`). Units are in the key names;
//! GB is 1e9 bytes, GiB is never used, and rates of links are in GB/s.

use super::shelf::{Entry, Fault, at_least, between, positive};
use crate::start_phase::StartPhase;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::fmt;

/// How far to trust an entry's main figures. Secondary figures are estimates even in measured entries; `note` says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A vendor's specification, an official default, or a definition.
    Datasheet,
    /// Measured by the named source.
    Measured,
    /// Reasoned, scaled from a neighbour, or from a page that is no measurement.
    Estimate,
    /// Stated by the scenario.
    Stated,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Datasheet => "datasheet",
            Self::Measured => "measured",
            Self::Estimate => "estimate",
            Self::Stated => "stated",
        })
    }
}

/// Declares an entry: the fields given plus `id`, `source`, `confidence` and `note`, and its range checks.
macro_rules! entry {
    (
        $(#[$doc:meta])* $name:ident { $( $(#[$attribute:meta])* $field:ident : $type:ty, )* }
        check($self:ident) $check:block
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Name within its kind.
            pub id: String,
            $( $(#[$attribute])* pub $field: $type, )*
            /// Where the figures come from.
            pub source: String,
            /// How far to trust them.
            pub confidence: Confidence,
            /// What a reader should know besides.
            pub note: Option<String>,
        }

        impl Entry for $name {
            fn id(&self) -> &str {
                &self.id
            }
            fn source(&self) -> &str {
                &self.source
            }
            fn confidence(&self) -> Confidence {
                self.confidence
            }
            fn check(&$self) -> Result<(), Fault> $check
        }
    };
}

entry! {
    /// A rule that spreads a catalogue's warm replicas.
    Investment {
        /// What it does, in words.
        rule: String,
        /// How whole replicas come of it.
        rounding: String,
    }
    check(self) {
        Ok(())
    }
}

entry! {
    /// A GPU tier. Rates are dense.
    Gpu {
        /// Full name.
        name: String,
        /// Memory \[GB\].
        mem_gb: f64,
        /// Memory bandwidth [TB/s].
        mem_bw_tbps: f64,
        /// 16-bit rate [TFLOP/s].
        bf16_dense_tflops: f64,
        /// FP8 rate, if it has FP8 [TFLOP/s].
        fp8_dense_tflops: Option<f64>,
        /// INT8 rate, if it has INT8 [TOP/s].
        int8_dense_tops: Option<f64>,
        /// FP4 rate, if it has FP4 [TFLOP/s].
        fp4_dense_tflops: Option<f64>,
        /// The 4-bit formats its tensor cores take.
        #[serde(default)] fp4_formats: Vec<String>,
        /// `PCIe` generation.
        pcie_gen: u32,
        /// `PCIe` rate each way [GB/s].
        pcie_gbps_per_dir: f64,
        /// Pinned host-to-device copies per GPU [GB/s].
        h2d_effective_gbps: f64,
        /// GPU to GPU, each way [GB/s]; 0 without a direct link.
        gpu_link_gbps_per_dir: f64,
        /// Row of the all-reduce table.
        allreduce: String,
        /// GPUs in a node at most.
        gpus_per_node_max: u32,
        /// Board power \[W\].
        tdp_w: f64,
        /// Cheapest offer seen [USD/h].
        usd_per_gpu_hour_low: Option<f64>,
        /// Typical on-demand price [USD/h].
        usd_per_gpu_hour: f64,
        /// Dearest offer seen [USD/h].
        usd_per_gpu_hour_high: Option<f64>,
        /// Where the prices come from.
        price_source: Option<String>,
        /// How far to trust the prices.
        price_confidence: Option<Confidence>,
    }
    check(self) {
        positive("mem_gb", self.mem_gb)?;
        positive("mem_bw_tbps", self.mem_bw_tbps)?;
        positive("bf16_dense_tflops", self.bf16_dense_tflops)?;
        for (key, rate) in [
            ("fp8_dense_tflops", self.fp8_dense_tflops),
            ("int8_dense_tops", self.int8_dense_tops),
            ("fp4_dense_tflops", self.fp4_dense_tflops),
        ] {
            rate.map_or(Ok(()), |rate| positive(key, rate))?;
        }
        positive("h2d_effective_gbps", self.h2d_effective_gbps)?;
        at_least("gpu_link_gbps_per_dir", self.gpu_link_gbps_per_dir, 0.0)?;
        at_least("gpus_per_node_max", f64::from(self.gpus_per_node_max), 1.0)?;
        at_least("usd_per_gpu_hour", self.usd_per_gpu_hour, 0.0)?;
        let (low, high) = (self.usd_per_gpu_hour_low.unwrap_or(0.0), self.usd_per_gpu_hour_high.unwrap_or(f64::INFINITY));
        between("usd_per_gpu_hour", self.usd_per_gpu_hour, low, high)
    }
}

impl Gpu {
    /// Memory \[bytes\].
    pub fn mem_bytes(&self) -> u64 {
        (self.mem_gb * 1e9) as u64
    }
}

/// The dense rate that a format's matrix products run at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compute {
    /// 16-bit floating point.
    Bf16,
    /// 8-bit floating point.
    Fp8,
    /// 8-bit integer.
    Int8,
    /// 4-bit floating point.
    Fp4,
}

entry! {
    /// A weight format.
    Format {
        /// Bytes per weight with its scales.
        bytes_per_weight: f64,
        /// Rate of the matrix products.
        compute: Compute,
        /// Rate after dequantising on a GPU that lacks `compute`; without one such a GPU is refused.
        fallback_compute: Option<Compute>,
        /// Weights are dequantised in the kernel and activations stay 16 bit.
        #[serde(default)] weight_only: bool,
        /// Whose efficiency row to use where this format has none.
        efficiency_like: Option<String>,
        /// Share of a benchmark score lost.
        quality_loss: f64,
    }
    check(self) {
        between("bytes_per_weight", self.bytes_per_weight, 0.1, 8.0)?;
        between("quality_loss", self.quality_loss, 0.0, 1.0)
    }
}

entry! {
    /// What share of the data sheet a GPU reaches with a format, at kernel level.
    Efficiency {
        /// The GPU tier.
        gpu: String,
        /// The weight format.
        format: String,
        /// Prefill: share of the rate that long prompts reach.
        prefill_eff_max: f64,
        /// Prefill: tokens at which half of it is reached.
        prefill_n_half_tokens: f64,
        /// Decode: share of the memory bandwidth that weight reads reach at batch 1.
        decode_weight_bw_eff: f64,
    }
    check(self) {
        between("prefill_eff_max", self.prefill_eff_max, 0.01, 1.0)?;
        at_least("prefill_n_half_tokens", self.prefill_n_half_tokens, 0.0)?;
        between("decode_weight_bw_eff", self.decode_weight_bw_eff, 0.01, 1.0)
    }
}

entry! {
    /// An inference engine: its speed against vLLM, and its start-up.
    Engine {
        /// Multiplies prefill time.
        prefill_time_factor: f64,
        /// Multiplies the time of a decode step.
        decode_time_factor: f64,
        /// Compressed container image \[GB\].
        image_gb: f64,
        /// Starting the process and importing the engine \[s\].
        import_s: f64,
        /// CUDA context \[s\].
        cuda_init_s: f64,
        /// Collective communication on eight GPUs \[s\].
        nccl_init_tp8_s: f64,
        /// Compilation without a cache, one GPU \[s\].
        compile_cold_s: f64,
        /// Compilation without a cache, eight GPUs \[s\].
        compile_cold_tp8_s: f64,
        /// Compilation from a cache \[s\].
        compile_cached_s: f64,
        /// Graph capture, one GPU \[s\].
        graph_capture_s: f64,
        /// Graph capture, eight GPUs \[s\].
        graph_capture_tp8_s: f64,
        /// Memory profiling and the warm-up pass \[s\].
        profile_warmup_s: f64,
        /// What its weight loader moves at most [GB/s], if that binds.
        loader_gbps: Option<f64>,
    }
    check(self) {
        between("prefill_time_factor", self.prefill_time_factor, 0.1, 10.0)?;
        between("decode_time_factor", self.decode_time_factor, 0.1, 10.0)?;
        for (key, seconds) in [
            ("image_gb", self.image_gb),
            ("import_s", self.import_s),
            ("cuda_init_s", self.cuda_init_s),
            ("nccl_init_tp8_s", self.nccl_init_tp8_s),
            ("compile_cold_s", self.compile_cold_s),
            ("compile_cold_tp8_s", self.compile_cold_tp8_s),
            ("compile_cached_s", self.compile_cached_s),
            ("graph_capture_s", self.graph_capture_s),
            ("graph_capture_tp8_s", self.graph_capture_tp8_s),
            ("profile_warmup_s", self.profile_warmup_s),
        ] {
            at_least(key, seconds, 0.0)?;
        }
        self.loader_gbps.map_or(Ok(()), |rate| positive("loader_gbps", rate))
    }
}

entry! {
    /// Speculative decoding.
    Speculation {
        /// Mean tokens emitted per iteration with 1, 2, … draft tokens.
        acceptance_len: Vec<f64>,
        /// Extra share of an iteration's time, for drafting and verifying.
        verify_overhead: f64,
        /// Multiplies prefill time: first tokens never come sooner.
        ttft_factor: f64,
    }
    check(self) {
        if self.acceptance_len.is_empty() {
            return Err(Fault::new("acceptance_len", "needs a length for at least one draft token"));
        }
        for (drafts, &length) in (1_u32..).zip(&self.acceptance_len) {
            between("acceptance_len", length, 1.0, f64::from(drafts) + 1.0)?;
        }
        between("verify_overhead", self.verify_overhead, 0.0, 10.0)?;
        between("ttft_factor", self.ttft_factor, 1.0, 10.0)
    }
}

/// Who shares the throughput of a storage tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All replicas of a node.
    Node,
    /// Nobody: each GPU has its own.
    Gpu,
}

entry! {
    /// A place weights are loaded from.
    Storage {
        /// Who shares the throughput.
        scope: Scope,
        /// Model bytes delivered towards the GPU [GB/s], per node or per GPU.
        throughput_gbps: f64,
        /// Spread: standard deviation of the logarithm.
        log_sd: f64,
        /// Until the first byte \[s\].
        first_byte_s: f64,
    }
    check(self) {
        positive("throughput_gbps", self.throughput_gbps)?;
        between("log_sd", self.log_sd, 0.0, 5.0)?;
        at_least("first_byte_s", self.first_byte_s, 0.0)
    }
}

impl<'de> Deserialize<'de> for StartPhase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Self::ALL.into_iter().find(|phase| phase.name() == name);
        found.ok_or_else(|| D::Error::custom(format!("`{name}` is no phase of a start")))
    }
}

entry! {
    /// A phase of a cold start: lognormal with median `median_s` + `per_gb_s` · GB.
    ColdPhase {
        /// Which step it is.
        stage: StartPhase,
        /// Median at zero bytes \[s\].
        median_s: f64,
        /// Added per GB moved [s/GB].
        #[serde(default)] per_gb_s: f64,
        /// Standard deviation of the logarithm.
        log_sd: f64,
        /// Share of stragglers.
        #[serde(default)] tail_prob: f64,
        /// How many times longer a straggler takes.
        #[serde(default = "one")] tail_factor: f64,
    }
    check(self) {
        at_least("median_s", self.median_s, 0.0)?;
        at_least("per_gb_s", self.per_gb_s, 0.0)?;
        between("log_sd", self.log_sd, 0.0, 5.0)?;
        between("tail_prob", self.tail_prob, 0.0, 1.0)?;
        at_least("tail_factor", self.tail_factor, 1.0)
    }
}

fn one() -> f64 {
    1.0
}

/// What a model is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// Generates text.
    #[default]
    Base,
    /// A full fine-tune of another model.
    FineTune,
    /// An adapter on another model.
    LoraAdapter,
    /// Computes embeddings; keeps no cache.
    Embedding,
}

entry! {
    /// A model.
    Model {
        /// What it is for.
        #[serde(default)] kind: ModelKind,
        /// Parameters \[1e9\].
        params_total_b: f64,
        /// Parameters that a token passes through \[1e9\]; all of them unless experts are routed.
        params_active_b: f64,
        /// Parameters of routed experts \[1e9\]; else derived from the other figures.
        params_experts_b: Option<f64>,
        /// Routed experts per layer.
        #[serde(default)] experts: u32,
        /// Experts that a token is routed to.
        #[serde(default)] experts_per_token: u32,
        /// Layers.
        layers: u32,
        /// Width of the residual stream.
        hidden: u32,
        /// Rows of embedding and head; 0 counts neither.
        #[serde(default)] vocab: u32,
        /// Embedding and head are one matrix.
        #[serde(default)] tied_embeddings: bool,
        /// Query heads.
        q_heads: u32,
        /// Key-value heads; 1 for a cached latent, which every GPU holds whole.
        kv_heads: u32,
        /// Width of a cached head.
        head_dim: u32,
        /// Width of a head in prefill attention, mean of query-key and value; `head_dim` unless given.
        attention_head_dim: Option<u32>,
        /// Layers that attend to the whole context; all unless given.
        attention_layers: Option<u32>,
        /// Sparse attention: keys that a query reads at most.
        attention_top_tokens: Option<u32>,
        /// Cache per token at 16 bits \[bytes\]; halved by an FP8 cache.
        kv_bytes_per_token_bf16: f64,
        /// Format of the published checkpoint.
        native_format: String,
        /// Format of its experts, where it differs.
        native_expert_format: Option<String>,
        /// Format of all other weights, where it differs.
        native_dense_format: Option<String>,
        /// Size of the published checkpoint \[GB\].
        native_checkpoint_gb: f64,
        /// GPU memory that its publisher asks for \[GB\].
        min_vram_gb: Option<f64>,
        /// Longest context \[tokens\].
        context_tokens: Option<u32>,
        /// GPUs of the 80-141 GB class that usually serve it.
        typical_gpus: Option<u32>,
    }
    check(self) {
        positive("params_total_b", self.params_total_b)?;
        between("params_active_b", self.params_active_b, f64::MIN_POSITIVE, self.params_total_b)?;
        let experts = self.params_experts_b.unwrap_or(0.0);
        between("params_experts_b", experts, 0.0, self.params_total_b)?;
        between("experts_per_token", f64::from(self.experts_per_token), 0.0, f64::from(self.experts))?;
        if self.experts > 0 && self.experts_per_token == 0 {
            return Err(Fault::new("experts_per_token", "must be at least 1 when experts are given"));
        }
        for (key, count) in [
            ("layers", self.layers),
            ("hidden", self.hidden),
            ("q_heads", self.q_heads),
            ("kv_heads", self.kv_heads),
            ("head_dim", self.head_dim),
        ] {
            at_least(key, f64::from(count), 1.0)?;
        }
        at_least("kv_bytes_per_token_bf16", self.kv_bytes_per_token_bf16, 0.0)?;
        positive("native_checkpoint_gb", self.native_checkpoint_gb)
    }
}

entry! {
    /// A part of a TTFT outside the replica: lognormal.
    Network {
        /// Median \[ms\].
        median_ms: f64,
        /// Standard deviation of the logarithm.
        log_sd: f64,
    }
    check(self) {
        at_least("median_ms", self.median_ms, 0.0)?;
        between("log_sd", self.log_sd, 0.0, 5.0)
    }
}

entry! {
    /// How a platform scales and keeps replicas. What is absent has no such rule there.
    Policy {
        /// Replicas kept without demand.
        min_replicas: Option<u32>,
        /// Replicas at most.
        max_replicas: Option<u32>,
        /// Replicas at the start.
        initial_replicas: Option<u32>,
        /// Idle replicas kept besides those in use.
        buffer_replicas: Option<u32>,
        /// Idle time after which the last replica goes \[s\].
        keep_alive_s: Option<f64>,
        /// Smallest setting of it \[s\].
        keep_alive_min_s: Option<f64>,
        /// Largest setting of it \[s\].
        keep_alive_max_s: Option<f64>,
        /// How often the rule looks \[s\].
        check_s: Option<f64>,
        /// How often it looks for removal \[s\].
        scale_down_check_s: Option<f64>,
        /// What it averages over \[s\].
        window_s: Option<f64>,
        /// The short window that catches bursts \[s\].
        panic_window_s: Option<f64>,
        /// Demand over capacity in the short window that triggers it.
        panic_threshold: Option<f64>,
        /// How long demand must be high before a replica is added \[s\].
        scale_up_delay_s: Option<f64>,
        /// How long demand must be low before one goes \[s\].
        scale_down_delay_s: Option<f64>,
        /// Largest growth in one decision.
        max_scale_up_factor: Option<f64>,
        /// Largest shrinkage in one decision.
        max_scale_down_factor: Option<f64>,
        /// Requests in progress per replica to steer to.
        target_requests_per_replica: Option<f64>,
        /// Share of the target, or of capacity, to steer to.
        target_utilization: Option<f64>,
        /// Requests per second per replica to steer to.
        target_rate_per_replica_rps: Option<f64>,
        /// Requests that the gateway holds beyond capacity.
        burst_capacity_requests: Option<f64>,
        /// Waiting requests per replica that trigger growth.
        pending_requests_per_replica: Option<f64>,
        /// Wait in the queue that triggers growth \[s\].
        queue_delay_s: Option<f64>,
        /// Capacity held for demand that has not come, as a multiple of demand.
        spare_factor: Option<f64>,
        /// Longest run of a request \[s\].
        request_timeout_s: Option<f64>,
        /// Requests that meet no replica are refused instead of held.
        #[serde(default)] refuses_while_cold: bool,
        /// Histogram of idle times: range \[s\].
        histogram_range_s: Option<f64>,
        /// Its bins \[s\].
        histogram_bin_s: Option<f64>,
        /// Percentile at which a replica is started ahead.
        histogram_head_percentile: Option<f64>,
        /// Percentile until which it is kept.
        histogram_tail_percentile: Option<f64>,
        /// Margin on both.
        histogram_margin: Option<f64>,
        /// Coefficient of variation of the bins above which the histogram is trusted.
        histogram_cv_threshold: Option<f64>,
        /// Share outside the range above which it is not.
        histogram_overflow_threshold: Option<f64>,
    }
    check(self) {
        for (key, value) in [
            ("keep_alive_s", self.keep_alive_s),
            ("check_s", self.check_s),
            ("window_s", self.window_s),
            ("scale_up_delay_s", self.scale_up_delay_s),
            ("scale_down_delay_s", self.scale_down_delay_s),
            ("queue_delay_s", self.queue_delay_s),
        ] {
            at_least(key, value.unwrap_or(0.0), 0.0)?;
        }
        between("target_utilization", self.target_utilization.unwrap_or(1.0), 0.01, 1.0)?;
        let (low, high) = (self.min_replicas.unwrap_or(0), self.max_replicas.unwrap_or(u32::MAX));
        between("max_replicas", f64::from(high), f64::from(low), f64::INFINITY)
    }
}

entry! {
    /// Time of an all-reduce by message size.
    AllReduce {
        /// Message sizes, rising \[bytes\].
        bytes: Vec<f64>,
        /// Times \[µs\].
        us: Vec<f64>,
    }
    check(self) { curve("bytes", &self.bytes, "us", &self.us) }
}

entry! {
    /// Scalars of the performance model.
    Defaults {
        /// End-to-end prefill time = kernel time / this.
        engine_kernel_factor: f64,
        /// What routed experts reach of a dense model's prefill efficiency.
        moe_prefill_eff_factor: f64,
        /// Context lengths of `prefill_attn_eff` \[tokens\].
        prefill_attn_tokens: Vec<f64>,
        /// Attention's share of the 16-bit rate.
        prefill_attn_eff: Vec<f64>,
        /// Share of the memory bandwidth that cache reads reach, 16 bits.
        decode_kv_bw_eff_bf16: f64,
        /// The same, FP8.
        decode_kv_bw_eff_fp8: f64,
        /// Fixed cost of a decode layer on one GPU \[µs\].
        decode_layer_overhead_us_dense_tp1: f64,
        /// On four \[µs\].
        decode_layer_overhead_us_dense_tp4: f64,
        /// On eight \[µs\].
        decode_layer_overhead_us_dense_tp8: f64,
        /// With routed experts, any number of GPUs \[µs\].
        decode_layer_overhead_us_moe: f64,
        /// Tokens of an iteration at most \[tokens\].
        chunked_prefill_tokens: u32,
        /// Share of GPU memory that the engine takes.
        gpu_memory_utilization: f64,
        /// Of that, what activations and buffers take per GPU \[GB\].
        gpu_reserve_gb: f64,
        /// Spread of warm TTFT: standard deviation of the logarithm.
        ttft_warm_log_sd: f64,
        /// Prefill efficiency of a weight-only format without a row, against BF16.
        weight_only_prefill_factor: f64,
        /// Its bandwidth efficiency, against BF16.
        weight_only_bw_factor: f64,
        /// The same for FP8.
        fp8_prefill_factor: f64,
        /// The same for FP8.
        fp8_bw_factor: f64,
        /// The same for FP4.
        fp4_prefill_factor: f64,
        /// The same for FP4.
        fp4_bw_factor: f64,
        /// The same for INT8.
        int8_prefill_factor: f64,
        /// The same for INT8.
        int8_bw_factor: f64,
        /// A GPU without any row: prefill.
        generic_prefill_eff: f64,
        /// A GPU without any row: tokens at half of it.
        generic_n_half_tokens: f64,
        /// A GPU without any row: bandwidth.
        generic_bw_eff: f64,
    }
    check(self) {
        for (key, share) in [
            ("engine_kernel_factor", self.engine_kernel_factor),
            ("moe_prefill_eff_factor", self.moe_prefill_eff_factor),
            ("decode_kv_bw_eff_bf16", self.decode_kv_bw_eff_bf16),
            ("decode_kv_bw_eff_fp8", self.decode_kv_bw_eff_fp8),
            ("gpu_memory_utilization", self.gpu_memory_utilization),
            ("generic_prefill_eff", self.generic_prefill_eff),
            ("generic_bw_eff", self.generic_bw_eff),
        ] {
            between(key, share, 0.01, 1.0)?;
        }
        at_least("gpu_reserve_gb", self.gpu_reserve_gb, 0.0)?;
        curve("prefill_attn_tokens", &self.prefill_attn_tokens, "prefill_attn_eff", &self.prefill_attn_eff)
    }
}

/// A table of points must have rising positive abscissae and as many positive ordinates.
fn curve(x_key: &'static str, x: &[f64], y_key: &'static str, y: &[f64]) -> Result<(), Fault> {
    if x.is_empty() || x[0] <= 0.0 || x.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(Fault::new(x_key, "must rise and be positive"));
    }
    if y.len() != x.len() {
        return Err(Fault::new(
            y_key,
            format!("has {} values for {} of {x_key}", y.len(), x.len()),
        ));
    }
    y.iter().try_for_each(|&value| positive(y_key, value))
}

entry! {
    /// A cold start or engine start-up that somebody measured or states.
    Measured {
        /// Total \[s\].
        total_s: f64,
        /// Its parts as `name:seconds`, where published.
        #[serde(default)] phases: Vec<String>,
    }
    check(self) { positive("total_s", self.total_s) }
}

entry! {
    /// TTFT that a provider was seen to have.
    ProviderTtft {
        /// Median \[s\].
        ttft_p50_s: f64,
        /// 95th percentile \[s\].
        ttft_p95_s: Option<f64>,
        /// 99th percentile \[s\].
        ttft_p99_s: Option<f64>,
    }
    check(self) {
        positive("ttft_p50_s", self.ttft_p50_s)?;
        at_least("ttft_p95_s", self.ttft_p95_s.unwrap_or(f64::INFINITY), self.ttft_p50_s)
    }
}

entry! {
    /// TTFT of one deployment by number of requests in progress.
    TtftByConcurrency {
        /// Requests in progress.
        concurrency: Vec<f64>,
        /// Mean TTFT \[s\].
        ttft_s: Vec<f64>,
    }
    check(self) { curve("concurrency", &self.concurrency, "ttft_s", &self.ttft_s) }
}

entry! {
    /// How much sooner a first token comes from an H100 than from an A100.
    GpuRatio {
        /// On an H100 \[ms\].
        h100_ms: Option<f64>,
        /// On an A100 \[ms\].
        a100_ms: Option<f64>,
        /// A100 over H100.
        ratio: f64,
    }
    check(self) { positive("ratio", self.ratio) }
}

entry! {
    /// Cold TTFT against bytes: `a_s` + `b_s_per_gb` · GB.
    ColdLinear {
        /// At zero bytes \[s\].
        a_s: f64,
        /// Per GB [s/GB].
        b_s_per_gb: f64,
    }
    check(self) {
        at_least("a_s", self.a_s, 0.0)?;
        at_least("b_s_per_gb", self.b_s_per_gb, 0.0)
    }
}
