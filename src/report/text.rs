//! Results for people: a table, the requests themselves, what the median hides, what really happened, what to beware of.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::Color;

use super::account::{self, Account};
use super::grid::{self, Column};
use super::number::{self, NONE};
use super::{Report, sentence, strip, words};
use crate::experiment::Plan;
use crate::experiment::repeat::Row;
use crate::measure::summary::{AwareQuantile, Ttft};
use crate::measure::verdict::Verdict;
use crate::stats::Interval;

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
const ALARM: Style = AnsiColor::BrightRed.on_default().bold();
/// So many rows have their requests drawn.
const STRIPS: usize = 3;
/// So many deployments have an account of their own.
const ACCOUNTS: usize = 12;

/// Writes the whole report.
pub(super) fn write(report: &Report<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    heading(report, width, out)?;
    if report.plan.benchmark.requests > 0 && !report.outcome.rows.is_empty() {
        writeln!(out, "{}", benchmarks(report, width))?;
        strips(report, width, out)?;
    } else {
        writeln!(
            out,
            "No benchmark was made; what follows is what all users met."
        )?;
    }
    super::text_spread::write(report, width, out)?;
    super::text_published::write(report, width, out)?;
    fleet(report, width, out)?;
    warnings(report, width, out)
}

/// Title, what was sent and how it is counted, and failures before anything else.
fn heading(report: &Report<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let plan = report.plan;
    writeln!(out, "{BOLD}{}{BOLD:#}", plan.title)?;
    let facts = format!(
        "{} · seed {} · percentiles {} · verdict by {}",
        sent(plan),
        plan.seed,
        plan.percentile,
        report.definition
    );
    for line in wrapped(&facts, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    let rows = &report.outcome.rows;
    let requests: usize = rows.iter().map(|row| row.summary.requests).sum();
    let answered: usize = rows.iter().map(|row| row.summary.succeeded).sum();
    if answered < requests {
        let share = number::percent(100.0 * (requests - answered) as f64 / requests as f64);
        let missing = requests - answered;
        writeln!(
            out,
            "{ALARM}{share} of the benchmark's requests got no answer ({missing} of {requests}){ALARM:#}"
        )?;
    }
    writeln!(out)
}

/// What the benchmark sends, in words.
fn sent(plan: &Plan) -> String {
    let benchmark = &plan.benchmark;
    if benchmark.requests == 0 {
        return "no benchmark".to_owned();
    }
    let spread = words::spread(&benchmark.gaps);
    let mut counts: Vec<u32> = plan
        .sessions
        .iter()
        .map(|session| session.requests)
        .collect();
    counts.dedup();
    let requests = match counts.as_slice() {
        [one] => number::counted((*one).into(), "request"),
        several => {
            let several: Vec<String> = several.iter().map(u32::to_string).collect();
            format!("{} requests", several.join(" or "))
        }
    };
    format!("{requests} {spread}{}", words::discarded(benchmark.discard))
}

/// Text in lines of at most `width` characters, broken at spaces.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// The table of what the benchmark reports.
fn benchmarks(report: &Report<'_>, width: usize) -> String {
    let rows = &report.outcome.rows;
    let names = |row: &Row| Names {
        provider: report.provider(row),
        model: report.model(row),
        session: report.session(row),
    };
    let names: Vec<Names<'_>> = rows.iter().map(names).collect();
    let [wide, narrow] = [false, true].map(|narrow| {
        let mut columns = name_columns(&names, narrow);
        columns.extend(count_columns(rows, narrow));
        columns.extend(figure_columns(rows, narrow));
        columns.extend(failure_columns(report, narrow));
        columns.push(verdict_column(rows, narrow));
        if narrow { grid::sunk(columns) } else { columns }
    });
    grid::fitted(wide, narrow, width, 3)
}

/// What a row of a table is about.
pub(super) struct Names<'a> {
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) session: &'a str,
}

/// Columns that name the rows: three, or one tree of names where there is little room.
pub(super) fn name_columns(names: &[Names<'_>], narrow: bool) -> Vec<Column> {
    let one_session = names
        .windows(2)
        .all(|pair| pair[0].session == pair[1].session);
    if narrow {
        let head = if one_session {
            "provider\n  model"
        } else {
            "provider\n  model\n    session"
        };
        return vec![Column::text(head, tree(names, one_session))];
    }
    let all = |pick: fn(&Names<'_>) -> String| names.iter().map(pick).collect::<Vec<String>>();
    let session = Column::text("session", all(|one| one.session.to_owned()));
    vec![
        Column::text("provider", all(|one| one.provider.to_owned())),
        Column::text("model", all(|one| one.model.to_owned())),
        session.rank(if one_session { 3 } else { 0 }),
    ]
}

/// Names one below the other, further in; what the row above has said already is not said again.
fn tree(names: &[Names<'_>], one_session: bool) -> Vec<String> {
    let mut cells = Vec::new();
    let mut before: Option<&Names<'_>> = None;
    for one in names {
        let same_provider = before.is_some_and(|last| last.provider == one.provider);
        let same_model = same_provider && before.is_some_and(|last| last.model == one.model);
        let mut lines = Vec::new();
        if !same_provider {
            lines.push(one.provider.to_owned());
        }
        if !same_model || one_session {
            lines.push(format!("  {}", one.model));
        }
        if !one_session {
            lines.push(format!("    {}", one.session));
        }
        cells.push(lines.join("\n"));
        before = Some(one);
    }
    cells
}

/// The figures, each with its unit in its head.
fn figure_columns(rows: &[Row], narrow: bool) -> Vec<Column> {
    let seconds = |head: &str, pick: fn(&Ttft) -> Option<f64>| {
        let cell = |row: &Row| {
            text_or(
                row.summary.ttft.as_ref().and_then(pick),
                number::bare_seconds,
            )
        };
        Column::numbers(head, rows.iter().map(cell).collect())
    };
    let percents = |head: &str, pick: fn(&Ttft) -> Option<f64>| {
        let cell = |row: &Row| {
            text_or(row.summary.ttft.as_ref().and_then(pick), |cv| {
                format!("{cv:.0}")
            })
        };
        Column::numbers(head, rows.iter().map(cell).collect())
    };
    let interval = |head: &str, pick: fn(&Ttft) -> Option<Interval>| {
        let cell = |row: &Row| {
            let found = row.summary.ttft.as_ref().and_then(pick);
            found.map_or_else(|| NONE.to_owned(), number::interval)
        };
        Column::text(head, rows.iter().map(cell).collect()).rank(7)
    };
    let cold = |row: &Row| {
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

/// Whether some request of these rows got no answer.
fn has_failures(rows: &[Row]) -> bool {
    rows.iter()
        .any(|row| row.summary.succeeded < row.summary.requests)
}

/// How many requests there are, and how many were answered where the two differ.
fn count_columns(rows: &[Row], narrow: bool) -> Vec<Column> {
    let has_failures = has_failures(rows);
    let show = |row: &Row| match &row.summary {
        summary if has_failures && narrow => format!("{}/{}", summary.succeeded, summary.requests),
        summary => summary.requests.to_string(),
    };
    let head = if has_failures && narrow { "ok/n" } else { "n" };
    vec![Column::numbers(head, rows.iter().map(show).collect())]
}

/// Failures beside the figures of the successes, where there are any.
fn failure_columns(report: &Report<'_>, narrow: bool) -> Vec<Column> {
    let rows = &report.outcome.rows;
    if !has_failures(rows) {
        return Vec::new();
    }
    let rate = |row: &Row| text_or(row.summary.failure_percent, number::bare_percent);
    let beyond = report.plan.benchmark.timeout.map_or_else(
        || "∞".to_owned(),
        |timeout| format!(">{}", number::bare_seconds(timeout.as_secs())),
    );
    let aware = |row: &Row| match row.summary.aware_p95 {
        None => NONE.to_owned(),
        Some(AwareQuantile::Unbounded) => beyond.clone(),
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

fn verdict_column(rows: &[Row], narrow: bool) -> Column {
    let name = |row: &Row| match row.verdict {
        Verdict::NotProductionReady if narrow => "not-production-\nready".to_owned(),
        verdict => verdict.name().to_owned(),
    };
    let colours = rows.iter().map(|row| colour(row.verdict)).collect();
    Column::text("verdict", rows.iter().map(name).collect()).coloured(colours)
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

/// A figure as text, or the sign for none.
pub(super) fn text_or(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value
        .filter(|value| value.is_finite())
        .map_or_else(|| NONE.to_owned(), show)
}

/// The requests of the rows whose median hides most, and what it hides.
fn strips(report: &Report<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let rows = &report.outcome.rows;
    let mut order: Vec<usize> = (0..rows.len()).collect();
    writeln!(out)?;
    let marks = strip::legend(has_failures(rows));
    writeln!(out, "{BOLD}The requests in time order{BOLD:#}   {marks}")?;
    let weight = |index: usize| sentence::weight(&rows[index].summary);
    order.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
    order.truncate(STRIPS);
    order.sort_unstable();
    if order.len() < rows.len() {
        writeln!(
            out,
            "{DIM}of the {} of {} rows whose median hides most{DIM:#}",
            order.len(),
            rows.len()
        )?;
    }
    for index in order {
        let row = &rows[index];
        writeln!(out)?;
        if rows.len() > 1 {
            writeln!(out, "{BOLD}{}{BOLD:#}", report.label(row))?;
        }
        strip::draw(report.outcome.measured(row, report.plan), width, out)?;
        writeln!(out)?;
        for line in wrapped(&sentence::hidden(&row.summary), width) {
            writeln!(out, "{BOLD}{line}{BOLD:#}")?;
        }
    }
    Ok(())
}

/// What all users met and what it cost.
fn fleet(report: &Report<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut accounts = account::of_deployments(report);
    let sums = account::of_providers(&accounts);
    let all = accounts.len();
    if all > ACCOUNTS {
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(accounts[index].ledger.arrived));
        order.truncate(ACCOUNTS);
        order.sort_unstable();
        accounts = order
            .into_iter()
            .map(|index| accounts[index].clone())
            .collect();
    }
    writeln!(out, "\n{BOLD}What really happened{BOLD:#}")?;
    let windows = accounts.iter().map(|one| one.ledger.window.as_secs());
    let window = number::span(windows.fold(0.0, f64::max));
    let mut about = format!("all users, at the provider's door, in the {window} measured");
    if all > ACCOUNTS {
        about = format!(
            "{about}; the {ACCOUNTS} of {all} deployments with most requests, and all together"
        );
    }
    for line in wrapped(&about, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    accounts.extend(sums);
    writeln!(out, "{}", account_table(report, &accounts, width))
}

fn account_table(report: &Report<'_>, accounts: &[Account], width: usize) -> String {
    let name = |one: &Account| {
        let provider = &report.plan.providers[one.provider];
        let deployments = &provider.fleet.deployments;
        (
            provider.name.clone(),
            one.deployment.map_or_else(
                || format!("all {}", deployments.len()),
                |index| deployments[index].name.clone(),
            ),
            report.plan.sessions[one.session].name.clone(),
        )
    };
    let owned: Vec<(String, String, String)> = accounts.iter().map(name).collect();
    let names: Vec<Names<'_>> = owned
        .iter()
        .map(|(provider, model, session)| Names {
            provider,
            model,
            session,
        })
        .collect();
    let [wide, narrow] = [false, true].map(|narrow| {
        let mut columns = name_columns(&names, narrow);
        columns.extend(account_columns(accounts));
        if narrow { grid::sunk(columns) } else { columns }
    });
    grid::fitted(wide, narrow, width, 3)
}

fn account_columns(accounts: &[Account]) -> Vec<Column> {
    let numbers = |head: &str, show: fn(&Account) -> String| {
        Column::numbers(head, accounts.iter().map(show).collect())
    };
    let mut columns = vec![
        numbers("requests", |one| number::count(one.ledger.arrived)),
        numbers("cold\n%", |one| {
            text_or(one.cold_percent(), number::bare_percent)
        }),
        numbers("p50\ns", |one| {
            text_or(one.ttft_s(0.5), number::bare_seconds)
        }),
        numbers("p95\ns", |one| {
            text_or(one.ttft_s(0.95), number::bare_seconds)
        }),
        numbers("p99\ns", |one| {
            text_or(one.ttft_s(0.99), number::bare_seconds)
        }),
        numbers("max\ns", |one| {
            text_or(one.ttft_s(1.0), number::bare_seconds)
        })
        .rank(5),
        numbers("starts", |one| number::count(one.cold_starts())),
        numbers("evicted", |one| number::count(one.ledger.evictions)).rank(4),
        numbers("GPU\nh", |one| {
            number::quantity(one.ledger.gpu_hours().iter().sum())
        }),
        numbers("idle\n%", |one| {
            text_or(one.idle_percent(), number::bare_percent)
        }),
        numbers("cost\nUSD", |one| number::quantity(one.ledger.cost_usd())),
    ];
    if accounts.iter().any(|one| one.unanswered() > 0) {
        columns.insert(
            1,
            numbers("no\nanswer", |one| number::count(one.unanswered())),
        );
    }
    columns
}

/// What to beware of, each warning once, with the rows that it concerns.
fn warnings(report: &Report<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let rows = &report.outcome.rows;
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        for warning in row.summary.warnings.iter().map(ToString::to_string) {
            match found.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, labels)) => labels.push(report.label(row)),
                None => found.push((warning, vec![report.label(row)])),
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}Beware{BOLD:#}")?;
    for (warning, labels) in found {
        let whose = match labels.as_slice() {
            _ if labels.len() == rows.len() => String::new(),
            [one] => format!(" ({one})"),
            [first, rest @ ..] => format!(" ({first}, and {} more)", rest.len()),
            [] => String::new(),
        };
        for (index, line) in wrapped(&format!("{warning}{whose}"), width.saturating_sub(2))
            .iter()
            .enumerate()
        {
            let bullet = if index == 0 { "-" } else { " " };
            writeln!(out, "{bullet} {line}")?;
        }
    }
    Ok(())
}
