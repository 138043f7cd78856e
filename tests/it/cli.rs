//! Whole commands: what goes in, and every byte that comes out.
//!
//! Text is compared with snapshots at fixed widths; JSON and run folders are read back and held against each other. The
//! scenarios stand here, so that the shipped ones may change.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

/// Two providers, three deployments, two sessions, time-outs, cold starts, and published figures.
pub(crate) const BETS: &str = r#"
title = "Two bets"
seed = 3

[benchmark]
requests = 40
gaps = { even = { over = "2h" } }
timeout = "20s"

[benchmark.sessions]
peak = "Mon 14:00"
off_peak = "Sun 04:00"

[providers.curated.deployments.popular]
price = "20usd/h"
scaling.min = 1
service.slots = { slots = 8, prefill = { lognormal = { median = "350ms", p95 = "450ms" } }, decode = "2s" }
traffic.others.arrivals = "200/h"

[providers.breadth-first.deployments.popular]
price = "20usd/h"
cold_start.load_weights = { lognormal = { median = "14s", p95 = "22s" } }
service.slots = { slots = 8, prefill = { lognormal = { median = "350ms", p95 = "450ms" } }, decode = "2s" }
traffic.others.arrivals = "12/h"
losses.eviction = "3/h"

[providers.breadth-first.deployments.niche]
price = "20usd/h"
cold_start.load_weights = "9s"
scaling.keep_alive = "20s"

[[published]]
provider = "breadth-first"
model = "popular"
cv = "1266%"
ttft_median = "0.43s"
ttft_p95 = "1.70s"
ttft_std = "5.4s"
"#;

/// One deployment; `{requests}` and more can be set.
const ONE: &str = r#"
title = "One model"
[benchmark]
requests = 30
discard = 0
gaps = "6m"
[providers.acme.deployments.model]
price = "2usd/h"
scaling.keep_alive = { exponential = { mean = "20m" } }
cold_start.provision = "2s"
cold_start.load_weights = { lognormal = { median = "14s", p95 = "22s" } }
service.slots.prefill = { lognormal = { median = "350ms", p95 = "450ms" } }
"#;

/// Runs the program on a scenario from standard input.
pub(crate) fn run(scenario: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
        .args(arguments)
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("it is piped");
    // A program that does not read its input may have closed it.
    let _ = input.write_all(scenario.as_bytes());
    drop(input);
    child.wait_with_output().expect("the program ends")
}

/// Exit code, standard output and standard error as one text.
pub(crate) fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    format!(
        "exit code: {}\n----- stdout -----\n{}----- stderr -----\n{}",
        output.status.code().expect("no signal"),
        text(&output.stdout),
        text(&output.stderr)
    )
}

pub(crate) fn results(scenario: &str, arguments: &[&str]) -> Value {
    let output = run(scenario, arguments);
    assert!(output.status.success(), "{}", told(&output));
    serde_json::from_slice(&output.stdout).expect("strict JSON")
}

/// The files of a folder by name.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries
        .map(|entry| entry.expect("it can be read"))
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).expect("it can be read"))
        })
        .collect()
}

/// Rows of a CSV file as maps from column to text.
fn rows(csv: &[u8]) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv);
    reader
        .deserialize()
        .map(|row| row.expect("as many cells as columns"))
        .collect()
}

#[test]
fn text_fits_80_columns() {
    let output = run(BETS, &["simulate", "-"]);
    let wide = |line: &&str| line.chars().count() > 80;
    let text = told(&output);
    assert_eq!(text.lines().find(wide), None);
    assert_snapshot!(text);
}

#[test]
fn text_uses_160_columns() {
    let text = told(&run(BETS, &["simulate", "-", "--width", "160"]));
    let wide = |line: &&str| line.chars().count() > 160;
    assert_eq!(text.lines().find(wide), None);
    assert_snapshot!(text);
}

#[test]
fn repeated_benchmarks_show_their_spread() {
    assert_snapshot!(told(&run(ONE, &["simulate", "-", "--repeat", "20"])));
}

#[test]
fn one_request_has_no_spread() {
    assert_snapshot!(told(&run(
        ONE,
        &["simulate", "-", "--set", "benchmark.requests=1"]
    )));
}

#[test]
fn no_request_is_no_benchmark() {
    assert_snapshot!(told(&run(
        ONE,
        &[
            "simulate",
            "-",
            "--set=benchmark.requests=0",
            "--set=time.horizon=1h"
        ]
    )));
}

/// C002: cold 40 s, time-out 20 s.
#[test]
fn a_run_in_which_every_client_gave_up_has_no_figures() {
    let cold = [
        "--set",
        "providers.acme.deployments.model.cold_start.load_weights=\"40s\"",
        "--set",
        "providers.acme.deployments.model.scaling.keep_alive=\"0s\"",
        "--set",
        "benchmark.requests=5",
        "--set",
        "benchmark.timeout=\"20s\"",
    ];
    let text = [&["simulate", "-"], &cold[..]].concat();
    assert_snapshot!(told(&run(ONE, &text)));
    let json = [&["simulate", "-", "--format", "json"], &cold[..]].concat();
    let found = results(ONE, &json);
    let row = &found["benchmarks"][0];
    assert_eq!(
        (&row["succeeded"], &row["timed_out"]),
        (&0.into(), &5.into())
    );
    assert_eq!(row["failure_percent"], 100.0);
    assert_eq!(row["verdict"], "no-data");
    for key in [
        "ttft_median_s",
        "ttft_p95_s",
        "ttft_std_s",
        "cv_percent",
        "ttft_p95_failure_aware_s",
    ] {
        assert_eq!(row.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(row["ttft_p95_failure_aware_unbounded"], true);
}

#[test]
fn json_has_the_promised_keys() {
    let found = results(
        BETS,
        &["simulate", "-", "--format", "json", "--repeat", "3"],
    );
    for key in [
        "schema",
        "version",
        "seed",
        "percentile_method",
        "cv_definition",
    ] {
        assert!(!found[key].is_null(), "{key}");
    }
    assert_eq!(found["scenario"]["title"], "Two bets");
    let benchmarks = found["benchmarks"].as_array().expect("rows");
    assert_eq!(benchmarks.len(), 6);
    let keys = "provider model session requests succeeded failed timed_out rejected ttft_median_s ttft_p95_s ttft_mean_s \
                ttft_std_s ttft_min_s ttft_max_s cv_percent std_over_median_percent cold_requests verdict";
    for row in benchmarks {
        for key in keys.split(' ') {
            assert!(row.get(key).is_some(), "{key}");
        }
        let reported = &row["reported"];
        for key in [
            "ttft_median_s",
            "ttft_p95_s",
            "ttft_std_s",
            "cv_percent",
            "std_over_median_percent",
            "cold_requests",
        ] {
            for quantile in ["p05", "p50", "p95"] {
                assert!(reported[key].get(quantile).is_some(), "{key} {quantile}");
            }
        }
        let shares = reported["verdict_share"].as_object().expect("shares");
        let sum: f64 = shares.values().filter_map(Value::as_f64).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }
    assert_eq!(found["published"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_fleet_loses_no_request() {
    let found = results(BETS, &["simulate", "-", "--format", "json"]);
    for row in found["fleet"].as_array().expect("rows") {
        let count = |key: &str| row[key].as_u64().expect("a count");
        let came = count("in_flight_start") + count("requests");
        let went = [
            "succeeded",
            "rejected",
            "timed_out",
            "failed",
            "in_flight_end",
        ];
        assert_eq!(came, went.into_iter().map(count).sum::<u64>());
        let rungs = ["starts_host_ram", "starts_local_disk", "starts_remote"];
        assert_eq!(
            count("cold_starts"),
            rungs.into_iter().map(count).sum::<u64>()
        );
    }
}

#[test]
fn csv_has_the_names_of_json() {
    let output = run(BETS, &["simulate", "-", "--format", "csv"]);
    let table = rows(&output.stdout);
    let json = results(BETS, &["simulate", "-", "--format", "json"]);
    assert_eq!(table.len(), 6);
    for (row, object) in table
        .iter()
        .zip(json["benchmarks"].as_array().expect("rows"))
    {
        for (name, cell) in row {
            let value = object.get(name).expect("the same name");
            let is_same = match value {
                Value::Null => cell.is_empty(),
                Value::String(text) => cell == text,
                // Reading JSON may round the last bit.
                Value::Number(number) => {
                    let (read, exact) = (number.as_f64(), cell.parse::<f64>().ok());
                    read.zip(exact)
                        .is_some_and(|(read, exact)| (read - exact).abs() <= 1e-12 * exact.abs())
                }
                Value::Bool(flag) => cell.parse() == Ok(*flag),
                other => panic!("{name}: {other} in a flat row"),
            };
            assert!(is_same, "{name}: {cell} is not {value}");
        }
    }
}

#[test]
fn markdown_is_a_table() {
    assert_snapshot!(told(&run(ONE, &["simulate", "-", "--format", "markdown"])));
}

#[test]
fn the_percentile_method_changes_what_is_read_and_is_named() {
    for method in ["linear", "nearest-rank", "exclusive"] {
        let found = results(
            ONE,
            &["simulate", "-", "--format", "json", "--percentile", method],
        );
        assert_eq!(found["percentile_method"], method);
    }
}

#[test]
fn the_seed_of_the_command_line_wins() {
    let found = results(BETS, &["simulate", "-", "--format", "json", "--seed", "11"]);
    assert_eq!(found["seed"], 11);
}

#[test]
fn the_verdict_follows_the_definition_asked_for() {
    let by = |cv: &str| results(BETS, &["simulate", "-", "--format", "json", "--cv", cv]);
    let (mean, median) = (by("std/mean"), by("std/median"));
    assert_eq!(mean["cv_definition"], "std/mean");
    assert_eq!(median["cv_definition"], "std/median");
    let (mean, median) = (&mean["benchmarks"][2], &median["benchmarks"][2]);
    assert_eq!(mean["cv_percent"], median["cv_percent"]);
    assert_ne!(mean["verdict"], median["verdict"]);
}

#[test]
fn check_prints_the_scenario_as_understood() {
    assert_snapshot!(told(&run(ONE, &["check", "-"])));
}

#[test]
fn a_scenario_as_understood_means_the_same() {
    let plain = run(BETS, &["check", "-", "--plain"]);
    let again = String::from_utf8(plain.stdout).expect("UTF-8");
    assert_eq!(
        run(&again, &["simulate", "-"]).stdout,
        run(BETS, &["simulate", "-"]).stdout
    );
}

#[test]
fn all_problems_of_a_scenario_are_shown_at_once() {
    let bad = "titel = \"x\"\n[benchmark]\nrequests = -1\n[providers.acme.deployments.model]\nprice = \"20 euro\"\n";
    assert_snapshot!(told(&run(bad, &["simulate", "-"])));
}

#[test]
fn an_unknown_scenario_is_refused_with_the_nearest_name() {
    assert_snapshot!(told(&run("", &["simulate", "leson"])));
    let far = told(&run("", &["check", "no/such/file.toml"]));
    assert!(
        far.contains("\nhelp: it is neither a file nor one of the built-in scenarios: lesson, "),
        "{far}"
    );
    assert!(far.starts_with("exit code: 2\n"), "{far}");
}

#[test]
fn a_wrong_flag_is_refused() {
    assert_snapshot!(told(&run("", &["simulate", "--repeat", "0"])));
    assert_snapshot!(told(&run("", &["simulate", "--percentile", "median"])));
    let said = told(&run("", &["simulate", "--seed", "x"]));
    assert!(
        said.contains("must be a whole number from 0 to 9223372036854775807"),
        "{said}"
    );
}

#[test]
fn built_in_scenarios_are_listed_and_printed() {
    let list = told(&run("", &["scenarios"]));
    assert!(
        list.starts_with("exit code: 0\n----- stdout -----\nlesson "),
        "{list}"
    );
    assert!(
        list.lines().all(|line| line.chars().count() <= 80),
        "{list}"
    );
    let printed = run("", &["scenarios", "lesson"]).stdout;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/lesson.toml");
    assert_eq!(printed, fs::read(file).expect("it is there"));
}

#[test]
fn a_reader_who_leaves_is_no_error() {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
        .args(["simulate", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let escape = |arguments: &[&str]| run(ONE, arguments).stdout.contains(&0x1b);
    assert!(!escape(&["simulate", "-"]));
    assert!(escape(&["simulate", "-", "--color", "always"]));
}

#[test]
fn the_thread_count_never_shows() {
    let with = |threads: &str| {
        let arguments = [
            "simulate",
            "-",
            "--format",
            "json",
            "--repeat",
            "4",
            "--threads",
            threads,
        ];
        run(BETS, &arguments).stdout
    };
    let one = with("1");
    assert!(!one.is_empty());
    assert_eq!(one, with("2"));
}

#[test]
fn a_run_folder_is_the_same_on_any_number_of_threads() {
    let folder = TempDir::new().expect("a folder");
    let with = |threads: &str| {
        let path = folder.path().join(threads);
        let out = path.to_str().expect("UTF-8");
        let arguments = [
            "simulate",
            "-",
            "--requests",
            "everybody",
            "--threads",
            threads,
            "--out",
            out,
        ];
        assert!(run(BETS, &arguments).status.success());
        let mut files = files(&path);
        // It names the command line, which differs.
        files.remove("manifest.json");
        files
    };
    let one = with("1");
    let names: Vec<&String> = one.keys().collect();
    let expected = [
        "replicas.csv",
        "requests.csv",
        "scenario.toml",
        "scenario.understood.toml",
        "summary.json",
    ];
    assert_eq!(names, expected);
    assert_eq!(one["scenario.toml"], BETS.as_bytes());
    assert_eq!(one, with("2"));
}

/// Seconds with nine decimals as whole nanoseconds.
fn nanos(text: &str) -> i128 {
    let (whole, tail) = text.split_once('.').expect("a decimal point");
    assert_eq!(tail.len(), 9, "{text}");
    format!("{whole}{tail}").parse().expect("digits")
}

/// C063: parts add up to the nanosecond, and the rows give the summary.
#[test]
fn the_parts_of_every_ttft_add_up() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("run");
    let out = path.to_str().expect("UTF-8");
    assert!(
        run(
            ONE,
            &["simulate", "-", "--out", out, "--requests", "everybody"]
        )
        .status
        .success()
    );
    let files = files(&path);
    let rows = rows(&files["requests.csv"]);
    let parts = "network_s queue_s gpu_wait_s provision_s image_s container_s start_engine_s load_weights_s \
                 compile_s capture_graphs_s warm_up_s prefill_s first_step_s";
    let mut ttfts = Vec::new();
    for row in &rows {
        let ttft = nanos(&row["ttft_s"]);
        let sum: i128 = parts.split(' ').map(|part| nanos(&row[part])).sum();
        assert_eq!(sum, ttft);
        assert_eq!(ttft + nanos(&row["decode_s"]), nanos(&row["latency_s"]));
        assert_eq!(nanos(&row["first_token_s"]) - nanos(&row["sent_s"]), ttft);
        let from_due = nanos(&row["first_token_s"]) - nanos(&row["due_s"]);
        assert_eq!(nanos(&row["ttft_from_due_s"]), from_due);
        assert_eq!(nanos(&row["send_lag_s"]) + ttft, from_due);
        let is_cold = ["provision_s", "load_weights_s"]
            .iter()
            .any(|part| nanos(&row[*part]) > 0);
        assert_eq!(row["cold"] == "true", is_cold);
        ttfts.push(ttft);
    }
    assert_eq!(ttfts.len(), 30);
    ttfts.sort_unstable();
    let summary: Value = serde_json::from_slice(&files["summary.json"]).expect("strict JSON");
    let median = summary["benchmarks"][0]["ttft_median_s"]
        .as_f64()
        .expect("a figure");
    assert!((median - (ttfts[14] + ttfts[15]) as f64 / 2e9).abs() < 1e-12);
    let cold = rows.iter().filter(|row| row["cold"] == "true").count();
    assert_eq!(summary["benchmarks"][0]["cold_requests"], cold);
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("notes");
    let out = path.to_str().expect("UTF-8");
    let write = |more: &[&str]| run(ONE, &[&["simulate", "-", "--out", out], more].concat());
    fs::create_dir(&path).expect("a folder");
    assert!(write(&[]).status.success(), "an empty folder is free");
    assert!(
        write(&[]).status.success(),
        "our own folder may be written again"
    );
    fs::write(path.join("thesis.txt"), "five years").expect("a file");
    let refused = write(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        told(&refused).contains("(`thesis.txt`)"),
        "{}",
        told(&refused)
    );
    assert!(write(&["--force"]).status.success());
    assert_eq!(
        fs::read(path.join("thesis.txt")).expect("still there"),
        b"five years"
    );
    let left: Vec<_> = fs::read_dir(folder.path()).expect("it is there").collect();
    assert_eq!(left.len(), 1, "nothing is left beside the folder");
}
