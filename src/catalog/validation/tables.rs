//! The tables themselves: sources, ranges, references, overlays.

use super::Rows;
use crate::catalog::performance::{GB, Parameters};
use crate::catalog::{AnyShelf, Catalog, Confidence};

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

    let mut problems = |kind: &str, id: &str, changes: &str| {
        let refused = catalog.overlay(kind, id, &table(changes));
        refused.unwrap_err()
    };
    let unknown = problems("gpu", "h100-sxm", "memory_gb = 94\nmem_gb = \"lots\"");
    let keys = unknown.iter().map(|problem| problem.key.as_deref());
    assert!(keys.eq([Some("memory_gb"), Some("mem_gb")]), "{unknown:?}");
    assert!(unknown[0].help.as_ref().unwrap().contains("mem_gb"));
    assert_eq!(
        problems("gpu", "h100-sxm", "mem_gb = -1")[0].to_string(),
        "gpu h100-sxm, mem_gb: must be positive, is -1"
    );
    let lacking = problems("storage", "tape", "scope = \"node\"");
    let keys = lacking.iter().map(|problem| problem.key.as_deref());
    let needed = ["throughput_gbps", "log_sd", "first_byte_s"];
    assert!(keys.eq(needed.map(Some)), "{lacking:?}");
    let kind = &problems("disk", "tape", "")[0];
    assert!(kind.help.as_ref().unwrap().contains("storage"));
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
