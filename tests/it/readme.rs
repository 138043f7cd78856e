//! The README's promises: its scenario loads, its commands run, and its picture is what the lesson prints.

use std::path::Path;
use std::process::Command;

use thermocline::scenario::{self, Overrides};

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    std::fs::read_to_string(path).expect("the README is in the repository")
}

/// The code blocks of one language.
fn blocks(language: &str) -> Vec<String> {
    let text = readme();
    let fence = format!("```{language}\n");
    let starts = text.match_indices(&fence).map(|(at, _)| at + fence.len());
    starts
        .map(|at| {
            text[at..]
                .split("```")
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

/// What the program prints, and whether it succeeded.
fn thermocline(arguments: &[&str]) -> (String, bool) {
    let output = Command::new(env!("CARGO_BIN_EXE_thermocline"))
        .args(arguments)
        .output()
        .expect("the program starts");
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        output.status.success(),
    )
}

#[test]
fn the_example_scenario_is_valid_and_names_no_unknown_key() {
    let examples = blocks("toml");
    assert_eq!(examples.len(), 1);
    if let Err(error) = scenario::load("README.md", &examples[0], &Overrides::default()) {
        panic!("{error}");
    }
}

#[test]
fn every_command_of_the_readme_runs() {
    // In a few replications: what 500 of them report is held by the article's test.
    let shell = blocks("sh")
        .join("\n")
        .replace("--repeat 500", "--repeat 2")
        .replace('\'', "");
    let commands: Vec<&str> = shell
        .lines()
        .filter(|line| line.starts_with("thermocline "))
        .collect();
    assert!(commands.len() >= 2, "{commands:?}");
    for command in commands {
        let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
        let (_, succeeded) = thermocline(&arguments);
        assert!(succeeded, "{command}");
    }
}

#[test]
fn the_picture_is_what_the_lesson_prints() {
    let picture = blocks("text").remove(0);
    let (printed, _) = thermocline(&["simulate", "--width", "130"]);
    assert!(
        printed.contains(picture.trim_end()),
        "the README's picture is out of date; the lesson prints:\n{printed}"
    );
}

#[test]
fn the_curve_is_what_the_sweep_prints() {
    let curve = blocks("text").remove(1);
    let vary = "providers.*.deployments.*.scaling.min=0..8";
    let (printed, _) = thermocline(&["sweep", "warm-pool", "--vary", vary, "--width", "100"]);
    assert!(
        printed.contains(curve.trim_end()),
        "the README's curve is out of date; the sweep prints:\n{printed}"
    );
}

#[test]
fn the_tables_are_those_of_the_shipped_results() {
    let text = readme();
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    for file in ["deepseek-v4-pro.md", "kimi-k2.6.md"] {
        let page = std::fs::read_to_string(results.join(file));
        let page = page.unwrap_or_else(|error| panic!("{file}: {error}"));
        let table = page.lines().skip_while(|line| !line.contains("published"));
        let rows: Vec<&str> = table.filter(|line| line.starts_with('|')).collect();
        assert!(rows.len() >= 3, "{file} holds no table");
        for row in rows {
            assert!(
                text.contains(row),
                "the README lacks a line of {file}:\n{row}"
            );
        }
    }
}

#[test]
fn the_cheap_tables_of_questions_are_what_their_commands_print() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a shipped file");
    let remake = text("remake").replace("\\\n", "").replace('\'', "");
    // The others take from seconds to minutes.
    for cheap in ["two-bets", "two-bets-explained"] {
        let head = format!("table {cheap} ");
        let mut commands = remake.lines().filter_map(|line| line.strip_prefix(&head));
        let command = commands.next().expect("its command stands in `remake`");
        let arguments = command.split_whitespace();
        let arguments: Vec<&str> = arguments.chain(["--quiet", "--width", "100"]).collect();
        let (printed, succeeded) = thermocline(&arguments);
        assert!(succeeded, "{command}");
        assert_eq!(printed, text(&format!("{cheap}.txt")), "{command}");
    }
}
