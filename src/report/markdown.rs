//! The benchmark's rows as a Markdown table, for pasting.

use std::io::{self, Write};

use super::figures::Line;
use super::number::{self, NONE};
use super::published::{self, Pair};
use super::text::{Names, text_or};
use super::{Report, VERSION, sentence};
use crate::experiment::repeat::Spread;
use crate::measure::summary::{AwareQuantile, Ttft, Warning};

/// One table with what it comes to.
pub(super) struct Page {
    pub(super) title: String,
    /// Heads and rows.
    pub(super) table: (Vec<String>, Vec<Vec<String>>),
    /// How many of the first columns are names.
    pub(super) names: usize,
    pub(super) conclusions: Vec<String>,
    pub(super) seed: u64,
    /// What was repeated, and how often.
    pub(super) replications: String,
}

impl Page {
    /// Writes the page.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "**{}**\n", escaped(&self.title))?;
        let (heads, rows) = &self.table;
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        header(&heads, self.names, out)?;
        for row in rows {
            line(row, out)?;
        }
        for conclusion in &self.conclusions {
            writeln!(out, "\n{conclusion}")?;
        }
        let (seed, replications) = (self.seed, &self.replications);
        writeln!(out, "\nthermocline {VERSION}, seed {seed}, {replications}")
    }
}

/// Writes the tables.
pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let plan = report.plan;
    writeln!(out, "**{}**\n", escaped(&plan.title))?;
    let rows = report.outcome.rows.iter().map(|row| report.line(row));
    table(&rows.collect::<Vec<_>>(), out)?;
    if let [row] = report.outcome.rows.as_slice() {
        writeln!(out, "\n{}", sentence::hidden(&row.summary))?;
    }
    let pairs = published::pairs(report);
    if !pairs.is_empty() {
        published_table(report, &pairs, out)?;
    }
    writeln!(
        out,
        "\nthermocline {VERSION}, seed {}, percentiles {}, verdict by {}",
        plan.seed, plan.percentile, report.definition
    )
}

/// The table of what a benchmark reports, simulated or measured.
pub(super) fn table(lines: &[Line<'_>], out: &mut dyn Write) -> io::Result<()> {
    let heads = [
        "provider",
        "model",
        "session",
        "n",
        "answered",
        "median",
        "p95",
        "p95 of all",
        "std",
        "CV (std/mean)",
        "std/median",
        "cold",
        "verdict",
    ];
    header(&heads, 3, out)?;
    for one in lines {
        line(&cells(one), out)?;
    }
    left_out(lines, out)
}

/// How many requests the rows do not count because they failed on the client's side.
fn left_out(lines: &[Line<'_>], out: &mut dyn Write) -> io::Result<()> {
    for one in lines.iter().filter(|one| one.summary.client_faults > 0) {
        let faults = one.summary.client_faults;
        let warning = Warning::ClientFaults { faults };
        let Names {
            provider,
            model,
            session,
        } = one.names;
        let names = [provider, model, session].into_iter();
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        writeln!(out, "\n{}: {warning}", names.join(" · "))?;
    }
    Ok(())
}

fn cells(row: &Line<'_>) -> Vec<String> {
    let summary = row.summary;
    let ttft = |pick: fn(&Ttft) -> Option<f64>| summary.ttft.as_ref().and_then(pick);
    let aware = match summary.aware_p95 {
        None => NONE.to_owned(),
        Some(AwareQuantile::Seconds(seconds)) => number::seconds(seconds),
        Some(AwareQuantile::Unbounded) => "beyond the time-out".to_owned(),
    };
    let cold = summary.cold_requests();
    vec![
        row.names.provider.to_owned(),
        row.names.model.to_owned(),
        row.names.session.to_owned(),
        summary.requests.to_string(),
        summary.succeeded.to_string(),
        text_or(ttft(|ttft| Some(ttft.median_s)), number::seconds),
        text_or(ttft(|ttft| Some(ttft.p95_s)), number::seconds),
        aware,
        text_or(ttft(|ttft| ttft.std_s), number::seconds),
        text_or(ttft(|ttft| ttft.cv_percent), number::percent),
        text_or(ttft(|ttft| ttft.std_over_median_percent), number::percent),
        cold.map_or_else(|| NONE.to_owned(), |cold| cold.to_string()),
        row.verdict_name().to_owned(),
    ]
}

fn published_table(report: &Report<'_>, pairs: &[Pair<'_>], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let heads = [
        "provider",
        "model",
        "session",
        "median published",
        "simulated",
        "p95 published",
        "simulated",
        "CV published",
        "simulated std/mean",
        "simulated std/median",
        "published CV can be",
    ];
    header(&heads, 3, out)?;
    for pair in pairs {
        let [median, p95, over_mean, over_median] = pair.spreads();
        let cells = [
            report.provider(pair.row).to_owned(),
            report.model(pair.row).to_owned(),
            report.session(pair.row).to_owned(),
            number::seconds(pair.published.ttft_median_s),
            with_range(pair.median_s, median, number::seconds),
            number::seconds(pair.published.ttft_p95_s),
            with_range(pair.p95_s, p95, number::seconds),
            number::percent(pair.published.cv_percent),
            with_range(pair.cv_percent, over_mean, number::percent),
            with_range(pair.std_over_median_percent, over_median, number::percent),
            pair.possible().to_owned(),
        ];
        line(&cells, out)?;
    }
    Ok(())
}

/// A figure, and behind it what nine in ten benchmarks report where there are many.
fn with_range(value: Option<f64>, spread: Option<Spread>, show: fn(f64) -> String) -> String {
    let range = spread.and_then(|spread| spread.p05.zip(spread.p95));
    match (value, range) {
        (Some(value), Some((low, high))) => {
            format!("{} ({} to {})", show(value), show(low), show(high))
        }
        _ => text_or(value, show),
    }
}

/// The head of a table; the first columns are names, the others numbers.
pub(super) fn header(heads: &[&str], names: usize, out: &mut dyn Write) -> io::Result<()> {
    row_of(heads, out)?;
    let last = heads.len() - 1;
    let rules = (0..heads.len()).map(|index| {
        if index < names || index == last {
            ":--"
        } else {
            "--:"
        }
    });
    writeln!(out, "| {} |", rules.collect::<Vec<&str>>().join(" | "))
}

/// A line of a table.
pub(super) fn line(cells: &[String], out: &mut dyn Write) -> io::Result<()> {
    row_of(cells, out)
}

/// Head or line: whatever stands in a cell can hold what would end it.
fn row_of<T: AsRef<str>>(cells: &[T], out: &mut dyn Write) -> io::Result<()> {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell.as_ref())).collect();
    writeln!(out, "| {} |", cells.join(" | "))
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_a_cell_of_a_head_or_a_line() {
        let mut out = Vec::new();
        header(&["a|b", "c"], 1, &mut out).expect("memory");
        line(&["d|e".to_owned(), "f\ng".to_owned()], &mut out).expect("memory");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text, "| a\\|b | c |\n| :-- | :-- |\n| d\\|e | f g |\n");
    }
}
