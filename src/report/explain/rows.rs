//! An explanation for programs: a row per decision, and what users meet with every combination replaced.

use serde_json::{Value, json};

use super::{Decision, ExplainReport};
use crate::experiment::explain::Gap;
use crate::measure::summary::CONFIDENCE;
use crate::report::flat::{self as row, Flat};
use crate::report::{SCHEMA, VERSION, users};

/// Everything, for JSON.
pub(super) fn results(report: &ExplainReport<'_>) -> Value {
    let names = |subset: usize| {
        let decisions = report.decisions.iter().enumerate();
        let replaced = decisions.filter(|(index, _)| subset >> index & 1 == 1);
        replaced
            .map(|(_, one)| one.name.as_str())
            .collect::<Vec<&str>>()
    };
    let subsets = report.explanation.subsets.iter().enumerate();
    let subsets = subsets.map(|(subset, met)| {
        let mut flat = Flat::new();
        flat.insert("replaced".to_owned(), names(subset).into());
        users::put_all(&mut flat, met);
        flat
    });
    let mut gaps = Flat::new();
    for gap in report.explanation.gaps.iter().flatten() {
        let (name, unit) = gap.figure.name();
        row::put(&mut gaps, name, unit, Some(gap.whole.estimate));
    }
    json!({
        "schema": SCHEMA,
        "version": VERSION,
        "seed": report.plan.seed,
        "confidence": CONFIDENCE,
        "replications": report.replications,
        "title": report.plan.title,
        "provider": report.provider(),
        "model": report.model(),
        "session": report.session(),
        "gaps": gaps,
        "decisions": flat(report),
        "subsets": subsets.collect::<Vec<Flat>>(),
        "conclusion": super::text::conclusion(report),
    })
}

/// A row per decision.
pub(super) fn flat(report: &ExplainReport<'_>) -> Vec<Flat> {
    let decisions = report.decisions.iter().enumerate();
    decisions
        .map(|(index, one)| decision(report, index, one))
        .collect()
}

fn decision(report: &ExplainReport<'_>, index: usize, decision: &Decision) -> Flat {
    let mut flat = Flat::new();
    flat.insert("decision".to_owned(), decision.name.as_str().into());
    flat.insert("paths".to_owned(), decision.paths.join(" ").into());
    flat.insert("now".to_owned(), decision.now.join(" ").into());
    flat.insert(
        "counterpart".to_owned(),
        decision.counterpart.join(" ").into(),
    );
    flat.insert("source".to_owned(), decision.source.as_str().into());
    for gap in report.explanation.gaps.iter().flatten() {
        let Gap {
            figure, decisions, ..
        } = gap;
        let (name, unit) = figure.name();
        let cost = decisions[index];
        for (what, difference) in [
            ("share", cost.share),
            ("alone", cost.alone),
            ("remaining", cost.remaining),
        ] {
            row::put(
                &mut flat,
                &format!("{name}_{what}"),
                unit,
                Some(difference.estimate),
            );
        }
    }
    flat
}
