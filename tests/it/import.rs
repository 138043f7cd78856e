//! Files of other programs: what is read out of them, and how a malformed one is refused.
//!
//! The real files lie beside the project in `../shared/data` and are read in place; without them those tests say that they skip.
//! Everything else stands here, small, in the shape that the programs write.

use thermocline::import::{ImportError, Imported, Options, Unit, read, read_starts};
use thermocline::measure::analysis::Row;
use thermocline::measure::detect::{Detection, detect};
use thermocline::observation::Outcome;
use thermocline::stats::Sample;
use thermocline::time::Duration;

use crate::support::shared;

fn imported(text: &str, options: &Options) -> Imported {
    match read("test", text.as_bytes().to_vec(), options) {
        Ok(imported) => imported,
        Err(error) => panic!("{error}"),
    }
}

fn refused(text: &str, options: &Options) -> ImportError {
    match read("test", text.as_bytes().to_vec(), options) {
        Ok(imported) => panic!("read as {:?}", imported.tool),
        Err(error) => error,
    }
}

fn column(name: &str) -> Options {
    Options {
        column: Some(name.to_owned()),
        ..Options::default()
    }
}

fn timed(column_name: &str, time: &str, unit: Option<Unit>) -> Options {
    Options {
        time_column: Some(time.to_owned()),
        time_unit: unit,
        ..column(column_name)
    }
}

fn rows(imported: &Imported) -> Vec<Row> {
    let series = imported.series.iter();
    series.flat_map(|series| series.rows.clone()).collect()
}

/// TTFTs of the successes \[ms\], as a sample.
fn good_ms(imported: &Imported) -> Option<Sample> {
    let rows = rows(imported);
    let good = rows.iter().filter(|row| row.seen.succeeded());
    let spans = good.filter_map(|row| row.seen.ttft());
    Sample::new(spans.map(|ttft| ttft.as_nanos() as f64 / 1e6).collect())
}

/// What is expected of a real file with requests.
struct Expected {
    file: &'static str,
    tool: &'static str,
    requests: usize,
    good: usize,
    discarded: usize,
    /// Median of the good ones \[ms\], to a microsecond.
    median_ms: f64,
}

const EXPECTED: [Expected; 11] = [
    Expected {
        file: "vllm_bench_serve_0.33.0_detailed.json",
        tool: "vLLM bench",
        requests: 8,
        good: 8,
        discarded: 0,
        median_ms: 206.572,
    },
    // Its first chunk is the role's at 50 ms; comments, empty answers and cold starts are "successes" at 0.0.
    Expected {
        file: "vllm-bench_rs_0.1.0_detailed_ttft_zero_success.json",
        tool: "vllm-bench (Rust)",
        requests: 20,
        good: 14,
        discarded: 0,
        median_ms: 51.211,
    },
    Expected {
        file: "sglang_bench_serving_0.5.23_details.jsonl",
        tool: "SGLang bench_serving",
        requests: 8,
        good: 8,
        discarded: 0,
        median_ms: 210.627,
    },
    // It dies on keep-alive comments and so never saw the cold starts; two empty answers are "successes" at 0.0.
    Expected {
        file: "sglang_bench_serving_0.5.23_details_with_failures.jsonl",
        tool: "SGLang bench_serving",
        requests: 20,
        good: 12,
        discarded: 0,
        median_ms: 204.715,
    },
    Expected {
        file: "aiperf_0.13.0_profile_export.jsonl",
        tool: "AIPerf",
        requests: 4,
        good: 4,
        discarded: 2,
        median_ms: 201.749,
    },
    Expected {
        file: "guidellm_0.6_fixture_inference-simulator-rs.json",
        tool: "GuideLLM",
        requests: 4,
        good: 4,
        discarded: 0,
        median_ms: 37.6,
    },
    Expected {
        file: "guidellm_0.8.1_benchmarks.json",
        tool: "GuideLLM",
        requests: 6,
        good: 6,
        discarded: 0,
        median_ms: 201.692,
    },
    Expected {
        file: "inference-perf_0.7.0_per_request_lifecycle_metrics.json",
        tool: "inference-perf",
        requests: 4,
        good: 4,
        discarded: 0,
        median_ms: 203.116,
    },
    Expected {
        file: "llm-bench-data_2026-05-20_excerpt.jsonl",
        tool: "llmprobe",
        requests: 9,
        good: 5,
        discarded: 0,
        median_ms: 5662.0,
    },
    Expected {
        file: "llmperf_leaderboard_individual_replicate_70b_first80.json",
        tool: "LLMPerf",
        requests: 80,
        good: 80,
        discarded: 0,
        median_ms: 1653.262,
    },
    Expected {
        file: "llmperf_leaderboard_individual_together_13b.json",
        tool: "LLMPerf",
        requests: 150,
        good: 149,
        discarded: 0,
        median_ms: 549.944,
    },
];

#[test]
fn real_files_are_known_by_their_content() {
    for expected in EXPECTED {
        let Some(bytes) = shared(&format!("result-files/{}", expected.file)) else {
            return;
        };
        let found = match read(expected.file, bytes, &Options::default()) {
            Ok(found) => found,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(found.tool.name(), expected.tool, "{}", expected.file);
        let good = good_ms(&found).expect("good requests");
        assert_eq!(
            (rows(&found).len(), good.len(), found.discarded),
            (expected.requests, expected.good, expected.discarded),
            "{}",
            expected.file
        );
        let off = (good.median() - expected.median_ms).abs();
        assert!(off < 0.001, "{}: {}", expected.file, good.median());
    }
}

/// What a real file states without its requests \[ms\], to a microsecond.
struct StatedExpected {
    file: &'static str,
    tool: &'static str,
    succeeded: u64,
    median_ms: f64,
    p95_ms: f64,
    std_ms: Option<f64>,
}

#[test]
fn real_aggregates_are_read_in_their_units() {
    for expected in [
        StatedExpected {
            file: "vllm_bench_serve_0.33.0_summary_only.json",
            tool: "vLLM bench",
            succeeded: 8,
            median_ms: 206.572,
            p95_ms: 214.323,
            std_ms: Some(4.798),
        },
        StatedExpected {
            file: "aiperf_0.13.0_profile_export_aiperf.json",
            tool: "AIPerf",
            succeeded: 12,
            median_ms: 201.691,
            p95_ms: 201.863,
            std_ms: Some(0.128),
        },
        StatedExpected {
            file: "aiperf_0.13.0_profile_export_aiperf.csv",
            tool: "AIPerf",
            succeeded: 12,
            median_ms: 201.69,
            p95_ms: 201.86,
            std_ms: Some(0.13),
        },
        StatedExpected {
            file: "guidellm_0.8.1_benchmarks.csv",
            tool: "GuideLLM",
            succeeded: 6,
            median_ms: 201.665,
            p95_ms: 203.255,
            std_ms: Some(0.598),
        },
        StatedExpected {
            file: "inference-perf_0.7.0_summary_lifecycle_metrics.json",
            tool: "inference-perf",
            succeeded: 8,
            median_ms: 207.346,
            p95_ms: 232.829,
            std_ms: None,
        },
        StatedExpected {
            file: "hf_inference-benchmarker_1.1.0_throughput_flaky.json",
            tool: "inference-benchmarker",
            succeeded: 17,
            median_ms: 201.873,
            p95_ms: 3002.1,
            std_ms: None,
        },
        StatedExpected {
            file: "llmperf_leaderboard_summary_replicate_70b.json",
            tool: "LLMPerf",
            succeeded: 145,
            median_ms: 1187.995,
            p95_ms: 24228.119,
            std_ms: Some(12115.997),
        },
    ] {
        let Some(bytes) = shared(&format!("result-files/{}", expected.file)) else {
            return;
        };
        let found = match read(expected.file, bytes, &Options::default()) {
            Ok(found) => found,
            Err(error) => panic!("{error}"),
        };
        let name = expected.file;
        assert_eq!(found.tool.name(), expected.tool, "{name}");
        let [stated] = found.stated.as_slice() else {
            panic!("{name}: {} stages", found.stated.len());
        };
        assert_eq!(stated.succeeded, Some(expected.succeeded), "{name}");
        let close = |found: Option<f64>, ms: f64| {
            let off = found.map(|s| (1e3 * s - ms).abs());
            assert!(
                off.is_some_and(|off| off < 0.001),
                "{name}: {found:?}, not {ms} ms"
            );
        };
        close(stated.median_s, expected.median_ms);
        close(stated.p95_s, expected.p95_ms);
        match expected.std_ms {
            Some(std) => close(stated.std_s, std),
            None => assert_eq!((stated.std_s, stated.cv_percent()), (None, None), "{name}"),
        }
    }
}

/// Two providers of the `LLMPerf` leaderboard by a named column: their published spreads.
#[test]
fn a_real_table_is_read_by_its_columns() {
    let Some(bytes) = shared("ttft_llmperf_leaderboard_2023.csv") else {
        return;
    };
    let options = Options {
        by: vec!["provider".to_owned(), "model_size".to_owned()],
        status_column: Some("error_code".to_owned()),
        ..column("ttft_s")
    };
    let found = read("leaderboard.csv", bytes, &options).expect("a sound table");
    let names: Vec<&str> = found.series.iter().map(|one| one.target.as_str()).collect();
    assert_eq!(names, ["anyscale", "fireworks", "replicate", "together"]);
    // measure.md §1.6: 25-28 %, and 608 % from one outlier of 100.5 s.
    for (index, least, most) in [(0, 28.35, 28.45), (3, 608.2, 608.4)] {
        let rows = found.series[index].rows.iter();
        let good = rows.filter(|row| row.seen.succeeded());
        let spans = good
            .filter_map(|row| row.seen.ttft())
            .map(Duration::as_secs);
        let sample = Sample::new(spans.collect()).expect("values");
        let cv = 100.0 * sample.cv().expect("many");
        assert!((least..=most).contains(&cv), "{}: {cv}", names[index]);
    }
}

/// One bad hour of the prober's network: its faults are the client's, and what came near them is pointed out.
#[test]
fn faults_of_the_probers_network_are_told_from_the_models() {
    let Some(bytes) = shared("result-files/llm-bench-data_2026-05-20_excerpt.jsonl") else {
        return;
    };
    let found = read("probes", bytes, &Options::default()).expect("sound");
    let rows = rows(&found);
    let faults = rows
        .iter()
        .filter(|row| row.seen.outcome() == Outcome::ClientFault);
    assert_eq!(faults.count(), 1);
    let near: Vec<Option<Duration>> = rows
        .iter()
        .filter(|row| row.signs.near_client_fault && row.seen.succeeded())
        .map(|row| row.seen.ttft())
        .collect();
    let ms = |ms: u64| Some(Duration::from_nanos(ms * 1_000_000));
    assert_eq!(near.len(), 2);
    assert!(near.contains(&ms(7356)) && near.contains(&ms(5662)));
    // A "healthy" probe with a TTFT of zero, and a "degraded" one.
    let failed = rows
        .iter()
        .filter(|row| row.seen.outcome() == Outcome::Failed);
    assert_eq!(failed.count(), 3);
    assert!(rows.iter().all(|row| row.hour.is_some()));
}

/// The port of `vLLM`'s benchmark counts the role's piece: the gaps betray it.
#[test]
fn a_counted_role_chunk_is_detected() {
    let name = "vllm-bench_rs_0.1.0_detailed_ttft_zero_success.json";
    let Some(bytes) = shared(&format!("result-files/{name}")) else {
        return;
    };
    let found = read(name, bytes, &Options::default()).expect("sound");
    let ttft = detect(&found.series[0].rows)
        .into_iter()
        .find_map(|one| match one {
            Detection::RoleChunkCounted { ttft_median_s, .. } => Some(ttft_median_s),
            _ => None,
        });
    assert!(
        ttft.is_some_and(|ttft| (0.200..0.206).contains(&ttft)),
        "{ttft:?}"
    );
}

/// Every format in a small file: tool, good requests, all requests, warm-up.
#[test]
fn every_format_is_known_in_small() {
    let sse = |content: &str| {
        format!("data: {{\\\"choices\\\":[{{\\\"delta\\\":{{{content}}}}}]}}\\n\\n")
    };
    let genai = format!(
        r#"{{"service_kind":"openai","experiments":[{{"experiment":{{}},"requests":[
            {{"timestamp":1700000000000000000,"response_timestamps":[1700000000050000000,1700000000200000000,1700000000220000000],
              "response_outputs":[{{"response":"{}"}},{{"response":"{}"}},{{"response":"data: [DONE]\\n\\n"}}]}},
            {{"timestamp":1700000001000000000,"response_timestamps":[1700000001050000000],"response_outputs":[{{"response":"{}"}}]}}]}}]}}"#,
        sse(r#"\"role\":\"assistant\",\"content\":\"\""#),
        sse(r#"\"reasoning\":\"hm\""#),
        sse(r#"\"role\":\"assistant\""#),
    );
    let cases = [
        (
            r#"{"backend":"openai-chat","model_id":"m","ttfts":[0.2,0.0,0.3],"errors":["","Service Unavailable",""],"latencies":[0.3,0.0,0.4],"request_rate":Infinity}
               {"backend":"openai-chat","model_id":"m","ttfts":[0.4],"errors":[""]}"#,
            ("vLLM bench", 3, 4, 0),
        ),
        (
            r#"{"tag":null,"backend":"sglang","request_rate":Infinity,"ttfts":[0.2,0.0],"errors":["",""],"itls":[[0.1],[]]}"#,
            ("SGLang bench_serving", 1, 2, 0),
        ),
        (
            r#"{"metadata":{"benchmark_phase":"warmup","request_start_ns":1},"metrics":{"time_to_first_token":{"value":900,"unit":"ms"}}}
               {"metadata":{"benchmark_phase":"profiling","request_start_ns":1700000000000000000},"metrics":{"time_to_first_token":{"value":0.2,"unit":"s"}}}
               {"metadata":{"benchmark_phase":"profiling","request_start_ns":1700000001000000000},"metrics":{},"error":{"code":503,"type":"HTTPError","message":"busy"}}"#,
            ("AIPerf", 1, 2, 1),
        ),
        (genai.as_str(), ("GenAI-Perf", 1, 2, 0)),
        (
            r#"{"metadata":{"guidellm_version":"0.8.1"},"benchmarks":[{"requests":{"successful":[{"request_start_time":1700000000.5,"time_to_first_token_ms":200.5,"request_latency":0.3}],
               "errored":[{"request_start_time":1700000001.5,"time_to_first_token_ms":12.0}],"incomplete":[]}}]}"#,
            ("GuideLLM", 1, 2, 0),
        ),
        (
            r#"[{"error_code":null,"ttft_s":0.2,"end_to_end_latency_s":0.4},{"error_code":-100,"ttft_s":0.1,"end_to_end_latency_s":0.4},
               {"error_code":503,"ttft_s":0,"end_to_end_latency_s":0}]"#,
            ("LLMPerf", 1, 3, 0),
        ),
        (
            r#"[{"start_time":10.0,"end_time":10.5,"request":"{\"model\":\"m\"}","response":"","info":{"output_token_times":[10.2,10.3]},"error":null},
               {"start_time":11.0,"end_time":11.5,"request":"","response":"data: {\"error\":{\"code\":500}}\n\n","info":{"output_token_times":[]},"error":null}]"#,
            ("inference-perf", 1, 2, 0),
        ),
        (
            r#"{"provider":"p","model":"m","status":"healthy","ttft_ms":200,"latency_ms":300,"timestamp":"2026-05-20T00:00:01Z"}
               {"provider":"p","model":"m","status":"healthy","ttft_ms":0,"latency_ms":300,"timestamp":"2026-05-20T01:00:01Z"}"#,
            ("llmprobe", 1, 2, 0),
        ),
        (
            "whose,provider,model,session,sent_s,outcome,status,cold,ttft_s,latency_s\n\
             benchmark,p,m,s,0.0,succeeded,,true,20.000000001,21.0\n\
             benchmark,p,m,s,-5.0,timed_out,,,,30.0\n\
             other,p,m,s,1.0,succeeded,,false,0.2,1.0\n",
            ("thermocline simulate", 1, 2, 0),
        ),
    ];
    for (text, (tool, good, all, discarded)) in cases {
        let found = imported(text, &Options::default());
        let rows = rows(&found);
        let succeeded = rows.iter().filter(|row| row.seen.succeeded()).count();
        assert_eq!(
            (found.tool.name(), succeeded, rows.len(), found.discarded),
            (tool, good, all, discarded)
        );
    }
    let measured_again = imported(&genai, &Options::default());
    assert_eq!(good_ms(&measured_again).expect("one").median(), 200.0);
}

/// What is wrong, where, and what was found: in words, for every format.
#[test]
fn malformed_files_name_line_and_field() {
    let cases: [(&str, Options, &[&str]); 16] = [
        ("", Options::default(), &["test: empty"]),
        ("\u{feff}\r\n \n", Options::default(), &["empty"]),
        ("a,ttft_ms\n", column("ttft_ms"), &["empty"]),
        (
            "{\"a\": 1,\n \"b\": }",
            Options::default(),
            &["test: line 2: not JSON at column 7"],
        ),
        (
            "{\"backend\":\"x\",\n\"ttfts\":[0.1,\nNaN]}",
            Options::default(),
            &["line 3: field `ttfts[1]`: found NaN, a finite number [s] is needed"],
        ),
        (
            r#"{"backend":"x","ttfts":[0.1,-0.2,"fast"],"errors":["","",""]}"#,
            Options::default(),
            &[
                "`ttfts[1]`: found -0.2, a span that is not negative",
                "`ttfts[2]`: found \"fast\"",
            ],
        ),
        (
            r#"{"backend":"x","ttfts":[0.1,0.2],"errors":[""]}"#,
            Options::default(),
            &["field `errors`: 1 values beside 2 in `ttfts`"],
        ),
        (
            r#"{"metadata":{"benchmark_phase":"profiling"},"metrics":{"time_to_first_token":{"value":5,"unit":"furlong"}}}"#,
            Options::default(),
            &[
                "field `metrics.time_to_first_token.unit`: found `furlong`, a unit of time is needed",
            ],
        ),
        (
            r#"[{"error_code":null,"ttft_s":"x"},{"error_code":null,"ttft_s":null}]"#,
            Options::default(),
            &["field `[0].ttft_s`"],
        ),
        (
            r#"{"status":"healthy","ttft_ms":1,"latency_ms":1,"timestamp":"noon"}"#,
            Options::default(),
            &["field `timestamp`: found `noon`, a date is needed"],
        ),
        (
            "a,ttft_ms\n1,2\n1,2,3\n",
            column("ttft_ms"),
            &["line 3: found 3 fields, the head has 2"],
        ),
        (
            "a,ttft_ms\n1,2\n1,quick\n",
            column("ttft_ms"),
            &["line 3: field `ttft_ms`: found `quick`"],
        ),
        (
            "a,ttft_ms\n1,-2\n",
            column("ttft_ms"),
            &["line 2: field `ttft_ms`: found `-2`"],
        ),
        (
            "a,ttft_ms\n1,2\n",
            column("tftt_ms"),
            &["there is no column `tftt_ms`", "did you mean `ttft_ms`?"],
        ),
        (
            "a,ttft\n1,2\n",
            column("ttft"),
            &["does not tell its unit", "--unit s, ms, us or ns"],
        ),
        (
            "a,ttft_ms\n1,2\n",
            Options::default(),
            &[
                "not the result file of a known program",
                "--column 'ttft_ms'",
            ],
        ),
    ];
    for (text, options, expected) in cases {
        let error = refused(text, &options).to_string();
        for part in expected {
            assert!(error.contains(part), "`{part}` is missing in:\n{error}");
        }
    }
    let both = Options {
        unit: Some(Unit::Seconds),
        ..column("ttft_ms")
    };
    let error = refused("ttft_ms\n2\n", &both).to_string();
    assert!(
        error.contains("counts in ms by its name, --unit says s"),
        "{error}"
    );
}

/// A TTFT of zero, none, and one that came with an error are failures and no fast successes.
#[test]
fn zero_is_a_failure() {
    let text = "ttft_ms,status\n0,ok\n,ok\n0.0,200\n150,503\n200,ok\n";
    let options = Options {
        status_column: Some("status".to_owned()),
        ..column("ttft_ms")
    };
    let found = imported(text, &options);
    let succeeded: Vec<bool> = rows(&found)
        .iter()
        .map(|row| row.seen.succeeded())
        .collect();
    assert_eq!(succeeded, [false, false, false, false, true]);
    let unnamed = imported(text, &column("ttft_ms"));
    assert!(
        unnamed
            .notes
            .iter()
            .any(|note| note.contains("--status-column status"))
    );
}

fn sent_ns(imported: &Imported) -> Vec<u64> {
    let rows = rows(imported);
    rows.iter().map(|row| row.seen.sent().as_nanos()).collect()
}

/// Seven digits of a second, `T`, `Z` and an offset: the same instants to the nanosecond.
#[test]
fn c049_no_digit_of_a_stamp_is_lost() {
    for (date, zone) in [
        ("2023-11-16 18:17:", ""),
        ("2023-11-16T18:17:", "Z"),
        ("2023-11-16T18:17:", "+00:00"),
    ] {
        let stamps = [
            "03.0010000",
            "03.0020000",
            "03.0090000",
            "03.0110000",
            "04.5",
        ];
        let lines = stamps.map(|stamp| format!("{date}{stamp}{zone},200\n"));
        let text = format!("TIMESTAMP,ttft_ms\n{}", lines.concat());
        let found = imported(&text, &timed("ttft_ms", "TIMESTAMP", None));
        let ms = 1_000_000;
        assert_eq!(
            sent_ns(&found),
            [0, ms, 8 * ms, 10 * ms, 1499 * ms],
            "{date}{zone}"
        );
        assert!(rows(&found).iter().all(|row| row.hour == Some(18)));
    }
}

/// Numbers without a unit are asked for one; coarse stamps are pointed out.
#[test]
fn c050_coarse_stamps_and_units() {
    let ticks = [(0, 10), (3000, 16), (5999, 3), (9000, 9)];
    let lines = ticks
        .map(|(at, count)| format!("{{\"timestamp\": {at}, \"ttft_ms\": 200}}\n").repeat(count));
    let text = lines.concat();
    let error = refused(&text, &timed("ttft_ms", "timestamp", None)).to_string();
    assert!(
        error.contains("field `timestamp`: a number whose unit its name does not tell"),
        "{error}"
    );
    let found = imported(
        &text,
        &timed("ttft_ms", "timestamp", Some(Unit::Milliseconds)),
    );
    let sent = sent_ns(&found);
    assert_eq!((sent.len(), sent.last()), (38, Some(&9_000_000_000)));
    assert_eq!(sent.iter().filter(|at| **at == 0).count(), 10);
    let note =
        "times span 9 s with a resolution of 2.999 s: 34 of 38 rows share theirs with another";
    assert!(
        found.notes.iter().any(|one| one == note),
        "{:?}",
        found.notes
    );
    let slow = imported("ttft_s\n387\n402\n391\n", &column("ttft_s"));
    assert!(
        slow.notes
            .iter()
            .any(|note| note.contains("are these milliseconds?")),
        "{:?}",
        slow.notes
    );
    let quick = imported("ttft_ms\n0.387\n0.402\n0.391\n", &column("ttft_ms"));
    assert!(
        quick
            .notes
            .iter()
            .any(|note| note.contains("are these seconds?")),
        "{:?}",
        quick.notes
    );
}

/// A stamp that is missing or no number is refused with line and field; nothing is read as zero.
#[test]
fn c052_missing_and_impossible_stamps() {
    let line = |at: &str| format!("{{\"at_s\": {at}, \"ttft_ms\": 200}}\n");
    for (third, part) in [
        ("{\"ttft_ms\": 200}\n".to_owned(), "missing"),
        (line("NaN"), "found `NaN`"),
        (line("Infinity"), "found `Infinity`"),
        (line("-1"), "found `-1`"),
        (line("\"abc\""), "found `abc`"),
        (line("null"), "missing"),
        (
            "{\"at_s\": 3, \"at_s\": 4, \"ttft_ms\": 200}\n".to_owned(),
            "stands there twice",
        ),
    ] {
        let text = [line("1"), line("2"), third, line("4")].concat();
        let error = refused(&text, &timed("ttft_ms", "at_s", None)).to_string();
        assert!(error.contains("test: line 3: field `at_s`"), "{error}");
        assert!(error.contains(part), "`{part}` is missing in:\n{error}");
    }
}

/// Fifty requests with relative seconds, epoch seconds and epoch milliseconds: the same, to the nanosecond.
#[test]
fn c053_the_origin_of_stamps_does_not_matter() {
    let written = |show: &dyn Fn(u32) -> String| {
        let lines: Vec<String> = (0..50)
            .map(|index| format!("{},{}\n", show(index), 200 + index))
            .collect();
        format!("at,ttft_ms\n{}", lines.concat())
    };
    let relative = written(&|index| format!("{}.{:03}", 7 * index, index));
    let epoch = written(&|index| format!("{}.{:03}", 1_700_000_000 + 7 * index, index));
    let millis = written(&|index| format!("{}{:03}", 1_700_000_000 + 7 * index, index));
    let seen = |text: &str, unit| {
        let found = imported(text, &timed("ttft_ms", "at", Some(unit)));
        rows(&found).iter().map(|row| row.seen).collect::<Vec<_>>()
    };
    let expected = seen(&relative, Unit::Seconds);
    assert_eq!(expected.len(), 50);
    assert_eq!(seen(&epoch, Unit::Seconds), expected);
    assert_eq!(seen(&millis, Unit::Milliseconds), expected);
}

/// A stamp of zero is a time like every other.
#[test]
fn c054_time_zero_counts() {
    for stamps in [[0, 30, 60], [5, 35, 65]] {
        let lines = stamps.map(|at| format!("{at},200\n"));
        let found = imported(
            &format!("at_s,ttft_ms\n{}", lines.concat()),
            &timed("ttft_ms", "at_s", None),
        );
        assert_eq!(sent_ns(&found), [0, 30_000_000_000, 60_000_000_000]);
    }
}

/// Byte-order marks, line ends, quotes, blank lines: the same table.
#[test]
fn c055_the_dress_of_a_file_does_not_matter() {
    let unix = "ttft_ms,model\n200,a\n300,\"b, c\"\n";
    let windows = unix.replace('\n', "\r\n");
    let quoted = windows.replacen("ttft_ms,model", "\"ttft_ms\",\"model\"", 1);
    let forms = [
        unix.to_owned(),
        windows.clone(),
        format!("\u{feff}{unix}"),
        format!("\u{feff}{quoted}\r\n\r\n\r\n"),
        unix.trim_end().to_owned(),
    ];
    let options = Options {
        by: vec!["model".to_owned()],
        ..column("ttft_ms")
    };
    for form in forms {
        let found = imported(&form, &options);
        let models: Vec<&str> = found.series.iter().map(|one| one.model.as_str()).collect();
        assert_eq!(models, ["a", "b, c"], "{form:?}");
        assert_eq!(good_ms(&found).expect("two").values(), [200.0, 300.0]);
    }
}

/// Words that are no JSON are tolerated where they do not matter, named where they do, and always pointed out.
#[test]
fn c056_nan_and_infinity_in_json() {
    let text = "{\"backend\":\"x\",\"ttfts\":[0.2,0.3],\"errors\":[\"\",\"\"],\n\"request_rate\": Infinity, \"mean_itl_ms\": NaN, \"x\": -inf}";
    let found = imported(text, &Options::default());
    assert_eq!(good_ms(&found).expect("two").len(), 2);
    let note = "bare Infinity in line 2 and 2 more such words: no JSON, read as undefined";
    assert!(
        found.notes.iter().any(|one| one == note),
        "{:?}",
        found.notes
    );
    let error = refused(&text.replace("0.3", "NaN"), &Options::default()).to_string();
    assert!(
        error.contains("line 1: field `ttfts[1]`: found NaN"),
        "{error}"
    );
}

/// An observation file: header, and lines of requests with these outcomes and first tokens \[s after the writing\].
fn observations(lines: &[(&str, Option<f64>)]) -> String {
    let header = r#"{"schema":"thermocline-observations","version":1,"tool":"thermocline 0.1.0","started_at":"2026-12-01T23:30:00Z",
        "protocol":{},"targets":[],"client_error":{"bias_s":0.0001,"std_s":0.00002}}"#;
    let header = header.replace('\n', " ");
    let line = |(index, (outcome, first)): (usize, &(&str, Option<f64>))| {
        let written = 10.0 * index as f64 + 0.5;
        let number =
            |value: Option<f64>| value.map_or("null".to_owned(), |value| format!("{value:.9}"));
        let first_token = number(first.map(|first| written + first));
        let ttft = number(*first);
        let (discarded, status) = (
            index == 0,
            if *outcome == "http-error" {
                "503"
            } else {
                "null"
            },
        );
        format!(
            r#"{{"target":"acme","model":"m","session":"once","index":{},"discarded":{discarded},"outcome":"{outcome}","status":{status},"due_s":{:.9},"started_s":{:.9},"connect_s":{:.9},"written_s":{written:.9},"first_token_s":{first_token},"end_s":{:.9},"ttft_s":{ttft},"output_tokens":5,"reused":false,"cold":null}}"#,
            index + 1,
            written - 0.4,
            written - 0.4,
            written - 0.1,
            written + 30.0,
        )
    };
    let lines: Vec<String> = lines.iter().enumerate().map(line).collect();
    format!("{header}\n{}\n", lines.join("\n"))
}

#[test]
fn our_own_observations_are_read_with_every_outcome() {
    let lines = [
        ("ok", Some(9.0)),
        ("ok", Some(0.2)),
        ("timed-out", None),
        ("http-error", None),
        ("client-fault", None),
        ("stream-error", Some(0.3)),
        ("empty", None),
        ("ok", Some(0.25)),
    ];
    let text = observations(&lines);
    let found = imported(&text, &Options::default());
    assert_eq!(
        (found.tool.name(), found.version.as_deref()),
        ("thermocline measure", Some("0.1.0"))
    );
    assert_eq!(
        (found.discarded, found.series[0].target.as_str()),
        (1, "acme")
    );
    let outcomes: Vec<Outcome> = rows(&found).iter().map(|row| row.seen.outcome()).collect();
    let expected = [
        Outcome::Succeeded,
        Outcome::TimedOut,
        Outcome::Rejected { status: 503 },
        Outcome::ClientFault,
        Outcome::Failed,
        Outcome::Failed,
        Outcome::Succeeded,
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(good_ms(&found).expect("two").values(), [200.0, 250.0]);
    assert!(rows(&found).iter().all(|row| row.hour == Some(23)));
    assert!(
        rows(&found)[0]
            .signs
            .connect
            .is_some_and(|span| span == Duration::from_nanos(300_000_000))
    );
    // Killed while it wrote a line: nothing else is lost.
    let torn = format!("{text}{{\"target\":\"acme\",\"mod");
    let found = imported(&torn, &Options::default());
    assert_eq!(rows(&found).len(), 7);
    assert!(
        found.notes.iter().any(|note| note.contains("not whole")),
        "{:?}",
        found.notes
    );
    for (from, to, part) in [
        (
            "\"outcome\":\"empty\"",
            "\"outcome\":\"fine\"",
            "line 8: field `outcome`: found `fine`",
        ),
        (
            "\"version\":1",
            "\"version\":2",
            "line 1: field `version`: found 2",
        ),
        (
            "\"end_s\":50.5",
            "\"end_s\":\"soon\",\"x\":50.5",
            "field `end_s`: found \"soon\"",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = refused(&text.replacen(from, to, 1), &Options::default()).to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// A stated whole that is not the sum of its parts is told, and the parts are believed.
#[test]
fn c019_parts_that_do_not_add_up_are_told() {
    let text = observations(&[("ok", Some(9.0)), ("ok", Some(0.2)), ("ok", Some(0.25))]);
    let note = |found: &Imported| {
        let told =
            "in 1 rows `ttft_s` is not `first_token_s` less `written_s`: the instants are believed";
        found.notes.iter().any(|note| note == told)
    };
    assert!(!note(&imported(&text, &Options::default())));
    let found = imported(
        &text.replace("\"ttft_s\":0.250000000", "\"ttft_s\":0.350000000"),
        &Options::default(),
    );
    assert!(note(&found), "{:?}", found.notes);
    assert_eq!(good_ms(&found).expect("two").values(), [200.0, 250.0]);
}

/// Two requests of a simulated run, the second's cells as given.
fn simulated(outcome: &str, status: &str, cold: &str, ttft: &str) -> String {
    format!(
        "whose,provider,model,session,sent_s,outcome,status,cold,ttft_s,latency_s\n\
         benchmark,p,m,s,0.0,succeeded,,false,0.2,1.0\n\
         benchmark,p,m,s,5.0,{outcome},{status},{cold},{ttft},1.0\n"
    )
}

#[test]
fn words_of_a_simulated_run_are_read_in_any_letter_case_or_refused() {
    for (cold, expected) in [
        ("true", Some(true)),
        ("TRUE", Some(true)),
        ("False", Some(false)),
        ("", None),
    ] {
        let text = simulated("Succeeded", "", cold, "0.3");
        let found = rows(&imported(&text, &Options::default()));
        assert_eq!(found[1].cold, expected, "{cold}");
        assert!(found[1].seen.succeeded());
    }
    for (text, part) in [
        (
            simulated("succeeded", "", "maybe", "0.3"),
            "test: line 3: field `cold`: found `maybe`, `true` or `false` is needed",
        ),
        (
            simulated("fine", "", "", "0.3"),
            "line 3: field `outcome`: found `fine`, `succeeded`, `timed_out`, `failed`, `rejected` or `client_fault` is needed",
        ),
        (
            simulated("rejected", "busy", "", ""),
            "line 3: field `status`: found `busy`, a whole number is needed",
        ),
    ] {
        let error = refused(&text, &Options::default()).to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn words_of_other_programs_that_nobody_knows_are_refused() {
    for (text, part) in [
        (
            r#"{"model":"m","status":"asleep","ttft_ms":200,"latency_ms":300,"timestamp":"2026-05-20T00:00:01Z"}"#,
            "field `status`: found `asleep`, `healthy`, `degraded` or `error` is needed",
        ),
        (
            r#"{"metadata":{"was_cancelled":"yes"},"metrics":{"ttft":{"value":5,"unit":"ms"}}}"#,
            "field `metadata.was_cancelled`: found \"yes\", true or false is needed",
        ),
    ] {
        let error = refused(text, &Options::default()).to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// A host that refuses a connection was reached: it failed. One that was not found or not reached says nothing of the model.
#[test]
fn refusals_that_other_programs_saw_are_the_servers() {
    let probe = |error: &str| {
        format!(
            r#"{{"model":"m","status":"error","error":"Post: {error}","ttft_ms":0,"latency_ms":300,"timestamp":"2026-05-20T00:00:01Z"}}"#
        )
    };
    let record = |error: &str| {
        format!(
            r#"{{"metadata":{{"benchmark_phase":"profiling"}},"metrics":{{}},"error":{{"code":null,"type":"ClientConnectorError","message":"{error}"}}}}"#
        )
    };
    for (text, expected) in [
        (
            probe("dial tcp 10.0.0.1:443: connect: connection refused"),
            Outcome::Failed,
        ),
        (
            probe("dial tcp: lookup a.example: no such host"),
            Outcome::ClientFault,
        ),
        (
            record("Cannot connect to host a:1 [Connection refused]"),
            Outcome::Failed,
        ),
        (
            record("Cannot connect to host a:1 [Network is unreachable]"),
            Outcome::ClientFault,
        ),
    ] {
        let found = rows(&imported(&text, &Options::default()));
        assert_eq!(found[0].seen.outcome(), expected, "{text}");
    }
}

/// A connection that was refused never stood, so no server has closed it in a pause.
#[test]
fn a_refused_connection_is_not_a_lost_one() {
    let text = observations(&[("ok", Some(0.2)), ("connection-fault", None)]);
    let is_lost = |text: &str| {
        let found = rows(&imported(text, &Options::default()));
        assert_eq!(found[0].seen.outcome(), Outcome::Failed);
        found[0].signs.connection_lost
    };
    assert!(is_lost(&text));
    let phase = |phase: &str| {
        let fault = "\"outcome\":\"connection-fault\"";
        text.replace(fault, &format!("{fault},\"phase\":\"{phase}\""))
    };
    assert!(is_lost(&phase("headers")));
    assert!(!is_lost(&phase("connect")));
}

#[test]
fn what_a_status_column_was_read_as_is_told() {
    let options = Options {
        status_column: Some("status".to_owned()),
        ..column("ttft_ms")
    };
    let table = |words: &[&str]| {
        let lines: Vec<String> = words.iter().map(|word| format!("200,{word}\n")).collect();
        imported(&format!("ttft_ms,status\n{}", lines.concat()), &options)
    };
    let all_good = table(&["200", "204", "299", "OK", "Completed", "0", ""]);
    assert!(rows(&all_good).iter().all(|row| row.seen.succeeded()));
    assert!(all_good.notes.is_empty(), "{:?}", all_good.notes);
    let some = table(&["done", "ok", "done", "503", "2000"]);
    let good = rows(&some)
        .iter()
        .filter(|row| row.seen.succeeded())
        .count();
    assert_eq!(good, 1);
    let expected = "column `status`: read as a failure: \"done\" 2 ×, \"503\" 1 ×, \"2000\" 1 ×; read as success: empty, 2xx, ok, ";
    assert!(some.notes[0].starts_with(expected), "{:?}", some.notes);
}

#[test]
fn two_columns_of_one_name_are_refused_where_they_are_asked_for() {
    let table = "ttft_ms,model,ttft_ms\n200,m,9000\n";
    let error = refused(table, &column("ttft_ms")).to_string();
    assert!(
        error.contains("columns 1 and 3 are both called `ttft_ms`"),
        "{error}"
    );
    let other = imported(&table.replacen("ttft_ms", "x", 1), &column("ttft_ms"));
    assert_eq!(good_ms(&other).expect("one").values(), [9000.0]);
    let starts = b"load_weights_s,load_weights_s,total_s\n1,2,3\n";
    let error = read_starts("starts", starts).expect_err("twice");
    assert!(
        error
            .to_string()
            .contains("columns 1 and 2 are both called"),
        "{error}"
    );
}

#[test]
fn a_request_that_is_there_twice_is_refused() {
    let text = observations(&[("ok", Some(0.2)), ("ok", Some(0.3))]);
    let last = text.lines().last().expect("a line");
    let error = refused(&format!("{text}{last}\n"), &Options::default()).to_string();
    assert!(
        error.contains(
            "line 4: field `index`: request 2 of acme, session once, is there twice: first in line 3"
        ),
        "{error}"
    );
}

#[test]
fn blank_lines_are_no_requests() {
    for (text, expected) in [
        ("ttft_ms\n200\n   \n\n300\n \t\n", 2),
        ("ttft_ms,x\n200,1\n   \n300,2\n", 2),
        // A cell without a TTFT is a failure still.
        ("ttft_ms,x\n200,1\n,\n300,2\n", 3),
    ] {
        let found = imported(text, &column("ttft_ms"));
        assert_eq!(rows(&found).len(), expected, "{text:?}");
    }
    let error = refused("ttft_ms,x\n \n200\n", &column("ttft_ms")).to_string();
    assert!(
        error.contains("line 3: found 1 fields, the head has 2"),
        "{error}"
    );
}

#[test]
fn messages_say_what_the_file_holds_and_where() {
    for (text, options, part) in [
        (
            simulated("succeeded", "", "", "-3"),
            Options::default(),
            "line 3: field `ttft_s`: found `-3`, a span that is not negative [s] is needed",
        ),
        (
            simulated("succeeded", "", "", "1e15"),
            Options::default(),
            "field `ttft_s`: found `1e15`, at most 18446744073 [s] is needed",
        ),
        (
            "ttft_ms\n1e15\n".to_owned(),
            column("ttft_ms"),
            "found `1e15`, at most 18446744073709 [ms] is needed",
        ),
        (
            "{\"ttft_ms\":200}\n{\"ttft_ms\":\n".to_owned(),
            column("ttft_ms"),
            "test: line 2: not JSON at column 12: EOF",
        ),
        (
            "ttft_ms,x\n200,\"a\n300,b\n400,c\n".to_owned(),
            column("ttft_ms"),
            "test: line 2: a quoted field opens here and never closes",
        ),
    ] {
        let error = refused(&text, &options).to_string();
        assert!(error.contains(part), "{error}");
    }
}
