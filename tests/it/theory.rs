//! The validation suite, as the command `theory` runs it.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use thermocline::validation::{SEED, UNPROVEN, Verdict, cases, check};

#[test]
fn theory_and_simulation_agree() {
    let cases = cases();
    let checked = check(&cases.iter().collect::<Vec<_>>(), SEED, &|| ());
    let mut wrong = Vec::new();
    for one in &checked {
        for figure in &one.figures {
            if figure.verdict != Verdict::Holds {
                wrong.push(format!("{}: {figure:?}", one.case.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The closed forms give what was computed elsewhere, to the digits printed there.
#[test]
fn closed_forms_are_those_of_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference/oracles.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        // The harness shows it only with `--nocapture`; nothing else can be done without the file.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {} is not there",
            path.display()
        );
        return;
    };
    let reference: Value = serde_json::from_str(&text).expect("JSON");
    let ours = cases();
    let mut wrong = Vec::new();
    for case in reference["cases"].as_array().expect("a list") {
        let id = case["id"].as_str().expect("a name");
        let Some(own) = ours.iter().find(|own| own.id == id) else {
            wrong.push(format!("{id} is missing"));
            continue;
        };
        let stated = own.stated();
        for (metric, value) in case["expected"].as_object().expect("figures") {
            let value = value.as_f64().expect("a number");
            let found = stated.iter().find(|(name, _)| name == metric);
            // Nine digits are printed; iterative solutions and searches keep at least six.
            if !found.is_some_and(|(_, theory)| (theory - value).abs() <= 2e-6 * value.abs()) {
                wrong.push(format!("{id} {metric}: {found:?} for {value}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_command_compares_in_every_format() {
    let theory = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_thermocline"))
            .arg("theory")
            .args(arguments)
            .output()
            .expect("the program starts");
        let text = [output.stdout, output.stderr].concat();
        (
            String::from_utf8(text).expect("UTF-8"),
            output.status.code(),
        )
    };
    for width in ["80", "160"] {
        let (text, code) = theory(&["k05", "U02_single_request", "U06", "S01", "--width", width]);
        assert_eq!(code, Some(0));
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= width.parse().ok(), "{text}");
        let longest = "cvmax_median_n1000_m0.73_q6.9_M90_L0 ";
        for part in [
            longest,
            "P_probe_cold",
            "14.62",
            "All 28 figures of 4 cases hold.",
            "scaling = { max = 1",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
    let (text, _) = theory(&["U02", "--format", "csv"]);
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("case,metric,theory,found,low,high,verdict")
    );
    assert!(lines.all(|line| line.starts_with("U02_single_request,finish,14.62")));
    let (text, _) = theory(&["U02", "--format", "json"]);
    let all: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(all["cases"][0]["figures"][0]["verdict"], "holds");
    assert_eq!(
        all["unproven"].as_array().map(Vec::len),
        Some(UNPROVEN.len())
    );
    let (text, _) = theory(&["U02", "--format", "markdown"]);
    assert!(
        text.contains("| U02_single_request | finish | 14.62 |"),
        "{text}"
    );
    let (text, code) = theory(&["Q99"]);
    assert!(
        text.contains("there is no case `Q99`") && code == Some(2),
        "{text}"
    );
}

/// The tests that stand in for an oracle are there.
#[test]
fn stand_ins_are_tests() {
    let mut sources = String::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("tests")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push_str(&std::fs::read_to_string(path).expect("a readable file"));
            }
        }
    }
    for one in UNPROVEN {
        for test in one.tests {
            let declared = format!("fn {test}(");
            assert!(sources.contains(&declared), "there is no test {test}");
        }
    }
}
