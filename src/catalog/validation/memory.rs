//! What fits a GPU, and what bytes per weight decide.

use super::{on, performance};
use crate::catalog::Catalog;
use crate::catalog::performance::{Deployment, DeploymentProblem, GB, KvFormat};
use crate::catalog::start::load;

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
