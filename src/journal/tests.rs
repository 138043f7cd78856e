//! The file under everything that can happen to it.

use std::fs;
use std::io::Write as _;

use super::*;
use crate::observation::{Observation, Outcome};
use crate::request::{EndpointId, RequestId};
use crate::time::{Duration, Time};
use crate::timeline::{Chunks, Exchange, Phase, Reason, Timeline, Usage};

fn header() -> Header {
    let protocol = Protocol {
        requests: 75,
        discard: 1,
        concurrency: Some(1),
        gaps: Gaps::Fixed { gap_s: 5.0 },
        jitter_s: 0.0,
        seed: 7,
        max_tokens: 64,
        temperature: Some(0.0),
        nonce: false,
        usage: true,
        timeout_s: Some(300.0),
        connect_timeout_s: 10.0,
        stall_timeout_s: 60.0,
        answer_timeout_s: 600.0,
        at: Vec::new(),
        days: 1,
        sessions: vec![Session {
            name: "once".to_owned(),
            starts_at: "2026-12-01T23:30:00+00:00".to_owned(),
        }],
    };
    let target = Target {
        name: "acme".to_owned(),
        base_url: "https://api.example.com/v1".to_owned(),
        model: "m".to_owned(),
        api: "chat".to_owned(),
        connection: "fresh".to_owned(),
        idle_limit_s: None,
        http_version: "1.1".to_owned(),
        key_env: Some("ACME_KEY".to_owned()),
        headers: Vec::new(),
        body: Map::new(),
        proxied: false,
    };
    let started_at = "2026-12-01T23:30:00Z".parse().expect("an instant");
    Header::new(started_at, protocol, "abc", vec![target], None)
}

/// An exchange due at 3600 s, with instants that need all nine decimals.
fn exchange(index: u32, reason: Option<Reason>) -> Exchange {
    let at = |nanos: u64| Time::from_nanos(3_600_000_000_001 + nanos);
    let first_token = reason.is_none().then(|| at(250_000_007));
    let outcome = match reason {
        None => Outcome::Succeeded,
        Some(Reason::HttpStatus { status, .. }) => Outcome::Rejected { status },
        Some(Reason::TimedOut { .. }) => Outcome::TimedOut,
        _ => Outcome::Failed,
    };
    Exchange {
        observation: Observation::new(
            RequestId(index.into()),
            EndpointId(0),
            at(0),
            at(1_000_003),
            first_token,
            at(900_000_000),
            9,
            outcome,
        ),
        timeline: Timeline {
            due: Some(at(0)),
            started: Some(at(500_000)),
            written: Some(at(1_000_003)),
            first_token,
            end: Some(at(900_000_000)),
            ..Timeline::default()
        },
        status: matches!(outcome, Outcome::Succeeded | Outcome::Rejected { .. }).then_some(503),
        reason,
        http_version: Some("1.1"),
        is_reused: false,
        remote_address: Some("127.0.0.1:1".to_owned()),
        usage: Usage::default(),
        chunks: Chunks::default(),
        finish_reason: None,
        content: String::new(),
        sent_at: 1_796_167_800_123_456_789,
        wall_drift_s: 0.0,
    }
}

fn row(index: u32, reason: Option<Reason>) -> Row {
    let whose = Whose {
        target: "acme",
        model: "m",
        session: "once",
        index,
        discarded: index == 1,
    };
    let redact = |text: &str| text.replace("sk-1", "[redacted]");
    Row::new(whose, &exchange(index, reason), &redact)
}

fn written(rows: u32) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    let mut journal = Journal::create(&path, &header(), false).expect("a new file");
    for index in 1..=rows {
        journal.append(&row(index, None)).expect("space");
    }
    (folder, path)
}

fn append(path: &std::path::Path, bytes: &[u8]) {
    let file = fs::OpenOptions::new().append(true).open(path);
    file.expect("the file").write_all(bytes).expect("space");
}

#[test]
fn what_was_written_is_read_back_to_the_nanosecond() {
    let (_folder, path) = written(2);
    let text = fs::read_to_string(&path).expect("the file");
    assert!(Observations::are_in(&text));
    let read = Observations::read("run.jsonl", &text).expect("it is whole");
    assert_eq!(read.header, header());
    assert_eq!(read.header.difference(&header()), None);
    assert_eq!((read.rows.len(), read.torn_bytes), (2, 0));
    let there = read.rows[1].observation(RequestId(2), EndpointId(0));
    assert_eq!(there, exchange(2, None).observation);
    assert_eq!(read.rows[1].timeline(), exchange(2, None).timeline);
    assert_eq!(read.rows[1].sent_at, "2026-12-01T23:30:00.123456789Z");
    // NIST's test vector for SHA-256.
    assert_eq!(
        read.header.prompt_sha256,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn each_reason_keeps_its_outcome_and_no_secret() {
    let message = || "no such key sk-1".to_owned();
    let reasons = [
        (
            Reason::HttpStatus {
                status: 503,
                retry_after: Some(Duration::from_secs(2.0)),
                message: message(),
            },
            "http-error",
        ),
        (Reason::Empty, "empty"),
        (Reason::Truncated { tokens: 3 }, "truncated"),
        (
            Reason::TimedOut {
                phase: Phase::FirstToken,
            },
            "timed-out",
        ),
        (Reason::ParseError { message: message() }, "parse-error"),
    ];
    for (reason, name) in reasons {
        let row = row(1, Some(reason.clone()));
        assert_eq!(row.outcome, name);
        let expected = exchange(1, Some(reason)).observation;
        assert_eq!(row.observation(RequestId(1), EndpointId(0)), expected);
        let line = serde_json::to_string(&row).expect("it is text");
        assert!(!line.contains("sk-1"), "{line}");
    }
}

#[test]
fn a_file_that_is_there_is_not_overwritten_unasked() {
    let (_folder, path) = written(1);
    let refused = Journal::create(&path, &header(), false);
    assert!(
        matches!(refused, Err(JournalError::Exists { .. })),
        "{refused:?}"
    );
    Journal::create(&path, &header(), true).expect("it is forced");
    let text = fs::read_to_string(&path).expect("the file");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn two_writers_at_once_are_refused() {
    let (_folder, path) = written(1);
    let first = Journal::resume(&path).expect("nobody else writes");
    let second = Journal::resume(&path);
    assert!(
        matches!(second, Err(JournalError::Locked { .. })),
        "{second:?}"
    );
    drop(first);
    Journal::resume(&path).expect("the other one is gone");
}

#[test]
fn a_torn_line_is_cut_off_and_a_whole_one_without_its_end_is_kept() {
    let whole = serde_json::to_vec(&row(3, None)).expect("it is text");
    let half_a_character = [&whole[..40], &"é".as_bytes()[..1]].concat();
    // What was being written, rows left, bytes cut off.
    let cases: [(&[u8], usize, usize); 4] = [
        (b"", 2, 0),
        (&whole[..whole.len() - 1], 2, whole.len() - 1),
        (&half_a_character, 2, 40),
        (&whole, 3, 0),
    ];
    for (torn, rows, cut) in cases {
        let (_folder, path) = written(2);
        append(&path, torn);
        let mut opened = Journal::resume(&path).expect("it goes on");
        assert_eq!(opened.observations.rows.len(), rows);
        assert_eq!(opened.observations.torn_bytes, cut as u64);
        opened.journal.append(&row(9, None)).expect("space");
        drop(opened);
        let text = fs::read_to_string(&path).expect("the file");
        let read = Observations::read("run.jsonl", &text).expect("it is whole again");
        assert_eq!(read.rows.len(), rows + 1);
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_field() {
    let (_folder, path) = written(2);
    let good = fs::read_to_string(&path).expect("the file");
    let line = good.lines().last().expect("a row");
    let without_first_token = line.replace("\"first_token_s\":3600", "\"x\":3600");
    let cases = [
        (String::new(), "run.jsonl:1: the file is empty"),
        (
            "{\"a\": 1}\n".to_owned(),
            "run.jsonl:1: not an observation file",
        ),
        (
            good.replace("\"version\":1", "\"version\":2"),
            "the layout's version is 2",
        ),
        (
            format!("{good}{line}\n"),
            "run.jsonl:4: request 2 of acme, session once, is there twice",
        ),
        (
            good.replace("\"index\":2", "\"index\":-2"),
            "run.jsonl:3: column ",
        ),
        (
            good.replace("\"index\":2", "\"index\":0"),
            "run.jsonl:3: `index` is 0",
        ),
        (
            good.replace("\"ok\"", "\"okay\""),
            "run.jsonl:2: `outcome` is \"okay\"",
        ),
        (
            good.replace("\"due_s\":3600", "\"due_s\":-3600"),
            "run.jsonl:2: `due_s` is -3600",
        ),
        (
            format!(
                "{}{without_first_token}\n",
                good.replace(&format!("{line}\n"), "")
            ),
            "run.jsonl:3: `first_token_s` is missing",
        ),
        (
            good.replace("\"end_s\"", "\"ended\""),
            "missing field `end_s`",
        ),
    ];
    for (text, expected) in cases {
        let error = Observations::read("run.jsonl", &text).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_run_with_another_plan_is_told_apart() {
    let there = header();
    let mut here = header();
    here.protocol.requests = 20;
    here.protocol.sessions.clear();
    assert_eq!(
        there.difference(&here).as_deref(),
        Some("protocol.requests is 75 there and 20 here")
    );
    let mut here = header();
    here.targets[0].model = "other".to_owned();
    assert_eq!(
        there.difference(&here).as_deref(),
        Some("targets.0.model is \"m\" there and \"other\" here")
    );
}
