//! Findings for people: what the files are, the table, the requests themselves, what they fall into, and what to beware of.

use std::io::{self, Write};

use super::{Findings, Found};
use crate::import::{Imported, Missing, Stated};
use crate::measure::censored::{Censored, CensoredQuantile};
use crate::measure::split::{Kinds, Split};
use crate::measure::summary::{COLD_NEEDED, CONFIDENCE};
use crate::report::figures::{self, has_failures};
use crate::report::grid::{self, Column};
use crate::report::number::{self, counted, percent, range, seconds};
use crate::report::text::{BOLD, DIM, Names, beware, bullet, name_columns, text_or, wrapped};
use crate::report::{VERSION, sentence, strip};
use crate::stats::needed_to_see;
use crate::time::Duration;

/// So many series have their requests drawn.
const STRIPS: usize = 6;

/// So many series have their hours listed; JSON has all.
const HOURS: usize = 3;

/// Writes the whole report.
pub(super) fn write(findings: &Findings<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for file in findings.files {
        heading(file, width, out)?;
    }
    different_definitions(findings, width, out)?;
    if !findings.found.is_empty() {
        let table = figures::table(&findings.lines(), "∞", width);
        writeln!(out, "\n{table}")?;
    }
    stated(findings, width, out)?;
    requests(findings, width, out)?;
    hours(findings, width, out)?;
    pairs(findings, width, out)?;
    needed(findings, width, out)?;
    warnings(findings, width, out)?;
    let method = findings.settings.method;
    let foot = format!(
        "thermocline {VERSION} · percentiles {} · verdict by {} · intervals for {:.0} % · seed {}",
        method.percentile,
        method.definition,
        100.0 * CONFIDENCE,
        findings.settings.seed
    );
    writeln!(out)?;
    paragraph(&format!("{DIM}{foot}{DIM:#}"), width, out)
}

fn paragraph(text: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for line in wrapped(text, width) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// What a file is, what it means by TTFT, and what it lacks.
fn heading(file: &Imported, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut about = vec![match &file.version {
        Some(version) => format!("{} {version}", file.tool),
        None => file.tool.to_string(),
    }];
    let requests: usize = file.series.iter().map(|series| series.rows.len()).sum();
    if requests > 0 {
        about.push(counted(requests as u64, "request"));
    }
    if file.discarded > 0 {
        let dropped = counted(file.discarded as u64, "request");
        about.push(format!("{dropped} of the warm-up dropped"));
    }
    writeln!(out, "{BOLD}{}{BOLD:#}", file.file)?;
    let mut facts = vec![about.join(" · ")];
    facts.push(format!("TTFT from {}", file.tool.definition()));
    facts.extend(file.missing.iter().map(Missing::to_string));
    facts.extend(file.notes.iter().cloned());
    for fact in facts {
        for line in wrapped(&fact, width.saturating_sub(2)) {
            writeln!(out, "  {DIM}{line}{DIM:#}")?;
        }
    }
    Ok(())
}

/// Says so when files mean different things by TTFT.
fn different_definitions(
    findings: &Findings<'_>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut definitions = findings.files.iter().map(|file| file.tool.definition());
    let Some(first) = definitions.next() else {
        return Ok(());
    };
    if definitions.all(|other| other == first) {
        return Ok(());
    }
    writeln!(out)?;
    let text = "These files mean different things by TTFT: their figures cannot be compared as they stand.";
    paragraph(&format!("{BOLD}{text}{BOLD:#}"), width, out)
}

/// Figures that files state without the requests behind them.
fn stated(findings: &Findings<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    if findings.stated.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}As stated in the files{BOLD:#}")?;
    let names: Vec<Names<'_>> = findings
        .stated
        .iter()
        .map(|(name, _)| name.names())
        .collect();
    let [wide, narrow] = [false, true].map(|narrow| {
        let mut columns = name_columns(&names, narrow);
        columns.extend(stated_columns(findings));
        if narrow { grid::sunk(columns) } else { columns }
    });
    writeln!(out, "{}", grid::fitted(wide, narrow, width, 3))
}

fn stated_columns(findings: &Findings<'_>) -> Vec<Column> {
    let numbers = |head: &str, show: &dyn Fn(&Stated) -> String| {
        let cells = findings.stated.iter().map(|(_, stated)| show(stated));
        Column::numbers(head, cells.collect())
    };
    let count = |count: Option<u64>| count.map_or_else(|| number::NONE.to_owned(), number::count);
    let span = |value: Option<f64>| text_or(value, number::bare_seconds);
    let whole = |value: Option<f64>| text_or(value, |value| format!("{value:.0}"));
    vec![
        numbers("ok", &|one| count(one.succeeded)),
        numbers("failed", &|one| count(one.failed)).rank(2),
        numbers("median\ns", &|one| span(one.median_s)),
        numbers("p95\ns", &|one| span(one.p95_s)),
        numbers("max\ns", &|one| span(one.max_s)).rank(5),
        numbers("mean\ns", &|one| span(one.mean_s)).rank(4),
        numbers("std\ns", &|one| span(one.std_s)).rank(3),
        numbers("std/\nmean %", &|one| whole(one.cv_percent())),
        numbers("std/\nmedian %", &|one| {
            whole(one.std_over_median_percent())
        }),
    ]
}

/// The requests of the first series in time order, and what they fall into.
fn requests(findings: &Findings<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let series = || findings.found.iter().filter(|one| one.file.is_some());
    let has_lost = series().any(|one| has_failures(&one.analysis.summary));
    for (index, found) in series().enumerate() {
        writeln!(out)?;
        if index == 0 {
            let knows = series().all(|one| one.analysis.summary.cold.is_some());
            let cold = if knows {
                "met a cold start"
            } else {
                "looks cold"
            };
            writeln!(
                out,
                "{BOLD}The requests in order{BOLD:#}   {}\n",
                strip::legend(cold, has_lost)
            )?;
        }
        writeln!(out, "{BOLD}{}{BOLD:#}", findings.label(found))?;
        if index < STRIPS {
            picture(found, width, out)?;
        }
        said(found, width, out)?;
    }
    Ok(())
}

fn picture(found: &Found, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let rows = &found.series.rows;
    let seen: Vec<strip::Seen> = rows
        .iter()
        .map(|row| {
            let ttft = row.seen.ttft().filter(|_| row.seen.succeeded());
            (ttft.map(Duration::as_secs), found.analysis.is_cold(row))
        })
        .collect();
    let ends = rows.first().zip(rows.last());
    let lasted = ends
        .filter(|(first, _)| first.is_timed)
        .map(|(first, last)| last.seen.sent().saturating_since(first.seen.sent()));
    strip::draw(&seen, lasted.map(Duration::as_secs), width, out)
}

/// Everything that is said of a series in words.
fn said(found: &Found, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let analysis = &found.analysis;
    paragraph(&sentence::hidden(&analysis.summary), width, out)?;
    let mut facts = Vec::new();
    facts.extend(sureness(found));
    facts.extend(analysis.split.as_ref().map(split));
    facts.extend(analysis.censored.as_ref().map(censored));
    facts.extend(analysis.detections.iter().map(ToString::to_string));
    for fact in facts {
        bullet(&fact, width, out)?;
    }
    Ok(())
}

/// The verdict with its probability.
fn sureness(found: &Found) -> Option<String> {
    let classes = found.analysis.classes.as_ref()?;
    let shares = classes.ranked().into_iter();
    let shares: Vec<String> = shares
        .map(|(verdict, share)| format!("{verdict} {:.0} %", 100.0 * share))
        .collect();
    let shares = shares.join(", ");
    let head = match classes.decided() {
        Some(_) => format!("verdict {shares} of resamples"),
        None => format!("verdict undecided: {shares} of resamples"),
    };
    let caution = match found.analysis.cold_requests() {
        Some(cold) if cold >= COLD_NEEDED => String::new(),
        _ => format!(
            "; a hint only, since with fewer than {COLD_NEEDED} cold starts no interval of a CV keeps its promise"
        ),
    };
    Some(format!("{head}{caution}"))
}

fn split(split: &Split) -> String {
    let sure = |second: f64| match second {
        second if second > 0.999 => "over 99.9 %".to_owned(),
        second => format!("{:.0} %", 100.0 * second),
    };
    match split {
        Split::One { .. } => {
            "one kind of requests: its own spread, or a long tail, explains the slow ones"
                .to_owned()
        }
        Split::TooFew => "too few answers to tell quick from slow ones".to_owned(),
        Split::Two { second, kinds } => format!(
            "two kinds of requests (probability {}): {}",
            sure(*second),
            described(kinds)
        ),
        Split::CannotTell { second, kinds } => format!(
            "cannot tell whether there is a second kind of requests (probability {}); if so: {}",
            sure(*second),
            described(kinds)
        ),
    }
}

fn described(kinds: &Kinds) -> String {
    let verb = if kinds.cold == 1 { "looks" } else { "look" };
    let share = kinds.share.interval.map_or(String::new(), |share| {
        format!(
            " ({} to {} of all)",
            percent(100.0 * share.low),
            percent(100.0 * share.high)
        )
    });
    format!(
        "{} {verb} cold{share}, {}, {} in the middle; the others have a median of {} and a p95 of {}",
        counted(kinds.cold as u64, "request"),
        range(kinds.cold_min_s, kinds.cold_max_s),
        seconds(kinds.cold_median_s),
        seconds(kinds.warm_median_s),
        seconds(kinds.warm_p95_s)
    )
}

fn censored(censored: &Censored) -> String {
    let quantile = |quantile: CensoredQuantile| match quantile {
        CensoredQuantile::Seconds(span) => seconds(span),
        CensoredQuantile::Beyond => format!("over {}", seconds(censored.limit_s)),
    };
    let cv = censored
        .cv_at_least_percent
        .map_or(String::new(), |cv| format!(", CV at least {}", percent(cv)));
    format!(
        "with {} counted as longer than {}: median {}, p95 {}, mean at least {}{cv} (Kaplan-Meier)",
        counted(censored.timed_out as u64, "time-out"),
        seconds(censored.limit_s),
        quantile(censored.median),
        quantile(censored.p95),
        seconds(censored.mean_at_least_s)
    )
}

/// Requests by hour of the day.
fn hours(findings: &Findings<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let with_hours = findings.found.iter();
    let with_hours = with_hours.filter(|found| !found.analysis.hours.is_empty());
    for found in with_hours.take(HOURS) {
        let hours = &found.analysis.hours;
        writeln!(
            out,
            "\n{BOLD}By hour of the day ({}): {}{BOLD:#}",
            findings.settings.zone,
            findings.label(found)
        )?;
        let span = |value: Option<f64>| text_or(value, number::bare_seconds);
        let columns = vec![
            Column::text(
                "hour",
                hours.iter().map(|one| format!("{:02}", one.hour)).collect(),
            ),
            Column::numbers(
                "n",
                hours.iter().map(|one| one.requests.to_string()).collect(),
            ),
            Column::numbers(
                "ok",
                hours.iter().map(|one| one.succeeded.to_string()).collect(),
            ),
            Column::numbers(
                "median s",
                hours.iter().map(|one| span(one.median_s)).collect(),
            ),
            Column::numbers("max s", hours.iter().map(|one| span(one.max_s)).collect()),
        ];
        writeln!(out, "{}", grid::fitted(columns.clone(), columns, width, 1))?;
    }
    Ok(())
}

/// Series side by side.
fn pairs(findings: &Findings<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    if findings.pairs.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}Side by side{BOLD:#}")?;
    let about = "probability that the first is quicker, requests without an answer counted as longer than everything";
    paragraph(&format!("{DIM}{about}{DIM:#}"), width, out)?;
    let all = |show: &dyn Fn(&super::Pair) -> String| findings.pairs.iter().map(show).collect();
    let share = |share: f64| format!("{:.0}", 100.0 * share);
    let columns = vec![
        Column::text("first", all(&|pair| findings.label_of(pair.first))),
        Column::text("second", all(&|pair| findings.label_of(pair.second))),
        Column::numbers("median\n%", all(&|pair| share(pair.comparison.median))),
        Column::numbers("p95\n%", all(&|pair| share(pair.comparison.p95))),
        Column::numbers("a request\n%", all(&|pair| share(pair.comparison.request))),
    ];
    writeln!(out, "{}", grid::fitted(columns.clone(), columns, width, 1))
}

/// How many requests show a cold start.
fn needed(findings: &Findings<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let most = findings
        .found
        .iter()
        .map(|one| one.analysis.summary.requests)
        .max();
    let Some(made) = most.filter(|made| *made > 0) else {
        return Ok(());
    };
    let shares = findings.shares().into_iter().map(|share| {
        let needed = needed_to_see(share, CONFIDENCE);
        let more = match needed.saturating_sub(made) {
            0 => "no more than here".to_owned(),
            more => format!("{more} more than here"),
        };
        format!("{needed} ({more}) if {} are cold", percent(100.0 * share))
    });
    let text = format!(
        "Requests that meet a cold start at least once, with {:.0} %: {}.",
        100.0 * CONFIDENCE,
        shares.collect::<Vec<_>>().join(", ")
    );
    writeln!(out)?;
    paragraph(&text, width, out)
}

/// What to beware of, each warning once, with the series that it concerns.
fn warnings(findings: &Findings<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let all = findings.found.iter().map(|found| {
        let warnings = found.analysis.summary.warnings.iter();
        let warnings = warnings.map(ToString::to_string).collect();
        (findings.label(found), warnings)
    });
    beware(&all.collect::<Vec<_>>(), width, out)
}
