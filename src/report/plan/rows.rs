//! A plan for programs: a row per setting and model.

use serde_json::{Value, json};

use super::PlanReport;
use crate::experiment::plan::{Candidate, Row};
use crate::report::flat::{self as row, Flat};
use crate::report::{SCHEMA, VERSION, users};

/// Everything, for JSON.
pub(super) fn results(report: &PlanReport<'_>) -> Value {
    let objectives = report.aim.objectives.iter().map(|one| {
        let (name, unit) = one.figure.name();
        let mut flat = Flat::new();
        flat.insert(format!("{name}_below{unit}"), one.limit.into());
        flat
    });
    let answer = report.found.answer().map(|one| setting(report, one));
    json!({
        "schema": SCHEMA,
        "version": VERSION,
        "seed": report.plan.seed,
        "confidence": report.aim.confidence,
        "replications": report.aim.replications,
        "title": report.plan.title,
        "objectives": objectives.collect::<Vec<Flat>>(),
        "models": report.aim.models,
        "traffic_share_percent": 100.0 * report.aim.share,
        "reachable": answer.is_some(),
        "answer": answer,
        "edges": report.edges,
        "break_even_requests_per_hour": report.serverless.map(|one| one.break_even_per_hour),
        "impossible_settings": report.impossible,
        "dropped_settings": report.found.dropped,
        "runs": report.found.runs,
        "settings": flat(report),
        "conclusion": super::text::conclusion(report),
    })
}

/// A row per setting and model, settings in the order of their rank.
pub(super) fn flat(report: &PlanReport<'_>) -> Vec<Flat> {
    let candidates = report.found.candidates.iter();
    candidates
        .flat_map(|one| one.rows.iter().map(|row| of_row(report, one, row)))
        .collect()
}

/// The setting's values and what it costs.
fn setting(report: &PlanReport<'_>, candidate: &Candidate) -> Flat {
    let mut flat = Flat::new();
    for (path, value) in report.paths.iter().zip(&report.settings[candidate.setting]) {
        flat.insert(path.clone(), row::value(value));
    }
    flat.insert(
        "cost_usd_per_hour".to_owned(),
        candidate.usd_per_hour.into(),
    );
    flat.insert("gpus".to_owned(), candidate.gpus.into());
    flat.insert("is_met".to_owned(), candidate.is_met().into());
    flat
}

fn of_row(report: &PlanReport<'_>, candidate: &Candidate, one: &Row) -> Flat {
    let mut flat = setting(report, candidate);
    let provider = &report.plan.providers[one.provider];
    let model = &provider.fleet.deployments[one.deployment as usize].name;
    flat.insert("provider".to_owned(), provider.name.as_str().into());
    flat.insert("model".to_owned(), model.as_str().into());
    let session = report.plan.sessions[one.session].name.as_str();
    flat.insert("session".to_owned(), session.into());
    flat.insert("requests".to_owned(), one.requests.into());
    for (objective, upper) in report.aim.objectives.iter().zip(&one.upper) {
        let (name, unit) = objective.figure.name();
        let upper = upper.is_finite().then_some(*upper);
        flat.insert(format!("{name}_upper{unit}"), upper.into());
    }
    users::put_all(&mut flat, &one.users);
    flat
}
