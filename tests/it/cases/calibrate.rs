//! Cases of calibrations that went wrong elsewhere.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::calibrate::told;

/// One model whose requests all take the same, and a free value that changes nothing.
const STEADY: &str = r#"
title = "Steady"
time.warm_up = "0s"
[benchmark]
requests = 6
discard = 0
concurrency = 1
gaps.at.times = ["0s", "1s", "2s", "3s", "4s", "1m"]
[providers.acme.deployments.model]
scaling.keep_alive = "20m"
cold_start.load_weights = "5s"
service.slots = { slots = 8, prefill = "1s", decode = "2s" }
[calibrate.keep_alive]
path = "providers.acme.deployments.model.scaling.keep_alive"
range.log = { from = "10m", to = "1h" }
"#;

/// A folder with `scenario.toml`, and in `run` what it gives with some values set.
fn simulated(scenario: &str, set: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("scenario.toml");
    fs::write(&file, scenario).expect("written");
    let run = folder.path().join("run");
    let mut arguments = vec![
        "simulate",
        file.to_str().expect("plain"),
        "--out",
        run.to_str().expect("plain"),
    ];
    arguments.extend(set);
    let output = told(&arguments);
    assert!(output.status.success(), "{output:?}");
    folder
}

/// Calibrates the folder's scenario to one of its files.
fn calibrated(folder: &TempDir, file: &str, more: &[&str]) -> (Option<i32>, Value) {
    let path = |name: &str| folder.path().join(name).to_str().expect("plain").to_owned();
    let (scenario, measured) = (path("scenario.toml"), path(file));
    let mut arguments = vec!["calibrate", &scenario, "--measured", &measured];
    arguments.extend(["--simulations=1000", "--format=json"]);
    arguments.extend(more);
    let output = told(&arguments);
    let json = serde_json::from_slice(&output.stdout);
    (
        output.status.code(),
        json.unwrap_or_else(|_| panic!("{output:?}")),
    )
}

fn rows<'a>(json: &'a Value, metric: &str, load: &str) -> &'a Value {
    let all = json["checks"].as_array().expect("checks");
    let found = all
        .iter()
        .find(|row| row["metric"] == metric && row["load"] == load);
    found.unwrap_or_else(|| panic!("no {metric}, {load}: {json:#}"))
}

#[test]
fn c060_both_sides_count_from_the_same_instant() {
    // Five requests are due within five seconds and go one at a time: from being due the last waits for four others, from being
    // sent for none.
    let folder = simulated(STEADY, &[]);
    let (code, json) = calibrated(&folder, "run/requests.csv", &[]);
    assert_eq!(code, Some(0), "{json:#}");
    for check in json["checks"].as_array().expect("checks") {
        let off = check["error_percent"].as_f64().unwrap_or(0.0);
        // A rounding of a quotient.
        assert!(off.abs() < 1e-9, "{check}");
    }
    let longest = rows(&json, "TTFT max", "all")["measured"]
        .as_f64()
        .expect("a number");
    assert!(
        longest < 10.0,
        "the wait at the client's own gate does not count: {longest}"
    );
    let definition = json["sources"][0]["ttft_definition"]
        .as_str()
        .expect("said");
    assert!(definition.starts_with("request written"), "{definition}");
}

#[test]
fn c078_errors_that_cancel_are_errors() {
    let open = STEADY.replace("concurrency = 1\n", "");
    let service = "--set=providers.acme.deployments.model.service.slots";
    let (prefill, decode) = (
        format!("{service}.prefill=2s"),
        format!("{service}.decode=1s"),
    );
    let folder = simulated(&open, &[&prefill, &decode]);
    let (code, json) = calibrated(&folder, "run/requests.csv", &[]);
    assert_eq!((code, &json["calibrated"]), (Some(1), &Value::Bool(false)));
    let error = |metric: &str, load: &str| {
        rows(&json, metric, load)["error_percent"]
            .as_f64()
            .expect("a number")
    };
    // 2 s for 63 tokens against 1 s.
    assert!((error("per token p50", "all") - 100.0).abs() < 1.0);
    assert!(error("latency p50", "all").abs() < 1.0);
    for (metric, load) in [
        ("TTFT p50", "all"),
        ("TTFT p50", "quiet"),
        ("TTFT p50", "busy"),
        ("TTFT p99", "busy"),
    ] {
        let off = error(metric, load);
        assert!(off < -5.0, "{metric}, {load}: {off}");
        assert_eq!(rows(&json, metric, load)["fails"], true, "{metric}, {load}");
    }
    let failures = json["failures"].as_array().expect("failures");
    let says = |text: &str| {
        failures
            .iter()
            .any(|one| one.as_str().is_some_and(|one| one.contains(text)))
    };
    assert!(
        says("TTFT p50 s: measured") && says("per token p50 s"),
        "{failures:?}"
    );
    assert!(!says("latency p50"), "{failures:?}");
}

/// 95 quick answers about 0.5 s and 5 of about 9.6 s, ten minutes apart.
fn cold_among_warm(with_flags: bool) -> String {
    let mut text =
        "whose,provider,model,session,sent_s,outcome,status,cold,ttft_s,latency_s\n".to_owned();
    let mut at = 0.0;
    for index in 0..100 {
        let cold = index % 20 == 7;
        let spread = f64::from(index % 10) - 4.5;
        let ttft = if cold {
            9.6 + 0.2 * f64::from(index - 47) / 40.0
        } else {
            0.5 + 0.01 * spread
        };
        let flag = if with_flags {
            cold.to_string()
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "benchmark,acme,model,once,{at:.3},succeeded,,{flag},{ttft:.4},{:.4}",
            ttft + 1.0
        );
        at += ttft + 1.0 + 600.0;
    }
    text
}

#[test]
fn c110_cold_samples_do_not_poison_the_warm_ones() {
    let scenario = r#"
        title = "Warm and cold"
        time.warm_up = "30m"
        benchmark = { requests = 100, gaps = "10m" }
        [providers.acme.deployments.model]
        scaling = { max = 1, keep_alive = "6m" }
        cold_start.load_weights = "9s"
        service.slots = { slots = 8, prefill = { lognormal = { median = "1s", sigma = 0.06 } }, decode = "1s" }
        traffic.others.arrivals = "30/h"
        [calibrate.prefill]
        path = "providers.acme.deployments.model.service.slots.prefill.lognormal.median"
        range.log = { from = "100ms", to = "3s" }
        [calibrate.load]
        path = "providers.acme.deployments.model.cold_start.load_weights"
        range.log = { from = "2s", to = "40s" }
    "#;
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("scenario.toml"), scenario).expect("written");
    for (with_flags, how) in [(true, "flags"), (false, "two groups")] {
        fs::write(folder.path().join("rows.csv"), cold_among_warm(with_flags)).expect("written");
        let (_, json) = calibrated(&folder, "rows.csv", &[]);
        let groups = &json["groups"][0];
        let number = |key: &str| groups[key].as_f64().expect("a number");
        assert_eq!(groups["told_by"].as_str(), Some(how), "{groups}");
        assert_eq!(
            (number("warm_requests"), number("cold_requests")),
            (95.0, 5.0)
        );
        assert!(
            (number("warm_ttft_median_s") - 0.5).abs() < 0.02,
            "{groups}"
        );
        assert!((number("cold_ttft_median_s") - 9.6).abs() < 0.2, "{groups}");
        // The mean of all, 0.955 s, is neither.
        let estimate = |index: usize| {
            json["values"][index]["estimate"]
                .as_f64()
                .expect("a number")
        };
        assert!(
            (estimate(0) - 500.0).abs() < 50.0,
            "prefill {} ms",
            estimate(0)
        );
        assert!(
            (estimate(1) + 0.5 - 9.6).abs() < 1.0,
            "load {} s",
            estimate(1)
        );
    }
}
