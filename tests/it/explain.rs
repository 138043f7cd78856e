//! Explanations: shares as by hand on two decisions, shares that add up, and counterparts that are said.

use crate::questions::told;
use crate::support::plan;
use serde_json::Value;
use thermocline::experiment::Plan;
use thermocline::experiment::explain::{Gap, Subject, explain};
use thermocline::experiment::users::Figure;

const SUBJECT: Subject = Subject {
    provider: 0,
    deployment: 0,
    session: 0,
};

/// A model that is asked for every ten minutes and sleeps after two, so that every request meets a start of 20 s.
fn sleeper(changes: [&str; 2]) -> Plan {
    let [keep_alive, prefill] = changes;
    plan(&format!(
        "time = {{ warm_up = \"1h\", horizon = \"4h\" }}
        benchmark = {{ requests = 0, discard = 0 }}
        [providers.acme.deployments.model]
        service.slots = {{ slots = 1, prefill = \"{prefill}\", decode = \"1s\" }}
        cold_start.load_weights = \"20s\"
        scaling.keep_alive = \"{keep_alive}\"
        traffic.others.arrivals.deterministic.rate = \"6/h\""
    ))
}

fn gap(plans: &[Plan], figure: Figure) -> Gap {
    let explanation = explain(plans, SUBJECT, 3, &|| ());
    let mut gaps = explanation.gaps.into_iter().flatten();
    gaps.find(|gap| gap.figure == figure)
        .expect("requests were answered")
}

/// All requests are alike, so every quantile is exact: 20.3 s as it is, and the two decisions add up.
#[test]
fn decisions_that_add_have_what_they_gain_alone() {
    let plans = [
        sleeper(["2m", "900ms"]),
        sleeper(["1h", "900ms"]),
        sleeper(["2m", "300ms"]),
        sleeper(["1h", "300ms"]),
    ];
    let gap = gap(&plans, Figure::TtftP95);
    assert!((gap.whole.estimate.point - 20.6).abs() < 1e-9, "{gap:?}");
    for (cost, expected) in gap.decisions.iter().zip([20.0, 0.6]) {
        for difference in [cost.share, cost.alone, cost.remaining] {
            assert!(
                (difference.estimate.point - expected).abs() < 1e-9,
                "{cost:?}"
            );
            assert_eq!(difference.sign(), Some(1.0));
        }
    }
}

/// Either decision alone keeps the model warm, so each gains everything first and nothing last: half of the gap each.
#[test]
fn decisions_that_overlap_share_alike() {
    let with = |min: u32, keep_alive: &str| {
        let mut plan = sleeper([keep_alive, "300ms"]);
        let scaling = &mut plan.providers[0].fleet.deployments[0].scaling;
        (scaling.min, scaling.initial) = (min, min);
        plan
    };
    let plans = [with(0, "2m"), with(1, "2m"), with(0, "1h"), with(1, "1h")];
    let gap = gap(&plans, Figure::TtftP50);
    assert!((gap.whole.estimate.point - 20.0).abs() < 1e-9, "{gap:?}");
    for cost in &gap.decisions {
        let points = [cost.share, cost.alone, cost.remaining].map(|one| one.estimate.point);
        for (found, expected) in points.into_iter().zip([10.0, 20.0, 0.0]) {
            assert!((found - expected).abs() < 1e-9, "{cost:?}");
        }
    }
}

fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn shares_add_up_to_the_gap_in_every_figure() {
    let arguments = [
        "lesson",
        "--repeat=3",
        "--set=benchmark.requests=20",
        "--format=json",
    ];
    let (code, json) = told("explain", &arguments);
    assert_eq!(code, Some(0), "{json}");
    let json: Value = serde_json::from_str(&json).expect("strict JSON");
    let decisions = json["decisions"].as_array().expect("a list");
    let names: Vec<&str> = decisions
        .iter()
        .filter_map(|one| one["decision"].as_str())
        .collect();
    assert_eq!(names, ["warm pool", "keep-alive"]);
    for (name, unit) in [("ttft_p50", "_s"), ("ttft_p95", "_s"), ("cv", "_percent")] {
        let gap = number(&json["gaps"], &format!("{name}{unit}"));
        let key = format!("{name}_share{unit}");
        let shares: f64 = decisions.iter().map(|one| number(one, &key)).sum();
        // Rounding of sums of terms of this size.
        assert!(
            (shares - gap).abs() <= 1e-9 * gap.abs().max(1.0),
            "{name}: {shares}, not {gap}"
        );
    }
    assert_eq!(json["subsets"].as_array().map(Vec::len), Some(4));
}

/// The same model at a provider that serves it better is where counterparts come from, hardware and all.
#[test]
fn counterparts_come_from_the_best_deployment_of_the_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("two.toml");
    let model = |provider: &str, gpu: &str, min: u32| {
        format!(
            "[providers.{provider}.deployments.qwen3-32b]
            gpu = \"{gpu}\"
            gpus = 2
            engine = {{}}
            scaling.min = {min}
            traffic.others.arrivals = \"6/h\"\n"
        )
    };
    let text = format!(
        "benchmark.requests = 2\n{}{}",
        model("cheap", "a100-sxm-80", 0),
        model("rich", "h100-sxm", 1)
    );
    std::fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let (code, text) = told("explain", &[&path, "--repeat=2"]);
    assert_eq!(code, Some(0), "{text}");
    for expected in [
        "cheap · qwen3-32b",
        "8 combinations of 3 decisions",
        "as qwen3-32b of rich",
        "scaling.min: 0 -> 1",
        "cold start, shortest start of any storage in the catalogue",
        "gpu: \"a100-sxm-80\" -> \"h100-sxm\"",
    ] {
        assert!(text.contains(expected), "no `{expected}` in {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn what_cannot_be_explained_is_said() {
    let cases: [(&[&str], &str); 6] = [
        (
            &["lesson", "nich"],
            "there is no deployment `nich` among breadth-first/niche",
        ),
        (
            &["deepseek-v4-pro", "deepseek-v4-pro"],
            "name the provider too",
        ),
        (&["lesson", "--keep=warmpool"], "did you mean `warm pool`?"),
        (&["lesson", "--session=noon"], "there is no session `noon`"),
        (
            &["lesson", "--counterpart=scaling.mni=2"],
            "did you mean `min`?",
        ),
        (
            &["lesson", "--keep=warm pool", "--keep=keep-alive"],
            "every decision as its best-supported counterpart",
        ),
    ];
    let quick = [
        "--repeat=1",
        "--set=benchmark.requests=1",
        "--set=benchmark.gaps=1s",
    ];
    for (arguments, expected) in cases {
        let (code, text) = told("explain", &[arguments, quick.as_slice()].concat());
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}

/// What `explain` says of a scenario's model, as JSON.
fn explained(text: &str, model: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let arguments = [&[path.as_str(), model, "--repeat=3", "--format=json"], more].concat();
    let (code, told) = told("explain", &arguments);
    assert_eq!(code, Some(0), "{told}");
    serde_json::from_str(&told).expect("strict JSON")
}

fn names(found: &Value) -> Vec<&str> {
    let decisions = found["decisions"].as_array().expect("a list");
    decisions
        .iter()
        .filter_map(|one| one["decision"].as_str())
        .collect()
}

fn assert_shares_add_up(found: &Value) {
    let gap = found["gaps"]["ttft_p95_s"].as_f64().expect("there is one");
    let decisions = found["decisions"].as_array().expect("a list");
    let shares = decisions
        .iter()
        .map(|one| one["ttft_p95_share_s"].as_f64().expect("a share"));
    let sum: f64 = shares.sum();
    assert!(
        (sum - gap).abs() <= 1e-9 * gap.abs().max(1.0),
        "{sum}, not {gap}"
    );
}

/// Six models, two of them always warm; the fifth sleeps after a minute on a slow link.
const CATALOGUE: &str = r#"
time = { warm_up = "30m", horizon = "2h" }
benchmark = { requests = 10, gaps = "5m", ranks = [1, 5] }
[popularity]
models = 6
rate = "60/h"
[providers.acme.catalogue]
policy = "breadth-first"
budget_gpus = 2
[providers.acme.catalogue.deployment]
gpu = "a100-sxm-80"
engine = { model = "qwen3-8b", format = "bf16" }
cold_start.storage = "network-volume"
scaling.keep_alive = "1m"
[providers.acme.catalogue.backed]
gpu = "h100-sxm"
scaling.keep_alive = "30m"
"#;

#[test]
fn a_model_of_a_catalogue_is_explained_as_a_deployment_of_its_own() {
    let found = explained(CATALOGUE, "rank-5", &[]);
    assert_shares_add_up(&found);
    let decisions = names(&found);
    for expected in ["warm pool", "keep-alive", "GPU tier", "cold start"] {
        assert!(decisions.contains(&expected), "{decisions:?}");
    }
    assert!(
        !decisions.contains(&"GPU priority"),
        "nobody is short of GPUs"
    );
    assert!(found["gaps"]["ttft_p95_s"].as_f64().expect("a gap") > 5.0);
    let until_the_last_answer = CATALOGUE.replace(r#", horizon = "2h""#, "");
    assert_shares_add_up(&explained(&until_the_last_answer, "rank-5", &[]));
    // Where nobody is short of GPUs others have no part in it: a stock for all changes nothing but who is simulated beside it.
    let stock = "[providers.acme]\ngpus.a100-sxm-80 = 1000\n[providers.acme.catalogue]";
    let stocked = CATALOGUE.replace("[providers.acme.catalogue]", stock);
    let kept = ["--keep=GPU tier", "--keep=GPU priority"];
    let [alone, beside] = [CATALOGUE, &stocked].map(|text| explained(text, "rank-5", &kept));
    assert_eq!(alone["gaps"], beside["gaps"]);
}

/// A niche model waits while its replica serves the other one's batch and changes over, and for its GPU behind a tenant of the
/// same rank.
#[test]
fn sharing_and_priority_are_decisions() {
    let shared = r#"
time = { warm_up = "10m", horizon = "3h" }
benchmark = { requests = 0, discard = 0 }
[providers.acme]
gpus.tier = 1
evict_idle = true
[providers.acme.deployments.niche]
gpu = "tier"
cold_start.load_weights = "10s"
scaling = { max = 1, keep_alive = "1m" }
sharing.models = { switch = "8s" }
service.slots = { slots = 4, prefill = "100ms", decode = "3s" }
traffic.own.arrivals = "30/h"
traffic.other = { arrivals = "60/h", model = "popular" }
[providers.acme.deployments.tenant]
gpu = "tier"
cold_start.load_weights = "10s"
scaling.keep_alive = "10m"
service.slots = { prefill = "100ms", decode = "20s" }
traffic.own.arrivals = "20/h"
"#;
    let found = explained(shared, "niche", &["--keep=warm pool", "--keep=keep-alive"]);
    assert_shares_add_up(&found);
    let decisions = found["decisions"].as_array().expect("a list");
    for expected in ["GPU priority", "sharing"] {
        let one = decisions.iter().find(|one| one["decision"] == expected);
        let one = one.unwrap_or_else(|| panic!("no {expected} in {found}"));
        let share = one["ttft_p50_share_s"].as_f64().expect("a share");
        assert!(share > 0.0, "{one}");
    }
}
