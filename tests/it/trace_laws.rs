//! Laws fitted to traces: arrivals that our own processes made give their parameters back, and real traces give what others found.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;
use thermocline::distribution::Distribution;
use thermocline::scenario::{self, Overrides};
use thermocline::streams::Streams;
use thermocline::time::{Duration, Time};
use thermocline::trace::{Fit, Fits, Law, Options, Survey, Trace};
use thermocline::workload::{ArrivalProcess, Arrivals, Curve, Pattern};

use crate::support::shared;

/// The times of a process over so many seconds from Monday 00:00, as a table.
fn made(pattern: Pattern, curve: Curve, seconds: f64) -> String {
    let stream = Streams::new(7, 0).stream("made");
    let process = ArrivalProcess { pattern, curve };
    let arrivals = Arrivals::new(process, Duration::ZERO, Time::ZERO, stream);
    let mut text = "at_ns\n".to_owned();
    for at in arrivals.take_while(|at| at.as_secs() < seconds) {
        let _ = writeln!(text, "{}", at.as_nanos());
    }
    text
}

fn fitted(file: &str, bytes: Vec<u8>, options: &Options) -> (Survey, Fits) {
    let trace = Trace::of_bytes(file, bytes, options).expect("a head that is understood");
    let survey = trace.survey().expect("a sound file");
    let fits = trace.fit(&survey).expect("it can still be read");
    (survey, fits.expect("enough gaps"))
}

fn fitted_table(text: String) -> Fits {
    let options = Options {
        time_column: Some("at_ns".to_owned()),
        ..Options::default()
    };
    fitted("made", text.into_bytes(), &options).1
}

fn law<'a>(fits: &'a Fits, name: &str) -> &'a Fit {
    let found = fits.laws.iter().find(|fit| fit.law.name() == name);
    found.expect("all three laws are fitted")
}

/// Whether each parameter's 99.9 % interval holds the true value.
fn assert_held(fit: &Fit, truth: &Law) {
    let named = fit.law.parameters().into_iter().zip(truth.parameters());
    for (((name, found), (_, true_value)), interval) in named.zip(fit.intervals(0.999)) {
        let interval = interval.expect("the likelihood has a curvature");
        assert!(
            interval.contains(true_value),
            "{name}: {found}, {interval:?} for {true_value}"
        );
    }
}

/// Holds the same, by intervals of which none holds everything.
fn assert_recovered(fit: &Fit, truth: &Law) {
    assert_held(fit, truth);
    let values = truth.parameters().into_iter().zip(fit.intervals(0.999));
    for ((name, value), interval) in values {
        let half_width = interval.map(|interval| interval.half_width());
        assert!(half_width < Some(0.5 * value), "{name}: {half_width:?}");
    }
}

/// Half-width of the 99.9 % region of the Kolmogorov-Smirnov statistic.
fn critical(gaps: usize) -> f64 {
    1.95 / (gaps as f64).sqrt()
}

/// Each law is found in what it made, with its parameters inside their 99.9 % intervals.
#[test]
fn laws_give_their_parameters_back() {
    let renewal = |rate, gap| Pattern::Renewal { rate, gap };
    let (rates, sojourns) = ([0.5, 5.0], [40.0, 15.0]);
    for (pattern, truth) in [
        (
            renewal(2.0, Distribution::Exponential { mean: 1.0 }),
            Law::Poisson { rate: 2.0 },
        ),
        (
            renewal(2.0, Distribution::Gamma { mean: 1.0, cv: 1.8 }),
            Law::Gamma { rate: 2.0, cv: 1.8 },
        ),
        (
            Pattern::Mmpp { rates, sojourns },
            Law::Mmpp { rates, sojourns },
        ),
    ] {
        let fits = fitted_table(made(pattern, Curve::FLAT, 3000.0));
        let own = law(&fits, truth.name());
        assert_recovered(own, &truth);
        assert!(own.ks < critical(fits.gaps), "{truth:?}: {}", own.ks);
        // A law with d parameters more wins more than 16.3 of twice the log-likelihood by chance once in a thousand for d = 3.
        let best = &fits.laws[0];
        let chance = if truth.name() == "poisson" { 16.3 } else { 0.0 };
        assert!(
            own.aic - best.aic <= chance,
            "{truth:?}: {}",
            best.law.name()
        );
        for other in fits
            .laws
            .iter()
            .filter(|fit| fit.law.name() != truth.name())
        {
            let is_wrong = truth.name() != "poisson";
            assert!(
                !is_wrong || other.aic - own.aic > 50.0,
                "{truth:?}: {other:?}"
            );
        }
        assert_eq!((fits.daily, fits.stretches), (None, 1));
    }
}

/// Under a daily curve both the curve and the law beneath it come back.
#[test]
fn a_daily_curve_comes_back_with_its_law() {
    let mut daily = [0.5; 24];
    daily[9..17].fill(2.0);
    let (rates, sojourns) = ([0.01, 0.1], [60.0, 20.0]);
    let curve = Curve::new(&daily, &[1.0; 7]);
    let days = 3.0;
    let fits = fitted_table(made(
        Pattern::Mmpp { rates, sojourns },
        curve,
        days * 86_400.0,
    ));
    assert_recovered(law(&fits, "mmpp"), &Law::Mmpp { rates, sojourns });
    assert_eq!(fits.laws[0].law.name(), "mmpp");
    let found = fits.daily.expect("three days show it");
    // Counts of an MMPP in an hour: mean and, asymptotically, the variance of Cox & Isham (1980), as in `workload::arrivals`.
    let (p, q, switching) = (0.75, 0.25, 1.0 / 60.0 + 1.0 / 20.0);
    let rate: f64 = p * rates[0] + q * rates[1];
    let modulation = 2.0 * (rates[1] - rates[0]).powi(2) * p * q / switching;
    for (hour, found) in found.into_iter().enumerate() {
        let multiplier = daily[hour];
        let mean = multiplier * rate * 3600.0 * days;
        let variance = mean + multiplier * multiplier * modulation * 3600.0 * days;
        let half_width = 3.5 * variance.sqrt() / (rate * 3600.0 * days);
        assert!(
            (found - multiplier).abs() < half_width,
            "hour {hour}: {found} for {multiplier} ± {half_width}"
        );
    }
}

/// A trace longer than what is fitted is fitted in stretches, with the same result.
#[test]
fn long_traces_are_fitted_in_stretches() {
    let gap = Distribution::Gamma { mean: 1.0, cv: 1.5 };
    let fits = fitted_table(made(
        Pattern::Renewal { rate: 100.0, gap },
        Curve::FLAT,
        300.0,
    ));
    assert_eq!((fits.gaps, fits.stretches), (20_000, 16));
    let truth = Law::Gamma {
        rate: 100.0,
        cv: 1.5,
    };
    assert_recovered(law(&fits, "gamma"), &truth);
}

/// Real traces: what others found in the same files by other programs.
#[test]
fn public_traces_give_the_fits_that_others_found() {
    // Gamma shapes by maximum likelihood on the positive gaps (scipy). A renewal process with so many short gaps wins on gaps,
    // but its counts are not dispersed as the trace's are.
    // BurstGPT's four gaps of zero are short ones here.
    for (file, shape, tolerance, best, closest) in [
        ("azure_llm_2023_code.csv", 0.231, 0.003, "gamma", "mmpp"),
        ("azure_llm_2023_conv.csv", 0.871, 0.001, "mmpp", "mmpp"),
        ("burstgpt_1_head400.csv", 0.459, 0.03, "mmpp", "mmpp"),
    ] {
        let Some(bytes) = shared(file) else { continue };
        let (survey, fits) = fitted(file, bytes, &Options::default());
        let Law::Gamma { cv, .. } = law(&fits, "gamma").law else {
            panic!("{file}: no gamma law")
        };
        let found = 1.0 / (cv * cv);
        assert!(
            (found - shape).abs() < tolerance * shape,
            "{file}: {found} for {shape}"
        );
        let nearest = fits.closest(&survey).expect("windows enough");
        let names = (fits.laws[0].law.name(), nearest.law.name());
        assert_eq!(names, (best, closest), "{file}");
        if file == "azure_llm_2023_conv.csv" {
            // By expectation maximisation on counts of a second; this fit is on the gaps.
            let of_counts = Law::Mmpp {
                rates: [4.62, 7.01],
                sojourns: [122.0, 76.0],
            };
            assert_held(law(&fits, "mmpp"), &of_counts);
        }
    }
}

/// What `trace --scenario` prints is a scenario, with a deployment for each file.
#[test]
fn a_fitted_scenario_is_one() {
    let folder = TempDir::new().expect("a folder for temporary files");
    let (rates, sojourns) = ([0.01, 0.15], [900.0, 300.0]);
    let mut daily = [1.0; 24];
    daily[12] = 5.0;
    let curve = Curve::new(&daily, &[1.0; 7]);
    let days = made(Pattern::Mmpp { rates, sojourns }, curve, 3.0 * 86_400.0);
    fs::write(folder.path().join("days.csv"), days).expect("it can be written");
    let gap = Distribution::Gamma { mean: 1.0, cv: 3.0 };
    let short = made(Pattern::Renewal { rate: 1.0, gap }, Curve::FLAT, 500.0);
    fs::write(folder.path().join("a short.one.csv"), short).expect("it can be written");
    let output = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
        .args([
            "trace",
            "days.csv",
            "a short.one.csv",
            "--time-column",
            "at_ns",
            "--scenario",
        ])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (plan, _) = scenario::load("fitted.toml", &text, &Overrides::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let deployments = &plan.providers[0].fleet.deployments;
    let names: Vec<&str> = deployments.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["days", "a-short"]);
    let processes: Vec<&ArrivalProcess> = deployments
        .iter()
        .map(|one| &one.traffic[0].arrivals)
        .collect();
    assert!(
        matches!(processes[0].pattern, Pattern::Mmpp { .. }),
        "{text}"
    );
    assert_ne!(processes[0].curve, Curve::FLAT);
    assert!(
        matches!(processes[1].pattern, Pattern::Renewal { .. }),
        "{text}"
    );
}

/// Whole pages, and the JSON that programs read: strict, with the laws' intervals around their values.
#[test]
fn pages_fit_and_json_is_strict() {
    let folder = TempDir::new().expect("a folder for temporary files");
    let gap = Distribution::Gamma { mean: 1.0, cv: 2.0 };
    let table = made(Pattern::Renewal { rate: 0.2, gap }, Curve::FLAT, 1500.0);
    let lines = table.lines().skip(1).enumerate().map(|(row, at)| {
        let model = if row % 5 == 0 { "GPT-4" } else { "ChatGPT" };
        let (prompt, output) = if row == 7 {
            (0, 0)
        } else {
            (40 * row + 9, 7 * row % 90 + 1)
        };
        let seconds = at[..at.len().saturating_sub(9)].to_owned();
        let seconds = if seconds.is_empty() { "0" } else { &seconds };
        format!(
            "{seconds},{model},{prompt},{output},{},API log\n",
            prompt + output
        )
    });
    let head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
    let text = head.to_owned() + &lines.collect::<Vec<_>>().concat();
    fs::write(folder.path().join("calls.csv"), text).expect("it can be written");
    let shown = |arguments: &[&str]| {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
            .args(["trace", "calls.csv"])
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .expect("it runs");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    for width in ["80", "160"] {
        let page = shown(&["--width", width]);
        let room: usize = width.parse().expect("a number");
        assert!(
            page.lines().all(|line| line.chars().count() <= room),
            "{page}"
        );
        assert_snapshot!(format!("trace_{width}"), page);
    }
    assert_snapshot!("trace_csv", shown(&["--format", "csv"]));
    let json: Value = serde_json::from_str(&shown(&["--format", "json"])).expect("strict JSON");
    let trace = &json["traces"][0];
    assert_eq!(trace["failures"], 1);
    let laws = trace["fits"]["laws"].as_array().expect("laws");
    assert_eq!(laws.len(), 3);
    for law in laws {
        for (name, value) in law["parameters"].as_object().expect("parameters") {
            let Some(value) = value.as_f64() else {
                continue;
            };
            let interval = &law["parameters"][format!("{name}_interval")];
            if let (Some(low), Some(high)) = (interval[0].as_f64(), interval[1].as_f64()) {
                assert!(
                    low < value && value < high,
                    "{name}: {interval} around {value}"
                );
            }
        }
    }
}
