//! A plan for people: the ranking, and what it comes to.

use std::io::{self, Write};

use super::PlanReport;
use crate::experiment::plan::{Candidate, Objective, Row};
use crate::report::grid::{self, Column};
use crate::report::number::{self, NONE};
use crate::report::sweep::short;
use crate::report::text::{BOLD, DIM, text_or, wrapped};
use crate::report::users;

/// So many settings that meet the aim are shown, and so many that miss it.
const SHOWN: [usize; 2] = [5, 3];

/// Writes the whole report.
pub(super) fn write(report: &PlanReport<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    heading(report, width, out)?;
    let shown = shown(report);
    let columns = columns(report, &shown);
    writeln!(
        out,
        "\n{}",
        grid::fitted(columns.clone(), columns, width, 1)
    )?;
    let all = report.found.candidates.len();
    if all > shown.len() {
        let count = shown.len();
        writeln!(
            out,
            "{DIM}{count} of {all} settings; --format csv has all{DIM:#}"
        )?;
    }
    writeln!(out)?;
    for line in wrapped(&conclusion(report), width) {
        writeln!(out, "{BOLD}{line}{BOLD:#}")?;
    }
    Ok(())
}

fn heading(report: &PlanReport<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", report.plan.title)?;
    let aim = report.aim;
    let whose = match aim.models.as_slice() {
        [] => "every benchmarked model".to_owned(),
        models => models.join(", "),
    };
    let share = if aim.share < 1.0 {
        format!(
            ", as far as needed for {} of requests",
            number::percent(100.0 * aim.share)
        )
    } else {
        String::new()
    };
    let run = match report.found.dropped {
        0 => "all run in full".to_owned(),
        dropped => format!("{dropped} dropped in a race before they were run in full"),
    };
    let impossible = match report.impossible {
        0 => String::new(),
        count => format!(" · {} cannot be", number::counted(count as u64, "setting")),
    };
    let facts = format!(
        "{} for {whose}{share}, with {} confidence · {}, {run}{impossible} · {}, the same demand · seed {} · all users, at the \
         provider's door",
        objectives(aim.objectives.iter()),
        number::percent(100.0 * aim.confidence),
        number::counted(report.settings.len() as u64, "setting"),
        number::counted(aim.replications, "replication"),
        report.plan.seed
    );
    for line in wrapped(&facts, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

/// `ttft_p95 < 2.00 s and unanswered < 1.0 %`.
fn objectives<'a>(all: impl Iterator<Item = &'a Objective>) -> String {
    let one = |one: &Objective| {
        let limit = users::with_unit(one.figure, one.limit);
        format!("{} < {limit}", one.figure.name().0)
    };
    all.map(one).collect::<Vec<String>>().join(" and ")
}

/// The cheapest that meet the aim, and those that miss it least.
fn shown<'a>(report: &PlanReport<'a>) -> Vec<&'a Candidate> {
    let [met, missed] = SHOWN;
    let candidates = || report.found.candidates.iter();
    let meeting = candidates().filter(|one| one.is_met()).take(met);
    let missing = candidates().filter(|one| !one.is_met()).take(missed);
    meeting.chain(missing).collect()
}

/// The row that decides whether a setting meets the aim.
fn deciding(candidate: &Candidate) -> Option<&Row> {
    let rows = candidate.rows.iter();
    let is_it = |row: &&Row| row.miss.total_cmp(&candidate.miss).is_eq();
    rows.clone().find(is_it).or_else(|| candidate.rows.first())
}

fn columns(report: &PlanReport<'_>, shown: &[&Candidate]) -> Vec<Column> {
    let cells = |cell: &dyn Fn(&Candidate) -> String| {
        shown.iter().map(|one| cell(one)).collect::<Vec<String>>()
    };
    let mut columns = Vec::new();
    for (axis, path) in report.paths.iter().enumerate() {
        let value = |one: &Candidate| report.settings[one.setting][axis].clone();
        columns.push(Column::text(
            &short(path).replace('.', ".\n"),
            cells(&value),
        ));
    }
    if shown.iter().any(|one| one.rows.len() > 1) {
        let model = |one: &Candidate| {
            deciding(one).map_or_else(|| NONE.to_owned(), |row| label(report, row))
        };
        columns.push(Column::text("decided by", cells(&model)).rank(1));
    }
    for (index, objective) in report.aim.objectives.iter().enumerate() {
        let figure = objective.figure;
        let point = |one: &Candidate| {
            let point = deciding(one).and_then(|row| row.users.point(figure));
            text_or(point, |point| users::bare(figure, point))
        };
        let upper = |one: &Candidate| {
            let upper = deciding(one).map(|row| row.upper[index]);
            text_or(upper, |upper| users::bare(figure, upper))
        };
        let is_own = index + 1 < report.aim.objectives.len();
        let rank = if is_own { 0 } else { 2 };
        columns.push(Column::numbers(users::head(figure), cells(&point)).rank(rank));
        columns.push(Column::numbers("at\nmost", cells(&upper)).rank(rank));
    }
    columns.push(Column::numbers(
        "GPUs",
        cells(&|one| number::quantity(one.gpus)),
    ));
    if report
        .found
        .candidates
        .iter()
        .any(|one| one.usd_per_hour > 0.0)
    {
        columns.push(Column::numbers(
            "$/h",
            cells(&|one| number::quantity(one.usd_per_hour)),
        ));
    }
    columns.push(Column::text(
        "",
        cells(&|one| verdict(report, one).to_owned()),
    ));
    columns
}

fn verdict(report: &PlanReport<'_>, one: &Candidate) -> &'static str {
    match (
        one.is_met(),
        report.found.answer().map(|answer| answer.setting),
    ) {
        (true, Some(answer)) if answer == one.setting => "the answer",
        (true, _) => "meets it",
        (false, _) => "misses it",
    }
}

/// Whose figures a row shows.
fn label(report: &PlanReport<'_>, row: &Row) -> String {
    let provider = &report.plan.providers[row.provider];
    let model = &provider.fleet.deployments[row.deployment as usize].name;
    let mut label = model.clone();
    if report.plan.providers.len() > 1 {
        label = format!("{} · {label}", provider.name);
    }
    if report.plan.sessions.len() > 1 {
        label = format!("{label} · {}", report.plan.sessions[row.session].name);
    }
    label
}

/// The answer, or that there is none; and where the ranges cut it off.
pub(super) fn conclusion(report: &PlanReport<'_>) -> String {
    let found = report.found;
    let Some(best) = found.candidates.first() else {
        return "Not reachable: nothing was run.".to_owned();
    };
    let values = report.paths.iter().zip(&report.settings[best.setting]);
    let setting: Vec<String> = values
        .map(|(path, value)| format!("{} = {value}", short(path)))
        .collect();
    let (setting, price) = (setting.join(", "), price(report, best));
    let aim = objectives(report.aim.objectives.iter().take(report.aim.asked));
    let stands = stands(report, best);
    let mut said = if best.is_met() {
        format!("The cheapest setting with {aim} is {setting}, at {price}: {stands}.")
    } else {
        format!(
            "Not reachable: no setting has {aim}. The nearest is {setting}, at {price}: {stands}."
        )
    };
    if let Some(sentence) = unseen(report, best) {
        said = format!("{said} {sentence}");
    }
    for edge in report.edges {
        said = format!("{said} {edge}: beyond it nothing was tried.");
    }
    if let Some(sentence) = best.is_met().then(|| serverless(report, best)).flatten() {
        said = format!("{said} {sentence}");
    }
    said
}

fn price(report: &PlanReport<'_>, one: &Candidate) -> String {
    let gpus = format!("{} GPUs", number::quantity(one.gpus));
    if report
        .found
        .candidates
        .iter()
        .any(|one| one.usd_per_hour > 0.0)
    {
        return format!("${}/h ({gpus})", number::quantity(one.usd_per_hour));
    }
    gpus
}

/// `its p95 is 0.42 s, at most 0.51 s`.
fn stands(report: &PlanReport<'_>, one: &Candidate) -> String {
    let Some(row) = deciding(one) else {
        return "it has no requests".to_owned();
    };
    let ratio = |(index, objective): (usize, &Objective)| {
        (index, *objective, row.upper[index] / objective.limit)
    };
    // Of those that are met, what was asked for matters. The first of equals.
    let count = if one.is_met() {
        report.aim.asked
    } else {
        report.aim.objectives.len()
    };
    let all = report.aim.objectives.iter().take(count);
    let all: Vec<(usize, &Objective)> = all.enumerate().collect();
    let worst = all.into_iter().rev().map(ratio);
    let Some((index, objective, _)) = worst.max_by(|a, b| a.2.total_cmp(&b.2)) else {
        return String::new();
    };
    let figure = objective.figure;
    let shown = |value: Option<f64>| text_or(value, |value| users::with_unit(figure, value));
    format!(
        "its {} is {}, at most {} with {} confidence",
        users::name(figure),
        shown(row.users.point(figure)),
        shown(Some(row.upper[index])),
        number::percent(100.0 * report.aim.confidence)
    )
}

/// That a share is not shown to be below its limit only because too little was simulated, and how much would do.
fn unseen(report: &PlanReport<'_>, best: &Candidate) -> Option<String> {
    let row = deciding(best).filter(|_| !best.is_met())?;
    let needed = report.aim.objectives.iter().filter_map(|one| {
        let needed = row.needed(one, report.aim.confidence)?;
        Some((one, needed))
    });
    let (objective, needed) = needed.max_by_key(|(_, needed)| *needed)?;
    Some(format!(
        "Its {} was 0 in {}, too few to show that it is below {}: --repeat {needed} could.",
        users::name(objective.figure),
        number::counted(row.replications, "replication"),
        users::with_unit(objective.figure, objective.limit),
    ))
}

/// From which volume on the answer is cheaper than paying by the token.
fn serverless(report: &PlanReport<'_>, best: &Candidate) -> Option<String> {
    let offer = report.serverless.filter(|_| best.usd_per_hour > 0.0)?;
    let volume = offer.break_even_per_hour;
    let hours = best.rows.first().map_or(1.0, |row| row.users.window_hours);
    let sessions = report.plan.sessions.len() as f64;
    let demand = best.rows.iter().map(|row| row.requests).sum::<f64>() / hours / sessions;
    let pays = if demand > volume {
        "pays"
    } else {
        "does not pay"
    };
    Some(format!(
        "Against {} for a million tokens, {:.0} to a request, it is cheaper from {} requests an hour on: at this demand of {} \
         an hour it {pays}.",
        format_args!("${}", number::quantity(offer.usd_per_million_tokens)),
        offer.tokens_per_request,
        number::count(volume.ceil() as u64),
        number::count(demand.round() as u64),
    ))
}

/// Heads and rows of one flat table, for Markdown.
pub(super) fn cells(report: &PlanReport<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let mut heads: Vec<String> = report.paths.iter().map(|path| short(path)).collect();
    for objective in &report.aim.objectives {
        let name = users::name(objective.figure);
        heads.extend([name.to_owned(), format!("{name} at most")]);
    }
    heads.extend(["GPUs", "$/h", "verdict"].map(str::to_owned));
    let row = |one: &&Candidate| {
        let mut cells = report.settings[one.setting].clone();
        for (index, objective) in report.aim.objectives.iter().enumerate() {
            let figure = objective.figure;
            let row = deciding(one);
            let point = row.and_then(|row| row.users.point(figure));
            for value in [point, row.map(|row| row.upper[index])] {
                cells.push(text_or(value, |value| users::with_unit(figure, value)));
            }
        }
        cells.extend([
            number::quantity(one.gpus),
            number::quantity(one.usd_per_hour),
            verdict(report, one).to_owned(),
        ]);
        cells
    };
    (heads, shown(report).iter().map(row).collect())
}
