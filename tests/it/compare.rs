//! Comparisons: the same side twice is no difference, a known difference is found, and benchmarks are judged by their luck.

use crate::determinism::on_threads;
use crate::journal::Digest;
use crate::questions::told;
use crate::support::plan;
use thermocline::experiment::Plan;
use thermocline::experiment::compare::{Comparison, Questions, Side, compare};
use thermocline::experiment::users::Figure;

/// Two models at a provider; `warm` of the first and of the second are always ready.
fn provider(warm: [u32; 2]) -> Plan {
    let model = |name: &str, warm: u32| {
        format!(
            "[providers.acme.deployments.{name}]
            service.slots = {{ slots = 4, prefill = \"300ms\", decode = \"2s\" }}
            cold_start.load_weights = \"20s\"
            scaling = {{ min = {warm}, keep_alive = \"2m\" }}
            traffic.others.arrivals = \"12/h\"\n"
        )
    };
    plan(&format!(
        "time = {{ warm_up = \"10m\", horizon = \"2h\" }}
        benchmark = {{ requests = 20, gaps = \"5m\" }}\n{}{}",
        model("first", warm[0]),
        model("second", warm[1])
    ))
}

fn compared(warm: &[[u32; 2]], metric: Figure) -> Comparison {
    let side = |(index, warm): (usize, &[u32; 2])| Side {
        name: format!("side {index}"),
        plan: provider(*warm),
        by_provider: false,
    };
    let sides: Vec<Side> = warm.iter().enumerate().map(side).collect();
    let questions = Questions {
        replications: 10,
        metric,
        benchmarks: vec![3, 20],
    };
    compare(&sides, &questions, &|| ())
}

#[test]
fn a_side_against_itself_differs_in_nothing() {
    let found = compared(&[[0, 1], [0, 1]], Figure::TtftP95);
    assert_eq!(found.subjects.len(), 2);
    for subject in &found.subjects {
        assert_eq!(subject.sides[0], subject.sides[1]);
        let [Some(one), Some(other)] = subject.sides.as_slice() else {
            panic!("both sides have the model")
        };
        for figure in Figure::ALL {
            let above = other.above(one, figure).expect("both have it");
            assert_eq!(above.estimate.point, 0.0, "{figure:?}");
            assert_eq!(above.sign(), None);
        }
        let best = subject.best.expect("requests were answered");
        assert_eq!((best.probability, best.is_sure()), (Some(0.5), false));
        assert!(subject.rankings.iter().all(|one| one.first == [0.5, 0.5]));
    }
    let change = found.routing[0].change;
    assert_eq!((change.estimate.point, change.sign()), (0.0, None));
}

/// Each side keeps the other model warm, so neither is best for both, and routing takes all users to warm replicas.
#[test]
fn each_model_has_its_best_side_and_routing_gains() {
    let found = compared(&[[2, 0], [0, 2]], Figure::TtftP95);
    let best = |index: usize| found.subjects[index].best.expect("requests were answered");
    assert_eq!([best(0).side, best(1).side], [0, 1]);
    assert!(best(0).is_sure() && best(1).is_sure());
    let routing = &found.routing[0];
    // Warm requests take the prefill of 0.3 s, within the histogram's 0.8 %.
    assert!((routing.routed / 0.3 - 1.0).abs() < 0.008, "{routing:?}");
    assert!(routing.at_single > 20.0);
    assert_eq!(routing.change.sign(), Some(-1.0));
}

/// A benchmark whose gaps of five minutes outlast the keep-alive meets a cold start unless others woke the model, so even three
/// requests name the warm side. Sides that are equally warm are not judged.
#[test]
fn benchmarks_are_judged_only_where_a_side_is_best() {
    let found = compared(&[[2, 1], [0, 1]], Figure::TtftP95);
    let [differs, same] = found.subjects.as_slice() else {
        panic!("two models")
    };
    for ranking in &differs.rankings {
        let wrong = ranking.wrong.expect("the warm side is best");
        assert!(wrong.point <= 0.1, "{ranking:?}");
    }
    assert!(same.rankings.iter().all(|one| one.wrong.is_none()));
}

#[test]
fn a_comparison_is_the_same_on_any_number_of_threads() {
    let digest = |threads| {
        on_threads(threads, || {
            Digest::of(&compared(&[[1, 0], [0, 1]], Figure::Cv))
        })
    };
    assert_eq!(digest(1), digest(2));
}

#[test]
fn the_command_says_that_a_scenario_does_not_differ_from_itself() {
    let quick = ["--repeat=4", "--set=time.warm_up=0s", "--benchmarks=20"];
    let (code, text) = told(
        "compare",
        &[&["lesson", "lesson"], quick.as_slice()].concat(),
    );
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("No difference: the sides are the same"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let (_, json) = told(
        "compare",
        &[&["lesson", "lesson", "--format=json"], quick.as_slice()].concat(),
    );
    let json: serde_json::Value = serde_json::from_str(&json).expect("strict JSON");
    assert_eq!(json["subjects"][1]["ttft_p95_above_first_s"], 0.0);
    assert_eq!(json["subjects"][1]["best_probability_percent"], 50.0);
}

#[test]
fn providers_of_one_scenario_meet_the_same_demand() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("twins.toml");
    let twin = |name: &str| {
        format!(
            "[providers.{name}.deployments.model]
            service.slots.decode.exponential.mean = \"2s\"
            scaling.keep_alive = \"1m\"
            losses.eviction = \"1/h\"
            traffic.others.arrivals = \"30/h\"\n"
        )
    };
    let text = format!("benchmark.requests = 5\n{}{}", twin("one"), twin("other"));
    std::fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let (code, text) = told("compare", &[&path, "--repeat=4", "--benchmarks=20"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("one against other"), "{text}");
    assert!(text.contains("the same in every replication"), "{text}");
    let (code, error) = told("compare", &["lesson"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("there is one side only"), "{error}");
}

#[test]
fn what_cannot_be_told_is_not_called_the_same() {
    let (code, text) = told(
        "compare",
        &["lesson", "warm-pool", "--repeat=2", "--benchmarks=20"],
    );
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("No model is at more than one side: nothing to compare."),
        "{text}"
    );
    let (code, text) = told("compare", &["two-bets", "--repeat=1", "--benchmarks=20"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("cannot be told").count(), 2, "{text}");
}
