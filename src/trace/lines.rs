//! The lines of a trace, one at a time, as the texts of the columns that are wanted.

use std::io::{BufRead, Read as _};

use super::layout::Layout;
use super::source::{Source, unreadable};
use crate::foreign::node::{Node, values};
use crate::foreign::problem::Problem;
use crate::foreign::table::{Records, column};
use crate::foreign::text::Text;

/// Columns that are wanted at most: time, prompt, output, model, session.
pub(super) const CELLS: usize = 5;

/// The longest line of JSON \[bytes\]: no row comes near it, and without a limit a file without line ends would be held whole.
const LONGEST: u64 = 16 << 20;

/// The texts of a line; a field that is missing, empty or `null` is `None`.
#[derive(Debug, Default)]
pub(super) struct Cells {
    /// Line, from one.
    pub(super) line: usize,
    pub(super) texts: [Option<String>; CELLS],
}

type Bytes = Box<dyn BufRead + Send>;

/// Lines yet to be read.
pub(super) enum Lines {
    Csv {
        records: Box<Records<Bytes>>,
        record: csv::StringRecord,
        places: [Option<usize>; CELLS],
    },
    Json {
        objects: Objects,
        names: [Option<String>; CELLS],
    },
}

impl Lines {
    /// The names of the columns, or of the first object's fields.
    pub(super) fn head(bytes: Bytes, is_json: bool) -> Result<Vec<String>, Problem> {
        if is_json {
            let Some(text) = Objects::new(bytes).next() else {
                return Ok(Vec::new());
            };
            let text = text?;
            let object = only(&text)?.object()?;
            return Ok(object.names().map(str::to_owned).collect());
        }
        records(bytes)?.head()
    }

    /// Reads a file from the start.
    pub(super) fn new(source: &Source, layout: &Layout) -> Result<Self, Problem> {
        let bytes = source.read()?;
        let wanted = layout.columns.names();
        if layout.is_json {
            return Ok(Self::Json {
                objects: Objects::new(bytes),
                names: wanted.map(|name| name.map(str::to_owned)),
            });
        }
        let mut records = Box::new(records(bytes)?);
        let head = records.head()?;
        let mut places = [None; CELLS];
        for (place, name) in places.iter_mut().zip(wanted) {
            *place = name.map(|name| column(&head, name)).transpose()?;
        }
        Ok(Self::Csv {
            records,
            record: csv::StringRecord::new(),
            places,
        })
    }

    fn csv_line(
        records: &mut Records<Bytes>,
        record: &mut csv::StringRecord,
        places: &[Option<usize>; CELLS],
    ) -> Option<Result<Cells, Problem>> {
        let line = match records.read(record)? {
            Ok(line) => line,
            Err(problem) => return Some(Err(problem)),
        };
        let cell = |place: Option<usize>| {
            let text = record.get(place?)?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        let texts = places.map(cell);
        Some(Ok(Cells { line, texts }))
    }
}

impl Iterator for Lines {
    type Item = Result<Cells, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Csv {
                records,
                record,
                places,
            } => Self::csv_line(records, record, places),
            Self::Json { objects, names } => {
                let text = objects.next()?;
                Some(text.and_then(|text| of_object(&text, names)))
            }
        }
    }
}

fn records(bytes: Bytes) -> Result<Records<Bytes>, Problem> {
    Records::new(bytes).map_err(|error| unreadable(&error))
}

/// The one value on a line.
fn only(text: &Text) -> Result<Node<'_>, Problem> {
    let mut found = values(text)?;
    match (found.pop(), found.is_empty()) {
        (Some(node), true) => Ok(node),
        _ => Err(Problem::at_line(
            text.number(1),
            "more than one JSON value on a line",
        )),
    }
}

fn of_object(text: &Text, names: &[Option<String>; CELLS]) -> Result<Cells, Problem> {
    let object = only(text)?.object()?;
    let mut cells = Cells {
        line: text.number(1),
        ..Cells::default()
    };
    for (cell, name) in cells.texts.iter_mut().zip(names) {
        let node = name.as_ref().and_then(|name| object.get(name));
        *cell = node.map(|node| node.plain());
    }
    Ok(cells)
}

/// Lines of JSON; blank ones are passed over.
pub(super) struct Objects {
    bytes: Bytes,
    line: usize,
}

impl Objects {
    fn new(bytes: Bytes) -> Self {
        Self { bytes, line: 0 }
    }
}

impl Iterator for Objects {
    type Item = Result<Text, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.line += 1;
            let mut line = Vec::new();
            let mut rest = self.bytes.by_ref().take(LONGEST);
            match rest.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(read) if read as u64 == LONGEST => {
                    let why = format!("longer than {} MiB", LONGEST >> 20);
                    return Some(Err(Problem::at_line(self.line, why)));
                }
                Ok(_) => {}
                Err(error) => return Some(Err(unreadable(&error))),
            }
            let is_blank = line.trim_ascii().is_empty() || line == b"\xef\xbb\xbf\n";
            if !is_blank {
                line.truncate(line.trim_ascii_end().len());
                return Some(Text::from_line(self.line, line).map(Text::into_json));
            }
        }
    }
}
