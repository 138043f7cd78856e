//! The table of what a benchmark reports, simulated or measured.

use comfy_table::Color;

use super::grid::{self, Column};
use super::number::{self, NONE};
use super::text::{Names, name_columns, text_or};
use crate::measure::summary::{AwareQuantile, Summary, Ttft};
use crate::measure::verdict::{Classes, Verdict};
use crate::stats::Interval;

/// A row of the table.
pub(super) struct Line<'a> {
    /// What it is about.
    pub(super) names: Names<'a>,
    /// The figures.
    pub(super) summary: &'a Summary,
    /// Their verdict.
    pub(super) verdict: Verdict,
    /// How sure that is.
    pub(super) classes: Option<&'a Classes>,
}

impl Line<'_> {
    /// The verdict where it is sure enough: by resampling, where there was one.
    fn decided(&self) -> Option<Verdict> {
        self.classes.map_or(Some(self.verdict), Classes::decided)
    }

    /// The verdict's name, or that there is none.
    pub(super) fn verdict_name(&self) -> &'static str {
        self.decided().map_or("undecided", Verdict::name)
    }
}

/// Whether some request got no answer.
pub(super) fn has_failures(summary: &Summary) -> bool {
    summary.succeeded < summary.requests
}

/// The table; `beyond` stands for a quantile that falls among requests without an answer.
pub(super) fn table(lines: &[Line<'_>], beyond: &str, width: usize) -> String {
    let names: Vec<Names<'_>> = lines.iter().map(|line| line.names).collect();
    let [wide, narrow] = [false, true].map(|narrow| {
        let mut columns = name_columns(&names, narrow);
        columns.extend(count_columns(lines, narrow));
        columns.extend(figure_columns(lines, narrow));
        columns.extend(failure_columns(lines, beyond, narrow));
        columns.push(verdict_column(lines, narrow));
        columns.push(certainty_column(lines));
        if narrow { grid::sunk(columns) } else { columns }
    });
    grid::fitted(wide, narrow, width, 3)
}

/// The figures, each with its unit in its head.
fn figure_columns(rows: &[Line<'_>], narrow: bool) -> Vec<Column> {
    let seconds = |head: &str, pick: fn(&Ttft) -> Option<f64>| {
        let cell = |row: &Line<'_>| {
            text_or(
                row.summary.ttft.as_ref().and_then(pick),
                number::bare_seconds,
            )
        };
        Column::numbers(head, rows.iter().map(cell).collect())
    };
    let percents = |head: &str, pick: fn(&Ttft) -> Option<f64>| {
        let cell = |row: &Line<'_>| {
            text_or(row.summary.ttft.as_ref().and_then(pick), |cv| {
                format!("{cv:.0}")
            })
        };
        Column::numbers(head, rows.iter().map(cell).collect())
    };
    let interval = |head: &str, pick: fn(&Ttft) -> Option<Interval>| {
        let cell = |row: &Line<'_>| {
            let found = row.summary.ttft.as_ref().and_then(pick);
            found.map_or_else(|| NONE.to_owned(), number::interval)
        };
        Column::text(head, rows.iter().map(cell).collect()).rank(7)
    };
    let cold = |row: &Line<'_>| {
        let cold = row.summary.cold_requests();
        cold.map_or_else(|| NONE.to_owned(), |cold| cold.to_string())
    };
    vec![
        seconds("median\ns", |ttft| Some(ttft.median_s)),
        interval("95 %\ninterval", |ttft| ttft.median_interval_s),
        seconds("p95\ns", |ttft| Some(ttft.p95_s)),
        interval("95 %\ninterval", |ttft| ttft.p95_interval_s),
        seconds("max\ns", |ttft| Some(ttft.max_s)).rank(5),
        seconds("mean\ns", |ttft| Some(ttft.mean_s)).rank(6),
        seconds("std\ns", |ttft| ttft.std_s).rank(2),
        percents("std/\nmean %", |ttft| ttft.cv_percent),
        percents(
            if narrow {
                "std/\nmed %"
            } else {
                "std/\nmedian %"
            },
            |ttft| ttft.std_over_median_percent,
        ),
        Column::numbers("cold", rows.iter().map(cold).collect()),
    ]
}

/// How many requests there are, and how many were answered where the two differ.
fn count_columns(rows: &[Line<'_>], narrow: bool) -> Vec<Column> {
    let has_failures = rows.iter().any(|row| has_failures(row.summary));
    let show = |row: &Line<'_>| match row.summary {
        summary if has_failures && narrow => format!("{}/{}", summary.succeeded, summary.requests),
        summary => summary.requests.to_string(),
    };
    let head = if has_failures && narrow { "ok/n" } else { "n" };
    vec![Column::numbers(head, rows.iter().map(show).collect())]
}

/// Failures beside the figures of the successes, where there are any.
fn failure_columns(rows: &[Line<'_>], beyond: &str, narrow: bool) -> Vec<Column> {
    if !rows.iter().any(|row| has_failures(row.summary)) {
        return Vec::new();
    }
    let rate = |row: &Line<'_>| text_or(row.summary.failure_percent, number::bare_percent);
    let aware = |row: &Line<'_>| match row.summary.aware_p95 {
        None => NONE.to_owned(),
        Some(AwareQuantile::Unbounded) => beyond.to_owned(),
        Some(AwareQuantile::Seconds(seconds)) => number::bare_seconds(seconds),
    };
    let mut columns = vec![Column::numbers(
        "p95 of\nall s",
        rows.iter().map(aware).collect(),
    )];
    if !narrow {
        columns.insert(
            0,
            Column::numbers("failed\n%", rows.iter().map(rate).collect()),
        );
    }
    columns
}

fn verdict_column(rows: &[Line<'_>], narrow: bool) -> Column {
    let name = |row: &Line<'_>| match row.decided() {
        Some(Verdict::NotProductionReady) if narrow => "not-production-\nready".to_owned(),
        _ => row.verdict_name().to_owned(),
    };
    let colours = rows.iter().map(|row| row.decided().and_then(colour));
    let colours = colours.collect();
    Column::text("verdict", rows.iter().map(name).collect()).coloured(colours)
}

/// How probable the likeliest verdict is by resampling.
fn certainty_column(rows: &[Line<'_>]) -> Column {
    let sure = |row: &Line<'_>| {
        let likeliest = row
            .classes
            .and_then(|classes| classes.ranked().first().copied());
        let share = likeliest.map(|(_, share)| 100.0 * share);
        text_or(share, |share| format!("{share:.0}"))
    };
    Column::numbers("sure\n%", rows.iter().map(sure).collect()).rank(6)
}

/// Verdicts are words; the colour only repeats them.
pub(super) fn colour(verdict: Verdict) -> Option<Color> {
    match verdict {
        Verdict::WellSupported => Some(Color::Green),
        Verdict::Variable => Some(Color::Yellow),
        Verdict::ColdStarts => Some(Color::Magenta),
        Verdict::NotProductionReady => Some(Color::Red),
        Verdict::NoData => None,
    }
}
