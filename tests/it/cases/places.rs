//! Who gets which GPUs: nodes, memory, evictions, priorities.

use crate::support::{fleet, ledger, problems, simulate, starts};
use thermocline::experiment::RunResult;

/// A model on tier `g` that takes 5 s to load, and what else is said of it. Each of its requests, at `times`, is served for
/// `span`.
fn model(name: &str, times: &[&str], span: &str, own: &str) -> String {
    format!(
        "[providers.p.deployments.{name}]\ngpu = \"g\"\ncold_start.load_weights = \"5s\"\n\
         service.slots = {{ prefill = \"0s\", decode = \"{span}\" }}\n{own}\ntraffic.t.arrivals.at.times = {times:?}\n"
    )
}

/// A provider with such models.
fn provider(head: &str, models: &[String]) -> RunResult {
    let text = format!("[providers.p]\n{head}\n{}", models.concat());
    simulate(&fleet("1000s", &text))
}

/// When the requests of each model begin.
fn begun(result: &RunResult) -> Vec<Vec<f64>> {
    let models = 0..result.fleet.len() as u32;
    models.map(|model| starts(result, model)).collect()
}

fn evictions(result: &RunResult) -> Vec<u64> {
    let models = 0..result.fleet.len();
    models
        .map(|model| ledger(result, model).evictions)
        .collect()
}

const FOR_EVER: &str = "scaling.keep_alive = \"infinite\"";
const NONE: &str = "scaling.keep_alive = \"none\"";

/// Two GPUs are free, but not in one node: the pair waits until one node has both, and nobody overtakes it, not even one that
/// would find room. On one node of eight the pair has them at once.
#[test]
fn a_replica_does_not_lie_on_two_nodes() {
    let three = format!("gpus = 3\n{NONE}");
    let models = [
        model("a", &["0s"], "20s", &three),
        model("b", &["0s"], "30s", &three),
        model("pair", &["1s"], "10s", &format!("gpus = 2\n{NONE}")),
        model("one", &["2s"], "10s", NONE),
    ];
    let two_nodes = begun(&provider("gpus.g = 8\nnodes.g.gpus = 4", &models));
    assert_eq!(two_nodes, [[5.0], [5.0], [30.0], [30.0]]);
    let one_node = begun(&provider("gpus.g = 8", &models));
    assert_eq!(one_node, [[5.0], [5.0], [6.0], [21.0]]);
}

/// C084 on one GPU: 14 models of 1 GB on a GPU of 14 GB; the fifteenth pushes out the least recently used one alone.
#[test]
fn c084_one_model_more_evicts_one() {
    let models: Vec<String> = (0..15)
        .map(|index| {
            let at = format!(
                "{}s",
                if index < 14 {
                    10 + (index + 9) % 14
                } else {
                    100
                }
            );
            model(
                &format!("m{index}"),
                &[&at],
                "1s",
                &format!("memory = \"1GB\"\n{FOR_EVER}"),
            )
        })
        .collect();
    let head = "gpus.g = 1\nnodes.g.memory = \"14GB\"\nevict_idle = true";
    let result = provider(head, &models);
    // Number 5 was used first, at 10 s.
    let expected: Vec<u64> = (0..15).map(|index| u64::from(index == 5)).collect();
    assert_eq!(evictions(&result), expected);
    assert_eq!(begun(&result)[14], [105.0]);
    // A fourteenth of a GPU is paid while it is held: from 24 s, when the last of the first fourteen came, to the end.
    let usage: u128 = ledger(&result, 14).gpu_time.iter().sum();
    assert_eq!(usage, 900_000_000_000 / 14);
}

/// C085: two models of 4 GB on one GPU of 32 GB do not push each other out.
#[test]
fn c085_two_models_share_one_gpu() {
    let own = format!("memory = \"4GB\"\n{FOR_EVER}");
    let models = [
        model("a", &["0s", "20s", "40s"], "1s", &own),
        model("b", &["10s", "30s", "50s"], "1s", &own),
    ];
    let result = provider(
        "gpus.g = 1\nnodes.g.memory = \"32GB\"\nevict_idle = true",
        &models,
    );
    assert_eq!(evictions(&result), [0, 0]);
    let cold: Vec<u64> = result
        .fleet
        .iter()
        .map(|did| did.ledger.cold_starts())
        .collect();
    assert_eq!(cold, [1, 1]);
    assert_eq!(begun(&result), [[5.0, 20.0, 40.0], [15.0, 30.0, 50.0]]);
}

/// Where the first choice is full of busy replicas, an idle one goes at the second choice; the first choice goes before it
/// where both could.
#[test]
fn an_idle_replica_goes_at_the_fallback_too() {
    let fallback = format!("fallback = [{{ gpu = \"h\" }}]\n{FOR_EVER}");
    let second = model("idle", &["0s"], "1s", FOR_EVER).replace("\"g\"", "\"h\"");
    for (span, went) in [("50s", [0, 1, 0]), ("1s", [1, 0, 0])] {
        let models = [
            model("first", &["0s"], span, FOR_EVER),
            second.clone(),
            model("c", &["20s"], "1s", &fallback),
        ];
        let result = provider("gpus = { g = 1, h = 1 }\nevict_idle = true", &models);
        assert_eq!(evictions(&result), went, "{span}");
        assert_eq!(begun(&result)[2], [25.0], "{span}");
    }
}

/// Starts of a higher priority get GPUs first, equals in order; idle replicas of a lower priority go first, those of a higher
/// one not at all.
#[test]
fn priorities_decide_who_waits_and_who_goes() {
    let models = [
        model("busy", &["0s"], "30s", NONE),
        model("low", &["1s"], "10s", NONE),
        model("high", &["2s"], "10s", &format!("gpu_priority = 2\n{NONE}")),
        model(
            "equal",
            &["3s"],
            "10s",
            &format!("gpu_priority = 2\n{NONE}"),
        ),
    ];
    let found = begun(&provider("gpus.g = 1", &models));
    assert_eq!(found, [[5.0], [70.0], [40.0], [55.0]]);

    let own = |priority: u32| format!("gpu_priority = {priority}\n{FOR_EVER}");
    let models = [
        model("high", &["0s"], "1s", &own(2)),
        model("old", &["10s"], "1s", &own(1)),
        model("low", &["20s"], "1s", &own(0)),
        model("starter", &["30s", "30s", "30s"], "30s", &own(1)),
    ];
    let result = provider("gpus.g = 3\nevict_idle = true", &models);
    assert_eq!(evictions(&result), [0, 1, 1, 0]);
    assert_eq!(begun(&result)[3], [35.0, 35.0, 65.0]);
}

/// Only whom the place needs: of an old single on one node, an old single and a pair on another, the pair goes alone.
#[test]
fn no_more_go_than_are_needed() {
    let pair = format!("gpus = 2\n{FOR_EVER}");
    let models = [
        model("x", &["0s"], "1s", FOR_EVER),
        model("pair", &["1s"], "1s", &pair),
        model("y", &["2s"], "1s", FOR_EVER),
        model("late", &["3s"], "90s", NONE),
        model("other", &["20s"], "1s", &pair),
    ];
    // Nodes of three: x, y and late fill the first, in that order; the pair has two of the second, whose third is busy.
    let result = provider("gpus.g = 5\nnodes.g.gpus = 3\nevict_idle = true", &models);
    assert_eq!(evictions(&result), [0, 1, 0, 0, 0]);
    assert_eq!(begun(&result)[4], [25.0]);
}

/// A start that finds room all the same does not overtake one that waits for the same GPUs.
#[test]
fn a_new_start_waits_behind_those_that_wait() {
    let models = [
        model("busy", &["0s"], "30s", &format!("gpus = 2\n{NONE}")),
        model("pair", &["1s"], "10s", &format!("gpus = 2\n{NONE}")),
        model("one", &["2s"], "10s", NONE),
    ];
    let found = begun(&provider("gpus.g = 3", &models));
    assert_eq!(found, [[5.0], [40.0], [40.0]]);
}

const ENGINE: &str = r#"
    [providers.p]
    gpus.h100-sxm = 1
    [providers.p.deployments."llama-3.1-8b"]
    gpu = "h100-sxm"
    engine.kv_reserve = "2GB"
    scaling.initial = 9
"#;

/// Of a model of 8 billion parameters a whole GPU holds one replica, or as many as its weights' format lets fit.
#[test]
fn quantised_weights_make_room_for_more_replicas() {
    let most = |own: &str| {
        let result = simulate(&fleet("1s", &format!("{ENGINE}{own}\n")));
        ledger(&result, 0).peak_replicas
    };
    assert_eq!(most(""), 1);
    // 16.1 GB of weights, 2 of cache and 3.5 of reserve out of 90 % of 80 GB; then half the weights.
    assert_eq!(most("memory = \"fitted\""), 3);
    assert_eq!(most("memory = \"fitted\"\nengine.format = \"fp8\""), 5);
    assert_eq!(most("memory = \"40GB\""), 2);
}

#[test]
fn impossible_places_are_refused() {
    let deployment = "[providers.p.deployments.m]\ngpu = \"g\"\n";
    for (text, expected) in [
        (
            format!("[providers.p]\ngpus.g = 8\nnodes.g.gpus = 4\n{deployment}gpus = 8"),
            "a replica of 8 GPUs does not fit a node of 4 g",
        ),
        (
            format!("[providers.p]\ngpus.g = 8\n{deployment}memory = \"1GB\""),
            "the GPU's own memory is not known",
        ),
        (
            format!(
                "[providers.p]\ngpus.g = 8\nnodes.g.memory = \"1GB\"\n{deployment}memory = \"2GB\""
            ),
            "a replica must fit its GPUs",
        ),
        (
            format!("{deployment}memory = \"fitted\""),
            "can be fitted only to an engine's model",
        ),
        (
            format!("{ENGINE}memory = \"10GB\""),
            "this deployment cannot be",
        ),
        (
            format!("[providers.p]\nnodes.g.gpus = 4\n{deployment}"),
            "unknown key `g`",
        ),
    ] {
        let shown = problems(&text);
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}
