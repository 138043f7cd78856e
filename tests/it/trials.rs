//! Whether calibrations can be trusted: trials of them, from measurements that the scenario makes itself.

use std::path::Path;

use crate::calibrate::told;

fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("results/trials")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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
