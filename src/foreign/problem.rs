//! What is wrong with a file, and where.

use std::fmt;

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from one.
    pub line: Option<usize>,
    /// The field: a path in JSON, a column in CSV.
    pub field: Option<String>,
    /// What was found and what is allowed.
    pub why: String,
}

impl Problem {
    /// Something wrong with the file as a whole.
    pub(crate) fn of_file(why: impl Into<String>) -> Self {
        Self {
            line: None,
            field: None,
            why: why.into(),
        }
    }

    /// Something wrong in a line.
    pub(crate) fn at_line(line: usize, why: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::of_file(why)
        }
    }

    /// Something wrong with a field.
    pub(crate) fn at_field(line: usize, field: &str, why: impl Into<String>) -> Self {
        Self {
            field: Some(field.to_owned()),
            ..Self::at_line(line, why)
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "field `{field}`: ")?;
        }
        f.write_str(&self.why)
    }
}

/// So many problems of a file are shown.
const SHOWN: usize = 8;

/// Why a file could not be read. Nothing of it is used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ImportError {
    /// The file as the user named it.
    pub file: String,
    /// Everything wrong with it, in order.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().take(SHOWN).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{}: {problem}", self.file)?;
        }
        match self.problems.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n{}: and {more} more such problems", self.file),
        }
    }
}

/// All results, or all problems.
pub(crate) fn all<T>(
    results: impl IntoIterator<Item = Result<T, Problem>>,
) -> Result<Vec<T>, Vec<Problem>> {
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(values)
    } else {
        Err(problems)
    }
}
