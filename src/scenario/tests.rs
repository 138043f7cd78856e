//! Whole readings of a small schema: what is shown, and that no input makes it panic.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::{Document, Kind, Reader, Reading, ScenarioError, Understood, Variant};
use crate::time::Duration;

#[derive(Debug, PartialEq)]
struct Sample {
    title: String,
    seed: u64,
    rate: f64,
    at: Vec<Duration>,
    deployments: Vec<Deployment>,
    phases: Vec<String>,
}

#[derive(Debug, PartialEq)]
struct Deployment {
    name: String,
    weights: u64,
    min: u64,
    max: u64,
    keep_alive: Option<Duration>,
    service: Service,
}

#[derive(Debug, PartialEq)]
enum Service {
    Fixed(Duration),
    Lognormal { median: Duration, p95: Duration },
}

fn sample(mut root: Reader<'_>) -> Sample {
    let title = root.or_default("title", &Kind::text(), "a scenario");
    let seed = root.or_default("seed", &Kind::whole(), "1");
    let mut traffic = root.table("traffic");
    let rate = traffic.or_default("rate", &Kind::rate().positive(), "0.4/s");
    traffic.finish();
    let mut benchmark = root.table("benchmark");
    let times = Kind::time_of_week()
        .list()
        .must("not be empty", |times| !times.is_empty());
    let at = benchmark.or_default("at", &times, r#"["Mon 14:00", "Sun 04:00"]"#);
    benchmark.finish();
    let deployments = root.entries("deployments").into_iter();
    let deployments = deployments
        .map(|(name, reader)| deployment(name, reader))
        .collect();
    let phases = root.list("phases").into_iter().map(|mut phase| {
        let name = phase.required("name", &Kind::text());
        service(&mut phase);
        phase.finish();
        name
    });
    let phases = phases.collect();
    root.finish();
    Sample {
        title,
        seed,
        rate,
        at,
        deployments,
        phases,
    }
}

fn deployment(name: String, mut reader: Reader<'_>) -> Deployment {
    let weights = reader.required("weights", &Kind::bytes().at_most("2TB"));
    let min = reader.or_default("min", &Kind::whole(), "0");
    let max = reader.or_default("max", &Kind::whole().at_least("1"), "4");
    if min > max && reader.is_sound("max") {
        let found = format!("is {min}, and `max` is {max}");
        reader.problem_at(
            "min",
            "`min` must not exceed `max`",
            found,
            "raise `max` or lower `min`",
        );
    }
    let scaling = [
        Variant::table("arrival"),
        Variant::table("concurrency"),
        Variant::unit("none"),
    ];
    let (name_of_scaling, mut scaling) = reader.variant("scaling", &scaling, "{ arrival = {} }");
    let keep_alive = match name_of_scaling {
        "arrival" => Some(scaling.or_default("keep_alive", &Kind::duration(), "5m")),
        "concurrency" => Some(scaling.required("stable", &Kind::duration())),
        _ => None,
    };
    scaling.finish();
    let service = service(&mut reader);
    reader.finish();
    Deployment {
        name,
        weights,
        min,
        max,
        keep_alive,
        service,
    }
}

fn service(reader: &mut Reader<'_>) -> Service {
    let forms = [
        Variant::shorthand("fixed", "value"),
        Variant::table("lognormal"),
    ];
    let (form, mut service) = reader.variant("service", &forms, "40ms");
    let span = Kind::duration().positive();
    let read = match form {
        "lognormal" => Service::Lognormal {
            median: service.required("median", &span),
            p95: service.or_default("p95", &span, "2s"),
        },
        _ => Service::Fixed(service.required("value", &span)),
    };
    service.finish();
    read
}

fn read(text: &str, sets: &[&str]) -> Result<(Sample, Understood), ScenarioError> {
    let mut document = Document::parse("steady.toml", text)?;
    for set in sets {
        document.set(set);
    }
    let reading = Reading::new(document);
    let sample = sample(reading.root());
    reading.into_result(sample)
}

fn ok(text: &str, sets: &[&str]) -> (Sample, Understood) {
    read(text, sets).unwrap_or_else(|error| panic!("{error}"))
}

fn problems(text: &str, sets: &[&str]) -> String {
    read(text, sets)
        .map(|(sample, _)| sample)
        .unwrap_err()
        .to_string()
}

const FULL: &str = r#"
title = "steady"
[traffic]
rate = "30/min"
[deployments.a]
weights = "595GB"
scaling.arrival = { keep_alive = "90s" }
[deployments."llama-3.1/8b"]
weights = "16GiB"
max = 8
scaling = "none"
service.lognormal.median = "1s"
[[phases]]
name = "load"
service = "2s"
"#;

#[test]
fn reads_values_and_defaults() {
    let (sample, _) = ok(FULL, &[]);
    assert_eq!(sample.rate, 0.5);
    assert_eq!(sample.deployments[0].weights, 595_000_000_000);
    assert_eq!(
        sample.deployments[0].keep_alive,
        Some(Duration::from_secs(90.0))
    );
    assert_eq!(sample.deployments[1].name, "llama-3.1/8b");
    assert_eq!(sample.deployments[1].keep_alive, None);
    assert_eq!(sample.phases, ["load"]);
}

#[test]
fn understood_marks_defaults() {
    assert_snapshot!(ok(FULL, &[]).1.to_toml(), @r#"
    title = "steady"
    seed = 1  # default

    [traffic]
    rate = "0.5/s"

    [benchmark]
    at = ["Mon 14:00", "Sun 04:00"]  # default

    [deployments.a]
    weights = "595GB"
    min = 0  # default
    max = 4  # default
    scaling.arrival = { keep_alive = "90s" }
    service = "40ms"  # default

    [deployments."llama-3.1/8b"]
    weights = "16GiB"
    min = 0  # default
    max = 8
    scaling = "none"
    service.lognormal = { median = "1s", p95 = "2s" }  # default: p95

    [[phases]]
    name = "load"
    service = "2s"
    "#);
}

#[test]
fn understood_reads_back_to_itself() {
    for sets in [
        &[][..],
        &[
            "deployments.*.service.lognormal.median=3s",
            "benchmark.at.0=Tue 10:00",
        ],
    ] {
        let (sample, understood) = ok(FULL, sets);
        let (again, understood_again) = ok(&understood.to_toml(), &[]);
        assert_eq!(again, sample);
        assert_eq!(understood_again.to_toml(), understood_again.to_plain_toml());
        assert_eq!(understood_again.to_plain_toml(), understood.to_plain_toml());
    }
}

#[test]
fn the_empty_scenario_is_all_defaults() {
    let (_, understood) = ok("", &[]);
    assert_snapshot!(understood.to_toml(), @r#"
    title = "a scenario"  # default
    seed = 1  # default
    phases = []  # default

    [traffic]
    rate = "0.4/s"  # default

    [benchmark]
    at = ["Mon 14:00", "Sun 04:00"]  # default
    "#);
}

#[test]
fn unknown_key() {
    assert_snapshot!(problems(
        "[deployments.a]\nweights = \"1GB\"\nmaxx = 3\n",
        &[]
    ), @r#"
    error: unknown key `maxx`
     --> steady.toml:3:1
      |
    3 | maxx = 3
      | ^^^^ not known in `deployments.a`
      |
      = help: did you mean `max`?
    "#);
}

#[test]
fn problems_in_two_tables() {
    assert_snapshot!(problems(
        "sed = 3\nphases = [{}]\n[traffic]\nrate = 0.4\n[deployments.a]\nscaling.concurrency = {}\n",
        &[]
    ), @r#"
    error: unknown key `sed`
     --> steady.toml:1:1
      |
    1 | sed = 3
      | ^^^ not known at the top level
      |
      = help: did you mean `seed`?

    error: `phases.0.name` is missing
     --> steady.toml:2:11
      |
    2 | phases = [{}]
      |           ^^
      |
      = help: add it, for example name = "name"

    error: `rate` must be a rate
     --> steady.toml:4:8
      |
    4 | rate = 0.4
      |        ^^^ has no unit
      |
      = help: write a unit, for example "0.4/s"

    error: `deployments.a.weights` is missing
     --> steady.toml:5:14
      |
    5 | [deployments.a]
      |              ^
      |
      = help: add it, for example weights = "16GiB"

    error: `deployments.a.scaling.concurrency.stable` is missing
     --> steady.toml:6:9
      |
    6 | scaling.concurrency = {}
      |         ^^^^^^^^^^^
      |
      = help: add it, for example stable = "90s"
    "#);
}

#[test]
fn wrong_units() {
    assert_snapshot!(problems(
        "[traffic]\nrate = \"4/week\"\n[deployments.a]\nweights = \"16 Gb\"\nservice = \"1s1m\"\n",
        &[]
    ), @r#"
    error: `rate` must be a rate
     --> steady.toml:2:8
      |
    2 | rate = "4/week"
      |        ^^^^^^^^ `/week` is not a unit of a rate
      |
      = help: units are /s, /min, /m, /h, /d

    error: `weights` must be a size
     --> steady.toml:4:11
      |
    4 | weights = "16 Gb"
      |           ^^^^^^^ `Gb` is not a unit of a size
      |
      = help: units are PB, PiB, TB, TiB, GB, GiB, MB, MiB, kB, KB, KiB, B

    error: `service` must be a duration
     --> steady.toml:5:11
      |
    5 | service = "1s1m"
      |           ^^^^^^ units go from large to small
      |
      = help: write a duration, for example "1h30m"
    "#);
}

#[test]
fn out_of_range() {
    assert_snapshot!(problems(
        "[traffic]\nrate = \"-4/s\"\n[deployments.a]\nweights = \"3TB\"\nmax = 0\nmin = 3\n",
        &[]
    ), @r#"
    error: `rate` must be positive
     --> steady.toml:2:8
      |
    2 | rate = "-4/s"
      |        ^^^^^^ is "-4/s"
      |
      = help: write a rate, for example "0.4/s"

    error: `weights` must be at most 2TB
     --> steady.toml:4:11
      |
    4 | weights = "3TB"
      |           ^^^^^ is "3TB"
      |
      = help: write a size, for example "16GiB"

    error: `max` must be at least 1
     --> steady.toml:5:7
      |
    5 | max = 0
      |       ^ is 0
      |
      = help: write a whole number, for example 1
    "#);
}

#[test]
fn across_fields() {
    assert_snapshot!(problems(
        "[deployments.a]\nweights = \"1GB\"\nmin = 5\n",
        &[]
    ), @r#"
    error: `min` must not exceed `max`
     --> steady.toml:3:7
      |
    3 | min = 5
      |       ^ is 5, and `max` is 4
      |
      = help: raise `max` or lower `min`
    "#);
}

#[test]
fn variants_gone_wrong() {
    assert_snapshot!(problems(
        r#"
[deployments.both]
weights = "1GB"
scaling.arrival.keep_alive = "5m"
scaling.concurrency.stable = "1m"
[deployments.misspelt]
weights = "1GB"
scaling = "nonne"
service.lognomal.median = "1s"
[deployments.bare]
weights = "1GB"
scaling = "arrival"
service.lognormal = 3
[deployments.inner]
weights = "1GB"
scaling.concurrency = {}
"#,
        &[]
    ), @r#"
    error: `scaling` cannot be both `arrival` and `concurrency`
     --> steady.toml:5:9
      |
    5 | scaling.concurrency.stable = "1m"
      |         ^^^^^^^^^^^ the second one
      |
      = help: keep one of them

    error: `scaling` must be one of arrival, concurrency, none
     --> steady.toml:8:11
      |
    8 | scaling = "nonne"
      |           ^^^^^^^ is "nonne"
      |
      = help: did you mean `none`?

    error: `service` must be one of fixed, lognormal
     --> steady.toml:9:9
      |
    9 | service.lognomal.median = "1s"
      |         ^^^^^^^^ `lognomal` is none of them
      |
      = help: did you mean `lognormal`?

    error: `scaling` must be one of arrival, concurrency, none
      --> steady.toml:12:11
       |
    12 | scaling = "arrival"
       |           ^^^^^^^^^ is only the name "arrival"
       |
       = help: write it as a table: arrival = { .. }

    error: `service.lognormal` must be a table
      --> steady.toml:13:21
       |
    13 | service.lognormal = 3
       |                     ^ is 3
       |
       = help: write service.lognormal = { .. }

    error: `deployments.inner.scaling.concurrency.stable` is missing
      --> steady.toml:16:9
       |
    16 | scaling.concurrency = {}
       |         ^^^^^^^^^^^
       |
       = help: add it, for example stable = "90s"
    "#);
}

#[test]
fn elements_of_lists() {
    assert_snapshot!(problems(
        "phases = [{ name = \"a\" }, 3]\nbenchmark.at = [\"Mon 14:00\", \"Mno 14:00\", \"Tue 25:00\"]\n",
        &[]
    ), @r#"
    error: `phases.1` must be a table
     --> steady.toml:1:27
      |
    1 | phases = [{ name = "a" }, 3]
      |                           ^ is 3
      |
      = help: write phases.1 = { .. }

    error: `at.1` must be a time of the week
     --> steady.toml:2:30
      |
    2 | benchmark.at = ["Mon 14:00", "Mno 14:00", "Tue 25:00"]
      |                              ^^^^^^^^^^^ "Mno" is not a day
      |
      = help: did you mean `Mon`?
    "#);
}

#[test]
fn in_a_set_argument() {
    assert_snapshot!(problems(
        FULL,
        &["deployments.a.weights=12", "traffic.rat=1/s", "seed=-1"]
    ), @r#"
    error: `weights` must be a size
     --> --set:1:23
      |
    1 | deployments.a.weights=12
      |                       ^^ has no unit
      |
      = help: write a unit, for example "16GiB"

    error: unknown key `rat`
     --> --set:1:9
      |
    1 | traffic.rat=1/s
      |         ^^^ not known in `traffic`
      |
      = help: did you mean `rate`?

    error: `seed` must not be negative
     --> --set:1:6
      |
    1 | seed=-1
      |      ^^ is -1
      |
      = help: write a whole number, for example 1
    "#);
}

#[test]
fn malformed_set_arguments() {
    assert_snapshot!(problems(
        FULL,
        &[
            "seed",
            "=3",
            "traffic..rate=1",
            "a.\"b=1",
            "deployments.*.*.x.y=3",
            "phases.1.name=x",
            "seed=[1",
            "deployments.a\"=2"
        ]
    ), @r#"
    error: `--set` has no value
     --> --set:1:1
      |
    1 | seed
      | ^^^^ no `=` here
      |
      = help: write path=value, for example --set benchmark.requests=20

    error: the path of `--set` is malformed
     --> --set:1:1
      |
    1 | =3
      | ^ a name is missing
      |
      = help: write path=value, for example --set benchmark.requests=20

    error: the path of `--set` is malformed
     --> --set:1:9
      |
    1 | traffic..rate=1
      |         ^ a name is missing
      |
      = help: write path=value, for example --set benchmark.requests=20

    error: the path of `--set` is malformed
     --> --set:1:3
      |
    1 | a."b=1
      |   ^^^^ quote not closed
      |
      = help: write path=value, for example --set benchmark.requests=20

    error: unknown key `x`
     --> --set:1:17
      |
    1 | deployments.*.*.x.y=3
      |                 ^ not known in `deployments.a`
      |
      = help: known here: arrival

    error: unknown key `x`
     --> --set:1:17
      |
    1 | deployments.*.*.x.y=3
      |                 ^ not known in `deployments.llama-3.1/8b`
      |
      = help: known here: lognormal

    error: the list has no element `1`
     --> --set:1:8
      |
    1 | phases.1.name=x
      |        ^ not an index of the list
      |
      = help: it has 1, counted from 0

    error: not valid TOML: unclosed array, expected `]`
     --> --set:1:8
      |
    1 | seed=[1
      |        ^

    error: "a\"" cannot be a name
     --> --set:1:13
      |
    1 | deployments.a"=2
      |             ^^
      |
      = help: names are made of ASCII letters, digits, and . _ - /
    "#);
}

#[test]
fn not_toml() {
    assert_snapshot!(problems(
        "title = \"steady\nseed = 3\n[traffic\nrate = 5m\n",
        &[]
    ), @r#"
    error: not valid TOML: invalid basic string, expected `"`
     --> steady.toml:1:16
      |
    1 | title = "steady
      |                ^

    error: not valid TOML: unclosed table, expected `]`
     --> steady.toml:3:9
      |
    3 | [traffic
      |         ^
    "#);
}

#[test]
fn not_ours() {
    assert_snapshot!(problems(
        "seed = 99999999999999999999\ntitle = 1979-05-27\n[traffic]\nrate = 1e999\n[deployments.\"a b\"]\n",
        &[]
    ), @r#"
    error: the number is too large
     --> steady.toml:1:8
      |
    1 | seed = 99999999999999999999
      |        ^^^^^^^^^^^^^^^^^^^^ does not fit
      |
      = help: use fewer digits

    error: dates are not used in scenarios
     --> steady.toml:2:9
      |
    2 | title = 1979-05-27
      |         ^^^^^^^^^^ is a date or a time to TOML
      |
      = help: write it in quotes: "1979-05-27"

    error: the number is too large
     --> steady.toml:4:8
      |
    4 | rate = 1e999
      |        ^^^^^ does not fit
      |
      = help: use a smaller exponent

    error: "a b" cannot be a name
     --> steady.toml:5:14
      |
    5 | [deployments."a b"]
      |              ^^^^^
      |
      = help: names are made of ASCII letters, digits, and . _ - /
    "#);
}

#[test]
fn set_reaches_everything() {
    let (sample, _) = ok(
        FULL,
        &[
            "title=a new one",
            "traffic.rate=2/h",
            "benchmark.at.1=Tue 10:00",
            "deployments.*.max=7",
            "deployments.a.scaling.concurrency.stable=1m",
            "deployments.\"llama-3.1/8b\".scaling.arrival.keep_alive = 7m",
            "deployments.new.weights=1GB",
            "phases.0.name=\"fetch\"",
        ],
    );
    assert_eq!(sample.title, "a new one");
    assert_eq!(sample.rate, 2.0 / 3600.0);
    assert_eq!(sample.at[0], Duration::from_secs(14.0 * 3600.0));
    assert_eq!(sample.at[1], Duration::from_secs(34.0 * 3600.0));
    let deployments = sample.deployments;
    assert_eq!(
        deployments.iter().map(|d| d.max).collect::<Vec<_>>(),
        [7, 7, 4]
    );
    assert_eq!(deployments[0].keep_alive, Some(Duration::from_secs(60.0)));
    assert_eq!(deployments[1].keep_alive, Some(Duration::from_secs(420.0)));
    assert_eq!(sample.phases, ["fetch"]);
}

#[test]
fn limits() {
    assert!(Document::parse("long", &" ".repeat(1 << 21)).is_err());
    for level in ["[", "{a=", "a."] {
        let deep = format!("x = {}", level.repeat(100_000));
        assert!(Document::parse("deep", &deep).is_err());
    }
    let dotted = "a.".repeat(70) + "a";
    assert!(
        Document::parse("deep", &format!("{dotted} = 1"))
            .is_ok_and(|document| !document.problems.is_empty())
    );
    let chain = format!("{dotted} = {}", format!("{{ {dotted} = ").repeat(75));
    assert!(Document::parse("deep", &chain).is_err());
    let chain = format!(
        "x = {}1{}",
        format!("{{ {dotted} = ").repeat(75),
        "}".repeat(75)
    );
    assert!(Document::parse("deep", &chain).is_ok_and(|document| !document.problems.is_empty()));
    let mut document = Document::parse("set", "").unwrap();
    document.set(&format!("{dotted}=1"));
    document.set(&format!("a={}", "[".repeat(100_000)));
    assert_eq!(document.problems.len(), 2);
}

/// Text that is nearly a scenario.
fn nearly() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "title",
        "seed",
        "[traffic]",
        "rate",
        "deployments",
        "scaling",
        "arrival",
        "phases",
        "[[phases]]",
        "service",
        "at",
        "=",
        ".",
        "\n",
        "\"",
        "'",
        "\"5m\"",
        "\"1e308s\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        "*",
        "0",
        "-1",
        "nan",
        "inf",
        "08:00",
        "1979-05-27",
        "é",
        "\u{7}",
        "\r\n",
        "#",
        "lognormal",
        "weights = \"1GB\"\n",
        "[deployments.a]\n",
        " = ",
        "1e400",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn never_panics(text: &str, set: &str) {
    match read(text, &[set]) {
        Ok((_, understood)) => {
            let (_, again) = ok(&understood.to_toml(), &[]);
            assert_eq!(again.to_plain_toml(), understood.to_plain_toml());
        }
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.styled().to_string().is_empty());
        }
    }
}

proptest! {
    #[test]
    fn never_panics_on_nearly_scenarios(text in nearly(), set in nearly()) {
        never_panics(&text, &set);
        never_panics(FULL, &set);
    }

    #[test]
    fn never_panics_on_edits(at in 0..FULL.len(), length in 0..8_usize, patch in nearly()) {
        let mut text = FULL.to_owned();
        text.replace_range(at..(at + length).min(FULL.len()), &patch);
        never_panics(&text, "seed=3");
    }

    #[test]
    fn never_panics_on_any_text(text in "\\PC*|.{0,40}", set in ".{0,20}") {
        never_panics(&text, &set);
    }
}
