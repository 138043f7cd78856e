//! A comparison for people: which side is best, what routing gains, sessions against each other, and every figure in pairs.

use std::io::{self, Write};

use super::sentence::{conclusion, shown};
use super::{CompareReport, tiers};
use crate::experiment::compare::{Routing, Sessions, Subject};
use crate::experiment::users::{Difference, Figure, Users};
use crate::report::grid::{self, Column};
use crate::report::number::{self, NONE};
use crate::report::text::{BOLD, DIM, wrapped};
use crate::report::users;

/// So many pairs are written out, and fewer beside the tiers of catalogues; the other formats have all.
const SHOWN: [usize; 2] = [6, 2];

/// Writes the whole report.
pub(super) fn write(
    report: &CompareReport<'_>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading(report, width, out)?;
    if report.comparison.sides.len() > 1 {
        let columns = best_columns(report);
        let table = grid::fitted(columns.clone(), columns, width, 1);
        writeln!(out, "\n{table}")?;
    }
    pairs(report, width, out)?;
    sessions(report, width, out)?;
    tiers::write(report, width, out)?;
    for routing in &report.comparison.routing {
        writeln!(out)?;
        paragraph(&routed(report, routing), width, out)?;
    }
    writeln!(out)?;
    for line in wrapped(&conclusion(report), width) {
        writeln!(out, "{BOLD}{line}{BOLD:#}")?;
    }
    Ok(())
}

pub(super) fn paragraph(text: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for line in wrapped(text, width) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn heading(report: &CompareReport<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", report.title)?;
    let demand = if report.notes.is_empty() {
        ", the same demand"
    } else {
        ""
    };
    let facts = format!(
        "{} in pairs{demand} · the least {} is best · seed {} · all users, at the provider's door",
        number::counted(report.questions.replications, "replication"),
        users::name(report.questions.metric),
        report.seed
    );
    for line in wrapped(&facts, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    for line in report.notes.iter().flat_map(|note| wrapped(note, width)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Which side is best for each subject.
fn best_columns(report: &CompareReport<'_>) -> Vec<Column> {
    let subjects = &report.comparison.subjects;
    let metric = report.questions.metric;
    let cells = |cell: &dyn Fn(&Subject) -> String| subjects.iter().map(cell).collect();
    let mut columns = Vec::new();
    if subjects.iter().any(|one| one.key.provider.is_some()) {
        let provider = |one: &Subject| one.key.provider.clone().unwrap_or_default();
        columns.push(Column::text("provider", cells(&provider)));
    }
    columns.push(Column::text("model", cells(&|one| one.key.model.clone())));
    if report.has_sessions() {
        columns.push(Column::text(
            "session",
            cells(&|one| one.key.session.clone()),
        ));
    }
    let best = |one: &Subject| best(report, one);
    columns.push(Column::text("best", cells(&best)));
    columns.push(Column::numbers("sure\n%", cells(&sure)));
    for (side, name) in report.comparison.sides.iter().enumerate() {
        let head = format!("{name}\n{}", users::row_head(metric));
        let of_side = |one: &Subject| shown_or_none(one.sides[side].as_ref(), metric);
        let rank = if side < 3 { 0 } else { 2 };
        columns.push(Column::numbers(&head, cells(&of_side)).rank(rank));
    }
    for (index, size) in report.questions.benchmarks.iter().enumerate() {
        let wrong = |one: &Subject| {
            let wrong = one.rankings[index].wrong;
            wrong.map_or_else(
                || NONE.to_owned(),
                |wrong| number::bare_percent(100.0 * wrong.point),
            )
        };
        let head = format!("{size} req.\nwrong %");
        columns.push(Column::numbers(&head, cells(&wrong)).rank(1));
    }
    columns
}

/// The side that is surely best.
fn best(report: &CompareReport<'_>, subject: &Subject) -> String {
    match subject.best {
        _ if subject.sides.iter().flatten().count() < 2 => "only one".to_owned(),
        Some(best) if best.is_sure() => report.comparison.sides[best.side].clone(),
        _ if subject.level.len() < subject.sides.iter().flatten().count() => {
            let level = subject.level.iter();
            let names = level.map(|side| report.comparison.sides[*side].as_str());
            names.collect::<Vec<&str>>().join(" or ")
        }
        // A single replication tells nothing of luck.
        _ if report.questions.replications < 2 => "cannot be told".to_owned(),
        _ => "no difference".to_owned(),
    }
}

/// How surely the best side is best, never said to be certain.
fn sure(subject: &Subject) -> String {
    let probability = subject.best.and_then(|best| best.probability);
    match probability.map(|one| 100.0 * one) {
        None => NONE.to_owned(),
        Some(percent) if percent > 99.9 => ">99.9".to_owned(),
        Some(percent) => format!("{percent:.1}"),
    }
}

/// Every figure of the first pairs: a table each.
fn pairs(report: &CompareReport<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut pairs = Vec::new();
    for subject in &report.comparison.subjects {
        let mut sides = (subject.sides.iter().enumerate())
            .filter_map(|(side, users)| Some((side, users.as_ref()?)));
        let Some(reference) = sides.next() else {
            continue;
        };
        pairs.extend(sides.map(|other| (subject, reference, other)));
    }
    let shown = SHOWN[usize::from(!report.comparison.tiers.is_empty())];
    for (subject, reference, other) in pairs.iter().take(shown) {
        writeln!(out, "\n{BOLD}{}{BOLD:#}", report.label(&subject.key))?;
        let columns = pair_columns(report, *reference, *other);
        writeln!(out, "{}", grid::fitted(columns.clone(), columns, width, 1))?;
    }
    if pairs.len() > shown {
        writeln!(
            out,
            "\n{DIM}{shown} of {} pairs; --format csv has all{DIM:#}",
            pairs.len()
        )?;
    }
    Ok(())
}

fn pair_columns(
    report: &CompareReport<'_>,
    (first, reference): (usize, &Users),
    (second, other): (usize, &Users),
) -> Vec<Column> {
    let figures = Figure::ALL.into_iter();
    let figures = figures.filter(|one| users::is_telling(*one, [reference, other].into_iter()));
    let figures: Vec<Figure> = figures.collect();
    let cells = |cell: &dyn Fn(Figure) -> String| -> Vec<String> {
        figures.iter().map(|figure| cell(*figure)).collect()
    };
    let of = |users: &Users, figure| shown_or_none(Some(users), figure);
    let above = |figure| other.above(reference, figure);
    let sides = &report.comparison.sides;
    vec![
        Column::text("", cells(&|one| users::row_head(one))),
        Column::numbers(&sides[first], cells(&|one| of(reference, one))),
        Column::numbers(&sides[second], cells(&|one| of(other, one))),
        Column::numbers(
            "difference",
            cells(&|one| {
                above(one).map_or_else(|| NONE.to_owned(), |d| signed(one, d.estimate.point))
            }),
        ),
        Column::text("95 % interval", cells(&|one| interval(one, above(one)))),
        Column::text("", cells(&|one| verdict(above(one)).to_owned())),
    ]
}

/// A figure of a side, or the sign for none.
pub(super) fn shown_or_none(users: Option<&Users>, figure: Figure) -> String {
    shown(users, figure).unwrap_or_else(|| NONE.to_owned())
}

/// A difference with its sign.
pub(super) fn signed(figure: Figure, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", users::bare(figure, value))
}

pub(super) fn interval(figure: Figure, difference: Option<Difference>) -> String {
    let interval = difference.and_then(|one| one.estimate.interval);
    interval.map_or_else(
        || NONE.to_owned(),
        |one| {
            format!(
                "{} to {}",
                signed(figure, one.low),
                signed(figure, one.high)
            )
        },
    )
}

/// Whether a difference is more than luck.
pub(super) fn verdict(difference: Option<Difference>) -> &'static str {
    match difference {
        Some(one) if one.sign() == Some(1.0) => "more",
        Some(one) if one.sign() == Some(-1.0) => "less",
        Some(one) if one.estimate.interval.is_some() => "no difference",
        _ => NONE,
    }
}

/// Each further session against the first.
fn sessions(report: &CompareReport<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let rows = &report.comparison.sessions;
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let metric = report.questions.metric;
    let cells = |cell: &dyn Fn(&Sessions) -> String| rows.iter().map(cell).collect();
    let columns = vec![
        Column::text("model", cells(&|one| one.key.model.clone())),
        Column::text(
            "side",
            cells(&|one| report.comparison.sides[one.side].clone()),
        ),
        Column::text("session", cells(&|one| one.key.session.clone())),
        Column::numbers(
            &first.first,
            cells(&|one| users::bare(metric, one.points[0])),
        ),
        Column::numbers("there", cells(&|one| users::bare(metric, one.points[1]))),
        Column::numbers(
            "difference",
            cells(&|one| signed(metric, one.difference.estimate.point)),
        ),
        Column::text(
            "95 % interval",
            cells(&|one| interval(metric, Some(one.difference))),
        ),
        Column::text("", cells(&|one| verdict(Some(one.difference)).to_owned())),
    ];
    let head = format!("{} against {}", users::name(metric), first.first);
    writeln!(out, "\n{BOLD}{head}{BOLD:#}")?;
    writeln!(out, "{}", grid::fitted(columns.clone(), columns, width, 1))
}

/// What routing each model to its best side would gain.
fn routed(report: &CompareReport<'_>, routing: &Routing) -> String {
    let metric = report.questions.metric;
    let name = users::name(metric);
    let session = if report.has_sessions() {
        format!("{}: ", routing.session)
    } else {
        String::new()
    };
    let gain = match routing.change.sign() {
        Some(sign) if sign < 0.0 => "a gain",
        Some(_) => "a loss",
        None => "no gain shown",
    };
    format!(
        "{session}Routing each of {} models to its best side would take the {name} of all their users from {} at {}, the best \
         for all, to {}: {gain} ({}, interval {}). Each route was chosen in one half of the replications and judged in the other.",
        routing.models,
        users::with_unit(metric, routing.at_single),
        report.comparison.sides[routing.single],
        users::with_unit(metric, routing.routed),
        signed(metric, routing.change.estimate.point),
        interval(metric, Some(routing.change)),
    )
}

/// Heads and rows of one flat table, for Markdown.
pub(super) fn cells(report: &CompareReport<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let metric = report.questions.metric;
    let mut heads: Vec<String> = ["model", "session", "best", "sure %"]
        .map(str::to_owned)
        .to_vec();
    let sides = report.comparison.sides.iter();
    heads.extend(sides.map(|side| format!("{} at {side}", users::name(metric))));
    let sizes = report.questions.benchmarks.iter();
    heads.extend(sizes.map(|size| format!("{size} requests wrong %")));
    let row = |one: &Subject| {
        let key = &one.key;
        let mut cells = vec![
            key.provider
                .iter()
                .chain([&key.model])
                .cloned()
                .collect::<Vec<_>>()
                .join(" · "),
            key.session.clone(),
            best(report, one),
            sure(one),
        ];
        let points = one.sides.iter().map(|side| {
            let point = side.as_ref().and_then(|side| side.point(metric));
            point.map_or_else(|| NONE.to_owned(), |point| users::with_unit(metric, point))
        });
        cells.extend(points);
        cells.extend(one.rankings.iter().map(|ranking| {
            let wrong = ranking
                .wrong
                .map(|wrong| number::bare_percent(100.0 * wrong.point));
            wrong.unwrap_or_else(|| NONE.to_owned())
        }));
        cells
    };
    (heads, report.comparison.subjects.iter().map(row).collect())
}
