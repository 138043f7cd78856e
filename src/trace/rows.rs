//! The rows of a trace: checked, in order, counted from the first.

use super::layout::Layout;
use super::lines::{Cells, Lines};
use super::source::Source;
use crate::foreign::problem::Problem;
use crate::foreign::stamp::Stamp;
use crate::foreign::table;
use crate::time::Duration;

/// The longest prompt or answer \[tokens\], as in a scenario.
const MOST_TOKENS: u32 = 10_000_000;

/// A request of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// When it came, from the first one.
    pub at: Duration,
    /// Length of the prompt \[tokens\], where the file tells.
    pub prompt_tokens: Option<u32>,
    /// Length of the answer \[tokens\], where the file tells.
    pub output_tokens: Option<u32>,
    /// Which model was asked, where the file tells.
    pub model: Option<String>,
    /// To which session it belongs, where the file tells.
    pub session: Option<String>,
    /// Its line, from one.
    pub line: usize,
}

impl Row {
    /// Whether the request failed: traces write it as one without tokens.
    pub fn is_failure(&self) -> bool {
        self.prompt_tokens == Some(0) || self.output_tokens == Some(0)
    }
}

/// Reads a trace row by row. After an error reading goes on with the next row.
pub struct Rows {
    lines: Lines,
    names: [String; 3],
    unit: Option<crate::foreign::Unit>,
    first: Option<Stamp>,
    last: i128,
    /// Whether stamps are dates without a zone.
    is_naive: bool,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (first, last) = (self.first, self.last);
        f.debug_struct("Rows")
            .field("first", &first)
            .field("last", &last)
            .finish_non_exhaustive()
    }
}

impl Rows {
    pub(super) fn new(source: &Source, layout: &Layout) -> Result<Self, Problem> {
        let columns = &layout.columns;
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        Ok(Self {
            lines: Lines::new(source, layout)?,
            names: [
                columns.time.clone(),
                name(&columns.prompt),
                name(&columns.output),
            ],
            unit: columns.unit,
            first: None,
            last: 0,
            is_naive: false,
        })
    }

    /// The stamp of the first row, once it is read.
    pub(super) fn first(&self) -> Option<Stamp> {
        self.first
    }

    /// Whether stamps are dates without a zone, once the first row is read.
    pub(super) fn is_naive(&self) -> bool {
        self.is_naive
    }

    fn row(&mut self, cells: Cells) -> Result<Row, Problem> {
        let Cells {
            line,
            texts: [time, prompt, output, model, session],
        } = cells;
        let [time_name, prompt_name, output_name] = &self.names;
        let at_time = |why: String| Problem::at_field(line, time_name, why);
        let stamp = table::stamp(time.as_deref(), self.unit, "state it: s, ms, us or ns")
            .map_err(&at_time)?;
        let first = *self.first.get_or_insert_with(|| {
            self.is_naive = time.as_deref().is_some_and(is_naive);
            self.last = stamp.nanos();
            stamp
        });
        if first.wall().is_some() != stamp.wall().is_some() {
            let why =
                "a date among times since a start, or the reverse: the file must hold one kind";
            return Err(at_time(why.to_owned()));
        }
        if stamp.nanos() < self.last {
            let why = "earlier than the row before it\nhelp: sort the rows by this column";
            return Err(at_time(why.to_owned()));
        }
        self.last = stamp.nanos();
        let at = u64::try_from(stamp.nanos() - first.nanos());
        Ok(Row {
            at: at
                .map(Duration::from_nanos)
                .map_err(|_| at_time("more than 584 years after the first row".to_owned()))?,
            prompt_tokens: tokens(prompt.as_deref(), line, prompt_name)?,
            output_tokens: tokens(output.as_deref(), line, output_name)?,
            model,
            session,
            line,
        })
    }
}

impl Iterator for Rows {
    type Item = Result<Row, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        let cells = self.lines.next()?;
        Some(cells.and_then(|cells| self.row(cells)))
    }
}

/// Whether a date says nothing of its zone: `2023-11-16 18:17:03.0010000`.
fn is_naive(date: &str) -> bool {
    let time = date.get(11..).unwrap_or_default();
    Stamp::of_date(date).is_some() && !time.contains(['Z', 'z', '+', '-'])
}

/// A number of tokens; a column that is read has one in each row.
fn tokens(cell: Option<&str>, line: usize, name: &str) -> Result<Option<u32>, Problem> {
    if name.is_empty() {
        return Ok(None);
    }
    let problem = |why: String| Problem::at_field(line, name, why);
    let cell = cell.ok_or_else(|| problem("missing".to_owned()))?;
    let whole = cell.strip_suffix(".0").unwrap_or(cell);
    let count = whole.parse().ok().filter(|count| *count <= MOST_TOKENS);
    count.map(Some).ok_or_else(|| {
        problem(format!(
            "found `{cell}`, a whole number of tokens up to {MOST_TOKENS} is needed"
        ))
    })
}
