//! Catalogues by tier of popularity: for people two tables and a sentence a side, for programs a row per part and side.

use std::io::{self, Write};

use serde_json::Value;

use super::CompareReport;
use super::text::{interval, paragraph, shown_or_none, signed, verdict};
use crate::experiment::compare::{Offer, Steadiness, TierMet, TierPart};
use crate::experiment::users::{Difference, Figure};
use crate::report::flat::{self as row, Flat};
use crate::report::grid::{self, Column};
use crate::report::number::{self, NONE};
use crate::report::text::{BOLD, DIM, wrapped};
use crate::report::users;

/// One side's part of a tier, with the first side that has the part.
struct Line<'a> {
    part: &'a TierPart,
    side: usize,
    met: &'a TierMet,
    reference: Option<&'a TierMet>,
}

impl Line<'_> {
    /// By how much the CV of its benchmarks is above the first side's.
    fn cv_above(&self) -> Option<Difference> {
        let own = self.met.steadiness.as_ref()?;
        Some(own.above(self.reference?.steadiness.as_ref()?))
    }

    /// By how much a figure of all users is above the first side's.
    fn above(&self, figure: Figure) -> Option<Difference> {
        self.met.users.above(&self.reference?.users, figure)
    }
}

/// A line per part and side; the first side of a part has no reference.
fn lines<'a>(report: &CompareReport<'a>) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for part in &report.comparison.tiers {
        let first = part.sides.iter().flatten().next();
        let sides = part.sides.iter().enumerate();
        let sides = sides.filter_map(|(side, met)| Some((side, met.as_ref()?)));
        lines.extend(sides.map(|(side, met)| Line {
            part,
            side,
            met,
            reference: first.filter(|first| !std::ptr::eq(*first, met)),
        }));
    }
    lines
}

/// Writes what each side offers, its tiers, and how they differ.
pub(super) fn write(
    report: &CompareReport<'_>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = lines(report);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}What each catalogue offers{BOLD:#}")?;
    let columns = offer_columns(report);
    writeln!(out, "{}", grid::fitted(columns.clone(), columns, width, 1))?;
    writeln!(out, "\n{BOLD}By popularity{BOLD:#}")?;
    let about = "p95 and cold are of all users; the CV is a benchmark's, the median of the measured models, on average";
    for line in wrapped(about, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    let columns = tier_columns(report, &lines);
    writeln!(out, "{}", grid::fitted(columns.clone(), columns, width, 1))?;
    for sentence in sentences(report) {
        writeln!(out)?;
        paragraph(&sentence, width, out)?;
    }
    Ok(())
}

fn offer_columns(report: &CompareReport<'_>) -> Vec<Column> {
    let offers = &report.comparison.offers;
    let cells = |cell: &dyn Fn(&Offer) -> String| offers.iter().map(cell).collect();
    let figure = |figure: Figure| {
        Column::numbers(
            users::head(figure),
            cells(&|one| shown_or_none(Some(&one.users), figure)),
        )
    };
    let name = |one: &Offer| {
        let side = Some(report.comparison.sides[one.side].as_str());
        let session = report.has_sessions().then_some(one.session.as_str());
        let parts = one
            .provider
            .as_deref()
            .into_iter()
            .chain(side)
            .chain(session);
        parts.collect::<Vec<&str>>().join(" · ")
    };
    vec![
        Column::text("catalogue", cells(&name)),
        Column::numbers("models", cells(&|one| one.models.to_string())),
        Column::numbers("always\nwarm", cells(&|one| one.warm_models.to_string())),
        Column::numbers(
            "of all\nrequests %",
            cells(&|one| number::bare_percent(one.demand_percent)),
        ),
        figure(Figure::TtftP50),
        figure(Figure::TtftP95),
        figure(Figure::ColdRequests),
        figure(Figure::GpuHours).rank(1),
        figure(Figure::Cost).rank(2),
    ]
}

fn tier_columns(report: &CompareReport<'_>, lines: &[Line<'_>]) -> Vec<Column> {
    let cells = |cell: &dyn Fn(&Line<'_>) -> String| lines.iter().map(cell).collect();
    let mut columns = vec![Column::text("tier", cells(&|one| name(report, one.part)))];
    columns.push(Column::text(
        "side",
        cells(&|one| report.comparison.sides[one.side].clone()),
    ));
    for (figure, rank) in [
        (Figure::TtftP50, 3),
        (Figure::TtftP95, 0),
        (Figure::ColdRequests, 0),
    ] {
        let of = |one: &Line<'_>| shown_or_none(Some(&one.met.users), figure);
        columns.push(Column::numbers(users::head(figure), cells(&of)).rank(rank));
    }
    let spread = |of: fn(&TierMet) -> Option<f64>| {
        cells(&|one| of(one.met).map_or_else(|| NONE.to_owned(), number::bare_percent))
    };
    let cv = |met: &TierMet| Some(met.steadiness.as_ref()?.cv_percent);
    let over_median = |met: &TierMet| Some(met.steadiness.as_ref()?.std_over_median_percent);
    let above = |one: &Line<'_>| one.cv_above();
    columns.push(Column::numbers("CV\n%", spread(cv)));
    columns.push(Column::numbers("std/\nmed %", spread(over_median)).rank(2));
    columns.push(Column::numbers(
        "CV above\nfirst",
        cells(&|one| {
            above(one).map_or_else(
                || NONE.to_owned(),
                |one| signed(Figure::Cv, one.estimate.point),
            )
        }),
    ));
    columns.push(
        Column::text(
            "95 % interval",
            cells(&|one| interval(Figure::Cv, above(one))),
        )
        .rank(1),
    );
    columns.push(Column::text(
        "",
        cells(&|one| {
            let is_first = one.reference.is_none();
            if is_first {
                String::new()
            } else {
                verdict(above(one)).to_owned()
            }
        }),
    ));
    columns
}

/// A part in words: `middle 21-40`.
fn name(report: &CompareReport<'_>, part: &TierPart) -> String {
    let [first, last] = part.cut.ranks;
    let tier = format!("{} {first}-{last}", part.cut.tier.name());
    let session = report.has_sessions().then_some(part.session.as_str());
    let parts = part
        .cut
        .provider
        .as_deref()
        .into_iter()
        .chain([tier.as_str()]);
    parts.chain(session).collect::<Vec<&str>>().join(" · ")
}

/// How each further side differs from the first, tier by tier.
fn sentences(report: &CompareReport<'_>) -> Vec<String> {
    let sides = &report.comparison.sides;
    let metric = report.questions.metric;
    let sentence = |side: usize| {
        let parts = || report.comparison.tiers.iter();
        let lines: Vec<Line<'_>> = parts()
            .filter_map(|part| {
                Some(Line {
                    part,
                    side,
                    met: part.sides[side].as_ref()?,
                    reference: Some(part.sides[0].as_ref()?),
                })
            })
            .collect();
        if lines.is_empty() {
            return None;
        }
        let users = said(report, &lines, &|one| one.above(metric));
        let benchmark = said(report, &lines, &|one| one.cv_above());
        Some(format!(
            "{} against {}, where both offer the models: the {} of all users is {users}; the CV of a benchmark is {benchmark}.",
            sides[side],
            sides[0],
            users::name(metric),
        ))
    };
    (1..sides.len()).filter_map(sentence).collect()
}

/// Where a figure is surely higher, surely lower, and neither.
fn said(
    report: &CompareReport<'_>,
    lines: &[Line<'_>],
    above: &dyn Fn(&Line<'_>) -> Option<Difference>,
) -> String {
    let names = |sign: Option<f64>| {
        let own = lines.iter();
        let own = own.filter(|one| above(one).is_some_and(|above| above.sign() == sign));
        own.map(|one| name(report, one.part))
            .collect::<Vec<String>>()
            .join(", ")
    };
    let kinds = [
        ("surely higher in", Some(1.0)),
        ("surely lower in", Some(-1.0)),
        ("not surely other in", None),
    ];
    let said: Vec<String> = (kinds.into_iter())
        .map(|(words, sign)| (words, names(sign)))
        .filter(|(_, names)| !names.is_empty())
        .map(|(words, names)| format!("{words} {names}"))
        .collect();
    if said.is_empty() {
        return "not known".to_owned();
    }
    said.join(", ")
}

/// A row per part and side.
pub(super) fn rows(report: &CompareReport<'_>) -> Vec<Flat> {
    lines(report)
        .iter()
        .map(|line| flat(report, line))
        .collect()
}

fn flat(report: &CompareReport<'_>, line: &Line<'_>) -> Flat {
    let mut flat = Flat::new();
    let cut = &line.part.cut;
    let mut put = |name: &str, value: Value| flat.insert(name.to_owned(), value);
    put("provider", cut.provider.clone().into());
    put("session", line.part.session.as_str().into());
    put("tier", cut.tier.name().into());
    put("first_rank", cut.ranks[0].into());
    put("last_rank", cut.ranks[1].into());
    put("side", report.comparison.sides[line.side].as_str().into());
    users::put_all(&mut flat, &line.met.users);
    flat.insert(
        "window_hours".to_owned(),
        line.met.users.window_hours.into(),
    );
    for figure in Figure::ALL {
        let (name, unit) = figure.name();
        let above = line.above(figure).map(|one| one.estimate);
        row::put(&mut flat, &format!("{name}_above_first"), unit, above);
    }
    let steadiness = line.met.steadiness.as_ref();
    let measured = steadiness.map(|one| one.models);
    flat.insert("benchmarked_models".to_owned(), measured.into());
    let percent = "_percent";
    row::put(
        &mut flat,
        "benchmark_cv",
        percent,
        steadiness.map(Steadiness::cv),
    );
    let over_median = steadiness.map(|one| one.std_over_median_percent);
    flat.insert(
        "benchmark_std_over_median_percent".to_owned(),
        over_median.into(),
    );
    let above = line.cv_above().map(|one| one.estimate);
    row::put(&mut flat, "benchmark_cv_above_first", percent, above);
    flat
}

/// A row per catalogue.
pub(super) fn offers(report: &CompareReport<'_>) -> Vec<Flat> {
    let offer = |one: &Offer| {
        let mut flat = Flat::new();
        let mut put = |name: &str, value: Value| flat.insert(name.to_owned(), value);
        put("provider", one.provider.clone().into());
        put("session", one.session.as_str().into());
        put("side", report.comparison.sides[one.side].as_str().into());
        put("models", one.models.into());
        put("asked_models", one.asked.into());
        put("warm_models", one.warm_models.into());
        put("demand_percent", one.demand_percent.into());
        users::put_all(&mut flat, &one.users);
        flat
    };
    report.comparison.offers.iter().map(offer).collect()
}
