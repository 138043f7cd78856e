//! A run folder's copies of a scenario say the same wherever they are read.

use std::path::Path;
use std::process::Command;

/// A scenario beside a trace that it names by a path of its own folder; a class of a catalogue names it twice.
const SCENARIO: &str = r#"
title = "A replay"   # and a comment
benchmark = { requests = 5 }
[providers.acme.deployments.model]
service.slots = { prefill = "300ms", decode = "1s" }
traffic.users.arrivals.trace = { file = "trace.csv", time_column = "arrived_s" }
[providers.zeta.deployments.model.traffic.users.arrivals]
trace = { time_column = "arrived_s", file = 'trace.csv' }
"#;

fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn copies_find_the_files_that_the_scenario_names() {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path();
    let rows: Vec<String> = (0..40).map(|row| (row * 97).to_string()).collect();
    let trace = format!("arrived_s\n{}\n", rows.join("\n"));
    std::fs::write(home.join("trace.csv"), trace).expect("a file");
    std::fs::write(home.join("mine.toml"), SCENARIO).expect("a file");
    let first = said(home, &["simulate", "mine.toml", "--out", "runs/first"]);
    let runs = home.join("runs");
    for (folder, copy) in [
        (runs.join("first"), "scenario.toml"),
        (runs.clone(), "first/scenario.toml"),
        (runs.join("first"), "scenario.understood.toml"),
    ] {
        assert_eq!(said(&folder, &["simulate", copy]), first, "{copy}");
    }
    let copy = std::fs::read_to_string(runs.join("first/scenario.toml")).expect("it is there");
    assert!(copy.contains("# and a comment"), "the rest is as it was");
    // What is printed for people is as it was written.
    let shown = said(home, &["check", "mine.toml"]);
    assert_eq!(shown.matches("\"trace.csv\"").count(), 2, "{shown}");
}
