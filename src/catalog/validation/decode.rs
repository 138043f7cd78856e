//! Decode steps against published inter-token latencies.

use super::{Rows, on, performance};
use crate::catalog::Catalog;
use crate::catalog::performance::{Deployment, KvFormat, Parameters, Term};
use std::fmt::Write as _;

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
