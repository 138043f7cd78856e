//! Whether calibrations can be trusted: the shipped trials (`results/trials`), and that they come out again.
//!
//! A measurement is made at a known truth and calibrated to, some hundred times. The shipped tables hold the bounds that theory.md
//! §5.5 asks for; trials made here must be those of the tables, to the digit.

use std::collections::BTreeMap;
use std::path::Path;

use thermocline::calibrate::free::{Free, Place};
use thermocline::calibrate::observed::{Data, Series, Simulator};
use thermocline::calibrate::trials::{Digest, Quantity, Trial, Trials};
use thermocline::experiment::Plan;
use thermocline::scenario::{self, Overrides};
use thermocline::stats::{CvDefinition, Uniformity};

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

/// How many trials the check refuses.
fn refused(table: &BTreeMap<String, Vec<Row>>) -> usize {
    table["rate"].iter().filter(|row| row.is_refused).count()
}

fn uniformity(rows: &[Row]) -> Uniformity {
    let middles: Vec<f64> = rows.iter().map(|row| (row.rank + 0.5) / 100.0).collect();
    Uniformity::of(&middles).expect("enough")
}

const VALUES: [&str; 3] = ["rate", "keep_alive", "load"];
/// Others in clumps, more requests than are said, another CV than is meant.
const DRILLS: [&str; 3] = ["clumps", "more", "cv"];
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
    // 5 % of the checks may refuse what the scenario itself made: 99.9 % of such counts lie below 29 of 300.
    let refused = refused(&table);
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
    let refused_good = refused(&sbc);
    assert!(
        readme.contains(&format!("refuses {refused_good} of 300")),
        "{refused_good} of 300"
    );
    for drill in DRILLS {
        let (shows, hard) = (
            refused(&table(&format!("drill-{drill}.csv"))),
            refused(&table(&format!("hard-{drill}.csv"))),
        );
        let row = format!("| {shows} of 40 | {hard} of 40 |");
        let says = |line: &str| line.starts_with(&format!("| {drill}:")) && line.ends_with(&row);
        assert!(
            readme.lines().any(says),
            "the README lacks\n{drill} ... {row}"
        );
    }
}

/// A drill is caught in nine of ten measurements, at a truth and by a benchmark that show what is wrong.
#[test]
fn the_check_refuses_what_another_world_made() {
    for drill in DRILLS {
        let refused = refused(&table(&format!("drill-{drill}.csv")));
        assert!(refused >= 36, "{drill}: {refused} of 40");
    }
}

/// How trials are made of `sleeps.toml`.
struct Drill {
    /// The scenario that makes the measurements.
    made_by: &'static str,
    set: &'static [&'static str],
    /// Rate \[1/h\], keep-alive and load \[s\]; drawn where there is none.
    truth: Option<[f64; 3]>,
    figures: Option<Digest>,
    simulations: u64,
}

/// What trial number 0 is, with the names and scales of what it found.
fn first(drill: &Drill) -> (Trial, Vec<(Quantity, String)>, Vec<Free>) {
    let [calibrated, world] = ["sleeps.toml", drill.made_by].map(|name| World::of(name, drill.set));
    let (free, make, make_other) = (&calibrated.free, calibrated.maker(), world.maker());
    let (series, others) = ([calibrated.series()], [world.series()]);
    let places = drill.truth.map(|truth| {
        let pairs = free.iter().zip(truth);
        pairs
            .map(|(free, number)| free.place_of(number))
            .collect::<Vec<f64>>()
    });
    let trials = Trials {
        world: Simulator {
            free: &world.free,
            series: &others,
            maker: &make_other,
        },
        calibrated: Simulator {
            free,
            series: &series,
            maker: &make,
        },
        truth: places.as_deref(),
        figures: drill.figures,
        seed: calibrated.plan.seed,
        simulations: drill.simulations,
    };
    let names = trials.quantities().into_iter();
    let names = names.map(|quantity| (quantity, quantity.name(free)));
    let trial = trials.run(0).expect("valid settings");
    (trial, names.collect(), free.clone())
}

/// A shipped scenario, as the trials set it.
struct World {
    name: &'static str,
    text: String,
    set: Vec<String>,
    plan: Plan,
    free: Vec<Free>,
}

impl World {
    fn of(name: &'static str, set: &[&str]) -> Self {
        let text = shipped(name);
        let set: Vec<String> = set.iter().map(|&one| one.to_owned()).collect();
        let overrides = Overrides {
            set: set.clone(),
            ..Overrides::default()
        };
        let loaded = scenario::load_with_free(name, &text, &overrides);
        let (plan, free, _) = loaded.expect("a shipped scenario");
        Self {
            name,
            text,
            set,
            plan,
            free,
        }
    }

    fn maker(&self) -> impl Fn(&[String]) -> Option<Plan> + Sync {
        |values| {
            let path = |free: &Free| match &free.place {
                Place::Path(path) => path.clone(),
                other => unreachable!("{other:?} is in no scenario"),
            };
            let pairs = self.free.iter().zip(values);
            let values = pairs.map(|(free, value)| format!("{}={value}", path(free)));
            let overrides = Overrides {
                set: self.set.iter().cloned().chain(values).collect(),
                ..Overrides::default()
            };
            let loaded = scenario::load(self.name, &self.text, &overrides);
            loaded.ok().map(|(plan, _)| plan)
        }
    }

    fn series(&self) -> Series {
        Series {
            name: "once".to_owned(),
            provider: 0,
            deployment: 0,
            at: self.plan.sessions[0].at,
            protocol: self.plan.benchmark.clone(),
            is_from_due: false,
            data: Data::Requests(Vec::new()),
        }
    }
}

#[test]
fn a_shipped_trial_comes_out_again() {
    let (trial, quantities, free) = first(&Drill {
        made_by: "sleeps.toml",
        set: &[],
        truth: None,
        figures: None,
        simulations: 1500,
    });
    let table = table("sbc.csv");
    for ((quantity, name), found) in quantities.into_iter().zip(trial.found) {
        let row = &table[&name][0];
        let near = |value: f64, shown: f64| (quantity.shown(&free, value) - shown).abs() < 1e-4;
        assert!(near(found.truth, row.truth), "{name}: {found:?}");
        assert!(near(found.estimate, row.estimate), "{name}: {found:?}");
        assert_eq!(found.rank as f64, row.rank, "{name}");
    }
}

/// The two quickest drills; clumps take 500 requests to be seen, and their statistic is tested where it is computed.
#[test]
fn the_check_names_what_gives_another_world_away() {
    let figures = |said, taken, has_max| {
        Some(Digest {
            said,
            taken,
            has_max,
        })
    };
    let (mean, median) = (CvDefinition::StdOverMean, CvDefinition::StdOverMedian);
    let more = Drill {
        made_by: "more.toml",
        set: &["benchmark.discard=0", "benchmark.gaps.ladder.gaps=[\"5s\"]"],
        truth: Some([1.2, 60.0, 15.0]),
        figures: figures(median, median, true),
        simulations: 1000,
    };
    let cv = Drill {
        made_by: "sleeps.toml",
        set: &[],
        truth: Some([6.0, 360.0, 15.0]),
        figures: figures(mean, median, false),
        simulations: 1000,
    };
    // Settings that have the CV that is believed have another p95.
    for (drill, name) in [(more, "max in deviations"), (cv, "TTFT p95")] {
        let refused = first(&drill).0.refused;
        assert!(refused.contains(&name), "{name} is not in {refused:?}");
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
        (vec!["--with-max"], "--figures"),
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
    let markdown = printed("--format=markdown");
    let heads = "| value | truth within 90 % interval | that is % | bias deviations | ranks KS p | chi2 p | off |";
    assert!(markdown.contains(heads), "{markdown}");
    let rows = markdown.lines().filter(|line| line.starts_with("| "));
    assert_eq!(rows.count(), 2 + 8, "{markdown}");
    let table = printed("--format=csv");
    let head = "trial,value,truth,estimate,low_90,high_90,rank,refused\n";
    assert!(table.starts_with(head), "{table}");
    // Three values, their three products, cold share and p95, twice.
    assert_eq!(table.lines().count(), 1 + 2 * 8, "{table}");
}
