//! Whether calibrations can be trusted: the shipped trials (`results/trials`), and that they come out again.
//!
//! A measurement is made at a known truth and calibrated to, some hundred times. The shipped tables hold the bounds that theory.md
//! §5.5 asks for; trials made here must be those of the tables, to the digit.

use std::collections::BTreeMap;
use std::path::Path;

use thermocline::calibrate::free::{Free, Place};
use thermocline::calibrate::observed::{Data, Series, Simulator};
use thermocline::calibrate::trials::Trials;
use thermocline::scenario::{self, Overrides};
use thermocline::stats::Uniformity;

use crate::calibrate::told;

fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("results/trials")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A row of a shipped table.
struct Row {
    truth: f64,
    estimate: f64,
    low: f64,
    high: f64,
    rank: f64,
    is_refused: bool,
}

impl Row {
    fn is_covered(&self) -> bool {
        (5.0..95.0).contains(&self.rank)
    }

    /// How far the estimate is off, in posterior deviations as its 90 % interval has them, on the logarithmic scale.
    fn bias(&self) -> f64 {
        let deviation = (self.high / self.low).ln() / (2.0 * 1.645);
        (self.estimate / self.truth).ln() / deviation
    }
}

/// A shipped table, by what was asked.
fn table(name: &str) -> BTreeMap<String, Vec<Row>> {
    let text = shipped(name);
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |index: usize| cells[index].parse::<f64>().expect("a number");
        rows.entry(cells[1].to_owned()).or_default().push(Row {
            truth: number(2),
            estimate: number(3),
            low: number(4),
            high: number(5),
            rank: number(6),
            is_refused: cells[7] == "true",
        });
    }
    rows
}

fn uniformity(rows: &[Row]) -> Uniformity {
    let middles: Vec<f64> = rows.iter().map(|row| (row.rank + 0.5) / 100.0).collect();
    Uniformity::of(&middles).expect("enough")
}

const VALUES: [&str; 3] = ["rate", "keep_alive", "load"];
const DERIVED: [&str; 3] = ["rate x keep_alive", "cold share", "p95 s"];

#[test]
fn ranks_of_300_truths_are_uniform_and_intervals_cover_them() {
    let table = table("sbc.csv");
    for name in VALUES.iter().chain(&DERIVED) {
        let rows = &table[*name];
        assert_eq!(rows.len(), 300, "{name}");
        let covered = rows.iter().filter(|row| row.is_covered()).count();
        assert!((258..=282).contains(&covered), "{name}: {covered} of 300");
        let uniform = uniformity(rows);
        let p = uniform.ks_probability.min(uniform.chi2_probability);
        assert!(p > 0.001, "{name}: {uniform:?}");
        if VALUES.contains(name) {
            let bias = rows.iter().map(Row::bias).sum::<f64>() / 300.0;
            assert!(bias.abs() < 0.25, "{name}: {bias}");
        }
    }
    // 5 % of the checks may refuse what the scenario itself made: 99.9 % of such shares lie below 29 of 300.
    let refused = table["rate"].iter().filter(|row| row.is_refused).count();
    assert!(refused < 29, "{refused} of 300");
}

/// A keep-alive in the middle between two spacings is in every interval that spans them: how often intervals hold the truth is
/// told by truths that differ, above.
#[test]
fn what_was_put_in_60_times_comes_out_unbiased() {
    let table = table("recovery.csv");
    for name in VALUES {
        let rows = &table[name];
        assert_eq!(rows.len(), 60, "{name}");
        let covered = rows.iter().filter(|row| row.is_covered()).count();
        assert!(covered >= 48, "{name}: {covered} of 60");
        let bias = rows.iter().map(Row::bias).sum::<f64>() / 60.0;
        assert!(bias.abs() < 0.25, "{name}: {bias}");
    }
}

#[test]
fn the_readme_says_what_the_tables_hold() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).expect("the README is in the repository");
    let (sbc, recovery) = (table("sbc.csv"), table("recovery.csv"));
    for name in VALUES.iter().chain(&DERIVED) {
        let covered = |rows: &[Row]| rows.iter().filter(|row| row.is_covered()).count();
        let uniform = uniformity(&sbc[*name]);
        let row = format!(
            "| {name} | {} | {:.2} | {:.2} | {} |",
            covered(&sbc[*name]),
            uniform.ks_probability,
            uniform.chi2_probability,
            covered(&recovery[*name]),
        );
        assert!(readme.contains(&row), "the README lacks\n{row}");
    }
    for drill in ["clumps", "more", "cv"] {
        let rows = &table(&format!("drill-{drill}.csv"))["rate"];
        let refused = rows.iter().filter(|row| row.is_refused).count();
        let says = format!("{drill}: {refused} of {}", rows.len());
        assert!(readme.contains(&says), "the README lacks\n{says}");
    }
}

#[test]
fn a_shipped_trial_comes_out_again() {
    let text = shipped("sleeps.toml");
    let load = |set: Vec<String>| {
        let overrides = Overrides {
            set,
            ..Overrides::default()
        };
        scenario::load_with_free("sleeps.toml", &text, &overrides).expect("a shipped scenario")
    };
    let (plan, free, _) = load(Vec::new());
    let path = |free: &Free| match &free.place {
        Place::Path(path) => path.clone(),
        other => unreachable!("{other:?} is in no scenario"),
    };
    let make = |values: &[String]| {
        let set = free
            .iter()
            .zip(values)
            .map(|(free, value)| format!("{}={value}", path(free)));
        let overrides = Overrides {
            set: set.collect(),
            ..Overrides::default()
        };
        scenario::load("sleeps.toml", &text, &overrides)
            .ok()
            .map(|(plan, _)| plan)
    };
    let series = [Series {
        name: "once".to_owned(),
        provider: 0,
        deployment: 0,
        at: plan.sessions[0].at,
        protocol: plan.benchmark.clone(),
        is_from_due: false,
        data: Data::Requests(Vec::new()),
    }];
    let simulator = Simulator {
        free: &free,
        series: &series,
        maker: &make,
    };
    let trials = Trials {
        world: simulator,
        calibrated: simulator,
        truth: None,
        figures: None,
        seed: plan.seed,
        simulations: 1500,
    };
    let trial = trials.run(0).expect("valid settings");
    let table = table("sbc.csv");
    for (quantity, found) in trials.quantities().into_iter().zip(trial.found) {
        let name = quantity.name(&free);
        let row = &table[&name][0];
        let near = |value: f64, shown: f64| (quantity.shown(&free, value) - shown).abs() < 1e-4;
        assert!(near(found.truth, row.truth), "{name}: {found:?}");
        assert!(near(found.estimate, row.estimate), "{name}: {found:?}");
        assert_eq!(found.rank as f64, row.rank, "{name}");
    }
}

#[test]
fn what_cannot_be_tried_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sleeps.toml");
    std::fs::write(&path, shipped("sleeps.toml")).expect("written");
    let scenario = path.to_str().expect("plain");
    for (arguments, says) in [
        (
            vec!["--truth=rat=6/h"],
            "nothing that is free is called `rat`",
        ),
        (vec!["--truth=rate=6/h"], "`keep_alive` has no value"),
        (vec!["--truth=rate=600/h"], "`rate` cannot be `600/h`"),
        (
            vec!["--made-by=warm-pool"],
            "must free values of the same names",
        ),
        (vec!["--of=acme/other"], "known: acme/niche"),
    ] {
        let mut all = vec!["calibrate", scenario, "--trials=2"];
        all.extend(arguments);
        let output = told(&all);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{all:?}: {text}");
        assert!(text.contains(says), "{all:?}: {text}");
    }
}

#[test]
fn trials_say_what_they_come_to_and_show_each_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sleeps.toml");
    std::fs::write(&path, shipped("sleeps.toml")).expect("written");
    let scenario = path.to_str().expect("plain");
    let printed = |format: &str| {
        let few = [
            "--trials=2",
            "--simulations=1000",
            "--set=benchmark.requests=20",
        ];
        let output = told(&[["calibrate", scenario, format].as_slice(), &few].concat());
        let printed = String::from_utf8(output.stdout).expect("text");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{printed}");
        printed
    };
    let text = printed("--format=text");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for part in [
        "rate x keep_alive",
        "cold share",
        "of 2",
        "The check refuses",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let table = printed("--format=csv");
    let head = "trial,value,truth,estimate,low_90,high_90,rank,refused\n";
    assert!(table.starts_with(head), "{table}");
    // Three values, their three products, cold share and p95, twice.
    assert_eq!(table.lines().count(), 1 + 2 * 8, "{table}");
}
