//! The shipped catalogue and its predictions against what others measured.
//!
//! Every test prints all its rows when it fails, so that a refit shows what else moves.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use super::performance::{
    Deployment, DeploymentProblem, GB, KvFormat, Parameters, Performance, Term,
};
use super::start::{Origin, StartPlan, load};
use super::{AnyShelf, Catalog, ColdPhase, Confidence};
use crate::start_phase::StartPhase;
use std::fmt::Write as _;

fn performance(catalog: &Catalog, deployment: &Deployment<'_>) -> Performance {
    catalog
        .performance(deployment)
        .unwrap_or_else(|problem| panic!("{deployment:?}: {problem}"))
}

fn on<'a>(model: &'a str, gpu: &'a str, gpus: u32, format: &'a str) -> Deployment<'a> {
    Deployment {
        format: Some(format),
        ..Deployment::new(model, gpu, gpus)
    }
}

/// Rows of name, found and expected value; fails with all of them if one is off by more than `bound`.
struct Rows {
    bound: f64,
    text: String,
    worst: f64,
}

impl Rows {
    fn within(bound: f64) -> Self {
        Self {
            bound,
            text: String::new(),
            worst: 0.0,
        }
    }

    fn add(&mut self, name: &str, found: f64, expected: f64) {
        let error = found / expected - 1.0;
        self.worst = self.worst.max(error.abs());
        writeln!(
            self.text,
            "{name:48} {found:12.5} {expected:12.5} {:+7.1} %",
            error * 100.0
        )
        .unwrap();
    }

    fn check(&self) {
        println!("{}", self.text);
        assert!(
            self.worst <= self.bound,
            "worst {:.3} of {:.3}\n{}",
            self.worst,
            self.bound,
            self.text
        );
    }
}

// The tables themselves.

#[test]
fn every_entry_has_a_source_and_values_in_range() {
    let catalog = Catalog::shipped();
    for kind in Catalog::kinds() {
        let ids = catalog.ids(kind);
        assert!(!ids.is_empty(), "{kind} is empty");
        for id in ids {
            let listing = catalog.listing(kind, id).unwrap();
            assert!(listing.source.len() > 4, "{kind} {id} has no source");
            assert!(
                !listing.source.contains("find_string"),
                "{kind} {id}: {}",
                listing.source
            );
            assert_ne!(listing.confidence, Confidence::Stated, "{kind} {id}");
        }
    }
}

#[test]
fn entries_refer_to_entries_that_exist() {
    let catalog = Catalog::shipped();
    for gpu in catalog.gpus.iter() {
        assert!(
            catalog.allreduces.get(&gpu.allreduce).is_some(),
            "{}",
            gpu.id
        );
        assert!(
            gpu.fp4_formats
                .iter()
                .all(|id| catalog.formats.get(id).is_some()),
            "{}",
            gpu.id
        );
        assert_eq!(
            gpu.fp4_dense_tflops.is_some(),
            !gpu.fp4_formats.is_empty(),
            "{}",
            gpu.id
        );
        assert!(
            catalog
                .efficiencies
                .get(&format!("{}/bf16", gpu.id))
                .is_some(),
            "{}",
            gpu.id
        );
    }
    for row in catalog.efficiencies.iter() {
        assert_eq!(row.id, format!("{}/{}", row.gpu, row.format));
        assert!(
            catalog.gpus.get(&row.gpu).is_some() && catalog.formats.get(&row.format).is_some(),
            "{}",
            row.id
        );
    }
    for format in catalog.formats.iter() {
        assert!(
            format
                .efficiency_like
                .iter()
                .all(|id| catalog.formats.get(id).is_some()),
            "{}",
            format.id
        );
    }
    for model in catalog.models.iter() {
        let formats = [
            Some(&model.native_format),
            model.native_expert_format.as_ref(),
            model.native_dense_format.as_ref(),
        ];
        assert!(
            formats
                .into_iter()
                .flatten()
                .all(|id| catalog.formats.get(id).is_some()),
            "{}",
            model.id
        );
    }
}

/// Cache bytes follow from the shape, and the checkpoint from parameters and format.
#[test]
fn models_add_up() {
    let catalog = Catalog::shipped();
    let mut checkpoints = Rows::within(0.05);
    for model in catalog.models.iter() {
        let layers = f64::from(model.attention_layers.unwrap_or(model.layers));
        let heads = f64::from(model.kv_heads) * f64::from(model.head_dim) * layers * 2.0;
        let (grouped, latent) = (2.0 * heads, heads);
        let kv = model.kv_bytes_per_token_bf16;
        // DeepSeek V4 compresses its cache; V3.2 adds 256 bytes of index a layer; embedding models keep none.
        let special = model.id.starts_with("deepseek-v4") || kv == 0.0;
        let indexed = latent + 256.0 * layers;
        assert!(
            special || [grouped, latent, indexed].contains(&kv),
            "{}: {kv}, {grouped}, {latent}",
            model.id
        );
        // Those whose checkpoints carry more than the weights counted: draft layers, 16-bit parts, a second embedding.
        if ["qwen3-0.6b", "llama-3.1-8b-finetune-int4"].contains(&model.id.as_str()) {
            continue;
        }
        let split = Parameters::of(model);
        let bytes = |id: &Option<String>| {
            catalog
                .formats
                .get(id.as_deref().unwrap_or(&model.native_format))
                .unwrap()
                .bytes_per_weight
        };
        let computed = split.dense * bytes(&model.native_dense_format)
            + split.experts * bytes(&model.native_expert_format);
        checkpoints.add(&model.id, computed / GB, model.native_checkpoint_gb);
    }
    checkpoints.check();
}

#[test]
fn an_overlay_changes_single_keys_and_reports_the_key_at_fault() {
    let mut catalog = Catalog::shipped();
    let table = |text: &str| text.parse::<toml::Table>().unwrap();
    catalog
        .overlay("gpu", "h100-sxm", &table("usd_per_gpu_hour = 2.5"))
        .unwrap();
    let h100 = catalog.gpus.get("h100-sxm").unwrap();
    assert_eq!((h100.usd_per_gpu_hour, h100.mem_gb), (2.5, 80.0));
    assert_eq!(h100.confidence, Confidence::Stated);
    assert!(
        h100.source.starts_with("scenario, over ai-dynamo"),
        "{}",
        h100.source
    );

    let problem = catalog
        .overlay("gpu", "h100-sxm", &table("memory_gb = 94"))
        .unwrap_err();
    assert_eq!(problem.key.as_deref(), Some("memory_gb"));
    assert!(problem.help.unwrap().contains("mem_gb"));
    let problem = catalog
        .overlay("gpu", "h100-sxm", &table("mem_gb = \"lots\""))
        .unwrap_err();
    assert_eq!(problem.key.as_deref(), Some("mem_gb"));
    let problem = catalog
        .overlay("gpu", "h100-sxm", &table("mem_gb = -1"))
        .unwrap_err();
    assert_eq!(
        problem.to_string(),
        "gpu h100-sxm, mem_gb: must be positive, is -1"
    );
    let problem = catalog
        .overlay("storage", "tape", &table("scope = \"node\""))
        .unwrap_err();
    assert_eq!(problem.key.as_deref(), Some("throughput_gbps"));
    assert!(
        catalog
            .overlay("disk", "tape", &table(""))
            .unwrap_err()
            .help
            .unwrap()
            .contains("storage")
    );
    assert_eq!(catalog.gpus.get("h100-sxm").unwrap().mem_gb, 80.0);

    let tape = table("scope = \"node\"\nthroughput_gbps = 0.3\nlog_sd = 0.1\nfirst_byte_s = 30");
    catalog.overlay("storage", "tape", &tape).unwrap();
    assert_eq!(catalog.ids("storage").last(), Some(&"tape"));
    assert_eq!(
        catalog.storages.provenance("tape"),
        Some(("scenario", Confidence::Stated))
    );
    // Both bounds move at once.
    let larger = table("params_active_b = 90\nparams_total_b = 100");
    catalog.overlay("model", "llama-3.3-70b", &larger).unwrap();
}

// Memory.

/// 70.6 B weights at 16 bits do not fit one 80 GB GPU; 4 bits do; 8 bits with 12 GB of cache do not.
#[test]
fn c068_an_impossible_deployment_is_refused_with_bytes() {
    let catalog = Catalog::shipped();
    let try_format = |format: &'static str, reserve| {
        catalog.performance(&Deployment {
            kv_reserve_bytes: reserve,
            ..on("llama-3.3-70b", "h100-sxm", 1, format)
        })
    };
    let Err(DeploymentProblem::TooLarge(memory)) = try_format("fp16", None) else {
        panic!("fp16 fits")
    };
    assert_eq!(memory.weight_bytes, 141.2e9);
    let text = DeploymentProblem::TooLarge(memory).to_string();
    assert!(
        text.contains("needs 141871088640 bytes")
            && text.contains("available are 68500000000 bytes"),
        "{text}"
    );
    assert_eq!(
        try_format("int4", None).unwrap().memory().weight_bytes,
        35.3e9
    );
    assert!(matches!(
        try_format("int8", Some(12e9)),
        Err(DeploymentProblem::TooLarge(_))
    ));
}

/// Bytes per weight with scales, and the load at 5 GB/s.
#[test]
fn c069_bytes_per_weight_decide_load_time_and_cache() {
    let mut catalog = Catalog::shipped();
    let changes = "scope = \"node\"\nthroughput_gbps = 5\nlog_sd = 0\nfirst_byte_s = 0"
        .parse()
        .unwrap();
    catalog.overlay("storage", "five", &changes).unwrap();
    let mut free = Vec::new();
    for (format, gb, seconds) in [
        ("fp16", 16.06, 3.212),
        ("int8", 8.03, 1.606),
        ("int4", 4.015, 0.803),
        ("nvfp4", 4.516_875, 0.903_375),
    ] {
        let hardware = catalog
            .hardware(&on("llama-3.1-8b", "b200", 1, format))
            .unwrap();
        let bytes = hardware.weight_bytes;
        assert!((bytes - gb * GB).abs() < 1.0, "{format}: {bytes}");
        let storage = catalog.storages.get("five").unwrap();
        let alone = load(storage, hardware.engine, hardware.gpu, 1, bytes).alone_s();
        assert!((alone - seconds).abs() < 1e-9, "{format}: {alone}");
        free.push(hardware.memory().kv_capacity_tokens());
    }
    assert!((16.06e9 / f64::from(1 << 30) - 14.96).abs() < 0.005, "GiB");
    assert!(
        free[0] < free[1] && free[1] < free[3] && free[3] < free[2],
        "{free:?}"
    );
    let bf16 = performance(&catalog, &on("llama-3.1-8b", "b200", 1, "fp16"));
    let fp8 = performance(
        &catalog,
        &Deployment {
            kv: KvFormat::Fp8,
            ..on("llama-3.1-8b", "b200", 1, "fp16")
        },
    );
    assert_eq!(bf16.memory().weight_bytes, fp8.memory().weight_bytes);
    assert_eq!(
        bf16.memory().kv_bytes_per_token,
        2.0 * fp8.memory().kv_bytes_per_token
    );
}

#[test]
fn a_format_that_the_tier_lacks_is_refused() {
    let catalog = Catalog::shipped();
    let refused = |gpu, format| {
        catalog
            .performance(&on("llama-3.1-8b", gpu, 1, format))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refused("a100-sxm-80", "fp8"), "a100-sxm-80 has no fp8");
    assert_eq!(refused("h100-sxm", "nvfp4"), "h100-sxm has no nvfp4");
    assert_eq!(refused("mi355x", "nvfp4"), "mi355x has no nvfp4");
    assert_eq!(refused("b300", "int8"), "b300 has no int8");
    // MXFP4 is dequantised where there is none, and then gains nothing in prefill.
    let at = |format| {
        performance(&catalog, &on("llama-3.1-8b", "h100-sxm", 1, format)).prefill_kernels(2048, 0)
    };
    assert!(
        (0.9..1.2).contains(&(at("bf16") / at("mxfp4"))),
        "{} {}",
        at("bf16"),
        at("mxfp4")
    );
}

/// A latent cache is held whole by every GPU; grouped heads are split.
#[test]
fn cache_is_split_over_key_value_heads_only() {
    let catalog = Catalog::shipped();
    let memory =
        |model, gpus| *performance(&catalog, &Deployment::new(model, "b200", gpus)).memory();
    assert_eq!(
        memory("deepseek-v3.1", 8).kv_bytes_per_token,
        8.0 * 70_272.0
    );
    assert_eq!(memory("llama-3.3-70b", 8).kv_bytes_per_token, 327_680.0);
    assert_eq!(
        memory("qwen3-235b-a22b", 8).kv_bytes_per_token,
        2.0 * 192_512.0
    );
}

// Prefill.

/// Kernel sums of linear layers and attention [ms] at 512, 1k, 2k, 4k and 8k tokens; aiconfigurator@095f58a.
const KERNEL_SUMS: [(&str, u32, &str, &str, [f64; 5]); 19] = [
    (
        "llama-3.1-8b",
        1,
        "a100-sxm-80",
        "bf16",
        [32.6, 59.3, 116.7, 249.0, 551.0],
    ),
    (
        "llama-3.1-8b",
        1,
        "l40s",
        "bf16",
        [31.7, 62.0, 131.0, 270.0, 655.0],
    ),
    (
        "llama-3.1-8b",
        1,
        "l40s",
        "fp8",
        [21.5, 43.2, 87.8, 188.0, 438.0],
    ),
    (
        "llama-3.1-8b",
        1,
        "h100-sxm",
        "bf16",
        [9.6, 19.3, 37.0, 79.6, 187.0],
    ),
    (
        "llama-3.1-8b",
        1,
        "h100-sxm",
        "fp8",
        [7.4, 14.1, 29.3, 61.8, 129.0],
    ),
    (
        "llama-3.1-8b",
        1,
        "h200-sxm",
        "bf16",
        [9.7, 18.6, 37.4, 82.7, 185.0],
    ),
    (
        "llama-3.1-8b",
        1,
        "h200-sxm",
        "fp8",
        [7.0, 12.7, 25.4, 54.4, 120.0],
    ),
    (
        "llama-3.1-8b",
        1,
        "b200",
        "bf16",
        [5.7, 9.9, 19.4, 41.2, 94.5],
    ),
    (
        "llama-3.1-8b",
        1,
        "b200",
        "fp8",
        [5.3, 8.3, 17.4, 35.7, 76.6],
    ),
    (
        "llama-3.1-8b",
        1,
        "b200",
        "nvfp4",
        [3.5, 5.7, 10.7, 20.3, 44.2],
    ),
    (
        "llama-3.3-70b",
        4,
        "a100-sxm-80",
        "bf16",
        [79.7, 140.0, 267.0, 534.0, 1136.0],
    ),
    (
        "llama-3.3-70b",
        4,
        "l40s",
        "bf16",
        [79.0, 156.0, 297.0, 629.0, 1373.0],
    ),
    (
        "llama-3.3-70b",
        4,
        "h100-sxm",
        "bf16",
        [24.0, 43.7, 86.0, 193.0, 442.0],
    ),
    (
        "llama-3.3-70b",
        4,
        "h100-sxm",
        "fp8",
        [17.5, 34.1, 66.8, 136.0, 253.0],
    ),
    (
        "llama-3.3-70b",
        4,
        "h200-sxm",
        "bf16",
        [23.2, 44.6, 89.0, 205.0, 405.0],
    ),
    (
        "llama-3.3-70b",
        4,
        "h200-sxm",
        "fp8",
        [16.5, 31.4, 60.4, 125.0, 252.0],
    ),
    (
        "llama-3.3-70b",
        4,
        "b200",
        "bf16",
        [13.4, 23.8, 44.6, 94.8, 214.0],
    ),
    (
        "llama-3.3-70b",
        4,
        "b200",
        "fp8",
        [13.5, 20.9, 37.2, 68.1, 154.0],
    ),
    (
        "llama-3.3-70b",
        4,
        "b200",
        "nvfp4",
        [8.3, 13.4, 22.2, 47.6, 100.6],
    ),
];

/// All 95 kernel sums within 15 %. The coefficients were fitted to them, so this holds the fit, it does not prove it.
#[test]
fn prefill_meets_the_kernel_sums() {
    let catalog = Catalog::shipped();
    let mut rows = Rows::within(0.15);
    for (model, gpus, gpu, format, sums) in KERNEL_SUMS {
        let performance = performance(&catalog, &on(model, gpu, gpus, format));
        for (tokens, sum) in [512, 1024, 2048, 4096, 8192].into_iter().zip(sums) {
            let found = performance.prefill_kernels(tokens, 0) * 1e3;
            rows.add(
                &format!("{model} x{gpus} {gpu} {format} {tokens}"),
                found,
                sum,
            );
        }
    }
    rows.check();
}

/// The first token comes 2 to 3 times sooner from an H100 than from an A100, at equal load and format: the median of these
/// cases within 2 and 3, none beyond the 3.15 that the kernel sums show at 2k (3.4 at 512).
#[test]
fn h100_against_a100() {
    let catalog = Catalog::shipped();
    let (mut text, mut ratios) = (String::new(), Vec::new());
    for (model, gpus) in [
        ("llama-3.1-8b", 1),
        ("qwen3-8b", 1),
        ("llama-3.3-70b", 4),
        ("qwen3-32b", 2),
    ] {
        for tokens in [256, 512, 1024, 2048, 8192] {
            let at = |gpu| performance(&catalog, &on(model, gpu, gpus, "bf16")).prefill(tokens, 0);
            let ratio = at("a100-sxm-80") / at("h100-sxm");
            ratios.push(ratio);
            writeln!(text, "{model} x{gpus} {tokens}: {ratio:.2}").unwrap();
        }
    }
    ratios.sort_by(f64::total_cmp);
    let (low, median, high) = (
        ratios[0],
        ratios[ratios.len() / 2],
        ratios[ratios.len() - 1],
    );
    assert!(
        low >= 2.0 && (2.0..=3.0).contains(&median) && high <= 3.15,
        "{low} {median} {high}\n{text}"
    );
}

/// What a format gains in prefill at 2k tokens and in weight reads at batch 1, against BF16 on the same tier.
#[test]
fn gains_of_formats_are_as_measured() {
    let catalog = Catalog::shipped();
    let mut text = String::new();
    let mut good = true;
    for (gpu, format, prefill, decode) in [
        ("h100-sxm", "fp8", (1.26, 1.45), (1.4, 1.5)),
        ("h200-sxm", "fp8", (1.40, 1.65), (1.4, 1.8)),
        ("l40s", "fp8", (1.40, 1.60), (1.4, 1.8)),
        ("b200", "fp8", (1.08, 1.26), (1.1, 1.4)),
        ("b200", "nvfp4", (1.75, 2.1), (2.0, 2.3)),
        ("a100-sxm-80", "int8-w8a8", (1.75, 2.05), (1.7, 2.2)),
        ("a100-sxm-80", "int4-w4a16", (0.9, 1.1), (2.2, 2.6)),
        ("h200-sxm", "int4-w4a16", (0.9, 1.1), (1.2, 2.3)),
        ("l40s", "int4-w4a16", (0.9, 1.1), (2.0, 3.87)),
        ("a10g", "int4-w4a16", (0.85, 1.1), (3.0, 3.87)),
    ] {
        let at = |format| performance(&catalog, &on("llama-3.1-8b", gpu, 1, format));
        let (plain, quantised) = (at("bf16"), at(format));
        let weights = |of: &Performance| of.step_terms(1, 0.0)[0].seconds;
        let gain = plain.prefill_kernels(2048, 0) / quantised.prefill_kernels(2048, 0);
        let read = weights(&plain) / weights(&quantised);
        good &= (prefill.0..=prefill.1).contains(&gain) && (decode.0..=decode.1).contains(&read);
        writeln!(
            text,
            "{gpu} {format}: prefill {gain:.2} of {prefill:?}, decode {read:.2} of {decode:?}"
        )
        .unwrap();
    }
    println!("{text}");
    assert!(good, "{text}");
}

/// Weight-only formats lose their gain as the batch grows: 4 bits are worth little at 128 sequences (Marlin).
#[test]
fn four_bits_fade_with_the_batch() {
    let catalog = Catalog::shipped();
    let at = |format| performance(&catalog, &on("llama-3.1-8b", "a100-sxm-80", 1, format));
    let gain = |batch| at("bf16").step(batch, 0.0) / at("int4-w4a16").step(batch, 0.0);
    assert!(
        gain(1) > 1.9 && gain(256) < 1.1,
        "{} {} {}",
        gain(1),
        gain(128),
        gain(256)
    );
}

#[test]
fn chunks_of_a_prompt_take_at_least_the_whole() {
    let catalog = Catalog::shipped();
    let performance = performance(&catalog, &Deployment::new("llama-3.1-8b", "h100-sxm", 1));
    let whole = performance.prefill_kernels(8192, 0);
    let chunks: f64 = (0..8)
        .map(|chunk| performance.prefill_kernels(1024, chunk * 1024))
        .sum();
    assert!(
        chunks >= whole * 0.97 && chunks < 1.3 * whole,
        "{chunks} {whole}"
    );
    // One token is a pass over the weights, however short the prompt.
    assert!(
        performance.prefill(1, 0) > 0.005,
        "{}",
        performance.prefill(1, 0)
    );
}

// Decode.

// End-to-end inter-token latency: vLLM on H100 (2026-04-22), DeepSeek V3.2 on eight B300 (2026-05-11, 125 tokens/s).
#[test]
fn decode_meets_published_latencies() {
    let catalog = Catalog::shipped();
    let mut rows = Rows::within(0.10);
    let llama = performance(&catalog, &Deployment::new("llama-3.1-8b", "h100-sxm", 1));
    rows.add(
        "llama-3.1-8b, no context [ms]",
        llama.step(1, 0.0) * 1e3,
        6.44,
    );
    rows.add(
        "llama-3.1-8b, per token [us]",
        llama.coefficients(1).per_context_token_s * 1e6,
        4.37e-2,
    );
    let fp8 = Deployment {
        kv: KvFormat::Fp8,
        ..Deployment::new("llama-3.1-8b", "h100-sxm", 1)
    };
    let fp8 = performance(&catalog, &fp8)
        .coefficients(1)
        .per_context_token_s;
    rows.add(
        "llama-3.1-8b, FP8 cache, per token [us]",
        fp8 * 1e6,
        2.37e-2,
    );
    let oss = performance(&catalog, &Deployment::new("gpt-oss-20b", "h100-sxm", 1));
    rows.add("gpt-oss-20b, no context [ms]", oss.step(1, 0.0) * 1e3, 4.03);
    rows.add(
        "gpt-oss-20b, per token [us]",
        oss.coefficients(1).per_context_token_s * 1e6,
        8.94e-3,
    );
    let deepseek = performance(&catalog, &Deployment::new("deepseek-v3.2", "b300", 8));
    rows.add(
        "deepseek-v3.2 on 8 B300 [ms]",
        deepseek.step(1, 0.0) * 1e3,
        8.0,
    );
    rows.check();
}

/// Kernel sums of the weight products at batch 1, aiconfigurator; the middle of each range. The head is not in them.
#[test]
fn weight_reads_meet_the_kernel_sums() {
    let catalog = Catalog::shipped();
    let mut rows = Rows::within(0.15);
    for (model, gpu, gpus, format, ms) in [
        ("llama-3.1-8b", "a100-sxm-80", 1, "bf16", 10.2),
        ("llama-3.1-8b", "l40s", 1, "bf16", 21.0),
        ("llama-3.1-8b", "h100-sxm", 1, "bf16", 5.4),
        ("llama-3.1-8b", "h200-sxm", 1, "bf16", 4.05),
        ("llama-3.1-8b", "b200", 1, "bf16", 2.8),
        ("llama-3.1-8b", "h100-sxm", 1, "fp8", 3.6),
        ("llama-3.3-70b", "h100-sxm", 4, "bf16", 13.0),
        ("llama-3.3-70b", "h100-sxm", 4, "fp8", 8.8),
        ("llama-3.3-70b", "a100-sxm-80", 4, "bf16", 26.6),
    ] {
        let split = Parameters::of(catalog.models.get(model).unwrap());
        let without_head =
            (split.dense - split.embedding - split.head) / (split.dense - split.embedding);
        let read =
            performance(&catalog, &on(model, gpu, gpus, format)).step_terms(1, 0.0)[0].seconds;
        rows.add(
            &format!("{model} x{gpus} {gpu} {format}"),
            read * without_head * 1e3,
            ms,
        );
    }
    rows.check();
}

#[test]
fn the_coefficients_are_exact_at_their_batch() {
    let catalog = Catalog::shipped();
    for deployment in [
        Deployment::new("llama-3.3-70b", "h100-sxm", 4),
        Deployment::new("kimi-k2.6", "h200-sxm", 8),
    ] {
        let performance = performance(&catalog, &deployment);
        for batch in [1, 8, 64, 256] {
            let step = performance.coefficients(batch);
            for context in [0.0, 1e4, 1e6] {
                let (exact, linear) = (
                    performance.step(batch, context),
                    step.seconds(batch, context),
                );
                assert!((exact / linear - 1.0).abs() < 1e-12, "{exact} {linear}");
            }
            assert!(step.per_sequence_s >= 0.0 && step.base_s > 0.0, "{step:?}");
        }
        // Experts that more sequences reach cost ever less.
        assert!(
            performance.coefficients(1).per_sequence_s
                >= performance.coefficients(16).per_sequence_s - 1e-9
        );
    }
}

#[test]
fn terms_add_up_to_the_times() {
    let catalog = Catalog::shipped();
    let sum = |terms: &[Term]| terms.iter().map(|term| term.seconds).sum::<f64>();
    for speculation in [None, Some(("eagle3-kimi", 3))] {
        let deployment = Deployment {
            speculation,
            engine: "sglang",
            ..Deployment::new("kimi-k2.6", "h200-sxm", 8)
        };
        let performance = performance(&catalog, &deployment);
        for (tokens, context) in [(1, 0), (480, 0), (8192, 8192)] {
            let terms = performance.prefill_terms(tokens, context);
            assert!(
                (sum(&terms) / performance.prefill(tokens, context) - 1.0).abs() < 1e-12,
                "{terms:?}"
            );
        }
        for batch in [1, 32, 512] {
            let terms = performance.step_terms(batch, 1e5);
            assert!(
                (sum(&terms) / performance.step(batch, 1e5) - 1.0).abs() < 1e-12,
                "{terms:?}"
            );
        }
    }
}

/// Speculation on Kimi gains 2.03x at one request and less with more (vLLM blog, EAGLE-3.1 on GB200); on a dense model it
/// gains nothing once arithmetic binds. First tokens never come sooner.
#[test]
fn speculation_gains_less_in_a_batch() {
    let catalog = Catalog::shipped();
    let gain = |model, gpu, gpus, format, batch| {
        let plain = on(model, gpu, gpus, format);
        let drafted = Deployment {
            speculation: Some(("eagle3-kimi", 3)),
            ..plain.clone()
        };
        let (plain, drafted) = (
            performance(&catalog, &plain),
            performance(&catalog, &drafted),
        );
        assert!(drafted.prefill(1000, 0) > plain.prefill(1000, 0));
        plain.step(batch, 0.0) / drafted.step(batch, 0.0) * drafted.tokens_per_iteration()
    };
    let kimi = [1, 4, 16].map(|batch| gain("kimi-k2.6", "b200", 8, "int4-g32", batch));
    assert!(
        (kimi[0] / 2.03 - 1.0).abs() < 0.25 && kimi[0] > kimi[1],
        "{kimi:?}"
    );
    let dense = [1, 64, 256].map(|batch| gain("llama-3.1-8b", "h100-sxm", 1, "bf16", batch));
    assert!(dense[0] > 2.0 && dense[2] < 1.1, "{dense:?}");
}

/// Llama-3.3-70B at a concurrency of one: TTFT 0.05 s for 480 tokens, 58.6 tokens/s per stream (OCI). Four H100 at 16 bits
/// give both; eight GPUs or FP8 would stream a third faster.
#[test]
fn the_oci_deployment_is_four_h100_at_16_bits() {
    let catalog = Catalog::shipped();
    let of = |gpu, gpus, format| {
        let performance = performance(&catalog, &on("llama-3.3-70b", gpu, gpus, format));
        (
            performance.prefill(480, 0),
            1.0 / performance.step(1, 630.0),
        )
    };
    let mut text = String::new();
    for (gpu, gpus, format) in [
        ("h100-sxm", 4, "bf16"),
        ("h100-sxm", 8, "bf16"),
        ("h100-sxm", 4, "fp8"),
        ("h100-sxm", 8, "fp8"),
        ("h100-sxm", 2, "fp8"),
        ("h200-sxm", 4, "bf16"),
        ("h200-sxm", 2, "fp8"),
        ("a100-sxm-80", 4, "bf16"),
        ("a100-sxm-80", 8, "bf16"),
        ("mi300x", 4, "bf16"),
        ("b200", 2, "bf16"),
    ] {
        let (ttft, rate) = of(gpu, gpus, format);
        writeln!(
            text,
            "{gpus} {gpu} {format}: prefill {ttft:.4} s, {rate:.1} tokens/s"
        )
        .unwrap();
    }
    println!("{text}");
    let (ttft, rate) = of("h100-sxm", 4, "bf16");
    // The network and gateway take some 5 to 15 ms of the published 50.
    assert!(
        (0.033..=0.050).contains(&ttft) && (rate / 58.6 - 1.0).abs() < 0.05,
        "{text}"
    );
}

// Cold starts.

/// Where a case's state comes from.
#[derive(Clone, Copy)]
enum State {
    /// Storage tier, compile cache.
    Fresh(&'static str, bool),
    Snapshot,
    HostRam,
    /// Only the bytes: the measurement is of the load.
    LoadOnly(&'static str),
}

/// A measured cold start as the source describes it.
struct Case {
    id: &'static str,
    provision: Option<&'static str>,
    image: Option<&'static str>,
    container: Option<&'static str>,
    state: State,
    engine: &'static str,
    gpu: &'static str,
    gpus: u32,
    gb: f64,
    /// The load overlaps the engine's start.
    overlapped: bool,
    /// The measurement is a 90th percentile.
    p90: bool,
    /// Why it differs, or what it rests on.
    because: &'static str,
}

const CASE: Case = Case {
    id: "",
    provision: Some("allocate-warm-pool"),
    image: Some("image-lazy-or-cached"),
    container: Some("container-start"),
    state: State::Snapshot,
    engine: "vllm",
    gpu: "h100-sxm",
    gpus: 1,
    gb: 1.07,
    overlapped: false,
    p90: false,
    because: "",
};

/// A snapshot replaces the container's process too.
const SNAPSHOT: Case = Case {
    container: None,
    ..CASE
};
const NEW_NODE: Case = Case {
    provision: Some("allocate-k8s-new-node"),
    image: Some("image-pull-registry"),
    ..CASE
};
// HydraServe's pods start on prepared nodes; PCIe 3 as on its V100 hosts.
const HYDRA: Case = Case {
    provision: None,
    image: None,
    engine: "vllm-0.4",
    gpu: "t4",
    gb: 13.48,
    ..CASE
};

const CASES: [Case; 25] = [
    Case {
        id: "eks-karpenter-l40s-15gib-new-node",
        container: Some("container-start-ray"),
        state: State::Fresh("object-store-default", false),
        gpu: "l40s",
        gb: 16.1,
        because: "in sample: node, image and Ray phases come from this run",
        ..NEW_NODE
    },
    Case {
        id: "eks-l40s-15gib-warm-node",
        provision: None,
        container: Some("container-start-ray"),
        state: State::Fresh("object-store-default", false),
        gpu: "l40s",
        gb: 16.1,
        because: "Ray phases from the run above",
        ..CASE
    },
    Case {
        id: "modal-vllm-1gib-no-snapshot",
        state: State::Fresh("network-volume", false),
        ..CASE
    },
    Case {
        id: "modal-vllm-1gib-gpu-snapshot",
        because: "in sample: the snapshot phase rests on it",
        ..SNAPSHOT
    },
    Case {
        id: "modal-sglang-no-snapshot",
        state: State::Fresh("network-volume", false),
        engine: "sglang",
        because: "its boot is nearly that of vLLM: SGLang compiles kernels at start that the catalogue counts only for FP8-block",
        ..CASE
    },
    Case {
        id: "modal-sglang-gpu-snapshot",
        engine: "sglang",
        ..SNAPSHOT
    },
    Case {
        id: "modal-qwen3.6-27b-fp8-a100-before",
        state: State::Fresh("network-volume", false),
        gpu: "a100-sxm-80",
        gb: 27.0,
        because: "a user's setup: FP8 repacked for a GPU without it, multimodal profiling; phases were not published",
        ..CASE
    },
    Case {
        id: "modal-qwen3.6-27b-fp8-a100-snapshot",
        gpu: "a100-sxm-80",
        gb: 27.0,
        because: "an outlier among snapshots: a 35B FP8 model restores in 12-20 s; all of GPU memory, cache included, was saved",
        ..SNAPSHOT
    },
    Case {
        id: "dynamo-snapshot-gpt-oss-120b-criu",
        provision: None,
        image: None,
        gb: 65.2,
        because: "partly in sample: one of three points behind the snapshot phase",
        ..SNAPSHOT
    },
    Case {
        id: "sagemaker-qwen3-8b-g6-new-instance",
        state: State::Fresh("object-store-default", false),
        gpu: "l4",
        gb: 16.4,
        because: "the image alone took 267 s (difference of the two cases): larger or slower than 12 GB at 96 MB/s",
        ..NEW_NODE
    },
    Case {
        id: "sagemaker-qwen3-8b-g6-container-cache",
        image: Some("image-lazy-or-cached"),
        state: State::Fresh("object-store-default", false),
        gpu: "l4",
        gb: 16.4,
        because: "a managed instance takes longer than a Karpenter node; eight vCPUs compile slowly",
        ..NEW_NODE
    },
    Case {
        id: "hf-inference-endpoint-initialise",
        state: State::Fresh("hub-download", false),
        gpu: "l4",
        gb: 6.42,
        because: "stated as 3-5 minutes, for Llama-3.2-3B on an L4",
        ..NEW_NODE
    },
    Case {
        id: "runpod-docs-typical-cold",
        state: State::Fresh("nvme-default-loader", true),
        gb: 16.06,
        because: "stated as 10-60 s for all workloads, mostly smaller than an 8B under vLLM; the prediction is inside",
        ..CASE
    },
    Case {
        id: "runpod-flashboot-whisper-p90",
        image: None,
        container: None,
        state: State::HostRam,
        gb: 3.1,
        p90: true,
        because: "in sample: the warm-pool phase rests on it",
        ..CASE
    },
    Case {
        id: "fireworks-from-zero",
        image: Some("image-lazy-or-cached"),
        state: State::Fresh("object-store-streamer", false),
        gb: 16.06,
        because: "stated as up to a few minutes, model unknown: an 8B, new node, cached image",
        ..NEW_NODE
    },
    Case {
        id: "together-dedicated",
        state: State::Fresh("object-store-streamer", false),
        gb: 16.06,
        because: "stated as a few minutes to ten, model unknown: an 8B, new node, full image",
        ..NEW_NODE
    },
    Case {
        id: "cloud-run-l4-small-model",
        provision: Some("allocate-cloud-run"),
        state: State::Fresh("object-store-default", false),
        engine: "ollama",
        gpu: "l4",
        gb: 4.7,
        because: "engine and image are estimates written with the total known: the tutorial's Ollama, weights of an 8B at 4 bits in the image",
        ..CASE
    },
    Case {
        id: "anyscale-llama2-70b-s3-before",
        state: State::LoadOnly("object-store-default"),
        gpu: "a100-sxm-80",
        gpus: 8,
        gb: 138.0,
        because: "the measurement is of the load alone",
        ..CASE
    },
    Case {
        id: "anyscale-llama2-70b-s3-after",
        state: State::LoadOnly("object-store-streamer"),
        gpu: "a100-sxm-80",
        gpus: 8,
        gb: 138.0,
        because: "7 GB/s over four 100 Gb/s cards; the tier's 3.5 GB/s is from smaller instances",
        ..CASE
    },
    Case {
        id: "hydraserve-v100-llama2-7b-serverless-vllm-ttft",
        state: State::Fresh("remote-16gbps-default", false),
        because: "in sample: engine and link are the mean of V100 and A10 hosts, over seven models",
        ..HYDRA
    },
    Case {
        id: "hydraserve-v100-llama2-7b-serverlessllm-ttft",
        state: State::Fresh("remote-16gbps-streamer", false),
        because: "in sample, as above",
        ..HYDRA
    },
    Case {
        id: "hydraserve-v100-llama2-7b-serverlessllm-cached-ttft",
        state: State::Fresh("hostram-default-loader", false),
        because: "engine in sample; the host memory tier is from other hosts",
        ..HYDRA
    },
    Case {
        id: "hydraserve-v100-llama2-7b-pp4-ttft",
        state: State::Fresh("remote-16gbps-default", false),
        gb: 13.48 / 4.0,
        overlapped: true,
        because: "engine and link in sample; a quarter of the weights on each of four nodes, while the engine starts",
        ..HYDRA
    },
    Case {
        id: "hydraserve-a10-llama2-7b-serverless-vllm-ttft",
        state: State::Fresh("remote-16gbps-default", false),
        gpu: "a10g",
        because: "A10 hosts start 3.5 s sooner and download 1.44 times faster than the V100 hosts; the tiers hold the mean",
        ..HYDRA
    },
    Case {
        id: "hydraserve-a10-llama2-7b-pp4-ttft",
        state: State::Fresh("remote-16gbps-default", false),
        gpu: "a10g",
        gb: 13.48 / 4.0,
        overlapped: true,
        because: "as above: the constant part of an A10 host is 4.0 s, of a V100 host 7.7 s",
        ..HYDRA
    },
];

fn predicted(catalog: &Catalog, case: &Case) -> f64 {
    let phase = |id: Option<&str>| -> Option<&ColdPhase> {
        id.map(|id| catalog.cold_phases.get(id).unwrap())
    };
    let (engine, gpu) = (
        catalog.engines.get(case.engine).unwrap(),
        catalog.gpus.get(case.gpu).unwrap(),
    );
    let storage = |id: &str| catalog.storages.get(id).unwrap();
    let bytes = case.gb * GB;
    let origin = match case.state {
        State::LoadOnly(id) => return load(storage(id), engine, gpu, case.gpus, bytes).alone_s(),
        State::Fresh(id, compile_cached) => Origin::Storage {
            storage: storage(id),
            compile_cached,
        },
        State::Snapshot => Origin::Snapshot(phase(Some("snapshot-restore")).unwrap()),
        State::HostRam => Origin::HostRam(phase(Some("sleep-wake")).unwrap()),
    };
    let plan = StartPlan {
        provision: phase(case.provision),
        image: phase(case.image),
        container: phase(case.container),
        from: origin,
        engine,
        gpu,
        gpus: case.gpus,
        weight_bytes: bytes,
    };
    let start = catalog.cold_start(&plan);
    let of = |stage| {
        start
            .phases
            .iter()
            .filter(move |phase| phase.stage == stage)
            .map(|phase| phase.time.median_s)
            .sum()
    };
    let hidden: f64 = if case.overlapped {
        f64::min(of(StartPhase::StartEngine), of(StartPhase::LoadWeights))
    } else {
        0.0
    };
    // The 90th percentile of a sum, from the independent distances of its parts.
    let above = |log_sd: f64, median: f64| median * ((1.2816 * log_sd).exp() - 1.0);
    let spread: f64 = start
        .phases
        .iter()
        .map(|phase| above(phase.time.log_sd, phase.time.median_s).powi(2))
        .sum();
    start.median_s() - hidden + if case.p90 { spread.sqrt() } else { 0.0 }
}

/// At least 15 of the 25 measured cold starts within 25 %. Several are in sample, as each says.
#[test]
fn cold_starts_meet_the_measured_totals() {
    let catalog = Catalog::shipped();
    assert_eq!(
        catalog.ids("cold_start_measured"),
        CASES.map(|case| case.id).to_vec()
    );
    let (mut text, mut met) = (String::new(), 0);
    for case in &CASES {
        let total = catalog.cold_starts_measured.get(case.id).unwrap().total_s;
        let found = predicted(&catalog, case);
        let error = found / total - 1.0;
        met += u32::from(error.abs() <= 0.25);
        assert!(
            error.abs() <= 0.25 || !case.because.is_empty(),
            "{}: no reason given",
            case.id
        );
        let mark = if error.abs() <= 0.25 { "met " } else { "MISS" };
        writeln!(
            text,
            "{mark} {:52} {found:7.1} {total:7.1} s {:+6.1} %  {}",
            case.id,
            error * 100.0,
            case.because
        )
        .unwrap();
    }
    println!("{met} of {} within 25 %\n{text}", CASES.len());
    assert!(met >= 15, "{met} of {} within 25 %\n{text}", CASES.len());
}

/// Engine start-ups once the container runs, without the weights: what PR authors timed.
#[test]
fn engine_startups_meet_the_measured_totals() {
    let catalog = Catalog::shipped();
    let vllm = catalog.engines.get("vllm").unwrap();
    let total = |id: &str| catalog.engine_startups_measured.get(id).unwrap().total_s;
    let mut rows = Rows::within(0.40);
    let capture = vllm.graph_capture_s + vllm.profile_warmup_s;
    rows.add("no compile", capture, total("vllm-llama3-8b-no-compile"));
    rows.add(
        "compile cached",
        vllm.compile_cached_s + capture,
        total("vllm-compile-cached"),
    );
    rows.add(
        "compile cold",
        vllm.compile_cold_s + capture,
        total("vllm-llama3-8b-compile-cold"),
    );
    let loaded = vllm.import_s + vllm.cuda_init_s + capture;
    rows.add(
        "Qwen3-32B cold",
        vllm.compile_cold_s + loaded,
        total("vllm-qwen3-32b-cold"),
    );
    rows.add(
        "Qwen3-32B warm",
        vllm.compile_cached_s + loaded,
        total("vllm-qwen3-32b-warm"),
    );
    let eight = vllm.import_s + vllm.cuda_init_s + vllm.nccl_init_tp8_s;
    let eight =
        eight + vllm.compile_cold_tp8_s + vllm.graph_capture_tp8_s + vllm.profile_warmup_s + 10.0;
    rows.add("70B FP8 on eight", eight, total("vllm-llama-70b-fp8-tp8"));
    rows.check();
}

// HydraServe's raw results as a line over bytes: the engine's constant lies between its hosts.
#[test]
fn the_old_engine_starts_between_the_hydraserve_hosts() {
    let catalog = Catalog::shipped();
    let engine = catalog.engines.get("vllm-0.4").unwrap();
    let constant = 2.0 + engine.import_s + engine.cuda_init_s + engine.profile_warmup_s;
    let at = |id: &str| catalog.cold_linear.get(id).unwrap().a_s;
    assert!(
        at("a10-serverless-vllm") < constant && constant < at("v100-serverless-vllm"),
        "{constant}"
    );
}

#[test]
fn stages_are_in_order_and_eight_gpus_take_longer() {
    let catalog = Catalog::shipped();
    let start = |gpus| {
        catalog.cold_start(&StartPlan {
            provision: catalog.cold_phases.get("allocate-warm-pool"),
            image: catalog.cold_phases.get("image-lazy-or-cached"),
            container: catalog.cold_phases.get("container-start"),
            from: Origin::Storage {
                storage: catalog.storages.get("nvme-optimised").unwrap(),
                compile_cached: false,
            },
            engine: catalog.engines.get("vllm").unwrap(),
            gpu: catalog.gpus.get("h100-sxm").unwrap(),
            gpus,
            weight_bytes: 141e9,
        })
    };
    for gpus in [1, 2, 4, 8] {
        assert!(
            start(gpus)
                .phases
                .windows(2)
                .all(|pair| pair[0].stage < pair[1].stage)
        );
        assert_eq!(start(gpus).terms().len(), 8);
    }
    let totals = [1, 2, 4, 8].map(|gpus| start(gpus).median_s());
    assert!(
        totals.windows(2).all(|pair| pair[0] < pair[1]),
        "{totals:?}"
    );
}

/// C018: what the catalogue hands a fleet so that it can share a link.
#[test]
fn a_load_names_the_shared_link_and_its_own_cap() {
    let catalog = Catalog::shipped();
    let (vllm, h100) = (
        catalog.engines.get("vllm").unwrap(),
        catalog.gpus.get("h100-sxm").unwrap(),
    );
    let of = |id, gpus| load(catalog.storages.get(id).unwrap(), vllm, h100, gpus, 100e9);
    let nvme = of("nvme-optimised", 2);
    assert_eq!((nvme.shared_rate, nvme.rate_cap), (Some(20e9), 110e9));
    let ram = of("hostram-pinned", 2);
    assert_eq!((ram.shared_rate, ram.rate_cap), (None, 104e9));
    let peer = of("peer-rdma", 8);
    assert_eq!((peer.shared_rate, peer.rate_cap), (None, 76e9));
}
