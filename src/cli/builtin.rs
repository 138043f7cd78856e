//! Scenarios: those that come with the program, and those in files.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};

use crate::scenario::did_you_mean;

/// A scenario that comes with the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Builtin {
    /// What it is called: the file's name without `.toml`.
    pub(super) name: &'static str,
    /// The file.
    pub(super) text: &'static str,
}

/// The scenario that runs when none is named.
pub(super) const DEFAULT: &str = "lesson";

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        [$(Builtin {
            name: $name,
            text: include_str!(concat!("../../scenarios/", $name, ".toml")),
        }),*]
    };
}

/// Every file in `scenarios`, the default first.
pub(super) const ALL: &[Builtin] = &builtins![
    "lesson",
    "twenty-or-seventy-five",
    "peak-and-off-peak",
    "two-bets",
    "dedicated",
    "spacing",
    "warm-pool",
    "warm-pool-sizing",
    "deepseek-v4-pro",
    "kimi-k2.6",
    "catalogue",
    "bets",
    "size-or-depth"
];

/// A scenario's text and what it is called.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// For messages: a path, or `scenarios/NAME.toml` for a built-in one.
    pub(super) name: String,
    /// TOML.
    pub(super) text: String,
}

/// The scenario of this name or path; `-` is standard input.
pub(super) fn find(wanted: &str) -> anyhow::Result<Text> {
    if wanted == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("could not read a scenario from standard input")?;
        return decoded("<stdin>", bytes);
    }
    if let Some(builtin) = named(wanted) {
        return Ok(Text {
            name: format!("scenarios/{wanted}.toml"),
            text: builtin.text.to_owned(),
        });
    }
    let path = Path::new(wanted);
    if !path.exists() {
        bail!("there is no scenario `{wanted}`\n{}", suggestion(wanted));
    }
    let bytes =
        std::fs::read(path).with_context(|| format!("could not read the scenario `{wanted}`"))?;
    decoded(wanted, bytes)
}

/// The text of a file, or where it is none.
fn decoded(name: &str, bytes: Vec<u8>) -> anyhow::Result<Text> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let (before, bad) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let line = before.split(|byte| *byte == b'\n').count();
        let last = before.rsplit(|byte| *byte == b'\n').next().unwrap_or(&[]);
        let column = String::from_utf8_lossy(last).chars().count() + 1;
        let bad = bad.first().copied().unwrap_or_default();
        anyhow!("{name}:{line}:{column}: the byte 0x{bad:02x} is not UTF-8\nhelp: save the scenario as UTF-8")
    })?;
    Ok(Text {
        name: name.to_owned(),
        text,
    })
}

/// The built-in scenario of this name.
pub(super) fn named(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name == name)
}

/// What else may have been meant: a built-in scenario, or a file beside the path.
pub(super) fn suggestion(wanted: &str) -> String {
    let path = Path::new(wanted);
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut beside: Vec<String> = std::fs::read_dir(folder.unwrap_or(Path::new(".")))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file.extension().is_some_and(|end| end == "toml"))
        .filter_map(|file| file.file_name()?.to_str().map(str::to_owned))
        .collect();
    beside.sort();
    let file = path.file_name().and_then(|name| name.to_str());
    let near = did_you_mean(wanted, ALL.iter().map(|builtin| builtin.name)).map(str::to_owned);
    let near = near.or_else(|| {
        let near = did_you_mean(file?, beside.iter().map(String::as_str))?;
        Some(folder.map_or_else(
            || near.to_owned(),
            |folder| folder.join(near).display().to_string(),
        ))
    });
    match near {
        Some(near) => format!("help: did you mean `{near}`?"),
        None => format!(
            "help: it is neither a file nor one of the built-in scenarios: {}",
            ALL.iter()
                .map(|builtin| builtin.name)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Overrides;

    #[test]
    fn every_scenario_comes_with_the_program_and_is_sound() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
        let files = std::fs::read_dir(folder).expect("the folder is there");
        let mut found: Vec<String> = files
            .map(|file| file.expect("it can be read").file_name())
            .map(|name| name.to_string_lossy().trim_end_matches(".toml").to_owned())
            .collect();
        let mut known: Vec<&str> = ALL.iter().map(|one| one.name).collect();
        found.sort();
        known.sort_unstable();
        assert_eq!(found, known, "scenarios/ and the list of built-in ones");
        assert_eq!(ALL[0].name, DEFAULT);
        for one in ALL {
            let path = format!("scenarios/{}.toml", one.name);
            if let Err(problems) = crate::scenario::load(&path, one.text, &Overrides::default()) {
                panic!("{problems}");
            }
        }
    }
}
