//! Holds the architecture by reading `src`: which module may use which, and what the pure ones must not touch.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A module, whether it is pure, and what it may use of this crate.
struct Rule {
    module: &'static str,
    is_pure: bool,
    may_use: &'static [&'static str],
}

const fn pure(module: &'static str, may_use: &'static [&'static str]) -> Rule {
    let is_pure = true;
    Rule {
        module,
        is_pure,
        may_use,
    }
}

const fn boundary(module: &'static str, may_use: &'static [&'static str]) -> Rule {
    let is_pure = false;
    Rule {
        module,
        is_pure,
        may_use,
    }
}

/// The layers, from the bottom up: a module uses only what stands above it here.
const RULES: &[Rule] = &[
    pure("time", &[]),
    pure("request", &["time"]),
    pure("start_phase", &[]),
    pure("observation", &["time", "request"]),
    pure("timeline", &["time", "observation"]),
    pure("target", &["time", "request", "observation"]),
    pure("stats", &["time"]),
    pure("theory", &[]),
    pure("streams", &[]),
    pure("distribution", &["streams"]),
    pure("batching", &["time"]),
    pure("catalog", &["start_phase", "batching"]),
    pure("workload", &["time", "streams", "distribution"]),
    pure("calendar", &["time"]),
    pure(
        "fleet",
        &[
            "time",
            "start_phase",
            "request",
            "observation",
            "target",
            "streams",
            "distribution",
            "batching",
            "workload",
            "calendar",
            "stats::TimeAverage",
        ],
    ),
    pure("billing", &["fleet"]),
    pure("policy", &["theory", "batching", "fleet"]),
    pure(
        "measure",
        &[
            "time",
            "request",
            "observation",
            "target",
            "stats",
            "streams",
        ],
    ),
    boundary(
        "http",
        &[
            "time",
            "request",
            "observation",
            "timeline",
            "target",
            "stats",
        ],
    ),
    boundary("journal", &["time", "request", "observation", "timeline"]),
    boundary(
        "experiment",
        &[
            "time",
            "request",
            "observation",
            "target",
            "stats",
            "streams",
            "distribution",
            "catalog",
            "batching",
            "workload",
            "billing",
            "fleet",
            "policy",
            "measure",
        ],
    ),
    boundary("foreign", &["time"]),
    boundary(
        "trace",
        &[
            "time",
            "stats",
            "streams",
            "distribution",
            "workload",
            "foreign",
        ],
    ),
    boundary(
        "calibrate",
        &[
            "time",
            "start_phase",
            "request",
            "observation",
            "stats",
            "streams",
            "measure",
            "experiment",
        ],
    ),
    boundary(
        "scenario",
        &[
            "time",
            "foreign",
            "trace",
            "stats",
            "streams",
            "distribution",
            "batching",
            "catalog",
            "workload",
            "billing",
            "fleet",
            "policy",
            "measure",
            "experiment",
            "calibrate",
        ],
    ),
    boundary("targets", &["time", "measure", "http", "scenario"]),
    boundary(
        "import",
        &[
            "time",
            "start_phase",
            "request",
            "observation",
            "measure",
            "calibrate",
            "foreign",
            "timeline",
            "journal::OUTCOMES",
        ],
    ),
    boundary(
        "validation",
        &[
            "time",
            "stats",
            "theory",
            "batching",
            "fleet",
            "measure",
            "experiment",
            "scenario",
        ],
    ),
    boundary(
        "report",
        &[
            "time",
            "start_phase",
            "request",
            "observation",
            "timeline",
            "stats",
            "streams",
            "http",
            "catalog",
            "batching",
            "distribution",
            "workload",
            "billing",
            "fleet",
            "policy",
            "measure",
            "experiment",
            "calibrate",
            "scenario",
            "import",
            "trace",
            "validation",
        ],
    ),
    boundary(
        "record",
        &[
            "time",
            "request",
            "observation",
            "stats",
            "fleet",
            "measure",
            "experiment",
            "scenario",
            "report",
        ],
    ),
    boundary(
        "serve",
        &[
            "time",
            "request",
            "observation",
            "target",
            "fleet",
            "experiment",
            "scenario",
        ],
    ),
    boundary(
        "cli",
        &[
            "time",
            "request",
            "observation",
            "timeline",
            "target",
            "http",
            "journal",
            "targets",
            "stats",
            "streams",
            "catalog",
            "batching",
            "distribution",
            "workload",
            "fleet",
            "measure",
            "experiment",
            "calibrate",
            "scenario",
            "import",
            "trace",
            "record",
            "report",
            "serve",
            "theory",
            "validation",
        ],
    ),
];

/// Words that a pure module has no use for.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::io",
    "std::thread",
    "std::process",
    "std::time",
    "Instant",
    "SystemTime",
    "HashMap",
    "HashSet",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "dbg!",
    "clap",
    "toml",
    "serde",
    "rayon",
    "rand::rng",
    "thread_rng",
];

/// What a pure module may use all the same: the catalogue reads its own tables, which are part of the program.
const EXCEPTIONS: &[(&str, &str)] = &[("catalog", "serde"), ("catalog", "toml")];

/// Ways to write to the terminal, which only one file owns.
const PRINTING: &[&str] = &[
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "stdout()",
    "stderr()",
];
const TERMINAL: &str = "src/cli/terminal.rs";

/// A line of code: without comments and without what only tests see.
struct Line {
    place: String,
    module: String,
    path: PathBuf,
    code: String,
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("src is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// What is compiled for tests only: files and folders that `#[cfg(test)] mod name;` names.
fn test_modules(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(file).expect("a readable file");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (index, _) in lines
            .iter()
            .enumerate()
            .filter(|(_, line)| **line == "#[cfg(test)]")
        {
            let declared = lines[index + 1..]
                .iter()
                .find(|line| !line.starts_with("#["));
            let name = declared.and_then(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
            let folder = file.parent().expect("a folder");
            let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
                Some("mod" | "lib" | "main") | None => folder.to_owned(),
                Some(stem) => folder.join(stem),
            };
            let paths = name.map(|name| [folder.join(format!("{name}.rs")), folder.join(name)]);
            found.extend(paths.into_iter().flatten());
        }
    }
    found
}

fn lines() -> Vec<Line> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join("src"), &mut files);
    let tests = test_modules(&files);
    let is_test = |file: &&PathBuf| file.ancestors().any(|one| tests.contains(one));
    let mut lines = Vec::new();
    for file in files.iter().filter(|file| !is_test(file)) {
        let path = file.strip_prefix(root).expect("under the root").to_owned();
        let module = path
            .iter()
            .nth(1)
            .and_then(|name| name.to_str())
            .expect("a module");
        let module = module.trim_end_matches(".rs").to_owned();
        let text = fs::read_to_string(file).expect("a readable file");
        let own = text
            .find("#[cfg(test)]\nmod tests {")
            .map_or(text.as_str(), |end| &text[..end]);
        for (index, line) in own.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default().to_owned();
            let place = format!("{}:{}", path.display(), index + 1);
            lines.push(Line {
                place,
                module: module.clone(),
                path: path.clone(),
                code,
            });
        }
    }
    assert!(
        lines.len() > 5000,
        "only {} lines of source found",
        lines.len()
    );
    lines
}

/// Whether `code` has `word` with no letter before it and, if it ends in one, none after it.
fn has_word(code: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(is_letter);
        let after = word.ends_with(is_letter)
            && code[at + word.len()..]
                .chars()
                .next()
                .is_some_and(is_letter);
        !before && !after
    })
}

/// Paths of this crate that a line names, with up to two parts: `stats::Sample`, `time`.
fn used(code: &str) -> Vec<String> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices("crate::")
        .map(|(at, start)| {
            let rest = &code[at + start.len()..];
            let mut parts = rest
                .splitn(3, "::")
                .map(|part| part.split(|c| !is_letter(c)).next().unwrap_or_default());
            let first = parts.next().unwrap_or_default();
            match parts.next() {
                Some(second) if rest[first.len()..].starts_with("::") => {
                    format!("{first}::{second}")
                }
                _ => first.to_owned(),
            }
        })
        .collect()
}

fn list(violations: &[String]) {
    assert!(
        violations.is_empty(),
        "{} violations:\n{}",
        violations.len(),
        violations.join("\n")
    );
}

#[test]
fn modules_use_only_what_lies_below_them() {
    let mut violations = Vec::new();
    for line in lines() {
        if matches!(line.module.as_str(), "lib" | "main") {
            continue;
        }
        let Some(rule) = RULES.iter().find(|rule| rule.module == line.module) else {
            violations.push(format!(
                "{}: the module {} has no rule",
                line.place, line.module
            ));
            continue;
        };
        for path in used(&line.code) {
            let first = path.split("::").next().unwrap_or_default();
            let is_own = first == rule.module;
            if !is_own && !rule.may_use.contains(&first) && !rule.may_use.contains(&path.as_str()) {
                violations.push(format!(
                    "{}: {} must not use {path}",
                    line.place, line.module
                ));
            }
        }
    }
    list(&violations);
}

#[test]
fn rules_refer_only_to_rules_above_them() {
    for (index, rule) in RULES.iter().enumerate() {
        for used in rule.may_use {
            let first = used.split("::").next().unwrap_or_default();
            let is_above = RULES[..index].iter().any(|other| other.module == first);
            assert!(
                is_above,
                "{} may use {used}, which does not stand above it",
                rule.module
            );
        }
    }
}

#[test]
fn pure_modules_touch_nothing_outside() {
    let mut violations = Vec::new();
    for line in lines() {
        let is_pure = RULES
            .iter()
            .any(|rule| rule.module == line.module && rule.is_pure);
        for word in IMPURE.iter().filter(|_| is_pure) {
            let is_allowed = EXCEPTIONS.contains(&(line.module.as_str(), word));
            if !is_allowed && has_word(&line.code, word) {
                violations.push(format!(
                    "{}: {} is pure and must not use {word}",
                    line.place, line.module
                ));
            }
        }
    }
    list(&violations);
}

#[test]
fn only_the_terminal_prints() {
    let mut violations = Vec::new();
    for line in lines() {
        if line.path == Path::new(TERMINAL) {
            continue;
        }
        for word in PRINTING {
            if has_word(&line.code, word) {
                violations.push(format!(
                    "{}: only {TERMINAL} writes to the terminal, not by {word}",
                    line.place
                ));
            }
        }
    }
    list(&violations);
}

#[test]
fn only_streams_makes_generators() {
    let mut violations = Vec::new();
    for line in lines().into_iter().filter(|line| line.module != "streams") {
        for word in ["SeedableRng", "seed_from_u64", "from_seed", "from_rng"] {
            if has_word(&line.code, word) {
                violations.push(format!(
                    "{}: randomness comes from streams, not by {word}",
                    line.place
                ));
            }
        }
    }
    list(&violations);
}

#[test]
fn the_reader_of_lines_sees_what_it_should() {
    assert!(has_word("    println!(\"x\")", "println!"));
    assert!(!has_word("    eprintln!(\"x\")", "println!"));
    assert!(has_word("use std::time::Instant;", "Instant"));
    assert!(!has_word("let Instants = 1;", "Instant"));
    assert_eq!(
        used("use crate::stats::{A, B}; crate::time::Time"),
        ["stats::", "time::Time"]
    );
    assert_eq!(used("x: crate::request"), ["request"]);
}
