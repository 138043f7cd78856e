//! A page for a person.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Inspected, Inspection, laws, rows};
use crate::report::grid::{Column, fitted};
use crate::report::number::{self, NONE};
use crate::report::text::{BOLD, DIM, bullet, text_or, wrapped};
use crate::trace::{Lengths, Survey};

/// Left of what a line says \[characters\].
const MARGIN: usize = 12;
/// Signs for a rate from none to the highest.
const BARS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Models that are named.
const MODELS: usize = 5;

/// Writes a page for each file.
pub(super) fn write(
    inspection: &Inspection<'_>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (index, one) in inspection.files.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        page(one, width, out)?;
    }
    Ok(())
}

fn page(one: &Inspected, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let survey = &one.survey;
    writeln!(
        out,
        "{BOLD}{}{BOLD:#} {DIM}· {}{DIM:#}",
        one.file, one.format
    )?;
    for line in wrapped(&head(survey), width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\n{BOLD}Arrivals{BOLD:#}")?;
    for (name, text) in arrivals(survey, width.saturating_sub(MARGIN + 2)) {
        labelled(name, &text, width, out)?;
    }
    if survey.gaps.is_some() {
        writeln!(out, "\n{}", dispersion(survey, width))?;
    }
    if survey.prompt_tokens.is_some() || survey.output_tokens.is_some() {
        writeln!(out, "\n{BOLD}Lengths{BOLD:#} {DIM}[tokens]{DIM:#}")?;
        writeln!(out, "{}", lengths(survey, width))?;
    }
    if let Some(fits) = &one.fits {
        writeln!(out, "\n{BOLD}Laws of arrivals{BOLD:#}")?;
        writeln!(out, "{}\n", laws::table(one, fits, width))?;
        for line in laws::sentences(one, fits) {
            bullet(&line, width, out)?;
        }
    }
    if !survey.notes.is_empty() {
        writeln!(out)?;
    }
    for note in &survey.notes {
        bullet(note, width, out)?;
    }
    Ok(())
}

/// How many, how long, how many a second.
fn head(survey: &Survey) -> String {
    let mut head = format!(
        "{} in {}",
        number::counted(survey.rows, "request"),
        number::span(survey.span.as_secs())
    );
    if let Some(first) = rows::first(survey) {
        head.push_str(" from ");
        head.push_str(&first);
    }
    if let Some(rate) = survey.rate() {
        let _ = write!(
            head,
            ", {} a second on average",
            number::significant(rate, 3)
        );
    }
    head
}

/// Lines on arrivals, each with its name.
fn arrivals(survey: &Survey, room: usize) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(gaps) = &survey.gaps {
        let cv = text_or(gaps.cv.map(|cv| 100.0 * cv), number::percent);
        lines.push((
            "gaps",
            format!(
                "median {}, 99 % below {}, CV {cv}",
                number::seconds(gaps.median_s),
                number::seconds(gaps.p99_s)
            ),
        ));
    }
    if let Some(silence) = survey.silence {
        lines.push((
            "silence",
            format!(
                "{} at most, from {} on, ended by line {}",
                number::span(silence.length.as_secs()),
                number::span(silence.from.as_secs()),
                silence.line
            ),
        ));
    }
    let course: Vec<f64> = survey
        .course
        .counts
        .iter()
        .map(|count| *count as f64)
        .collect();
    if course.len() > 1 {
        let (bars, each) = sparkline(&course, room);
        let bin_s = survey.course.bin.as_secs() * each as f64;
        lines.push(("course", bars));
        lines.push(("", format!("{} a bar", number::span(bin_s))));
    }
    if let Some(daily) = survey.hours.daily() {
        lines.push(("by hour", peaks(&daily, |hour| format!("{hour}:00"))));
    }
    let weekly = survey.first_ns.and_then(|_| survey.hours.weekly());
    if let Some(weekly) = weekly {
        const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        lines.push(("by day", peaks(&weekly, |day| DAYS[day].to_owned())));
    }
    if !survey.models.is_empty() {
        lines.push(("models", models(survey)));
    }
    if survey.in_session > 0 {
        let share = 100.0 * survey.in_session as f64 / survey.rows as f64;
        lines.push((
            "sessions",
            format!("{} of the requests belong to one", number::percent(share)),
        ));
    }
    lines
}

/// A curve with its highest and its lowest.
fn peaks(rates: &[f64], name: impl Fn(usize) -> String) -> String {
    let (bars, _) = sparkline(rates, rates.len());
    let by_rate = |index: &usize| ordered(rates[*index]);
    let high = (0..rates.len()).max_by_key(by_rate).unwrap_or(0);
    let low = (0..rates.len()).min_by_key(by_rate).unwrap_or(0);
    format!(
        "{bars} {} most, {} least ({} and {} a second)",
        name(high),
        name(low),
        number::significant(rates[high], 3),
        number::significant(rates[low], 3)
    )
}

/// Rates in an order that is total: they are not negative.
fn ordered(rate: f64) -> u64 {
    rate.max(0.0).to_bits()
}

fn models(survey: &Survey) -> String {
    let named = survey.models.iter().take(MODELS).map(|(model, count)| {
        let share = 100.0 * *count as f64 / survey.rows as f64;
        format!("{model} {}", number::percent(share))
    });
    let named: Vec<String> = named.collect();
    match survey.models.len().saturating_sub(MODELS) {
        0 => named.join(", "),
        more => format!("{}, and {more} more", named.join(", ")),
    }
}

/// Bars for values, as many values in one as it takes to fit; and how many those are. Nothing is a dot.
fn sparkline(values: &[f64], room: usize) -> (String, usize) {
    let each = values.len().div_ceil(room.max(1)).max(1);
    let sums: Vec<f64> = values
        .chunks_exact(each)
        .map(|chunk| chunk.iter().sum())
        .collect();
    let most = sums.iter().copied().fold(0.0, f64::max);
    let bar = |sum: &f64| {
        let height = if most > 0.0 {
            (sum / most * 8.0).ceil()
        } else {
            0.0
        };
        BARS[(height as usize).min(8)]
    };
    (sums.iter().map(bar).collect(), each)
}

/// A table of the dispersion at each window.
fn dispersion(survey: &Survey, width: usize) -> String {
    let mut columns = vec![Column::text(
        "counts in windows of",
        vec!["variance over mean".to_owned(), "windows".to_owned()],
    )];
    for one in &survey.dispersion {
        let cells = vec![
            text_or(one.index, number::quantity),
            number::count(one.windows),
        ];
        columns.push(Column::numbers(&number::span(one.window_s as f64), cells));
    }
    fitted(columns.clone(), columns, width, 1)
}

/// A table of the quantiles of both lengths.
fn lengths(survey: &Survey, width: usize) -> String {
    let both: Vec<(&str, &Lengths)> = [
        ("prompt", &survey.prompt_tokens),
        ("output", &survey.output_tokens),
    ]
    .into_iter()
    .filter_map(|(name, lengths)| Some((name, lengths.as_ref()?)))
    .collect();
    let column = |head: &str, of: &dyn Fn(&Lengths) -> f64| {
        let cells = both
            .iter()
            .map(|(_, lengths)| number::count(of(lengths).round() as u64));
        Column::numbers(head, cells.collect())
    };
    let names = both.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut columns = vec![
        Column::text("", names),
        column("mean", &|lengths| lengths.mean),
    ];
    for (head, p) in [
        ("p5", 0.05),
        ("p25", 0.25),
        ("p50", 0.5),
        ("p75", 0.75),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
    ] {
        columns.push(column(head, &|lengths| lengths.quantile(p)));
    }
    columns.push(column("max", &|lengths| f64::from(lengths.max)));
    fitted(columns.clone(), columns, width, 1)
}

/// Cells of the row that stands for a file in Markdown.
pub(super) fn row(one: &Inspected) -> Vec<String> {
    let survey = &one.survey;
    let gaps = survey.gaps.as_ref();
    let minute = survey.dispersion.iter().find(|one| one.window_s == 60);
    let quantile = |lengths: &Option<Lengths>, p: f64| {
        let value = lengths.as_ref().map(|lengths| lengths.quantile(p));
        text_or(value, |tokens| number::count(tokens.round() as u64))
    };
    vec![
        one.file.clone(),
        number::count(survey.rows),
        number::span(survey.span.as_secs()),
        text_or(survey.rate(), |rate| {
            format!("{}/s", number::significant(rate, 3))
        }),
        text_or(
            gaps.and_then(|gaps| gaps.cv).map(|cv| 100.0 * cv),
            number::percent,
        ),
        survey.silence.map_or_else(
            || NONE.to_owned(),
            |silence| number::span(silence.length.as_secs()),
        ),
        text_or(minute.and_then(|one| one.index), number::quantity),
        quantile(&survey.prompt_tokens, 0.5),
        quantile(&survey.prompt_tokens, 0.95),
        quantile(&survey.output_tokens, 0.5),
        quantile(&survey.output_tokens, 0.95),
        one.fits
            .as_ref()
            .and_then(|fits| fits.laws.first())
            .map_or_else(|| NONE.to_owned(), |best| best.law.name().to_owned()),
    ]
}

/// A name, and a text beside it.
fn labelled(name: &str, text: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for (index, line) in wrapped(text, width.saturating_sub(MARGIN))
        .iter()
        .enumerate()
    {
        let name = if index == 0 { name } else { "" };
        writeln!(out, "{DIM}  {name:<10}{DIM:#}{line}")?;
    }
    Ok(())
}
