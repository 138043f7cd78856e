//! `analyze` as a whole command: tables at two widths, every format, and the cases on what figures may say.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

use crate::cli::{results, run, told};

/// A column of TTFTs \[ms\].
fn column(values: impl IntoIterator<Item = f64>) -> String {
    let lines: Vec<String> = values.into_iter().map(|ms| format!("{ms}\n")).collect();
    format!("ttft_ms\n{}", lines.concat())
}

/// 71 warm requests and 4 cold ones, at hours of two days.
fn four_cold() -> String {
    let line = |index: usize| {
        let ttft = match index {
            0 => 21.5,
            31 => 18.25,
            47 => 25.0,
            70 => 27.75,
            _ => 0.38 + 0.001 * (index * 37 % 71) as f64,
        };
        let (day, hour) = (1 + index / 40, index % 40 / 2 + 2);
        let half = 30 * (index % 2);
        format!("2026-11-{day:02}T{hour:02}:{half:02}:00Z,acme,{ttft}\n")
    };
    let lines: Vec<String> = (0..75).map(line).collect();
    format!("at,model,ttft_s\n{}", lines.concat())
}

/// Requests of a simulated run: outcome and TTFT \[s\], a second apart.
fn requests(rows: &[(&str, usize, f64)]) -> String {
    let mut lines =
        vec!["whose,provider,model,session,sent_s,outcome,status,cold,ttft_s,latency_s".to_owned()];
    for &(outcome, count, seconds) in rows {
        let (ttft, status) = match outcome {
            "succeeded" => (seconds.to_string(), ""),
            "rejected" => (String::new(), "429"),
            _ => (String::new(), ""),
        };
        for _ in 0..count {
            let at = lines.len();
            lines.push(format!(
                "benchmark,p,m,s,{at},{outcome},{status},,{ttft},{seconds}"
            ));
        }
    }
    lines.join("\n")
}

const COLUMN: [&str; 6] = ["analyze", "-", "--column", "ttft_ms", "--format", "json"];

/// The only series of a column of TTFTs.
fn series(values: impl IntoIterator<Item = f64>, more: &[&str]) -> Value {
    let arguments = [&COLUMN, more].concat();
    results(&column(values), &arguments)["series"][0].clone()
}

fn warnings(series: &Value) -> String {
    series["warnings"].to_string()
}

#[test]
fn a_table_is_shown_at_any_width() {
    for width in ["80", "160"] {
        let arguments = [
            "analyze",
            "-",
            "--column",
            "ttft_s",
            "--time-column",
            "at",
            "--by",
            "model",
            "--width",
            width,
        ];
        let output = run(&four_cold(), &arguments);
        assert_snapshot!(format!("analyze_table_{width}"), told(&output));
    }
}

#[test]
fn files_stand_side_by_side() {
    let folder = TempDir::new().expect("a folder");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write(
        "vllm.json",
        r#"{"backend":"openai-chat","model_id":"m","ttfts":[0.2,0.21,0.0,0.22,0.2,0.23,0.2,0.21,0.2,0.24],
            "errors":["","","Service Unavailable","","","","","","",""],"request_rate":Infinity}"#,
    );
    let record = |ms: f64| {
        format!(
            r#"{{"metadata":{{"benchmark_phase":"profiling","request_start_ns":1700000000000000000}},"metrics":{{"time_to_first_token":{{"value":{ms},"unit":"ms"}}}}}}"#
        )
    };
    let records: Vec<String> = (0..10)
        .map(|index| record(300.0 + f64::from(index)))
        .collect();
    write("aiperf.jsonl", &records.join("\n"));
    write(
        "hf.json",
        r#"{"config":{"model_name":"m"},"system":{},"results":[{"id":"warmup","total_requests":4,"time_to_first_token_ms":{"p50":1}},
            {"id":"throughput","total_requests":26,"successful_requests":17,"failed_requests":9,
             "time_to_first_token_ms":{"p50":201.9,"p95":3002.1,"avg":696.0}}]}"#,
    );
    for (format, width) in [
        ("text", "80"),
        ("text", "160"),
        ("markdown", "80"),
        ("csv", "80"),
    ] {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
            .args([
                "analyze",
                "vllm.json",
                "aiperf.jsonl",
                "hf.json",
                "--format",
                format,
                "--width",
                width,
                "--cold-share",
                "1.33%",
            ])
            .current_dir(folder.path())
            .env_remove("CLICOLOR_FORCE")
            .output()
            .expect("the program runs");
        assert_snapshot!(format!("analyze_files_{format}_{width}"), told(&output));
    }
}

#[test]
fn reported_figures_are_judged() {
    for (name, figures) in [
        ("e", "median=0.43s,p95=1.70s,cv=1266%,std=5.4s,floor=0.32s"),
        ("b", "median=0.55s,p95=6.3s,cv=541%,n=75,timeout=120s"),
        ("wrong", "medain=0.55s,p95=6.3,cv=541"),
    ] {
        let output = run("", &["analyze", "--reported", figures, "--width", "80"]);
        assert_snapshot!(format!("analyze_reported_{name}"), told(&output));
    }
    let figures = "median=0.43s,p95=1.70s,cv=1266%";
    let found = results("", &["analyze", "--reported", figures, "--format", "json"]);
    let [mean, median] = [0, 1].map(|index| found["definitions"][index].clone());
    assert_eq!(
        (&mean["is_possible"], &median["is_possible"]),
        (&false.into(), &true.into())
    );
    assert_eq!(mean["smallest_requests"], 162);
    for format in ["csv", "markdown"] {
        let output = run("", &["analyze", "--reported", figures, "--format", format]);
        assert!(output.status.success(), "{}", told(&output));
    }
}

#[test]
fn what_cannot_be_read_is_refused_in_full() {
    let output = run(
        "model,ttft_ms\na,200\na,soon\na,-1\n",
        &["analyze", "-", "--column", "ttft_ms"],
    );
    assert_snapshot!("analyze_malformed", told(&output));
    let output = run("model,ttft_ms\na,200\n", &["analyze", "-"]);
    assert_snapshot!("analyze_unknown", told(&output));
}

#[test]
fn findings_are_the_same_bytes_every_time() {
    let arguments = ["analyze", "-", "--column", "ttft_s", "--format", "json"];
    let first = run(&four_cold(), &arguments);
    assert!(first.status.success(), "{}", told(&first));
    assert_eq!(first.stdout, run(&four_cold(), &arguments).stdout);
}

/// p95 of one to a hundred by each rule, and of the same values in another order.
#[test]
fn c089_the_rule_of_a_percentile_is_named_and_chosen() {
    for (method, p95) in [
        ("linear", 95.05),
        ("nearest-rank", 95.0),
        ("exclusive", 95.95),
    ] {
        let upwards = (1..=100).map(f64::from);
        let found = series(upwards.clone(), &["--percentile", method]);
        let seconds = found["ttft_p95_s"].as_f64().expect("a number");
        assert!((1e3 * seconds - p95).abs() < 1e-9, "{method}: {seconds}");
        let downwards = series(upwards.rev(), &["--percentile", method]);
        assert_eq!(downwards["ttft_p95_s"], found["ttft_p95_s"]);
        let output = run(
            &column([1.0, 2.0]),
            &[
                "analyze",
                "-",
                "--column",
                "ttft_ms",
                "--percentile",
                method,
            ],
        );
        let text = told(&output);
        assert!(text.contains(&format!("percentiles {method}")), "{text}");
    }
}

/// A p95 that leans on the maximum says so and has no interval; p99 is not printed at all.
#[test]
fn c090_no_percentile_beyond_the_data() {
    let few = series((1..=19).map(f64::from), &["--percentile", "nearest-rank"]);
    assert!(
        warnings(&few).contains("p95 equals the maximum of 19 requests"),
        "{few}"
    );
    for (n, is_bounded) in [(58, false), (59, true)] {
        let found = series((1..=n).map(f64::from), &[]);
        assert_eq!(found["ttft_p95_high_s"].is_number(), is_bounded, "{n}");
    }
    let text = told(&run(
        &column((1..=71).map(f64::from)),
        &["analyze", "-", "--column", "ttft_ms"],
    ));
    assert!(!text.contains("p99"), "{text}");
}

/// A fleet's p95 is that of all requests and no mean of p95s; figures without requests cannot be merged.
#[test]
fn c091_percentiles_are_merged_by_their_requests() {
    let lines = (0..1000)
        .map(|_| "a,10\n")
        .chain((0..10).map(|_| "b,2000\n"));
    let text = format!("model,ttft_ms\n{}", lines.collect::<String>());
    let arguments = ["--by", "model", "--merge", "--percentile", "nearest-rank"];
    let found = results(&text, &[&COLUMN, &arguments[..]].concat());
    let p95 = |index: usize| found["series"][index]["ttft_p95_s"].clone();
    assert_eq!(
        [p95(0), p95(1), p95(2)],
        [0.01.into(), 2.0.into(), Value::from(0.01)]
    );
    let summary = r#"{"backend":"x","mean_ttft_ms":200.0,"median_ttft_ms":200.0,"completed":5}"#;
    let output = run(summary, &["analyze", "-", "--merge"]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(
        told(&output).contains("cannot be merged"),
        "{}",
        told(&output)
    );
}

/// Time-outs leave the p95 of successes alone but not the aware one; quick refusals do not lower the median.
#[test]
fn c092_failures_are_neither_left_out_nor_let_in() {
    let arguments = ["analyze", "-", "--format", "json"];
    let slow = requests(&[("succeeded", 94, 1.0), ("timed_out", 6, 30.0)]);
    let found = results(&slow, &arguments)["series"][0].clone();
    assert_eq!(found["ttft_p95_s"], 1.0);
    assert_eq!(found["ttft_p95_failure_aware_unbounded"], true);
    assert_eq!(found["censored"]["ttft_median_s"], 1.0);
    assert!(found["censored"]["ttft_p95_s"].is_null());
    assert_eq!(found["censored"]["limit_s"], 30.0);
    let text = told(&run(&slow, &["analyze", "-", "--width", "200"]));
    assert!(text.contains("p95 over 30.0 s"), "{text}");
    let busy = requests(&[("rejected", 5, 0.0005), ("succeeded", 25, 0.018)]);
    let found = results(&busy, &arguments)["series"][0].clone();
    assert_eq!(found["ttft_median_s"], 0.018);
    assert_eq!(found["rejected"], 5);
    assert!(
        warnings(&found).contains("16.7 % of requests did not succeed"),
        "{found}"
    );
}

/// No buckets: the longest TTFT is that of the file, to its last digit.
#[test]
fn c093_no_tail_is_capped() {
    let values = (0..196).map(|_| 500.0).chain([300_500.125; 4]);
    let found = series(values, &["--percentile", "nearest-rank"]);
    assert_eq!(found["ttft_max_s"], 300.500_125);
    assert_eq!(found["ttft_median_s"], 0.5);
}

/// One value has no spread, nothing but zeros no figure, equals none.
#[test]
fn c094_spread_where_there_is_none() {
    let one = series([200.0], &[]);
    assert!(
        one["ttft_std_s"].is_null() && one["cv_percent"].is_null(),
        "{one}"
    );
    assert_eq!(
        (&one["verdict"], &one["verdict_probability"]),
        (&"no-data".into(), &Value::Null)
    );
    let zeros = series([0.0; 5], &[]);
    assert_eq!(
        (&zeros["succeeded"], &zeros["failed"]),
        (&0.into(), &5.into())
    );
    assert_eq!(zeros["verdict"], "no-data");
    let two = series([1.0, 3.0], &[]);
    let number = |key: &str| two[key].as_f64().expect("a number");
    assert!((number("ttft_std_s") - 0.001 * 2_f64.sqrt()).abs() < 1e-12);
    assert!((number("ttft_std_population_s") - 0.001).abs() < 1e-12);
    assert!((number("cv_percent") - 100.0 / 2_f64.sqrt()).abs() < 1e-9);
    assert_eq!(series([200.0; 4], &[])["cv_percent"], 0.0);
}

/// Five slow requests among ever more quick ones.
#[test]
fn c099_a_mean_above_p95_is_explained() {
    for (n, mean, p95) in [(10, 125.25, 250.0), (100, 12.975, 0.5), (1000, 1.7475, 0.5)] {
        let values = (0..n).map(|index| if index < 5 { 250_000.0 } else { 500.0 });
        let found = series(values, &["--percentile", "nearest-rank"]);
        let number = |key: &str| found[key].as_f64().expect("a number");
        assert!((number("ttft_mean_s") - mean).abs() < 1e-9, "{found}");
        assert_eq!((number("ttft_median_s"), number("ttft_p95_s")), (0.5, p95));
        if mean > p95 {
            assert!(warnings(&found).contains("mean above p95"), "{found}");
        }
    }
}

/// The verdict carries its probability, and may be undecided.
#[test]
fn verdicts_are_as_sure_as_the_data() {
    let sure = series((0..75).map(|index| 400.0 + f64::from(index)), &[]);
    assert_eq!(sure["verdict_decided"], "well-supported");
    assert_eq!(sure["verdict_probability"], 1.0);
    // A single cold start: 37 % of the resamples have none, and the others one or more.
    let values = (0..75).map(|index| {
        if index == 9 {
            20_000.0
        } else {
            400.0 + f64::from(index)
        }
    });
    let luck = series(values, &[]);
    assert!(luck["verdict_decided"].is_null(), "{luck}");
    let without = luck["class_probability"]["well-supported"]
        .as_f64()
        .expect("some");
    // (74/75)^75 = 0.3654 of 2000 resamples: 99.9 % lie within 0.0354.
    assert!((without - 0.3654).abs() < 0.036, "{without}");
}

/// The same file as `analyze` shows it in Markdown.
fn markdown(input: &str, more: &[&str]) -> String {
    let arguments = [&["analyze", "-", "--format", "markdown"], more].concat();
    let output = run(input, &arguments);
    assert!(output.status.success(), "{}", told(&output));
    told(&output)
}

#[test]
fn markdown_says_how_many_client_faults_it_leaves_out() {
    let all = markdown(&requests(&[("succeeded", 8, 0.4)]), &[]);
    assert!(!all.contains("left out"), "{all}");
    let rows = [("succeeded", 8, 0.4), ("client_fault", 2, 0.0)];
    let some = markdown(&requests(&rows), &[]);
    assert!(
        some.contains("p · m · s: 2 requests failed on the client's side"),
        "{some}"
    );
}

/// One slow request of thirty-one: a resample without it says well-supported, and one in three is.
#[test]
fn a_verdict_that_is_not_sure_is_undecided_in_every_table() {
    let text = column(
        (0..30)
            .map(|index| 400.0 + f64::from(index))
            .chain([20_000.0]),
    );
    let page = markdown(&text, &["--column", "ttft_ms"]);
    assert!(page.contains("| undecided |"), "{page}");
    for width in ["60", "80", "160"] {
        let arguments = ["analyze", "-", "--column", "ttft_ms", "--width", width];
        let shown = told(&run(&text, &arguments));
        let is_row = |line: &&str| line.contains("undecided") && !line.contains("verdict ");
        assert!(shown.lines().any(|line| is_row(&line)), "{shown}");
    }
    let alike = markdown(&column((0..30).map(|_| 400.0)), &["--column", "ttft_ms"]);
    assert!(alike.contains("| well-supported |"), "{alike}");
}
