//! The catalogue at work: presets and entries that a scenario names, and the command that shows them.

use std::process::Command;

use thermocline::catalog::Catalog;
use thermocline::distribution::Distribution;
use thermocline::fleet::config::{KeepAlive, Rule};
use thermocline::scenario::{self, Overrides};

use crate::support::plan;

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
