//! Traces of real demand: what is read out of them, what is refused, and how.
//!
//! The real files lie beside the project in `../shared/data` and are read in place; without them those tests say that they skip.
//! What they must give was computed from the files by other programs (Python's csv, json and statistics modules, numpy), not
//! by this one.

use thermocline::time::Duration;
use thermocline::trace::{Format, ImportError, Options, Row, Survey, Trace, Unit};

use crate::support::shared;

fn opened(text: &str, options: &Options) -> Result<Trace, ImportError> {
    Trace::of_bytes("test", text.as_bytes().to_vec(), options)
}

fn surveyed(text: &str, options: &Options) -> Survey {
    match opened(text, options).and_then(|trace| trace.survey()) {
        Ok(survey) => survey,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn refused(text: &str, options: &Options) -> String {
    match opened(text, options).and_then(|trace| trace.survey()) {
        Ok(survey) => panic!("read as {} rows:\n{text}", survey.rows),
        Err(error) => error.to_string(),
    }
}

fn rows(text: &str, options: &Options) -> Vec<Row> {
    let trace = opened(text, options).expect("a head that is understood");
    let rows = trace.rows().expect("bytes can be read");
    rows.map(|row| row.expect("a good row")).collect()
}

fn ats(text: &str, options: &Options) -> Vec<u64> {
    rows(text, options)
        .iter()
        .map(|row| row.at.as_nanos())
        .collect()
}

/// A table of these seconds.
fn written(stamps: &[u64]) -> String {
    let lines: Vec<String> = stamps.iter().map(u64::to_string).collect();
    format!("at_s\n{}\n", lines.join("\n"))
}

/// A table with this column of times.
fn timed(column: &str, unit: Option<Unit>) -> Options {
    Options {
        time_column: Some(column.to_owned()),
        time_unit: unit,
        ..Options::default()
    }
}

/// What a real file holds.
struct Expected {
    file: &'static str,
    format: Format,
    rows: u64,
    failures: u64,
    span_s: f64,
    gap_cv: f64,
    median_gap_s: f64,
    zero_share: f64,
    silence_s: f64,
    /// In windows of 1, 10, 60 and 600 s.
    dispersion: [f64; 4],
    /// Mean, p5, p25, p50, p75, p90, p95, p99, max.
    prompt: [f64; 9],
    output: [f64; 9],
}

const EXPECTED: [Expected; 5] = [
    Expected {
        file: "azure_llm_2023_code.csv",
        format: Format::Azure,
        rows: 8819,
        failures: 0,
        span_s: 3_435.948_056,
        gap_cv: 13.152_04,
        median_gap_s: 0.063_798,
        zero_share: 0.0,
        silence_s: 217.168_952,
        dispersion: [13.190_27, 71.850_95, 166.892_63, 243.374_38],
        prompt: [
            2_047.848_28,
            75.0,
            578.0,
            1469.0,
            2744.5,
            5187.6,
            7303.3,
            7436.0,
            7437.0,
        ],
        output: [27.882_53, 6.0, 9.0, 13.0, 24.0, 55.0, 90.0, 251.46, 1899.0],
    },
    Expected {
        file: "azure_llm_2023_conv.csv",
        format: Format::Azure,
        rows: 19366,
        failures: 0,
        span_s: 3_501.721_937,
        gap_cv: 1.094_198,
        median_gap_s: 0.118_424,
        zero_share: 0.0,
        silence_s: 4.314_579,
        dispersion: [1.385_538, 3.868_047, 16.411_211, 100.432_836],
        prompt: [
            1_154.697_41,
            181.0,
            396.0,
            1020.0,
            1189.0,
            2734.5,
            4083.0,
            4142.0,
            14050.0,
        ],
        output: [
            211.125_94, 41.0, 85.0, 129.0, 395.0, 424.0, 451.0, 601.0, 1000.0,
        ],
    },
    Expected {
        file: "burstgpt_1_head400.csv",
        format: Format::BurstGpt,
        rows: 400,
        failures: 17,
        span_s: 37269.0,
        gap_cv: 4.566_915,
        median_gap_s: 22.0,
        zero_share: 4.0 / 399.0,
        silence_s: 6651.0,
        dispersion: [1.004_423, 1.226_274, 2.783_327, 16.707_266],
        prompt: [
            543.574_41, 18.0, 68.5, 353.0, 927.5, 1436.6, 1638.8, 1958.36, 2126.0,
        ],
        output: [
            288.804_18, 14.0, 68.0, 238.0, 384.5, 584.2, 841.7, 1424.78, 2019.0,
        ],
    },
    Expected {
        file: "burstgpt_3_head58.csv",
        format: Format::BurstGptSessions,
        rows: 58,
        failures: 0,
        span_s: 16815.0,
        gap_cv: 1.637_911,
        median_gap_s: 70.0,
        zero_share: 0.0,
        silence_s: 2079.0,
        dispersion: [0.996_669, 1.001_775, 1.221_845, 3.801_819],
        prompt: [
            704.034_48, 17.7, 36.25, 250.5, 924.0, 1504.7, 2307.0, 5831.23, 5866.0,
        ],
        output: [
            269.017_24, 14.1, 81.0, 173.0, 405.25, 625.4, 794.5, 869.31, 879.0,
        ],
    },
    Expected {
        file: "mooncake_conversation_head.jsonl",
        format: Format::Mooncake,
        rows: 1546,
        failures: 0,
        span_s: 531.0,
        gap_cv: 2.780_975,
        median_gap_s: 0.0,
        zero_share: 0.885_436_9,
        silence_s: 3.001,
        dispersion: [6.890_229, 2.058_315, 2.609_247, f64::NAN],
        prompt: [
            13_891.514_23,
            901.25,
            2587.75,
            8035.0,
            17228.5,
            29882.0,
            47732.5,
            99107.35,
            123_192.0,
        ],
        output: [
            352.219_92, 11.0, 161.0, 363.5, 492.75, 600.0, 687.5, 1028.4, 2000.0,
        ],
    },
];

fn assert_near(what: &str, found: f64, expected: f64, relative: f64) {
    assert!(
        (found - expected).abs() <= relative * expected.abs(),
        "{what}: {found} for {expected}"
    );
}

/// The public files give what other programs compute from them.
#[test]
fn public_traces_give_their_known_figures() {
    for expected in &EXPECTED {
        let Some(bytes) = shared(expected.file) else {
            continue;
        };
        let trace = Trace::of_bytes(expected.file, bytes, &Options::default());
        let trace = trace.expect("a known head");
        let survey = trace.survey().expect("a sound file");
        let name = expected.file;
        assert_eq!(trace.format(), expected.format, "{name}");
        assert_eq!(
            (survey.rows, survey.failures),
            (expected.rows, expected.failures),
            "{name}"
        );
        assert_near(name, survey.span.as_secs(), expected.span_s, 1e-12);
        let rate = (expected.rows - 1) as f64 / expected.span_s;
        assert_near(name, survey.rate().expect("a rate"), rate, 1e-12);
        let gaps = survey.gaps.as_ref().expect("more than one row");
        assert_near(name, gaps.cv.expect("more than two"), expected.gap_cv, 1e-6);
        assert_near(name, gaps.zero_share, expected.zero_share, 1e-6);
        // The quantiles of gaps are those of a histogram.
        assert_near(name, gaps.median_s, expected.median_gap_s, 0.01);
        let silence = survey.silence.expect("a gap").length;
        assert_near(name, silence.as_secs(), expected.silence_s, 1e-9);
        for (found, expected) in survey.dispersion.iter().zip(expected.dispersion) {
            match found.index {
                Some(index) => assert_near(name, index, expected, 1e-5),
                None => assert!(expected.is_nan(), "{name}: {found:?}"),
            }
        }
        for (lengths, expected) in [
            (&survey.prompt_tokens, expected.prompt),
            (&survey.output_tokens, expected.output),
        ] {
            let lengths = lengths.as_ref().expect("lengths");
            let p = [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
            let mut found = vec![lengths.mean];
            found.extend(p.map(|p| lengths.quantile(p)));
            found.push(f64::from(lengths.max));
            for (found, expected) in found.into_iter().zip(expected) {
                assert_near(name, found, expected, 1e-6);
            }
        }
    }
}

/// What is odd in the public files is said: failures, ties, an origin that is not zero, dates without a zone.
#[test]
fn public_traces_name_their_oddities() {
    for (file, notes) in [
        (
            "azure_llm_2023_code.csv",
            &["name no zone: read as UTC"][..],
        ),
        (
            "burstgpt_1_head400.csv",
            &[
                "stamps begin at 5 s",
                "17 of 400 rows have no tokens",
                "4 of 400 rows have the stamp of the row before them",
                "silences longer than an hour: 2",
            ],
        ),
        ("burstgpt_3_head58.csv", &["stamps begin at 19440110 s"]),
        (
            "mooncake_conversation_head.jsonl",
            &["1368 of 1546 rows have the stamp of the row before them"],
        ),
    ] {
        let Some(bytes) = shared(file) else { continue };
        let survey = Trace::of_bytes(file, bytes, &Options::default())
            .and_then(|trace| trace.survey())
            .expect("a sound file");
        for note in notes {
            let is_there = survey.notes.iter().any(|found| found.contains(note));
            assert!(is_there, "{file}: {note}\n{:#?}", survey.notes);
        }
    }
}

const AZURE: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

/// Every way in which the publishers write a date, in each of their tables: the same instants to the nanosecond.
#[test]
fn c049_no_digit_of_a_trace_is_lost() {
    let ms = 1_000_000;
    for (head, more, date, zone) in [
        (AZURE, "", "2023-11-16 18:17:", ""),
        (AZURE, "", "2024-05-12 00:00:", "+00:00"),
        (
            "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n",
            "0,",
            "2024-10-15T12:00:",
            "Z",
        ),
    ] {
        let seconds = ["03.0010000", "03.002", "03.0090", "03.011000", "04"];
        let lines = seconds.map(|second| format!("{date}{second}{zone},{more}10,20\n"));
        let text = format!("{head}{}", lines.concat());
        assert_eq!(
            ats(&text, &Options::default()),
            [0, ms, 8 * ms, 10 * ms, 999 * ms],
            "{date}{zone}"
        );
    }
}

/// The first rows of Mooncake: milliseconds on steps of three seconds.
#[test]
fn c050_coarse_stamps_of_a_trace() {
    let ticks = [(0, 10), (3000, 16), (5999, 3), (9000, 9)];
    let lines = ticks.map(|(at, count)| {
        format!("{{\"timestamp\": {at}, \"input_length\": 9, \"output_length\": 5, \"hash_ids\": [1, 2]}}\n")
            .repeat(count)
    });
    let text = lines.concat();
    let survey = surveyed(&text, &Options::default());
    assert_eq!((survey.rows, survey.span), (38, Duration::from_secs(9.0)));
    let step = survey.step.expect("rows share stamps");
    assert_eq!(
        (step.length, step.shared, step.most),
        (Duration::from_secs(2.999), 34, 16)
    );
    // By a named column nothing is assumed.
    let error = refused(&text, &timed("timestamp", None));
    assert!(
        error.contains("field `timestamp`: a number whose unit its name does not tell"),
        "{error}"
    );
    let millis = timed("timestamp", Some(Unit::Milliseconds));
    assert_eq!(surveyed(&text, &millis).span, Duration::from_secs(9.0));
}

/// Seconds from some start, epoch seconds, epoch milliseconds: the same trace.
#[test]
fn c053_the_origin_of_a_trace_does_not_matter() {
    let written = |show: &dyn Fn(u32) -> String| {
        let lines: Vec<String> = (0..50).map(|index| show(index) + "\n").collect();
        format!("at\n{}", lines.concat())
    };
    let relative = written(&|index| format!("{}.{:03}", 7 * index, index));
    let epoch = written(&|index| format!("{}.{:03}", 1_700_000_000 + 7 * index, index));
    let millis = written(&|index| format!("{}{:03}", 1_700_000_000 + 7 * index, index));
    let seconds = timed("at", Some(Unit::Seconds));
    let expected = rows(&relative, &seconds);
    assert_eq!(expected.len(), 50);
    assert_eq!(rows(&epoch, &seconds), expected);
    assert_eq!(
        rows(&millis, &timed("at", Some(Unit::Milliseconds))),
        expected
    );
}

/// A stamp of zero is a time like every other.
#[test]
fn c054_time_zero_counts_in_a_trace() {
    for stamps in [[0, 30, 60], [5, 35, 65]] {
        assert_eq!(
            ats(&written(&stamps), &timed("at_s", None)),
            [0, 30_000_000_000, 60_000_000_000]
        );
    }
}

/// Byte-order marks, line ends, quotes, blank lines, no end of line at the end: the same rows.
#[test]
fn c055_the_dress_of_a_trace_does_not_matter() {
    let unix = format!("{AZURE}2023-11-16 18:17:03.5,10,20\n2023-11-16 18:17:04.5,30,40\n");
    let windows = unix.replace('\n', "\r\n");
    let quoted = windows.replacen("TIMESTAMP", "\"TIMESTAMP\"", 1);
    let expected = rows(&unix, &Options::default());
    assert_eq!(expected.len(), 2);
    for form in [
        windows.clone(),
        format!("\u{feff}{unix}"),
        format!("\u{feff}{quoted}\r\n\r\n\r\n"),
        unix.trim_end().to_owned(),
    ] {
        assert_eq!(rows(&form, &Options::default()), expected, "{form:?}");
    }
    let json = "\u{feff}{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 20}\r\n\r\n{\"timestamp\": 1000, \"input_length\": 30, \"output_length\": 40}";
    let found = rows(json, &Options::default());
    let lengths = |rows: &[Row]| -> Vec<(Duration, Option<u32>, Option<u32>)> {
        rows.iter()
            .map(|row| (row.at, row.prompt_tokens, row.output_tokens))
            .collect()
    };
    assert_eq!(lengths(&found), lengths(&expected));
    assert_eq!(found[1].line, 3);
}

/// A stamp that is missing or no number is refused with line and field; nothing is read as zero.
#[test]
fn c052_missing_and_impossible_stamps_of_a_trace() {
    let line = |at: &str| format!("{{\"at_s\": {at}, \"in\": 7}}\n");
    for (third, part) in [
        ("{\"in\": 7}\n".to_owned(), "missing"),
        (line("NaN"), "found `NaN`"),
        (line("Infinity"), "found `Infinity`"),
        (line("-1"), "found `-1`"),
        (line("\"abc\""), "found `abc`"),
        (line("null"), "missing"),
        (
            "{\"at_s\": 3, \"at_s\": 4, \"in\": 7}\n".to_owned(),
            "stands there twice",
        ),
    ] {
        let text = [line("1"), line("2"), third, line("4")].concat();
        let error = refused(&text, &timed("at_s", None));
        assert!(error.contains("test: line 3: field `at_s`"), "{error}");
        assert!(error.contains(part), "`{part}` is missing in:\n{error}");
    }
}

/// Texts, how they are to be read, and what is said of them.
type Refused<'a> = (&'a str, Options, &'a [&'a str]);

fn refuse_all(cases: &[Refused<'_>]) {
    for (text, options, parts) in cases {
        let error = refused(text, options);
        for part in *parts {
            assert!(error.contains(part), "`{part}` is missing in:\n{error}");
        }
    }
}

/// Rows that cannot be, and what is said of each.
#[test]
fn bad_rows_are_refused_with_the_place() {
    let at_s = || timed("at_s", None);
    refuse_all(&[
        (
            "at_s\n5\n4\n",
            at_s(),
            &["line 3: field `at_s`: earlier than the row before it"],
        ),
        (
            "at_s\n5\n2023-11-16 18:17:03\n",
            at_s(),
            &["line 3: field `at_s`: a date among times since a start"],
        ),
        (
            "at_s,in\n5\n",
            at_s(),
            &["line 2: found 1 fields, the head has 2"],
        ),
        (
            "at_s\r\n\r\n5\r\nx\r\n",
            at_s(),
            &["line 4: field `at_s`: found `x`"],
        ),
        (
            "at_s\n\n5\n\n\nx",
            at_s(),
            &["line 6: field `at_s`: found `x`"],
        ),
        (
            "at_s\nnoon\n-4\n",
            at_s(),
            &[
                "line 2: field `at_s`: found `noon`",
                "line 3: field `at_s`: found `-4`",
            ],
        ),
        (
            "{\"at_s\": 1}\n{\"at_s\": 2\n",
            at_s(),
            &["line 2: not JSON at column"],
        ),
        (
            "{\"at_s\": 1} {\"at_s\": 2}\n",
            at_s(),
            &["line 1: more than one JSON value on a line"],
        ),
        (
            "{\"at_s\": 1}\n7\n",
            at_s(),
            &["line 2: ", "an object is needed"],
        ),
    ]);
    let burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
    for (tokens, part) in [
        ("", "missing"),
        ("-3", "found `-3`"),
        ("3.5", "found `3.5`"),
        ("NaN", "found `NaN`"),
        ("99999999", "up to 10000000"),
    ] {
        let error = refused(
            &format!("{burst}5,ChatGPT,4,{tokens},9,API log\n"),
            &Options::default(),
        );
        assert!(error.contains("line 2: field `Response tokens`"), "{error}");
        assert!(error.contains(part), "`{part}` is missing in:\n{error}");
    }
}

/// Files that are no traces, and what is said of each.
#[test]
fn bad_files_are_refused_with_the_reason() {
    let known = Options::default();
    let cases: &[Refused<'_>] = &[
        ("", known.clone(), &["test: empty"]),
        ("\n \r\n", known.clone(), &["test: empty"]),
        (
            AZURE,
            known.clone(),
            &["test: empty: there is a head and no row"],
        ),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 5\n",
            known.clone(),
            &["a Git LFS pointer", "git lfs pull"],
        ),
        (
            "\u{1f}\u{8b}",
            known.clone(),
            &["not a trace of a known kind"],
        ),
        ("[{\"timestamp\": 0}]", known.clone(), &["a JSON list"]),
        (
            "0,0.5,1.2\n600,0.4,1.1\n",
            known.clone(),
            &["no head: the first line holds numbers"],
        ),
        (
            "HashOwner,HashApp,HashFunction,Trigger,1,2\na,b,c,http,0,3\n",
            known.clone(),
            &["counts of calls, a minute in each column"],
        ),
        (
            "when,in\n1,2\n",
            known.clone(),
            &["not a trace of a known kind", "it has when, in"],
        ),
        (
            "at_s\n1\n",
            timed("at_z", None),
            &["there is no column `at_z`", "did you mean `at_s`?"],
        ),
    ];
    refuse_all(cases);
    let gzip = Trace::of_bytes("test", vec![0x1f, 0x8b, 8, 0], &known).expect_err("no text");
    assert!(gzip.to_string().contains("compressed with gzip"), "{gzip}");
    let latin = Trace::of_bytes(
        "test",
        b"at_s,m\n1,caf\xe9\n".to_vec(),
        &timed("at_s", None),
    );
    let latin = latin
        .and_then(|trace| trace.survey())
        .expect_err("not UTF-8");
    assert!(
        latin.to_string().contains("line 2: not UTF-8 text"),
        "{latin}"
    );
}

/// A file that is wrong from end to end is not listed from end to end.
#[test]
fn a_hundred_problems_are_enough() {
    let text = format!("at_s\n{}", "x\n".repeat(10_000));
    let error = refused(&text, &timed("at_s", None));
    assert!(
        error.contains("test: line 2: field `at_s`: found `x`"),
        "{error}"
    );
    assert!(error.lines().count() < 20, "{error}");
}

/// `BurstGPT` with and without sessions is read by name; failures, ties and repeated rows are counted.
#[test]
fn burstgpt_is_read_by_name_and_its_oddities_counted() {
    let six = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
               5,ChatGPT,472,18,490,Conversation log\n\
               45,ChatGPT,0,0,0,API log\n\
               45,GPT-4,20,30,50,API log\n\
               45,GPT-4,20,30,50,API log\n";
    let survey = surveyed(six, &Options::default());
    assert_eq!((survey.rows, survey.failures), (4, 1));
    assert_eq!(
        survey.models,
        [("ChatGPT".to_owned(), 2), ("GPT-4".to_owned(), 2)]
    );
    let prompts = survey.prompt_tokens.expect("three");
    assert_eq!((prompts.count, prompts.min, prompts.max), (3, 20, 472));
    assert!(
        survey
            .notes
            .iter()
            .any(|note| note.starts_with("1 of 4 rows repeat"))
    );
    let eight = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                 19440110.0,a-b,43,GPT-4,906,446,1352,Conversation log\n\
                 19440161.0,,2,ChatGPT,36,29,65,API log\n";
    let found = rows(eight, &Options::default());
    assert_eq!(found[0].session.as_deref(), Some("a-b"));
    assert_eq!(
        found[1],
        Row {
            at: Duration::from_secs(51.0),
            prompt_tokens: Some(36),
            output_tokens: Some(29),
            model: Some("ChatGPT".to_owned()),
            session: None,
            line: 3,
        }
    );
}

/// Gaps that never vary come from a counter: a file of that kind is in circulation as `BurstGPT`.
#[test]
fn a_counter_is_not_taken_for_a_clock_in_silence() {
    let stamps: Vec<u64> = (0..50).collect();
    let survey = surveyed(&written(&stamps), &timed("at_s", None));
    let is_said = |note: &String| note.contains("a counter, not a measurement");
    assert!(survey.notes.iter().any(is_said), "{:?}", survey.notes);
}

/// Rates by hour of the day and day of the week divide by the time that the trace watched.
#[test]
fn hours_are_rates_of_the_time_covered() {
    // Eight days, a request every half hour, and at noon every minute; 2024-05-12 is a Sunday.
    let start = 1_715_472_000;
    let mut stamps: Vec<u64> = (0..8 * 48).map(|half| start + 1800 * half).collect();
    stamps.extend((0..8).flat_map(|day| {
        (0..60).map(move |minute| start + 86_400 * day + 12 * 3600 + 60 * minute + 1)
    }));
    stamps.push(start + 8 * 86_400);
    stamps.sort_unstable();
    let survey = surveyed(&written(&stamps), &timed("at_s", None));
    let daily = survey.hours.daily().expect("every hour is covered");
    assert_near("noon", daily[12], 62.0 / 3600.0, 1e-9);
    assert_near("three", daily[3], 2.0 / 3600.0, 1e-9);
    let weekly = survey.hours.weekly().expect("every day is covered");
    for rate in weekly {
        assert_near("a day", rate, 108.0 / 86_400.0, 0.01);
    }
    let short = surveyed("at_s\n0\n7200\n", &timed("at_s", None));
    assert_eq!(short.hours.daily(), None);
}
