//! Reading an observation file: every line whole, or what is wrong and where.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use super::{Header, Observations, Row, SCHEMA, VERSION};

/// What is wrong with an observation file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}: {message}")]
pub struct ObservationsError {
    /// The file.
    pub name: String,
    /// The line, from one.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl Observations {
    /// Whether a text begins as an observation file does.
    pub fn are_in(text: &str) -> bool {
        let first = text.lines().next().unwrap_or_default();
        first.starts_with('{') && first.contains(&format!("\"{SCHEMA}\""))
    }

    /// Reads the file `name`, whose text is `text`. A last line that is not whole is left out and counted.
    pub fn read(name: &str, text: &str) -> Result<Self, ObservationsError> {
        let fail = |line: usize, message: String| ObservationsError {
            name: name.to_owned(),
            line,
            message,
        };
        let mut lines = text.split_inclusive('\n').enumerate();
        let Some((_, first)) = lines.next() else {
            return Err(fail(1, "the file is empty".to_owned()));
        };
        let header = header(first).map_err(|message| fail(1, message))?;
        let mut whole = first.len();
        let mut rows: Vec<Row> = Vec::new();
        let mut seen = BTreeSet::new();
        for (index, line) in lines {
            let is_last = whole + line.len() == text.len();
            let row = match row(line) {
                // Written in one piece, so half a line is only ever the last.
                Err(_) if is_last && !line.ends_with('\n') => break,
                row => row.map_err(|message| fail(index + 1, message))?,
            };
            let place = (row.target.clone(), row.session.clone(), row.index);
            if !seen.insert(place) {
                let (target, session) = (&row.target, &row.session);
                let again = format!(
                    "request {} of {target}, session {session}, is there twice",
                    row.index
                );
                return Err(fail(index + 1, again));
            }
            rows.push(row);
            whole += line.len();
        }
        Ok(Self {
            header,
            rows,
            whole_bytes: whole as u64,
            torn_bytes: (text.len() - whole) as u64,
        })
    }
}

fn header(line: &str) -> Result<Header, String> {
    let known: serde_json::Value = parse(line)?;
    if known["schema"] != SCHEMA {
        return Err(format!(
            "not an observation file: its first line has no \"schema\": \"{SCHEMA}\""
        ));
    }
    if known["version"] != VERSION {
        let found = &known["version"];
        return Err(format!(
            "the layout's version is {found}, and only {VERSION} is known"
        ));
    }
    parse(line)
}

fn row(line: &str) -> Result<Row, String> {
    let row: Row = parse(line)?;
    match row.fault() {
        Some((field, fault)) => Err(format!("`{field}` {fault}")),
        None => Ok(row),
    }
}

/// A line of JSON; the parser counts every text's lines from one, so only its column says something.
fn parse<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line.trim_end()).map_err(|error| {
        let column = error.column();
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        format!("column {column}: {said}")
    })
}
