//! What a comparison comes to, in one sentence.

use super::CompareReport;
use crate::experiment::compare::{Best, Subject};
use crate::experiment::users::{Figure, Users};
use crate::report::number;
use crate::report::users;

/// Who is best, and whether a benchmark would have said so.
pub(super) fn conclusion(report: &CompareReport<'_>) -> String {
    if report.comparison.sides.len() == 1 {
        return sessions(report);
    }
    let subjects = &report.comparison.subjects;
    let decided: Vec<(&Subject, Best)> = subjects
        .iter()
        .filter_map(|one| Some((one, one.best.filter(|best| best.is_sure())?)))
        .filter(|(one, _)| one.sides.iter().flatten().count() > 1)
        .collect();
    let said = match (subjects.as_slice(), decided.as_slice()) {
        (_, []) => undecided(report),
        ([only], [(_, best)]) => one(report, only, *best),
        _ => many(report, &decided),
    };
    format!("{said}{}.", benchmarks(report, &decided))
}

/// One side: how its sessions differ from the first.
fn sessions(report: &CompareReport<'_>) -> String {
    let metric = report.questions.metric;
    let rows = &report.comparison.sessions;
    let signed = |sign: f64| {
        rows.iter()
            .filter(|one| one.difference.sign() == Some(sign))
            .count()
    };
    let Some(first) = rows.first() else {
        return "There is one side and one session: nothing to compare.".to_owned();
    };
    let (name, of) = (
        users::name(metric),
        number::counted(rows.len() as u64, "row"),
    );
    if let [only] = rows.as_slice() {
        let said = match only.difference.sign() {
            Some(sign) if sign > 0.0 => "above",
            Some(_) => "below",
            None => "not surely other than",
        };
        let [one, other] = only.points.map(|point| users::with_unit(metric, point));
        return format!(
            "In {} the {name} of {} is {other}, {said} the {one} of {}.",
            only.key.session, only.key.model, only.first
        );
    }
    format!(
        "Against {}, the {name} of {of} is surely above in {} and surely below in {}.",
        first.first,
        signed(1.0),
        signed(-1.0)
    )
}

/// Nobody is surely best.
fn undecided(report: &CompareReport<'_>) -> String {
    let metric = users::name(report.questions.metric);
    let subjects = &report.comparison.subjects;
    if subjects
        .iter()
        .all(|one| one.sides.iter().flatten().count() < 2)
    {
        return "No model is at more than one side: nothing to compare".to_owned();
    }
    if subjects.iter().all(is_same) {
        return "No difference: the sides are the same in every replication".to_owned();
    }
    if report.questions.replications < 2 {
        return "One replication tells no difference from luck: use --repeat".to_owned();
    }
    format!(
        "No difference shown: over {} no side's {metric} is surely lower",
        number::counted(report.questions.replications, "replication")
    )
}

/// Whether nothing at all differs.
fn is_same(subject: &Subject) -> bool {
    let mut sides = subject.sides.iter().flatten();
    let first = sides.next();
    sides.all(|one| Some(one) == first)
}

fn one(report: &CompareReport<'_>, subject: &Subject, best: Best) -> String {
    let metric = report.questions.metric;
    let name = |side: usize| report.comparison.sides[side].as_str();
    let shown = |side: usize| {
        let point = subject.sides[side]
            .as_ref()
            .and_then(|one| one.point(metric));
        point.map(|point| users::with_unit(metric, point))
    };
    let others: Vec<String> = (0..subject.sides.len())
        .filter(|side| *side != best.side)
        .filter_map(|side| Some(format!("{} at {}", shown(side)?, name(side))))
        .collect();
    format!(
        "{} is best for {}: its {} is {}, against {}",
        name(best.side),
        report.label(&subject.key),
        users::name(metric),
        shown(best.side).unwrap_or_default(),
        others.join(" and ")
    )
}

fn many(report: &CompareReport<'_>, decided: &[(&Subject, Best)]) -> String {
    let all = report.comparison.subjects.len();
    let wins = |side: usize| decided.iter().filter(|(_, best)| best.side == side).count();
    let mut winners: Vec<(usize, usize)> = (0..report.comparison.sides.len())
        .map(|side| (side, wins(side)))
        .filter(|(_, wins)| *wins > 0)
        .collect();
    winners.sort_by_key(|&(side, wins)| (std::cmp::Reverse(wins), side));
    let named: Vec<String> = (winners.iter().enumerate())
        .map(|(index, &(side, wins))| {
            let name = &report.comparison.sides[side];
            match index {
                0 => format!("{name} is surely best for {wins} of {all} rows"),
                _ => format!("{name} for {wins}"),
            }
        })
        .collect();
    let metric = users::name(report.questions.metric);
    let open = match all - decided.len() {
        0 => String::new(),
        open => format!(", {open} cannot be told apart"),
    };
    let universal = if winners.len() > 1 {
        ": none is best for all"
    } else {
        ""
    };
    format!("By {metric}, {}{open}{universal}", named.join(" and "))
}

/// How often benchmarks are wrong, on average over the rows that have a best side.
fn benchmarks(report: &CompareReport<'_>, decided: &[(&Subject, Best)]) -> String {
    let sizes = report.questions.benchmarks.iter().enumerate();
    let shares = sizes.filter_map(|(index, size)| {
        let wrong = decided.iter();
        let wrong: Vec<f64> = wrong
            .filter_map(|(one, _)| Some(one.rankings[index].wrong?.point))
            .collect();
        let mean = wrong.iter().sum::<f64>() / wrong.len() as f64;
        let share = (!wrong.is_empty()).then(|| number::percent(100.0 * mean))?;
        Some(format!("{share} of those of {size} requests"))
    });
    let shares: Vec<String> = shares.collect();
    if shares.is_empty() {
        return String::new();
    }
    let judged = match report.questions.metric {
        Figure::Cv => "CV",
        Figure::TtftP50 => "median",
        _ => "p95",
    };
    format!(
        "; by the {judged} of a benchmark, another comes first in {}",
        shares.join(" and ")
    )
}

/// A figure of a side as text.
pub(super) fn shown(users: Option<&Users>, figure: Figure) -> Option<String> {
    let point = users?.point(figure)?;
    Some(users::bare(figure, point))
}
