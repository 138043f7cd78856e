//! How the figures of independent benchmarks spread, for people.

use std::io::{self, Write};

use super::Report;
use super::grid::{self, Column};
use super::number::{self, NONE};
use super::text::{BOLD, DIM, Names, name_columns, text_or, wrapped};
use crate::experiment::repeat::{Reported, Row, Spread};
use crate::measure::verdict::Verdict;

/// So many rows have their verdicts spelt out.
const SPELT: usize = 12;

/// Writes the spread, if there is one.
pub(super) fn write(report: &Report<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let rows = &report.outcome.rows;
    let reported: Vec<(&Row, &Reported)> = rows
        .iter()
        .filter_map(|row| Some((row, row.reported.as_ref()?)))
        .collect();
    if reported.is_empty() {
        return Ok(());
    }
    let times = number::count(report.outcome.replications);
    writeln!(out, "\n{BOLD}What {times} such benchmarks report{BOLD:#}")?;
    writeln!(
        out,
        "{DIM}the middle one, and the range of nine in ten{DIM:#}"
    )?;
    writeln!(out, "{}", table(report, &reported, width))?;
    writeln!(out)?;
    for (row, reported) in reported.iter().take(SPELT) {
        let whose = if rows.len() > 1 {
            format!("{}: ", report.label(row))
        } else {
            String::new()
        };
        for line in wrapped(&format!("{whose}{}", verdicts(reported)), width) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Which verdicts the benchmarks come to, most frequent first, and how many see no cold start.
fn verdicts(reported: &Reported) -> String {
    let mut shares: Vec<(f64, Verdict)> = reported
        .verdict_share
        .into_iter()
        .zip(Verdict::ALL)
        .filter(|&(share, _)| share > 0.0)
        .collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shares: Vec<String> = shares
        .into_iter()
        .map(|(share, verdict)| format!("{} say {verdict}", number::percent(100.0 * share)))
        .collect();
    let blind =
        reported
            .no_cold_share
            .filter(|&share| share > 0.0)
            .map_or(String::new(), |share| {
                format!(
                    "; {} met no cold start at all",
                    number::percent(100.0 * share)
                )
            });
    format!("{}{blind}.", shares.join(", "))
}

fn table(report: &Report<'_>, reported: &[(&Row, &Reported)], width: usize) -> String {
    let names: Vec<Names<'_>> = reported
        .iter()
        .map(|(row, _)| Names {
            provider: report.provider(row),
            model: report.model(row),
            session: report.session(row),
        })
        .collect();
    let [wide, narrow] = [false, true].map(|narrow| {
        let mut columns = name_columns(&names, narrow);
        columns.extend(columns_of(reported));
        if narrow { grid::sunk(columns) } else { columns }
    });
    grid::fitted(wide, narrow, width, 3)
}

fn columns_of(reported: &[(&Row, &Reported)]) -> Vec<Column> {
    let seconds = |head: &str, pick: fn(&Reported) -> Spread| {
        pair(head, reported, pick, number::bare_seconds)
    };
    let whole = |head: &str, pick: fn(&Reported) -> Spread| {
        pair(head, reported, pick, |value| format!("{value:.0}"))
    };
    let mut columns = Vec::new();
    columns.extend(seconds("median\ns", |one| one.ttft_median_s));
    columns.extend(seconds("p95\ns", |one| one.ttft_p95_s));
    let std = seconds("std\ns", |one| one.ttft_std_s);
    columns.extend(std.map(|column| column.rank(4)));
    columns.extend(whole("std/\nmean %", |one| one.cv_percent));
    let over_median = whole("std/\nmed %", |one| one.std_over_median_percent);
    columns.extend(over_median.map(|column| column.rank(2)));
    columns.extend(whole("cold", |one| one.cold_requests));
    columns
}

/// The middle value and the range of a figure.
fn pair(
    head: &str,
    reported: &[(&Row, &Reported)],
    pick: fn(&Reported) -> Spread,
    show: fn(f64) -> String,
) -> [Column; 2] {
    let spreads = || reported.iter().map(|(_, one)| pick(one));
    let range = |spread: Spread| match (spread.p05, spread.p95) {
        (Some(low), Some(high)) => format!("{}–{}", show(low), show(high)),
        _ => NONE.to_owned(),
    };
    [
        Column::numbers(head, spreads().map(|one| text_or(one.p50, show)).collect()),
        Column::text("90 %\nrange", spreads().map(range).collect()),
    ]
}
