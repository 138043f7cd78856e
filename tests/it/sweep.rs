//! Sweeps: settings meet the same demand, threads never show, and what cannot be varied is said.

use crate::determinism::on_threads;
use crate::journal::Digest;
use std::process::{Command, Output};
use thermocline::experiment::Plan;
use thermocline::experiment::sweep::sweep;
use thermocline::experiment::users::Figure;
use thermocline::scenario::{self, Overrides};

/// A model that grows with its load, and a benchmark of it.
const GROWS: &str = r#"
title = "A model that grows"
time = { warm_up = "10m", horizon = "2h" }
benchmark = { requests = 10, gaps = "10m" }
[providers.acme.deployments.model]
price = "2usd/h"
cold_start.load_weights = "20s"
scaling = { keep_alive = "2m", max = 8 }
service.slots = { slots = 1, prefill = "300ms", decode = "4s" }
traffic.others.arrivals = "12/h"
"#;

fn at_floor(min: u32) -> Plan {
    let overrides = Overrides {
        set: vec![format!("providers.*.deployments.*.scaling.min={min}")],
        ..Overrides::default()
    };
    scenario::load("grows.toml", GROWS, &overrides)
        .expect("a sound scenario")
        .0
}

#[test]
fn a_larger_warm_pool_is_never_slower_and_costs_more() {
    let plans: Vec<Plan> = [0, 1, 2, 4].map(at_floor).to_vec();
    let points = sweep(&plans, 10, &|| ());
    let users: Vec<_> = points.iter().map(|point| &point.rows[0].users).collect();
    let p95 = |index: usize| users[index].point(Figure::TtftP95).expect("answers");
    // Nobody waits for a start that a larger pool would not also have spared: p95 falls from the cold start to the prefill.
    assert!(p95(0) > 20.0 && p95(3) < 1.0, "{} {}", p95(0), p95(3));
    for pair in users.windows(2) {
        let cold = |index: usize| pair[index].point(Figure::ColdRequests).expect("requests");
        assert!(cold(1) <= cold(0), "{} then {}", cold(0), cold(1));
    }
    let hours = |index: usize| users[index].point(Figure::GpuHours).expect("always there");
    assert!(hours(3) > hours(1));
}

#[test]
fn the_same_setting_twice_is_the_same_point() {
    let plans = [at_floor(1), at_floor(1)];
    let points = on_threads(2, || sweep(&plans, 5, &|| ()));
    assert_eq!(Digest::of(&points[0]), Digest::of(&points[1]));
    let alone = on_threads(1, || sweep(&plans[..1], 5, &|| ()));
    assert_eq!(Digest::of(&points[0]), Digest::of(&alone[0]));
}

fn told(arguments: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
        .args(["--color", "never", "--width", "80", "sweep"])
        .args(arguments)
        .output()
        .expect("the program starts")
}

#[test]
fn two_axes_give_every_combination_in_every_format() {
    let axes = [
        "warm-pool",
        "--repeat=2",
        "--set=time.horizon=30m",
        "--set=benchmark.gaps.even.over=30m",
        "--set=benchmark.requests=5",
        "--vary=providers.*.deployments.*.scaling.min=0,2",
        "--vary=providers.*.deployments.*.scaling.keep_alive=1m,5m",
    ];
    let output = |format: &str| {
        let output = told(&[axes.as_slice(), &["--format", format]].concat());
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("text")
    };
    let csv = output("csv");
    let settings: Vec<String> = csv
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .skip(3)
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(settings, ["0 1m", "0 5m", "2 1m", "2 5m"]);
    let json: serde_json::Value = serde_json::from_str(&output("json")).expect("strict JSON");
    assert_eq!(json["settings"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        json["settings"][2]["providers.*.deployments.*.scaling.min"],
        2
    );
    let text = output("text");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert_eq!(text.matches('●').count(), 4, "{text}");
    assert_eq!(output("markdown").matches("\n| acme | model |").count(), 4);
}

#[test]
fn what_cannot_be_varied_is_said() {
    let cases: [(&[&str], &str); 6] = [
        (&["lesson"], "--vary <PATH=VALUES>"),
        (
            &["lesson", "--vary", "=1..2"],
            "the path of `--vary` is malformed",
        ),
        (&["lesson", "--vary", "seed=3..1"], "ranges go up"),
        (&["lesson", "--vary", "sed=1"], "did you mean `seed`?"),
        (
            &["lesson", "--vary=seed=1", "--vary=seed=1", "--vary=seed=1"],
            "at most two",
        ),
        (
            &[
                "lesson",
                "--vary=seed=1..50",
                "--vary=benchmark.requests=1..50",
            ],
            "more than 1000 settings",
        ),
    ];
    for (arguments, expected) in cases {
        let output = told(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}

/// A folder holds every setting, its changes from the one before, and a picture; it is the same on any number of threads.
#[test]
fn a_folder_keeps_every_setting_and_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = |name: &str, threads: &str| {
        let path = folder.path().join(name);
        let output = told(&[
            "lesson",
            "--repeat=3",
            "--vary=providers.*.deployments.*.scaling.min=0..2",
            "--out",
            &path.display().to_string(),
            "--threads",
            threads,
        ]);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains("to the next setting"), "{text}");
        let read = |file: &str| std::fs::read_to_string(path.join(file)).expect(file);
        ["settings.csv", "p95-1.svg", "summary.json", "scenario.toml"].map(read)
    };
    let [csv, svg, json, scenario] = written("one", "1");
    assert_eq!(
        [csv.clone(), svg.clone(), json, scenario],
        written("two", "2")
    );
    assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
    for label in ["0", "1", "2"] {
        assert!(
            svg.contains(&format!(">\n{label}\n</text>")),
            "no {label}: {svg}"
        );
    }
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let heads = reader.headers().expect("heads").clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(|one| one.expect("a row")).collect();
    let cell = |row: usize, name: &str| -> Option<f64> {
        let at = heads.iter().position(|head| head == name).expect(name);
        rows[row][at].parse().ok()
    };
    assert_eq!(cell(0, "cv_change_percent"), None);
    for row in 1..3 {
        let cv = |row| cell(row, "cv_percent").expect("requests were answered");
        let change = cell(row, "cv_change_percent").expect("there is a setting before");
        assert!((change - (cv(row) - cv(row - 1))).abs() < 1e-9);
    }
}
