//! Suggestions: what they promise is what comes, what they print runs, and a suggested spacing tells more than a constant one.

use std::process::Output;

use serde_json::Value;
use thermocline::calibrate::design::{KeepAlive, designs};
use thermocline::calibrate::posterior::Posterior;
use thermocline::calibrate::suggest::{Expected, Question, Suggestion, suggest};
use thermocline::measure::protocol::{GapPlan, Protocol};
use thermocline::time::Duration;

use crate::calibrate::{SLEEPS, told};
use crate::trial::{Effort, Subject};

/// A model that nobody else asks for: a gap is cold if and only if it is longer than the keep-alive.
const ALONE: &str = r#"
title = "Nobody else asks"
seed = 3
time.warm_up = "0s"
benchmark = { requests = 12, discard = 0, gaps = "5m" }
[providers.acme.deployments.niche]
service.slots = { slots = 8, prefill = "300ms", decode = "1s" }
scaling = { max = 1, keep_alive = "6m" }
cold_start.load_weights = "15s"
[calibrate.keep_alive]
path = "providers.acme.deployments.niche.scaling.keep_alive"
range.log = { from = "30s", to = "1h" }
"#;

fn suggested(subject: &Subject<'_>, requests: u32, within: Option<f64>) -> Suggestion {
    let protocol = Protocol {
        requests,
        ..subject.plan.benchmark.clone()
    };
    let make = |values: &[String]| subject.at(values);
    let question = Question {
        free: &subject.free,
        maker: &make,
        posterior: None,
        provider: 0,
        deployment: 0,
        at: subject.plan.sessions[0].at,
        protocol: &protocol,
        within: within.map(Duration::from_secs),
        seed: subject.plan.seed,
        simulations: 3000,
    };
    suggest(&question, &|| ()).expect("valid settings")
}

#[test]
fn what_is_expected_of_a_constant_gap_is_what_mathematics_expects() {
    // It cuts the prior in two at the gap, so the 90 % interval will be as wide as the part that the truth is in.
    let subject = Subject::new("alone.toml", ALONE);
    let found = suggested(&subject, 12, None);
    let constant = found.plans.iter().find_map(|one| match one.gaps {
        GapPlan::Fixed(gap) => Some((gap.as_secs(), one)),
        _ => None,
    });
    let (gap, one) = constant.expect("one is shown to compare with");
    let below = subject.free[0].place_of(gap).clamp(0.0, 1.0);
    let log = |part: f64| {
        if part > 0.0 {
            part * (0.9 * part).ln()
        } else {
            0.0
        }
    };
    let exact = (log(below) + log(1.0 - below)).exp();
    assert!(
        (one.open[0] / exact - 1.0).abs() < 0.15,
        "{gap} s: {} for {exact}",
        one.open[0]
    );
    assert!((found.now[0] / 0.9 - 1.0).abs() < 0.05, "{:?}", found.now);
    // Eleven gaps cut it in twelve at best.
    let best = &found.plans[0];
    assert!(matches!(best.gaps, GapPlan::Ladder(_)), "{best:?}");
    assert!((0.05..0.25).contains(&best.open[0]), "{best:?}");
    assert!(found.plans.is_sorted_by(|a, b| a.narrower >= b.narrower));
}

#[test]
fn no_plan_is_longer_than_there_is_time() {
    let subject = Subject::new("alone.toml", ALONE);
    let lasts = |one: &Expected| one.lasts_s;
    // Eleven gaps within half an hour; answers and cold starts, 12 of 16.3 s at most, come on top.
    let found = suggested(&subject, 12, Some(1800.0));
    assert!(!found.plans.is_empty() && found.plans.iter().map(lasts).all(|span| span < 2000.0));
    assert!(designs(KeepAlive::default(), 12, Some(10.0)).is_empty());
}

/// What `calibrate` says of a scenario's text.
fn asked(text: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, text).expect("written");
    let scenario = file.to_str().expect("plain");
    told(&[&["calibrate", scenario, "--simulations=1000"], arguments].concat())
}

/// A command line as a shell would split it, without the program's name.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ') => words.push(String::new()),
            (Some(open), close) if open == close => quote = None,
            (_, other) => words.last_mut().expect("there is one").push(other),
        }
    }
    words.split_off(1)
}

#[test]
fn a_suggestion_is_printed_as_commands_that_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("alone.toml");
    std::fs::write(&file, ALONE).expect("written");
    let scenario = file.to_str().expect("plain");
    let asked = |arguments: &[&str]| -> Value {
        let all = [
            &["calibrate", scenario, "--simulations=1000", "--format=json"],
            arguments,
        ];
        let output = told(&all.concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("strict JSON")
    };
    let ran = |line: &str, more: &str| {
        let mut all = words(&line.replace("$URL", "http://127.0.0.1:9/v1"));
        all.push(more.to_owned());
        let output = told(&all.iter().map(String::as_str).collect::<Vec<&str>>());
        assert!(output.status.success(), "{all:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let first = asked(&["--suggest=12"]);
    let line = |key: &str| first["next"][key].as_str().expect("a command").to_owned();
    let outline = ran(&line("measure"), "--dry-run");
    assert!(outline.contains("12 requests"), "{outline}");
    let part = folder.path().join("part-1");
    let here = format!("--out {}", part.to_str().expect("plain"));
    ran(&line("simulate").replace("--out part-1", &here), "--quiet");

    // What it measured is where the next suggestion starts, and that is what was expected.
    let measured = part.join("requests.csv");
    let measured = format!("--measured={}", measured.to_str().expect("plain"));
    let second = asked(&[&measured, "--suggest=5"]);
    let now = second["next"]["now"]["keep_alive_now_ratio_90"]
        .as_f64()
        .expect("a ratio");
    let best = &first["next"]["plans"][0]["keep_alive_expected_ratio_90"];
    let expected = best.as_f64().expect("a ratio");
    let times = now.ln() / expected.ln();
    assert!((0.4..2.5).contains(&times), "{now} for {expected}");
    assert_eq!(second["kind"], "calibration");
    let line = second["next"]["measure"].as_str().expect("a command");
    assert!(line.ends_with("--out part-2.jsonl"), "{line}");
}

#[test]
fn a_suggestion_fits_its_width_in_every_format_and_shows_no_threads() {
    let text = asked(ALONE, &["--suggest=8"]);
    let printed = String::from_utf8(text.stdout).expect("text");
    let is_command = |line: &str| line.starts_with("thermocline ");
    let mut lines = printed.lines().filter(|line| !is_command(line));
    assert!(lines.all(|line| line.chars().count() <= 80), "{printed}");
    for part in [
        "Which 8 requests next?",
        "(now)",
        "constant",
        "keep_alive",
        "--ladder=",
    ] {
        assert!(printed.contains(part), "{part} is missing in\n{printed}");
    }
    // The same table, made by one thread.
    let again = asked(ALONE, &["--suggest=8", "--threads=1", "--format=markdown"]);
    let again = String::from_utf8(again.stdout).expect("text");
    let mut rows = again.lines();
    assert_eq!(
        rows.next(),
        Some("| gaps | lasts | keep_alive | narrower |")
    );
    for row in rows.skip(1).take_while(|row| row.starts_with('|')) {
        let cells = row.trim_matches('|').split('|').map(str::trim);
        let pattern: Vec<&str> = cells.collect();
        let is_shown = |line: &str| pattern.iter().all(|cell| line.contains(cell));
        assert!(printed.lines().any(is_shown), "{row} is not in\n{printed}");
    }
}

#[test]
fn what_cannot_be_suggested_is_said() {
    let cases: [(&[&str], &str); 5] = [
        (
            &["--suggest=20", "--within=1s"],
            "no plan of 20 requests is over so soon",
        ),
        (&["--suggest=2"], "must be a whole number from 5 to 10000"),
        (&["--within=1h"], "--suggest"),
        (
            &["--suggest=20", "--out=x.toml"],
            "--out needs a measurement",
        ),
        (&["--suggest=20", "--of=acme/other"], "known: acme/niche"),
    ];
    for (arguments, expected) in cases {
        let output = asked(ALONE, arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}

#[test]
fn a_suggested_spacing_narrows_the_keep_alive_three_times_more() {
    // The example `hidden_truths` measures this at full size.
    let subject = Subject::new("sleeps.toml", SLEEPS);
    let keep_alive = subject.index("keep_alive");
    let mut gain = 0.0;
    for (replication, truth) in (0..).zip([[0.2, 0.4], [0.3, 0.5]]) {
        let effort = Effort {
            simulations: 500,
            replication,
        };
        let constant = GapPlan::Fixed(Duration::from_secs(1200.0));
        let constant = subject.with_gaps(&truth, 40, constant, effort);
        let (plans, told) = subject.as_suggested(&truth, &[20, 20], effort);
        let width = |posterior: &Posterior| {
            let (low, high) = posterior.marginal(keep_alive).most;
            high - low
        };
        gain += (width(&constant) / width(&told)).ln() / 2.0;
        let (low, high) = (
            told.quantile(keep_alive, 0.005),
            told.quantile(keep_alive, 0.995),
        );
        let is_within = low <= truth[keep_alive] && truth[keep_alive] <= high;
        assert!(is_within, "{low} to {high} with {plans:?}");
    }
    assert!(gain.exp() >= 3.0, "{}", gain.exp());
}

#[test]
fn the_recorded_measurement_narrows_at_least_three_times_and_stands_in_the_readme() {
    let read = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        std::fs::read_to_string(path).expect("it is in the repository")
    };
    let record = read("results/hidden-truths.txt");
    let lines = record.lines().filter_map(|line| line.split_once(" s: "));
    let ratios: Vec<(f64, f64)> = lines
        .map(|(_, found)| {
            let number =
                |word: Option<&str>| word.and_then(|word| word.parse().ok()).expect("a number");
            let words = || found.split(' ');
            (number(words().next()), number(words().next_back()))
        })
        .collect();
    assert_eq!(ratios.len(), 3, "{record}");
    assert!(
        ratios
            .iter()
            .all(|(medians, ratios)| *medians >= 3.0 && *ratios >= 3.0),
        "{record}"
    );
    let least = ratios
        .iter()
        .map(|(medians, _)| *medians)
        .fold(f64::INFINITY, f64::min);
    let readme = read("README.md");
    assert!(readme.contains(&format!("{least:.1} times as wide at the least")));
    // How many of ten 90 % intervals hold the truth: fewer than six do in 0.2 % of such tables.
    let mut lines = record.lines().map(str::split_whitespace);
    let held = lines.find_map(|mut words| (words.next() == Some("held")).then_some(words));
    let held: Vec<u32> = held
        .expect("a row of them")
        .map(|word| word.parse().expect("a number"))
        .collect();
    assert!(
        held.len() == 4 && held.iter().all(|count| *count >= 6),
        "{record}"
    );
    let [a, b, c, suggested] = [0, 1, 2, 3].map(|column: usize| held[column]);
    assert!(readme.contains(&format!(
        "Of its ten 90 % intervals {suggested} hold the truth; at the constant gaps {a}, {b} and {c} do"
    )));
}
