//! Results for people: a table, the requests themselves, what the median hides, what really happened, what to beware of.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::account::{self, Account};
use super::figures::{self, Line, has_failures};
use super::grid::{self, Column};
use super::number::{self, NONE};
use super::{Report, sentence, strip, words};
use super::{allotment, costs};
use crate::experiment::{Part, Plan};

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
    let rows = &report.outcome.rows;
    let lines: Vec<Line<'_>> = rows.iter().map(|row| report.line(row)).collect();
    if report.plan.benchmark.requests > 0 && !report.outcome.rows.is_empty() {
        writeln!(out, "{}", figures::table(&lines, &beyond(report), width))?;
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
    allotment::write(report, width, out)?;
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
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
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

/// What stands for a quantile that falls among requests without an answer.
fn beyond(report: &Report<'_>) -> String {
    report.plan.benchmark.timeout.map_or_else(
        || "∞".to_owned(),
        |timeout| format!(">{}", number::bare_seconds(timeout.as_secs())),
    )
}

/// What a row of a table is about.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) session: &'a str,
}

/// Columns that name the rows: up to three, or one tree of names where there is little room. What no row names has none.
pub(super) fn name_columns(names: &[Names<'_>], narrow: bool) -> Vec<Column> {
    let one_session = names
        .windows(2)
        .all(|pair| pair[0].session == pair[1].session);
    let has_models = names.iter().any(|one| !one.model.is_empty());
    let has_sessions = names.iter().any(|one| !one.session.is_empty());
    if narrow {
        let head = match (has_models, one_session) {
            (false, true) => "provider",
            (true, true) => "provider\n  model",
            (_, false) => "provider\n  model\n    session",
        };
        return vec![Column::text(head, tree(names, one_session))];
    }
    let all = |pick: fn(&Names<'_>) -> String| names.iter().map(pick).collect::<Vec<String>>();
    let mut columns = vec![Column::text("provider", all(|one| one.provider.to_owned()))];
    if has_models {
        columns.push(Column::text("model", all(|one| one.model.to_owned())));
    }
    if has_sessions {
        let session = Column::text("session", all(|one| one.session.to_owned()));
        columns.push(session.rank(if one_session { 3 } else { 0 }));
    }
    columns
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
        if (!same_model || one_session) && !one.model.is_empty() {
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
    let marks = strip::legend(
        "met a cold start",
        rows.iter().any(|row| has_failures(&row.summary)),
    );
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
        let (seen, lasted) = strip::of_measured(report.outcome.measured(row, report.plan));
        strip::draw(&seen, Some(lasted), width, out)?;
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
    let tiers = account::of_tiers(report, &accounts);
    let sums = account::of_providers(&accounts);
    let all = accounts.len();
    if !tiers.is_empty() {
        accounts.retain(|one| has_own_account(report, one));
    }
    let left = accounts.len();
    if left > ACCOUNTS {
        let mut order: Vec<usize> = (0..left).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(accounts[index].ledger.arrived));
        order.truncate(ACCOUNTS);
        order.sort_unstable();
        accounts = order
            .into_iter()
            .map(|index| accounts[index].clone())
            .collect();
    }
    writeln!(out, "\n{BOLD}What really happened{BOLD:#}")?;
    let windows = sums.iter().chain(&accounts);
    let window = windows.map(|one| one.ledger.window.as_secs());
    let window = number::span(window.fold(0.0, f64::max));
    let mut about = format!("all users, at the provider's door, in the {window} measured");
    let shown = accounts.len();
    if left > ACCOUNTS {
        about = format!("{about}; the {shown} of {all} deployments with most requests");
    }
    about += match (tiers.is_empty(), left > ACCOUNTS) {
        (true, true) => ", and all together",
        (true, false) => "",
        (false, _) => "; catalogues by popularity, with how many models are in a tier",
    };
    for line in wrapped(&about, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    let has_tiers = !tiers.is_empty();
    accounts.extend(tiers);
    accounts.extend(sums);
    if has_tiers {
        // A provider's own rows, then its tiers, then its sum.
        accounts.sort_by_key(|one| one.provider);
    }
    writeln!(out, "{}", account_table(report, &accounts, width))?;
    costs::write(report, &accounts, width, out)
}

/// Models of a catalogue are in their tier's account, and have one of their own only where they are measured.
fn has_own_account(report: &Report<'_>, account: &Account) -> bool {
    let Part::Deployment(deployment) = account.part else {
        return true;
    };
    let provider = &report.plan.providers[account.provider];
    provider.benchmarked.contains(&deployment)
        || report.plan.tier(account.provider, deployment).is_none()
}

/// Whose an account is, in words.
pub(super) struct Named {
    provider: String,
    part: String,
    session: String,
}

impl Named {
    pub(super) fn names(&self) -> Names<'_> {
        Names {
            provider: &self.provider,
            model: &self.part,
            session: &self.session,
        }
    }
}

/// Whose each account is.
pub(super) fn named(report: &Report<'_>, accounts: &[Account]) -> Vec<Named> {
    let plan = report.plan;
    let name = |one: &Account| Named {
        provider: plan.providers[one.provider].name.clone(),
        part: plan.part_name(one.provider, one.part),
        session: plan.sessions[one.session].name.clone(),
    };
    accounts.iter().map(name).collect()
}

fn account_table(report: &Report<'_>, accounts: &[Account], width: usize) -> String {
    let owned = named(report, accounts);
    let names: Vec<Names<'_>> = owned.iter().map(Named::names).collect();
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
        })
        .rank(2),
        numbers("max\ns", |one| {
            text_or(one.ttft_s(1.0), number::bare_seconds)
        })
        .rank(5),
        numbers("starts", |one| number::count(one.cold_starts())).rank(1),
        numbers("evicted", |one| number::count(one.ledger.evictions)).rank(4),
        numbers("GPU\nh", |one| {
            number::quantity(one.ledger.gpu_hours().iter().sum())
        }),
        numbers("idle\n%", |one| {
            text_or(one.idle_percent(), number::bare_percent)
        })
        .rank(2),
        numbers("cost\nUSD", |one| number::quantity(one.ledger.cost_usd())),
    ];
    if accounts.iter().any(|one| matches!(one.part, Part::Tier(_))) {
        let cv = numbers("CV\n%", |one| {
            text_or(one.cv_percent(), number::bare_percent)
        });
        let cold_models = numbers("cold\nmodels", |one| one.mostly_cold.to_string());
        columns.splice(2..2, [cold_models.rank(3), cv]);
    }
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
    let all = report.outcome.rows.iter().map(|row| {
        let warnings = row.summary.warnings.iter();
        (
            report.label(row),
            warnings.map(ToString::to_string).collect(),
        )
    });
    beware(&all.collect::<Vec<_>>(), width, out)
}

/// Warnings by the row that they concern, each said once.
pub(super) fn beware(
    rows: &[(String, Vec<String>)],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for (label, warnings) in rows {
        for warning in warnings {
            match found.iter_mut().find(|(known, _)| known == warning) {
                Some((_, labels)) => labels.push(label),
                None => found.push((warning, vec![label])),
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
        bullet(&format!("{warning}{whose}"), width, out)?;
    }
    Ok(())
}

/// An entry of a list, its later lines further in.
pub(super) fn bullet(text: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for (index, line) in wrapped(text, width.saturating_sub(2)).iter().enumerate() {
        let sign = if index == 0 { "-" } else { " " };
        writeln!(out, "{sign} {line}")?;
    }
    Ok(())
}
