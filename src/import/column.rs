//! A table with a column of TTFTs: CSV, or JSON objects one after the other or in a list.
//!
//! Nothing is guessed: the column is named by the user, its unit stands in its name or is asked for, and a column that looks
//! like a status is pointed out but not believed unless it is named.

use super::rows::{self, Raw};
use super::{Missing, Options, Problem, Problems, Read, Series, Tool, Unit};
use crate::foreign::decimal::{nanos, needed};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::foreign::stamp::Stamp;
use crate::foreign::table;
use crate::foreign::text::Text;
use crate::observation::Outcome;
use crate::time::Duration;

/// A table of texts.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Line>,
}

/// A row of a table; a field that is missing or `null` is `None`.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) line: usize,
    pub(super) cells: Vec<Option<String>>,
}

impl Table {
    /// A CSV file with a head.
    pub(super) fn of_csv(text: &Text) -> Result<Self, Problem> {
        if let Some(line) = table::open_quote(text.as_str()) {
            let why = "a quoted field opens here and never closes";
            return Err(Problem::at_line(line, why));
        }
        let records = table::Records::new(text.as_str().as_bytes());
        let mut records = records.map_err(|error| Problem::of_file(error.to_string()))?;
        let names = records.head()?;
        let mut record = csv::StringRecord::new();
        let mut rows = Vec::new();
        while let Some(line) = records.read(&mut record) {
            let cells = record.iter().map(|cell| {
                let is_there = !cell.is_empty();
                is_there.then(|| cell.to_owned())
            });
            rows.push(Line {
                line: line?,
                cells: cells.collect(),
            });
        }
        Self { names, rows }.checked()
    }

    /// JSON objects, in a list or not.
    fn of_json(values: &[Node<'_>]) -> Result<Self, Problems> {
        let one = |problem| vec![problem];
        let lists = values.iter().map(|value| {
            if value.is_array() {
                value.items()
            } else {
                Ok(vec![value.clone()])
            }
        });
        let nodes: Vec<Node<'_>> = all(lists)?.into_iter().flatten().collect();
        let objects = all(nodes.iter().map(Node::object))?;
        let mut names: Vec<String> = Vec::new();
        for name in objects.iter().flat_map(Object::names) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        let rows = objects.iter().map(|object| Line {
            line: object.node().line(),
            cells: names
                .iter()
                .map(|name| object.get(name).map(|node| node.plain()))
                .collect(),
        });
        let rows = rows.collect();
        Self { names, rows }.checked().map_err(one)
    }

    fn checked(self) -> Result<Self, Problem> {
        if self.rows.is_empty() {
            return Err(Problem::of_file("empty: there is a head and no row"));
        }
        Ok(self)
    }

    /// The place of a column.
    pub(super) fn column(&self, name: &str) -> Result<usize, Problem> {
        table::column(&self.names, name)
    }

    /// Whether it has all these columns.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        names
            .iter()
            .all(|name| self.names.iter().any(|known| known == name))
    }
}

/// Reads JSON objects.
pub(super) fn read_json(values: &[Node<'_>], options: &Options) -> Result<Read, Problems> {
    read(&Table::of_json(values)?, options)
}

/// Where a table holds what.
struct Columns {
    ttft: usize,
    unit: Unit,
    time: Option<(usize, Option<Unit>)>,
    status: Option<usize>,
    by: Vec<usize>,
}

impl Columns {
    fn of(table: &Table, options: &Options) -> Result<Self, Problem> {
        let Some(name) = &options.column else {
            return Err(unknown_kind(table));
        };
        let ttft = table.column(name)?;
        let unit = unit(name, options.unit, "--unit")?;
        let time = options.time_column.as_ref().map(|name| {
            let unit = options.time_unit.or_else(|| Unit::of_name(name));
            Ok((table.column(name)?, unit))
        });
        let status = options.status_column.as_ref();
        let by = options.by.iter().map(|name| table.column(name));
        Ok(Self {
            ttft,
            unit,
            time: time.transpose()?,
            status: status.map(|name| table.column(name)).transpose()?,
            by: by.collect::<Result<_, _>>()?,
        })
    }
}

fn unknown_kind(table: &Table) -> Problem {
    let likely = table.names.iter().find(|name| {
        let lower = name.to_lowercase();
        lower.contains("ttft") || lower.contains("first_token") || lower.contains("first token")
    });
    let help = match likely {
        Some(name) => {
            format!("help: name the column that holds the TTFT, such as --column '{name}'")
        }
        None => format!(
            "help: name the column that holds the TTFT with --column; it has {}",
            table.names.join(", ")
        ),
    };
    Problem::of_file(format!("not the result file of a known program\n{help}"))
}

/// The unit that the name or the user states; they may not contradict each other.
fn unit(name: &str, stated: Option<Unit>, option: &str) -> Result<Unit, Problem> {
    match (Unit::of_name(name), stated) {
        (Some(named), Some(stated)) if named != stated => Err(Problem::of_file(format!(
            "column `{name}` counts in {} by its name, {option} says {}",
            named.name(),
            stated.name()
        ))),
        (Some(unit), _) | (None, Some(unit)) => Ok(unit),
        (None, None) => Err(Problem::of_file(format!(
            "the name of column `{name}` does not tell its unit\nhelp: add {option} s, ms, us or ns"
        ))),
    }
}

/// Reads a table.
pub(super) fn read(table: &Table, options: &Options) -> Result<Read, Problems> {
    let columns = Columns::of(table, options).map_err(|problem| vec![problem])?;
    let reader = Reader {
        table,
        columns: &columns,
    };
    let rows = all(table.rows.iter().map(|line| reader.row(line)))?;
    let mut read = Read::new(Tool::Table);
    read.missing.extend([Missing::TimeOuts, Missing::Phases]);
    let stamps: Vec<Stamp> = rows.iter().filter_map(|(_, row)| row.sent).collect();
    match stamps.first() {
        None => read.missing.push(Missing::Starts),
        Some(stamp) if stamp.wall().is_none() => read.missing.push(Missing::WallClock),
        Some(_) => {}
    }
    read.notes.extend(coarse(&stamps));
    read.notes.extend(absurd(&rows));
    read.notes.extend(status_ignored(table, options));
    read.notes.extend(failures_read(table, &columns));
    let groups = rows::grouped(rows).into_iter().map(|(names, rows)| {
        let (model, target) = match names.split_last() {
            Some((last, rest)) => (last.clone(), rest.join(" ")),
            None => (String::new(), String::new()),
        };
        let series = Series {
            target,
            model,
            ..Series::default()
        };
        (series, rows)
    });
    read.series = rows::series(groups.collect(), &options.zone);
    Ok(read)
}

/// Says when stamps are so coarse that requests which were not simultaneous look it.
fn coarse(stamps: &[Stamp]) -> Option<String> {
    let mut times: Vec<i128> = stamps.iter().map(|stamp| stamp.nanos()).collect();
    times.sort_unstable();
    let span = times.last()? - times.first()?;
    let rows = times.len();
    times.dedup();
    let step = times.windows(2).map(|pair| pair[1] - pair[0]).min()?;
    (times.len() < rows).then(|| {
        format!(
            "times span {} s with a resolution of {} s: {} of {rows} rows share theirs with another",
            seconds(span),
            seconds(step),
            rows - times.len()
        )
    })
}

/// Says when TTFTs are of a size that points to another unit.
fn absurd(rows: &[(Vec<String>, Raw)]) -> Option<String> {
    const LONG: Duration = Duration::from_nanos(120_000_000_000);
    const SHORT: Duration = Duration::from_nanos(1_000_000);
    let mut ttfts: Vec<Duration> = rows.iter().filter_map(|(_, row)| row.ttft).collect();
    ttfts.sort_unstable();
    let median = *ttfts.get(ttfts.len() / 2)?;
    let asked = match median {
        _ if median > LONG => "are these milliseconds?",
        _ if median < SHORT => "are these seconds?",
        _ => return None,
    };
    Some(format!("the median TTFT is {median}: {asked}"))
}

fn seconds(nanos: i128) -> f64 {
    nanos as f64 / 1e9
}

/// Points out a column that looks like a status and was not named.
fn status_ignored(table: &Table, options: &Options) -> Option<String> {
    const LIKELY: [&str; 6] = ["status", "error", "error_code", "outcome", "success", "ok"];
    let found = table
        .names
        .iter()
        .find(|name| LIKELY.contains(&name.to_lowercase().as_str()))?;
    options.status_column.is_none().then(|| {
        format!("column `{found}` was not read: failures with a TTFT count as successes unless --status-column {found} is given")
    })
}

struct Reader<'a> {
    table: &'a Table,
    columns: &'a Columns,
}

impl Reader<'_> {
    /// A row and the names of what it belongs to.
    fn row(&self, line: &Line) -> Result<(Vec<String>, Raw), Problem> {
        let cell = |index: usize| line.cells.get(index).and_then(Option::as_deref);
        let columns = self.columns;
        let is_success = columns.status.is_none_or(|index| succeeded(cell(index)));
        let outcome = if is_success {
            Outcome::Succeeded
        } else {
            Outcome::Failed
        };
        let mut row = Raw::new(outcome);
        row.ttft = self.ttft(line, cell(columns.ttft))?;
        row.sent = match columns.time {
            Some((index, unit)) => Some(self.stamp(line, index, unit)?),
            None => None,
        };
        let names = columns.by.iter().map(|&index| cell(index).unwrap_or("–"));
        Ok((names.map(str::to_owned).collect(), row.checked()))
    }

    fn problem(&self, line: &Line, column: usize, why: String) -> Problem {
        Problem::at_field(line.line, &self.table.names[column], why)
    }

    /// The TTFT; none where the cell is empty.
    fn ttft(&self, line: &Line, cell: Option<&str>) -> Result<Option<Duration>, Problem> {
        let Some(cell) = cell else { return Ok(None) };
        let unit = self.columns.unit;
        let found = nanos(cell, unit).and_then(|nanos| u64::try_from(nanos).ok());
        let span = found.map(Duration::from_nanos).ok_or_else(|| {
            let needed = needed(cell, unit, "a finite number that is not negative");
            let why = format!("found `{cell}`, {needed} is needed");
            self.problem(line, self.columns.ttft, why)
        })?;
        Ok((span > Duration::ZERO).then_some(span))
    }

    fn stamp(&self, line: &Line, column: usize, unit: Option<Unit>) -> Result<Stamp, Problem> {
        let cell = line.cells.get(column).and_then(Option::as_deref);
        table::stamp(cell, unit, "add --time-unit s, ms, us or ns")
            .map_err(|why| self.problem(line, column, why))
    }
}

/// Words of a status column that say success, in any letter case; so does an empty cell, and every HTTP status 2xx.
pub const SUCCESS_WORDS: [&str; 10] = [
    "ok",
    "true",
    "yes",
    "success",
    "successful",
    "succeeded",
    "completed",
    "healthy",
    "0",
    "none",
];

/// Whether a status says success.
fn succeeded(cell: Option<&str>) -> bool {
    let Some(cell) = cell else { return true };
    let status = cell.parse::<u16>();
    status.is_ok_and(|status| (200..300).contains(&status))
        || SUCCESS_WORDS.contains(&cell.to_lowercase().as_str())
}

/// So many words of a status column are named.
const NAMED: usize = 5;

/// Says which words of the status column were read as failures, and how often, since nobody can know every program's words.
fn failures_read(table: &Table, columns: &Columns) -> Option<String> {
    let index = columns.status?;
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let cells = table
        .rows
        .iter()
        .map(|line| line.cells.get(index)?.as_deref());
    for word in cells.filter(|cell| !succeeded(*cell)).flatten() {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let named = counts.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|(word, count)| format!("\"{word}\" {count} ×"))
        .collect();
    let more = match counts.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more words"),
    };
    (!named.is_empty()).then(|| {
        format!(
            "column `{}`: read as a failure: {}{more}; read as success: empty, 2xx, {}",
            table.names[index],
            named.join(", "),
            SUCCESS_WORDS.join(", ")
        )
    })
}
