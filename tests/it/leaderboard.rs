//! Real measurements: the four sets of the `LLMPerf` leaderboard, each beside a scenario that was calibrated to it.
//!
//! 150 requests of 550 tokens each, five at a time, in December 2023. The middle of 60 simulated benchmarks has the median of the set
//! within 15 %, its p95 within 25 %, its CV within 30 %. One set is not calibrated, for a reason: among six requests in a row one
//! failed and two took 100 s, while the others were answered as ever. A replica hung, and its requests with it; here those of a
//! replica that is lost go to another. The two are nearly all of the CV.

use std::path::Path;

use thermocline::experiment::repeat::repeat;
use thermocline::experiment::{Keep, Plan};
use thermocline::import::{Options, read};
use thermocline::measure::summary::{Summary, Ttft};
use thermocline::scenario::{self, Overrides};
use thermocline::stats::{CvDefinition, PercentileMethod};

use crate::support::shared;

const FILE: &str = "ttft_llmperf_leaderboard_2023.csv";
const BOUNDS: [f64; 3] = [0.15, 0.25, 0.30];

fn plan(name: &str) -> Plan {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/leaderboard");
    let text =
        std::fs::read_to_string(folder.join(name)).expect("the scenario is beside this test");
    let loaded = scenario::load(name, &text, &Overrides::default());
    loaded.unwrap_or_else(|error| panic!("{error}")).0
}

/// Median, p95 and CV of the middle of 60 benchmarks.
fn simulated(name: &str) -> [f64; 3] {
    let outcome = repeat(
        &plan(name),
        60,
        CvDefinition::StdOverMean,
        Keep::default(),
        &|| (),
    );
    let reported = outcome.rows[0].reported.as_ref().expect("60 replications");
    [
        reported.ttft_median_s.p50,
        reported.ttft_p95_s.p50,
        reported.cv_percent.p50,
    ]
    .map(|figure| figure.expect("every benchmark has figures"))
}

fn figures(ttft: &Ttft) -> [f64; 3] {
    [
        ttft.median_s,
        ttft.p95_s,
        ttft.cv_percent.expect("a spread"),
    ]
}

#[test]
fn real_sets_come_out_of_scenarios_but_for_one_whose_replica_hung() {
    let Some(bytes) = shared(FILE) else { return };
    let options = Options {
        column: Some("ttft_s".to_owned()),
        status_column: Some("error_code".to_owned()),
        by: vec!["provider".to_owned()],
        ..Options::default()
    };
    let sets = read(FILE, bytes, &options).expect("the file is sound");
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).expect("the README is in the repository");
    for (provider, name, is_calibrated) in [
        ("anyscale", "anyscale-70b.toml", true),
        ("fireworks", "fireworks-70b.toml", true),
        ("replicate", "replicate-70b.toml", true),
        ("together", "together-13b.toml", false),
    ] {
        let set = sets
            .series
            .iter()
            .find(|one| one.target == provider || one.model == provider);
        let mut seen: Vec<_> = set
            .expect("four sets")
            .rows
            .iter()
            .map(|row| (row.seen, row.cold))
            .collect();
        let ttft = |seen: &[_]| {
            let summary = Summary::of(seen, PercentileMethod::Linear);
            figures(&summary.ttft.expect("answers"))
        };
        let (measured, simulated) = (ttft(&seen), simulated(name));
        let off =
            |measured: [f64; 3]| [0, 1, 2].map(|index| simulated[index] / measured[index] - 1.0);
        let errors = off(measured);
        let mut pairs = errors.iter().zip(BOUNDS);
        let fits = pairs.all(|(off, bound)| off.abs() <= bound);
        assert_eq!(fits, is_calibrated, "{provider}: {errors:?}");
        let ([median, p95, cv], [of_median, of_p95, of_cv]) = (measured, simulated);
        let row = format!(
            "| {provider} | {median:.2} | {of_median:.2} | {p95:.2} | {of_p95:.2} | {cv:.0} | {of_cv:.0} |"
        );
        assert!(readme.contains(&row), "the README lacks\n{row}");
        if !is_calibrated {
            // Without the two requests median and p95 are met, and of the CV of 608 % nothing is left.
            seen.retain(|(one, _)| one.ttft().is_none_or(|ttft| ttft.as_secs() < 100.0));
            assert_eq!(seen.len(), 148);
            let rest = ttft(&seen);
            let errors = off(rest);
            let mut pairs = errors.iter().zip(BOUNDS).take(2);
            assert!(pairs.all(|(off, bound)| off.abs() <= bound), "{errors:?}");
            assert!(rest[2] < 40.0, "{rest:?}");
        }
    }
}
