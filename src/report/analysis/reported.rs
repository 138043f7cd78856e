//! Whether figures that somebody reports can be, in every format.

use std::io::{self, Write};

use serde::Serialize;

use crate::measure::feasible::{Forced, Rounded};
use crate::measure::reported::{Answer, Reported};
use crate::report::grid::{self, Column};
use crate::report::markdown;
use crate::report::number::{self, NONE, seconds};
use crate::report::text::{BOLD, DIM, wrapped};
use crate::report::{Format, VERSION};
use crate::stats::CvDefinition;

/// The number of the layout of JSON.
const SCHEMA: u32 = 1;

/// Writes the answers.
pub fn write(
    reported: &Reported,
    format: Format,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let answers = reported.answers();
    match format {
        Format::Text => text(reported, &answers, width, out),
        Format::Json => {
            let results = Results::of(reported, &answers);
            serde_json::to_writer_pretty(&mut *out, &results).map_err(io::Error::from)?;
            writeln!(out)
        }
        Format::Csv => {
            let mut writer = csv::Writer::from_writer(out);
            for row in rows(&answers) {
                writer.serialize(row).map_err(io::Error::from)?;
            }
            writer.flush()
        }
        Format::Markdown => markdown(reported, &answers, out),
    }
}

/// The figures and what is assumed, in a line.
fn stated(reported: &Reported) -> String {
    let published = &reported.published;
    let printed = |one: Rounded, unit: &str| {
        let decimals = (-(2.0 * one.half_unit).log10()).round().max(0.0) as usize;
        format!("{:.decimals$} {unit}", one.value)
    };
    let mut parts = vec![
        format!("median {}", printed(published.median, "s")),
        format!("p95 {}", printed(published.p95, "s")),
        format!("CV {}", printed(published.cv_percent, "%")),
    ];
    parts.extend(reported.std.map(|std| format!("std {}", printed(std, "s"))));
    parts.push(match reported.n {
        Some(n) => format!("n {n}"),
        None => "n unknown".to_owned(),
    });
    let assumed = if reported.cap_s.is_some() {
        ""
    } else {
        " (assumed)"
    };
    parts.push(format!(
        "no TTFT above {}{assumed}",
        number::span(reported.cap_s())
    ));
    if reported.floor_s > 0.0 {
        parts.push(format!("none below {}", seconds(reported.floor_s)));
    }
    parts.join(", ")
}

fn text(
    reported: &Reported,
    answers: &[Answer; 2],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in wrapped(&stated(reported), width) {
        writeln!(out, "{BOLD}{line}{BOLD:#}")?;
    }
    writeln!(out)?;
    for answer in answers {
        for line in wrapped(&said(reported, answer), width) {
            writeln!(out, "{line}")?;
        }
    }
    let about = "Longest: how long the longest TTFT must have been at least. Fits: whether that is allowed.";
    writeln!(out)?;
    for line in wrapped(about, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    let columns = columns(answers);
    writeln!(out, "{}", grid::fitted(columns.clone(), columns, width, 1))
}

/// What the figures mean under a definition, in words.
fn said(reported: &Reported, answer: &Answer) -> String {
    let name = answer.definition.name();
    let cap = number::span(reported.cap_s());
    let fitting: Vec<usize> = answer
        .sizes
        .iter()
        .filter(|size| size.is_possible)
        .map(|size| size.n)
        .collect();
    let least = answer.smallest_n.map_or_else(
        || "no number of requests has such figures at all".to_owned(),
        |n| format!("{n} requests are the fewest that have such figures at all"),
    );
    let std = answer.divided_by.map_or(String::new(), |one| {
        let verdict = match (one.is_possible, answer.definition) {
            (true, _) => "which is allowed".to_owned(),
            (false, CvDefinition::StdOverMean) => format!(
                "and no mean is below {} at this median and p95",
                seconds(one.least_s)
            ),
            (false, CvDefinition::StdOverMedian) => "which is not the median".to_owned(),
        };
        format!(
            " The std over the CV gives {:.3}–{:.3} s, {verdict}.",
            one.low_s, one.high_s
        )
    });
    let forced = answer.sizes.iter().filter_map(|size| size.forced.seconds());
    let forced = forced.fold(f64::INFINITY, f64::min);
    let verdict = match fitting.as_slice() {
        [] if forced.is_finite() => format!(
            "cannot be: some TTFT must have been at least {}, longer than {cap}; {least}.",
            seconds(forced)
        ),
        [] => format!("cannot be: {least}."),
        [n] if answer.sizes.len() == 1 => format!("can be, with {n} requests; {least}."),
        [first, ..] if fitting.len() == answer.sizes.len() => {
            format!("can be, from {first} requests on; {least}.")
        }
        some => format!(
            "can be for n = {}; {least}.",
            some.iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    format!("As {name} it {verdict}{std}")
}

fn forced(forced: Forced) -> String {
    match forced {
        Forced::Impossible => "impossible".to_owned(),
        Forced::AtLeast(span) => number::bare_seconds(span),
    }
}

fn columns(answers: &[Answer; 2]) -> Vec<Column> {
    let [first, _] = answers;
    let mut columns = vec![Column::numbers(
        "n",
        first.sizes.iter().map(|size| size.n.to_string()).collect(),
    )];
    for answer in answers {
        let name = answer.definition.name();
        let longest = answer.sizes.iter().map(|size| forced(size.forced));
        let fits = answer.sizes.iter().map(|size| yes_or_no(size.is_possible));
        columns.push(Column::numbers(
            &format!("{name}\nlongest s"),
            longest.collect(),
        ));
        columns.push(Column::text("\nfits", fits.collect()));
    }
    columns
}

fn yes_or_no(is_true: bool) -> String {
    if is_true { "yes" } else { "no" }.to_owned()
}

fn markdown(reported: &Reported, answers: &[Answer; 2], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "**{}**\n", stated(reported))?;
    for answer in answers {
        writeln!(out, "- {}", said(reported, answer))?;
    }
    writeln!(out)?;
    let heads = ["n", "definition", "longest TTFT at least", "fits"];
    markdown::header(&heads, 0, out)?;
    for row in rows(answers) {
        let longest = row.forced_max_s.map_or_else(|| NONE.to_owned(), seconds);
        let fits = yes_or_no(row.is_possible);
        let (n, definition) = (row.requests.to_string(), row.cv_definition.to_owned());
        markdown::line(&[n, definition, longest, fits], out)?;
    }
    writeln!(out, "\nthermocline {VERSION}")
}

#[derive(Debug, Serialize)]
struct Results {
    schema: u32,
    kind: &'static str,
    version: &'static str,
    ttft_median_s: f64,
    ttft_p95_s: f64,
    cv_percent: f64,
    ttft_std_s: Option<f64>,
    requests: Option<usize>,
    cap_s: f64,
    floor_s: f64,
    definitions: Vec<DefinitionRow>,
    sizes: Vec<SizeRow>,
}

#[derive(Debug, Serialize)]
struct DefinitionRow {
    cv_definition: &'static str,
    is_possible: bool,
    smallest_requests: Option<usize>,
    std_over_cv_low_s: Option<f64>,
    std_over_cv_high_s: Option<f64>,
    std_over_cv_is_possible: Option<bool>,
}

#[derive(Debug, Serialize)]
struct SizeRow {
    requests: usize,
    cv_definition: &'static str,
    /// `null` where no requests of this number have the figures, however long the longest.
    forced_max_s: Option<f64>,
    is_possible: bool,
}

impl Results {
    fn of(reported: &Reported, answers: &[Answer; 2]) -> Self {
        let published = &reported.published;
        let definition = |answer: &Answer| DefinitionRow {
            cv_definition: answer.definition.name(),
            is_possible: answer.is_possible(),
            smallest_requests: answer.smallest_n,
            std_over_cv_low_s: answer.divided_by.map(|one| one.low_s),
            std_over_cv_high_s: answer.divided_by.map(|one| one.high_s),
            std_over_cv_is_possible: answer.divided_by.map(|one| one.is_possible),
        };
        Self {
            schema: SCHEMA,
            kind: "reported",
            version: VERSION,
            ttft_median_s: published.median.value,
            ttft_p95_s: published.p95.value,
            cv_percent: published.cv_percent.value,
            ttft_std_s: reported.std.map(|std| std.value),
            requests: reported.n,
            cap_s: reported.cap_s(),
            floor_s: reported.floor_s,
            definitions: answers.iter().map(definition).collect(),
            sizes: rows(answers),
        }
    }
}

fn rows(answers: &[Answer; 2]) -> Vec<SizeRow> {
    let rows = answers.iter().flat_map(|answer| {
        answer.sizes.iter().map(|size| SizeRow {
            requests: size.n,
            cv_definition: answer.definition.name(),
            forced_max_s: size.forced.seconds(),
            is_possible: size.is_possible,
        })
    });
    rows.collect()
}
