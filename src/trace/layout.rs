//! Which file this is, and which of its columns hold what.

use std::fmt;

use super::lines::{self, Lines};
use super::source::{Source, unreadable};
use crate::foreign::table::column;
use crate::foreign::{Problem, Unit};

/// The kinds of files that are known by their heads, and tables whose columns are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Azure LLM inference traces of 2023 and 2024, and of 2025 with images.
    Azure,
    /// `BurstGPT`, files 1 and 2.
    BurstGpt,
    /// `BurstGPT`, file 3: with sessions.
    BurstGptSessions,
    /// Mooncake: JSON, a request a line.
    Mooncake,
    /// vidur's copy of Azure's traces.
    Vidur,
    /// CSV with named columns.
    Csv,
    /// JSON, an object a line, with named fields.
    Jsonl,
}

impl Format {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Azure => "Azure LLM inference",
            Self::BurstGpt => "BurstGPT",
            Self::BurstGptSessions => "BurstGPT with sessions",
            Self::Mooncake => "Mooncake",
            Self::Vidur => "vidur",
            Self::Csv => "CSV",
            Self::Jsonl => "JSON lines",
        }
    }

    /// The columns that make a file one of this kind, and in what its times count where they are numbers.
    fn columns(self) -> Columns {
        let of = |time: &str, unit, prompt: &str, output: &str| Columns {
            time: time.to_owned(),
            unit,
            prompt: Some(prompt.to_owned()),
            output: Some(output.to_owned()),
            ..Columns::default()
        };
        let seconds = Some(Unit::Seconds);
        match self {
            Self::Azure => of("TIMESTAMP", None, "ContextTokens", "GeneratedTokens"),
            Self::BurstGpt => Columns {
                model: Some("Model".to_owned()),
                ..of("Timestamp", seconds, "Request tokens", "Response tokens")
            },
            Self::BurstGptSessions => Columns {
                session: Some("Session ID".to_owned()),
                ..Self::BurstGpt.columns()
            },
            Self::Mooncake => of(
                "timestamp",
                Some(Unit::Milliseconds),
                "input_length",
                "output_length",
            ),
            Self::Vidur => of(
                "arrived_at",
                seconds,
                "num_prefill_tokens",
                "num_decode_tokens",
            ),
            Self::Csv | Self::Jsonl => Columns::default(),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a table is to be read that no known program wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The column that holds when requests came; the file is then read as a table whatever it looks like.
    pub time_column: Option<String>,
    /// The unit of that column, where its name does not tell and it holds no dates.
    pub time_unit: Option<Unit>,
    /// The column that holds the lengths of prompts \[tokens\].
    pub prompt_column: Option<String>,
    /// The column that holds the lengths of answers \[tokens\].
    pub output_column: Option<String>,
    /// The column that holds which model was asked.
    pub model_column: Option<String>,
    /// The column that holds to which session a request belongs.
    pub session_column: Option<String>,
}

/// Names of the columns that are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub(super) time: String,
    pub(super) unit: Option<Unit>,
    pub(super) prompt: Option<String>,
    pub(super) output: Option<String>,
    pub(super) model: Option<String>,
    pub(super) session: Option<String>,
}

impl Columns {
    /// The names, in the order of [`lines::Cells`].
    pub(super) fn names(&self) -> [Option<&str>; lines::CELLS] {
        [
            Some(self.time.as_str()),
            self.prompt.as_deref(),
            self.output.as_deref(),
            self.model.as_deref(),
            self.session.as_deref(),
        ]
    }
}

/// What a file is and where it holds what.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) format: Format,
    pub(super) is_json: bool,
    pub(super) columns: Columns,
}

/// Formats that are known by their head; one whose columns include another's comes first.
const KNOWN: [Format; 5] = [
    Format::Azure,
    Format::BurstGptSessions,
    Format::BurstGpt,
    Format::Mooncake,
    Format::Vidur,
];

impl Layout {
    /// Looks at the beginning of a file.
    pub(super) fn of(source: &Source, options: &Options) -> Result<Self, Problem> {
        let mut bytes = source.read()?;
        let start = bytes.fill_buf().map_err(|error| unreadable(&error))?;
        let is_json = is_json(start)?;
        let head = Lines::head(bytes, is_json)?;
        if let Some(time) = &options.time_column {
            return Self::named(is_json, &head, time, options);
        }
        let has = |name: &str| head.iter().any(|known| known == name);
        let found = KNOWN.into_iter().find(|format| {
            (*format == Format::Mooncake) == is_json
                && format.columns().names().into_iter().flatten().all(has)
        });
        let format = found.ok_or_else(|| unknown(&head, is_json))?;
        Ok(Self {
            format,
            is_json,
            columns: format.columns(),
        })
    }

    /// A table by the columns that the user names.
    fn named(
        is_json: bool,
        head: &[String],
        time: &str,
        options: &Options,
    ) -> Result<Self, Problem> {
        let columns = Columns {
            time: time.to_owned(),
            unit: options.time_unit.or_else(|| Unit::of_name(time)),
            prompt: options.prompt_column.clone(),
            output: options.output_column.clone(),
            model: options.model_column.clone(),
            session: options.session_column.clone(),
        };
        // Fields of JSON may be missing in one object and there in the next; columns are in all rows or in none.
        for name in columns.names().into_iter().flatten() {
            if !is_json {
                column(head, name)?;
            }
        }
        Ok(Self {
            format: if is_json { Format::Jsonl } else { Format::Csv },
            is_json,
            columns,
        })
    }
}

/// Whether a file that begins so is JSON and not CSV; refuses what is neither.
fn is_json(start: &[u8]) -> Result<bool, Problem> {
    const COMPRESSED: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "gzip"),
        (b"PK\x03\x04", "zip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ", "xz"),
        (b"BZh", "bzip2"),
    ];
    if let Some((_, name)) = COMPRESSED
        .iter()
        .find(|(magic, _)| start.starts_with(magic))
    {
        let why = format!("compressed with {name}\nhelp: decompress it first");
        return Err(Problem::of_file(why));
    }
    if start.starts_with(b"version https://git-lfs") {
        let why = "a Git LFS pointer and not the file itself\nhelp: fetch it with `git lfs pull`";
        return Err(Problem::of_file(why));
    }
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Err(Problem::of_file("empty: there is nothing but blank lines")),
        Some(b'[') => Err(Problem::of_file(
            "a JSON list, which must be read whole\nhelp: write one object a line",
        )),
        Some(first) => Ok(*first == b'{'),
    }
}

/// What to do about a table that is none of the known ones.
fn unknown(head: &[String], is_json: bool) -> Problem {
    let is_number = |name: &String| name.parse::<f64>().is_ok();
    if !is_json && head.iter().any(is_number) && head.iter().any(|name| name == "HashFunction") {
        return Problem::of_file(
            "counts of calls, a minute in each column: only files with a row for each request are read",
        );
    }
    if !is_json && head.iter().all(is_number) {
        return Problem::of_file(
            "no head: the first line holds numbers, where the names of the columns must stand",
        );
    }
    Problem::of_file(format!(
        "not a trace of a known kind\nhelp: name the column that holds when requests came; it has {}",
        head.join(", ")
    ))
}
