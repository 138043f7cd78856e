//! A sweep for people: for each model a table of the settings, and under it their p95 on a logarithmic axis.

use std::io::{self, Write};

use super::{Setting, SweepReport, short};
use crate::experiment::repeat::Spread;
use crate::experiment::sweep::Row;
use crate::experiment::users::Figure;
use crate::report::grid::{self, Column};
use crate::report::number::{self, NONE};
use crate::report::text::{BOLD, DIM, text_or, wrapped};
use crate::report::users;

/// So many models are written out; the other formats have all.
const SHOWN: usize = 6;

/// Writes the whole report.
pub(super) fn write(report: &SweepReport<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    heading(report, width, out)?;
    let settings = report.settings.len();
    let rows = report.flat();
    let models = rows.len() / settings;
    for chunk in rows.chunks(settings).take(SHOWN) {
        model(report, chunk, width, out)?;
    }
    if models > SHOWN {
        writeln!(
            out,
            "\n{DIM}{SHOWN} of {models} models; --format csv has all{DIM:#}"
        )?;
    }
    Ok(())
}

fn heading(report: &SweepReport<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", report.plan.title)?;
    let common = if report.paths.iter().any(|path| path == "seed") {
        ""
    } else {
        " · the same demand at every setting"
    };
    let facts = format!(
        "{} varied · {} at each of {}{common} · seed {} · all users, at the provider's door",
        report.paths.join(", "),
        number::counted(report.replications, "replication"),
        number::counted(report.settings.len() as u64, "setting"),
        report.plan.seed
    );
    for line in wrapped(&facts, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

fn model(
    report: &SweepReport<'_>,
    rows: &[(&Setting, &Row)],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{}{BOLD:#}", report.label(rows))?;
    let columns = columns(report, rows);
    writeln!(out, "{}", grid::fitted(columns.clone(), columns, width, 1))?;
    if rows.len() > 1 {
        writeln!(out)?;
        curve(report, rows, width, out)?;
        writeln!(out)?;
        for line in wrapped(&conclusion(report, rows), width) {
            writeln!(out, "{BOLD}{line}{BOLD:#}")?;
        }
    }
    Ok(())
}

/// From which setting to the next p95 surely changes, in pairs under the same demand.
pub(super) fn conclusion(report: &SweepReport<'_>, rows: &[(&Setting, &Row)]) -> String {
    let changes = report.changes(rows, Figure::TtftP95);
    let steps = changes.iter().flatten().count();
    if steps == 0 {
        return "One setting has no neighbour to compare it with.".to_owned();
    }
    let signed = |sign: f64| {
        let changes = changes.iter().enumerate();
        changes.filter(move |(_, one)| one.is_some_and(|one| one.sign() == Some(sign)))
    };
    let rises = signed(1.0).count();
    let Some((last, Some(change))) = signed(-1.0).next_back() else {
        return format!(
            "No step to the next setting surely lowers p95; {rises} of {steps} surely raise it."
        );
    };
    let interval = change.estimate.interval.map_or_else(String::new, |one| {
        let ends = [-one.high, -one.low].map(number::bare_seconds);
        format!(" (95 % interval {} to {} s)", ends[0], ends[1])
    });
    format!(
        "p95 surely falls at {} of {steps} steps to the next setting and rises at {rises}; the last fall is from {} to {}, by \
         {}{interval}.",
        signed(-1.0).count(),
        rows[last - 1].0.join(", "),
        rows[last].0.join(", "),
        number::seconds(-change.estimate.point),
    )
}

/// The setting's columns and the figures'; those of least rank stay longest.
fn columns(report: &SweepReport<'_>, rows: &[(&Setting, &Row)]) -> Vec<Column> {
    let path = |(axis, path): (usize, &String)| {
        let values = rows.iter().map(|(setting, _)| setting[axis].clone());
        Column::text(&short(path).replace('.', ".\n"), values.collect())
    };
    let mut columns: Vec<Column> = report.paths.iter().enumerate().map(path).collect();
    for figure in Figure::ALL {
        if !users::is_telling(figure, rows.iter().map(|(_, row)| &row.users)) {
            continue;
        }
        let cells = rows.iter().map(|(_, row)| shown(row, figure, users::bare));
        let rank = match figure {
            Figure::TtftP99 | Figure::Cv | Figure::Unanswered => 1,
            _ => 0,
        };
        columns.push(Column::numbers(users::head(figure), cells.collect()).rank(rank));
        if figure == Figure::TtftP95 {
            columns.push(p95_interval(rows));
        }
    }
    if rows.iter().any(|(_, row)| row.reported.is_some()) {
        columns.extend(reported(rows));
    }
    columns
}

fn shown(row: &Row, figure: Figure, show: fn(Figure, f64) -> String) -> String {
    text_or(row.users.point(figure), |value| show(figure, value))
}

fn p95_interval(rows: &[(&Setting, &Row)]) -> Column {
    let cells = rows.iter().map(|(_, row)| {
        let interval = row
            .users
            .estimate(Figure::TtftP95)
            .and_then(|one| one.interval);
        interval.map_or_else(|| NONE.to_owned(), number::interval)
    });
    Column::text("95 %\ninterval", cells.collect()).rank(2)
}

/// What a benchmark says of p95, and in which range nine in ten of them lie.
fn reported(rows: &[(&Setting, &Row)]) -> [Column; 2] {
    let spreads = || {
        rows.iter()
            .map(|(_, row)| row.reported.map(|one| one.ttft_p95_s))
    };
    let middle =
        |spread: Option<Spread>| text_or(spread.and_then(|one| one.p50), number::bare_seconds);
    let range = |spread: Option<Spread>| {
        let ends = spread.and_then(|one| one.p05.zip(one.p95));
        ends.map_or_else(
            || NONE.to_owned(),
            |(low, high)| {
                format!(
                    "{}–{}",
                    number::bare_seconds(low),
                    number::bare_seconds(high)
                )
            },
        )
    };
    [
        Column::numbers("bench.\np95 s", spreads().map(middle).collect()).rank(3),
        Column::text("90 %\nrange", spreads().map(range).collect()).rank(4),
    ]
}

/// Heads and rows of one flat table, for Markdown.
pub(super) fn cells(report: &SweepReport<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let mut heads = vec!["provider".to_owned(), "model".to_owned()];
    heads.extend(report.paths.iter().map(|path| short(path)));
    let figures = Figure::ALL
        .into_iter()
        .filter(|one| *one != Figure::Unanswered);
    heads.extend(figures.clone().map(|one| users::name(one).to_owned()));
    heads.push("benchmark's p95".to_owned());
    let row = |(setting, row): (&Setting, &Row)| {
        let mut cells = vec![report.provider(row).to_owned(), report.model(row)];
        cells.extend(setting.iter().cloned());
        cells.extend(figures.clone().map(|one| shown(row, one, users::with_unit)));
        cells.push(text_or(
            row.reported.and_then(|one| one.ttft_p95_s.p50),
            number::seconds,
        ));
        cells
    };
    (heads, report.flat().into_iter().map(row).collect())
}

/// A logarithmic axis of whole decades over some columns of text.
#[derive(Clone, Copy)]
struct Axis {
    low: i32,
    high: i32,
    columns: usize,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>, columns: usize) -> Option<Self> {
        let logs: Vec<f64> = values
            .filter(|value| *value > 0.0)
            .map(f64::log10)
            .collect();
        let low = logs.iter().copied().reduce(f64::min)?.floor() as i32;
        let high = logs.iter().copied().reduce(f64::max)?.ceil() as i32;
        Some(Self {
            low,
            high: high.max(low + 1),
            columns,
        })
    }

    /// The column of a value; what is off the axis stands at its end.
    fn column(self, value: f64) -> usize {
        let share = (value.max(f64::MIN_POSITIVE).log10() - f64::from(self.low))
            / f64::from(self.high - self.low);
        (share.clamp(0.0, 1.0) * (self.columns - 1) as f64).round() as usize
    }

    /// The decades, each above its column.
    fn labels(self) -> String {
        let mut line = vec![' '; self.columns + 12];
        for decade in self.low..=self.high {
            let value = 10_f64.powi(decade);
            let label = format!("{value}");
            let at = self.column(value);
            let start = at.saturating_sub(if decade == self.high { label.len() } else { 0 });
            line.splice(start..start + label.len(), label.chars());
        }
        let line: String = line.into_iter().collect();
        format!("{} s", line.trim_end())
    }
}

/// p95 of every setting: a point with its interval.
fn curve(
    report: &SweepReport<'_>,
    rows: &[(&Setting, &Row)],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names: Vec<String> = rows.iter().map(|(setting, _)| setting.join(", ")).collect();
    let shorts: Vec<String> = report.paths.iter().map(|path| short(path)).collect();
    let head = shorts.join(", ");
    let wide = |text: &String| text.chars().count();
    let margin = names.iter().chain([&head]).map(wide).max().unwrap_or(0) + 2;
    let columns = width.saturating_sub(margin + 8).clamp(20, 100);
    let p95 = |row: &Row| row.users.estimate(Figure::TtftP95);
    let ends = |row: &Row| {
        let interval = p95(row).and_then(|one| one.interval);
        interval.map(|one| (one.low, one.high))
    };
    // By the points alone: an interval from two replications can span anything, and is cut at the axis' ends.
    let values = rows
        .iter()
        .filter_map(|(_, row)| p95(row).map(|one| one.point));
    let Some(axis) = Axis::of(values, columns) else {
        return writeln!(out, "no user got an answer: there is no p95 to draw");
    };
    writeln!(
        out,
        "{BOLD}p95 of all users' TTFT{BOLD:#}{DIM}, with its 95 % interval{DIM:#}"
    )?;
    writeln!(out, "{DIM}{head:>margin$}  {}{DIM:#}", axis.labels())?;
    for ((_, row), name) in rows.iter().zip(&names) {
        let mut line = vec![' '; axis.columns];
        for decade in axis.low..=axis.high {
            line[axis.column(10_f64.powi(decade))] = '┊';
        }
        if let Some((low, high)) = ends(row) {
            line[axis.column(low)..=axis.column(high)].fill('─');
        }
        if let Some(point) = p95(row) {
            line[axis.column(point.point)] = '●';
        }
        let line: String = line.into_iter().collect();
        writeln!(out, "{name:>margin$}  {}", line.trim_end())?;
    }
    Ok(())
}
