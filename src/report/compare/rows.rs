//! A comparison for programs: a row per subject and side, with its differences to the first side that has the subject.

use serde_json::{Value, json};

use super::{CompareReport, tiers};
use crate::experiment::compare::{Routing, Sessions, Subject};
use crate::experiment::users::{Difference, Figure, Users};
use crate::measure::summary::CONFIDENCE;
use crate::report::flat::{self as row, Flat};
use crate::report::{SCHEMA, VERSION, users};
use crate::stats::Estimate;

/// Everything, for JSON.
pub(super) fn results(report: &CompareReport<'_>) -> Value {
    let (name, unit) = report.questions.metric.name();
    let comparison = report.comparison;
    let routing = comparison.routing.iter().map(|one| routing(report, one));
    let sessions = comparison.sessions.iter().map(|one| session(report, one));
    json!({
        "schema": SCHEMA,
        "version": VERSION,
        "seed": report.seed,
        "confidence": CONFIDENCE,
        "replications": report.questions.replications,
        "title": report.title,
        "metric": format!("{name}{unit}"),
        "sides": comparison.sides,
        "subjects": flat(report),
        "routing": routing.collect::<Vec<Flat>>(),
        "sessions": sessions.collect::<Vec<Flat>>(),
        "tiers": tiers::rows(report),
        "offers": tiers::offers(report),
        "notes": report.notes,
        "conclusion": super::sentence::conclusion(report),
    })
}

/// A row per subject and side.
pub(super) fn flat(report: &CompareReport<'_>) -> Vec<Flat> {
    let of_subject = |subject: &Subject| {
        let reference = subject.sides.iter().flatten().next().cloned();
        let sides = subject.sides.iter().enumerate();
        let rows =
            sides.filter_map(|(side, users)| Some((side, users.as_ref()?, reference.as_ref()?)));
        rows.map(|(side, users, reference)| side_row(report, subject, side, users, reference))
            .collect::<Vec<Flat>>()
    };
    report
        .comparison
        .subjects
        .iter()
        .flat_map(of_subject)
        .collect()
}

fn side_row(
    report: &CompareReport<'_>,
    subject: &Subject,
    side: usize,
    met: &Users,
    reference: &Users,
) -> Flat {
    let mut flat = Flat::new();
    let key = &subject.key;
    flat.insert("provider".to_owned(), key.provider.clone().into());
    flat.insert("model".to_owned(), key.model.as_str().into());
    flat.insert("session".to_owned(), key.session.as_str().into());
    let side_name = report.comparison.sides[side].as_str();
    flat.insert("side".to_owned(), side_name.into());
    users::put_all(&mut flat, met);
    flat.insert("window_hours".to_owned(), met.window_hours.into());
    for figure in Figure::ALL {
        let (name, unit) = figure.name();
        let above = met.above(reference, figure).map(|one| one.estimate);
        row::put(&mut flat, &format!("{name}_above_first"), unit, above);
    }
    let best = subject.best;
    flat.insert(
        "is_best".to_owned(),
        best.map(|one| one.side == side).into(),
    );
    let probability = best.and_then(|one| one.probability);
    let percent = probability.map(|one| 100.0 * one);
    flat.insert("best_probability_percent".to_owned(), percent.into());
    for ranking in &subject.rankings {
        let name = format!("benchmark_{}", ranking.requests);
        flat.insert(
            format!("{name}_first_percent"),
            (100.0 * ranking.first[side]).into(),
        );
        let wrong = ranking.wrong.map(in_percent);
        row::put(&mut flat, &format!("{name}_wrong"), "_percent", wrong);
    }
    flat
}

/// A share as percent.
fn in_percent(share: Estimate) -> Estimate {
    let mut percent = share;
    percent.point *= 100.0;
    if let Some(interval) = &mut percent.interval {
        interval.low *= 100.0;
        interval.high *= 100.0;
    }
    percent
}

fn routing(report: &CompareReport<'_>, routing: &Routing) -> Flat {
    let (name, unit) = report.questions.metric.name();
    let mut flat = Flat::new();
    flat.insert("session".to_owned(), routing.session.as_str().into());
    flat.insert("models".to_owned(), routing.models.into());
    let single = report.comparison.sides[routing.single].as_str();
    flat.insert("best_single".to_owned(), single.into());
    flat.insert(format!("{name}_single{unit}"), routing.at_single.into());
    flat.insert(format!("{name}_routed{unit}"), routing.routed.into());
    put_difference(&mut flat, &format!("{name}_change"), unit, &routing.change);
    flat
}

fn session(report: &CompareReport<'_>, sessions: &Sessions) -> Flat {
    let (name, unit) = report.questions.metric.name();
    let mut flat = Flat::new();
    let key = &sessions.key;
    flat.insert("provider".to_owned(), key.provider.clone().into());
    flat.insert("model".to_owned(), key.model.as_str().into());
    let side = report.comparison.sides[sessions.side].as_str();
    flat.insert("side".to_owned(), side.into());
    flat.insert("first_session".to_owned(), sessions.first.as_str().into());
    flat.insert("session".to_owned(), key.session.as_str().into());
    flat.insert(format!("{name}_first{unit}"), sessions.points[0].into());
    flat.insert(format!("{name}{unit}"), sessions.points[1].into());
    put_difference(
        &mut flat,
        &format!("{name}_above_first"),
        unit,
        &sessions.difference,
    );
    flat
}

fn put_difference(flat: &mut Flat, name: &str, unit: &str, difference: &Difference) {
    row::put(flat, name, unit, Some(difference.estimate));
}
