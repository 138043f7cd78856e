//! The catalogue at work: presets and entries that a scenario names, and the command that shows them.

use std::process::Command;

use thermocline::catalog::Catalog;
use thermocline::distribution::Distribution;
use thermocline::fleet::config::{KeepAlive, Rule};
use thermocline::scenario::{self, Overrides};

use crate::support::{plan, problems};

/// What the program prints on standard output and error, and its exit code.
fn thermocline(arguments: &[&str]) -> (String, String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_thermocline"))
        .args(arguments)
        .output()
        .expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        text(&output.stdout),
        text(&output.stderr),
        output.status.code(),
    )
}

#[test]
fn every_platform_preset_makes_a_valid_deployment() {
    for id in Catalog::shipped().ids("policy") {
        let text = format!("[providers.p.deployments.m]\nscaling.preset = \"{id}\"\n");
        if let Err(error) = scenario::load(id, &text, &Overrides::default()) {
            panic!("{id}: {error}");
        }
    }
}

#[test]
fn a_preset_gives_defaults_and_the_scenario_wins_over_them() {
    let scaling = |extra: &str| {
        let text = format!(
            "[providers.p.deployments.m]\nscaling = {{ preset = \"runpod-serverless\"{extra} }}\n"
        );
        plan(&text).providers[0].fleet.deployments[0]
            .scaling
            .clone()
    };
    let preset = scaling("");
    assert_eq!((preset.min, preset.max), (0, 3));
    assert_eq!(
        preset.keep_alive,
        KeepAlive::For(Distribution::Constant(5.0))
    );
    assert_eq!(scaling(", max = 7").max, 7);
    let knative = plan("[providers.p.deployments.m]\nscaling.preset = \"knative-kpa\"\n");
    let Rule::Windowed(rule) = &knative.providers[0].fleet.deployments[0].scaling.rule else {
        panic!("Knative averages over windows")
    };
    assert_eq!(
        (
            rule.target,
            rule.stable_window.as_secs(),
            rule.tick.as_secs()
        ),
        (70.0, 60.0, 2.0)
    );
}

#[test]
fn a_network_of_the_catalogue_is_a_lognormal_round_trip() {
    let plan = plan(
        "[providers.p]\nnetwork = { path = \"rtt-cross-country\", gateway = \"9ms\" }\ndeployments.m = {}\n",
    );
    let network = &plan.providers[0].fleet.network;
    assert_eq!(
        network.rtt,
        Distribution::Lognormal {
            median: 0.06,
            sigma: 0.3
        }
    );
    assert_eq!(network.gateway, Distribution::Constant(0.009));
}

#[test]
fn shipped_scenarios_read_back_from_what_check_prints() {
    for name in [
        "lesson",
        "deepseek-v4-pro",
        "kimi-k2.6",
        "warm-pool-sizing",
        "peak-and-off-peak",
        "twenty-or-seventy-five",
    ] {
        let (printed, _, code) = thermocline(&["check", name, "--plain"]);
        assert_eq!(code, Some(0), "{name}");
        match scenario::load(name, &printed, &Overrides::default()) {
            Ok((_, understood)) => {
                assert_eq!(understood.to_plain_toml().trim(), printed.trim(), "{name}");
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn the_command_lists_kinds_entries_and_one_entry_with_its_source() {
    let (kinds, _, _) = thermocline(&["catalog"]);
    for kind in Catalog::kinds() {
        assert!(kinds.contains(kind), "{kind} in\n{kinds}");
        let (entries, _, code) = thermocline(&["catalog", kind]);
        assert_eq!(code, Some(0));
        for id in Catalog::shipped().ids(kind) {
            assert!(entries.contains(id), "{id} in\n{entries}");
        }
    }
    let (entry, _, _) = thermocline(&["catalog", "gpu", "b200"]);
    assert!(
        entry.contains("mem_gb") && entry.contains("source") && entry.contains("confidence"),
        "{entry}"
    );
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    let (_, error, code) = thermocline(&["catalog", "gpu", "b20"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("did you mean `b200`?"), "{error}");
    let (_, error, code) = thermocline(&["catalog", "gpus"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("did you mean `gpu`?"), "{error}");
}

#[test]
fn predicted_terms_of_a_scenarios_deployments_are_listed() {
    let (printed, _, code) = thermocline(&["catalog", "deployment", "kimi-k2.6", "--width", "120"]);
    assert_eq!(code, Some(0));
    for part in [
        "weight read",
        "all-reduce",
        "cache read",
        "layer overhead",
        "start from host_ram",
        "load_weights",
    ] {
        assert!(printed.contains(part), "{part} in\n{printed}");
    }
}

#[test]
fn a_phase_that_the_scenario_states_is_listed_as_stated() {
    let plan = plan(
        "[providers.p.deployments.\"qwen3-8b\"]\ngpu = \"h100-sxm\"\nengine = {}\ncold_start.compile = \"3s\"\n",
    );
    let (_, start) = &plan.providers[0].predictions[0][0].starts[0];
    let compile: Vec<_> = start
        .phases
        .iter()
        .filter(|phase| phase.stage.name() == "compile")
        .collect();
    assert_eq!(compile.len(), 1);
    assert_eq!(
        (compile[0].time.median_s, compile[0].source.as_str()),
        (3.0, "scenario")
    );
}

/// What a new entry of each kind needs and, for one field, a value as the help shows it.
const NEEDED: [(&str, &str, &str); 11] = [
    (
        "gpu",
        "name mem_gb mem_bw_tbps bf16_dense_tflops pcie_gen pcie_gbps_per_dir h2d_effective_gbps gpu_link_gbps_per_dir allreduce gpus_per_node_max tdp_w usd_per_gpu_hour",
        "mem_gb = 80 as h100-sxm",
    ),
    (
        "format",
        "bytes_per_weight compute quality_loss",
        "bytes_per_weight = 2.0 as bf16",
    ),
    (
        "efficiency",
        "gpu format prefill_eff_max prefill_n_half_tokens decode_weight_bw_eff",
        "gpu = \"a100-sxm-80\" as a100-sxm-80/bf16",
    ),
    (
        "engine",
        "prefill_time_factor decode_time_factor image_gb import_s cuda_init_s nccl_init_tp8_s compile_cold_s compile_cold_tp8_s compile_cached_s graph_capture_s graph_capture_tp8_s profile_warmup_s",
        "image_gb = 12 as vllm",
    ),
    (
        "speculation",
        "acceptance_len verify_overhead ttft_factor",
        "verify_overhead = 0.15 as mtp-dsv4",
    ),
    (
        "storage",
        "scope throughput_gbps log_sd first_byte_s",
        "scope = \"node\" as hub-download",
    ),
    (
        "cold_phase",
        "stage median_s log_sd",
        "stage = \"provision\" as allocate-warm-pool",
    ),
    (
        "model",
        "params_total_b params_active_b layers hidden q_heads kv_heads head_dim kv_bytes_per_token_bf16 native_format native_checkpoint_gb",
        "layers = 61 as deepseek-v4-pro",
    ),
    (
        "network",
        "median_ms log_sd",
        "median_ms = 10 as rtt-same-region",
    ),
    (
        "investment",
        "rule rounding",
        "rounding = \"whole replicas, by rank\" as curated",
    ),
    (
        "allreduce",
        "bytes us",
        "bytes = [8192, 131072, 8388608, 33554432, 67108864] as h100",
    ),
];

#[test]
fn every_field_that_a_new_entry_lacks_is_named_with_its_place_and_a_value() {
    for (kind, needed, example) in NEEDED {
        let text = format!("seed = 1\n[catalog.{kind}.mine]\nnote = \"new\"\n");
        let said = problems(&text);
        let start = format!("error: `catalog.{kind}.mine.");
        let lacking = said.lines().filter_map(|line| line.strip_prefix(&start));
        let lacking: Vec<&str> = lacking
            .filter_map(|line| line.strip_suffix("` is missing"))
            .collect();
        assert_eq!(lacking.join(" "), needed, "{said}");
        let column = "[catalog..m".len() + kind.len();
        let place = format!("--> test.toml:2:{column}");
        assert_eq!(said.matches(&place).count(), lacking.len(), "{said}");
        let help = format!("add it, for example {example} has: there is no {kind} called mine");
        assert!(said.contains(&help), "{help} in\n{said}");
    }
}

#[test]
fn one_lacking_field_of_an_entry_is_the_only_problem_and_every_bad_one_is_named() {
    let said = problems(
        "providers.p.deployments.m = {}\n[catalog.network]\nmine.log_sd = 0.3\n[catalog.gpu.h100-sxm]\ncolour = 3\npcie_gen = \"five\"\n[catalog.gpu.b200]\nmem_gb = -3\n",
    );
    let errors = said.lines().filter(|line| line.starts_with("error: "));
    let errors: Vec<&str> = errors.collect();
    assert_eq!(
        errors,
        [
            "error: `catalog.network.mine.median_ms` is missing",
            "error: `catalog.gpu.h100-sxm.colour` is no key that gpu entries have",
            "error: `catalog.gpu.h100-sxm.pcie_gen` cannot be read: invalid type: string \"five\", expected u32",
            "error: `catalog.gpu.b200.mem_gb` must be positive, is -3",
        ],
        "{said}"
    );
}
