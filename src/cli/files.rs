//! Files of measured requests on the command line: how to read them, and in which zone their hours are.

use std::io::Read as _;

use anyhow::Context as _;
use clap::Args;
use jiff::tz::TimeZone;

use crate::import::{self, Imported, Options, Unit};

/// How to read tables that no known program wrote.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tables")]
pub(super) struct Tables {
    /// The column that holds the TTFT
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// The unit of that column, where its name does not tell: s, ms, us or ns
    #[arg(long, value_name = "UNIT", requires = "column")]
    unit: Option<Unit>,
    /// The column that tells whether a request succeeded
    ///
    /// Read as success, in any letter case: an empty cell, an HTTP status 2xx, ok, true, yes, success, successful, succeeded,
    /// completed, healthy, 0 and none. All else is a failure, and it is said what was.
    #[arg(long, value_name = "NAME", requires = "column")]
    status_column: Option<String>,
    /// The column that holds when a request was sent: dates, or numbers
    #[arg(long, value_name = "NAME", requires = "column")]
    time_column: Option<String>,
    /// The unit of that column, where it holds numbers and its name does not tell
    #[arg(long, value_name = "UNIT", requires = "time_column")]
    time_unit: Option<Unit>,
    /// Columns whose values split the rows, such as provider,model
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "column")]
    by: Vec<String>,
}

impl Tables {
    /// How files are to be read.
    pub(super) fn options(&self, zone: &TimeZone) -> Options {
        Options {
            zone: zone.clone(),
            column: self.column.clone(),
            unit: self.unit,
            time_column: self.time_column.clone(),
            time_unit: self.time_unit,
            status_column: self.status_column.clone(),
            by: self.by.clone(),
        }
    }
}

/// Reads a zone's name.
pub(super) fn zone(name: &str) -> Result<TimeZone, String> {
    match name {
        "UTC" => Ok(TimeZone::UTC),
        "local" => Ok(TimeZone::system()),
        _ => TimeZone::get(name)
            .map_err(|_| "not a known zone; such as UTC, Europe/Berlin or local".to_owned()),
    }
}

/// Reads a file, `-` for standard input.
pub(super) fn read(file: &str, options: &Options) -> anyhow::Result<Imported> {
    if file == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("could not read standard input")?;
        return Ok(import::read("<stdin>", bytes, options)?);
    }
    let bytes = std::fs::read(file).with_context(|| format!("could not read `{file}`"))?;
    Ok(import::read(file, bytes, options)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_word_for_success() {
        let command = Tables::augment_args(clap::Command::new("test"));
        let mut arguments = command.get_arguments();
        let status = arguments.find(|one| one.get_id() == "status_column");
        let help = status.and_then(clap::Arg::get_long_help);
        let help = help.expect("it has one").to_string();
        let words: Vec<&str> = help.split([' ', ',', '.', '\n']).collect();
        for word in import::SUCCESS_WORDS {
            assert!(words.contains(&word), "{word} is not in: {help}");
        }
    }
}
