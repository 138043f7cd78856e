//! Published figures beside simulated ones, for people.

use std::io::{self, Write};

use super::Report;
use super::grid::{self, Column};
use super::number;
use super::published::{self, CAP_S, Pair, deviation_percent};
use super::text::{BOLD, DIM, Names, name_columns, text_or, wrapped};

/// Writes the comparison, if something was published.
pub(super) fn write(report: &Report<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let pairs = published::pairs(report);
    if pairs.is_empty() {
        return Ok(());
    }
    let middle = if report.outcome.replications > 1 {
        " (the middle of all benchmarks)"
    } else {
        ""
    };
    writeln!(out, "\n{BOLD}Published beside simulated{BOLD:#}")?;
    let about = format!(
        "pub.: published; sim.: simulated{middle}; off: by how much; fits: what the published CV can be with no TTFT above {}",
        number::span(CAP_S)
    );
    for line in wrapped(&about, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    writeln!(out, "{}", table(report, &pairs, width))?;
    for line in within(report, &pairs)
        .iter()
        .flat_map(|line| wrapped(line, width))
    {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Whether many benchmarks would report what was published, in a sentence; `None` of a single one.
fn within(report: &Report<'_>, pairs: &[Pair<'_>]) -> Option<String> {
    let mut outside = Vec::new();
    for pair in pairs {
        let of = report.label(pair.row);
        outside.extend(
            pair.outside()?
                .into_iter()
                .map(|figure| format!("{figure} of {of}")),
        );
    }
    let cv = "the CV by a definition that it can follow";
    Some(if outside.is_empty() {
        format!(
            "Every published figure lies within what nine in ten such benchmarks report ({cv})."
        )
    } else {
        format!(
            "Outside of what nine in ten such benchmarks report ({cv}): {}.",
            outside.join(", ")
        )
    })
}

fn table(report: &Report<'_>, pairs: &[Pair<'_>], width: usize) -> String {
    let names: Vec<Names<'_>> = pairs
        .iter()
        .map(|pair| Names {
            provider: report.provider(pair.row),
            model: report.model(pair.row),
            session: report.session(pair.row),
        })
        .collect();
    let [wide, narrow] = [false, true].map(|narrow| {
        let mut columns = name_columns(&names, narrow);
        columns.extend(columns_of(pairs));
        if narrow { grid::sunk(columns) } else { columns }
    });
    grid::fitted(wide, narrow, width, 4)
}

fn columns_of(pairs: &[Pair<'_>]) -> Vec<Column> {
    let numbers = |head: &str, show: &dyn Fn(&Pair<'_>) -> String| {
        Column::numbers(head, pairs.iter().map(show).collect())
    };
    let off = |simulated: Option<f64>, published: f64| {
        text_or(deviation_percent(simulated, published), |off| {
            format!("{off:+.0}")
        })
    };
    let whole = |cv: Option<f64>| text_or(cv, |cv| format!("{cv:.0}"));
    let seconds = |value: Option<f64>| text_or(value, number::bare_seconds);
    let fits = pairs
        .iter()
        .map(|pair| pair.possible().to_owned())
        .collect();
    vec![
        numbers("median\npub. s", &|pair| {
            number::bare_seconds(pair.published.ttft_median_s)
        }),
        numbers("\nsim. s", &|pair| seconds(pair.median_s)),
        numbers("\noff %", &|pair| {
            off(pair.median_s, pair.published.ttft_median_s)
        })
        .rank(5),
        numbers("p95\npub. s", &|pair| {
            number::bare_seconds(pair.published.ttft_p95_s)
        }),
        numbers("\nsim. s", &|pair| seconds(pair.p95_s)),
        numbers("\noff %", &|pair| {
            off(pair.p95_s, pair.published.ttft_p95_s)
        })
        .rank(5),
        numbers("CV\npub. %", &|pair| whole(Some(pair.published.cv_percent))),
        numbers("std/\nmean %", &|pair| whole(pair.cv_percent)),
        numbers("\noff %", &|pair| {
            off(pair.cv_percent, pair.published.cv_percent)
        })
        .rank(6),
        numbers("std/\nmed %", &|pair| whole(pair.std_over_median_percent)),
        numbers("\noff %", &|pair| {
            off(pair.std_over_median_percent, pair.published.cv_percent)
        })
        .rank(6),
        Column::text("fits", fits),
    ]
}
