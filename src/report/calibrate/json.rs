//! A calibration for programs: units in the keys, `null` for what is undefined.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::{CalibrationReport, Source};
use crate::calibrate::distance::Groups;
use crate::calibrate::free::Place;
use crate::calibrate::observed::Series;
use crate::calibrate::predict::{Check, Load, Unit};
use crate::report::{SCHEMA, VERSION};

/// Writes everything.
pub(super) fn write(report: &CalibrationReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    let posterior = report.posterior;
    let values: Vec<Value> = (0..posterior.free.len())
        .map(|index| value(report, index))
        .collect();
    let free = |index: usize| posterior.free[index].name.as_str();
    let tied: Vec<Value> = posterior
        .tied()
        .iter()
        .map(|pair| json!({"first": free(pair.first), "second": free(pair.second), "correlation": pair.correlation}))
        .collect();
    let mut all = json!({
        "schema": SCHEMA,
        "kind": "calibration",
        "version": VERSION,
        "scenario": report.name,
        "title": report.plan.title,
        "seed": report.plan.seed,
        "simulations": posterior.simulations,
        "impossible_settings": posterior.impossible,
        "predictions": report.prediction.predictions,
        "sources": report.sources.iter().map(source).collect::<Vec<Value>>(),
        "groups": report.series.iter().map(groups).collect::<Vec<Value>>(),
        "calibrated": report.prediction.is_calibrated(),
        "values": values,
        "tied": tied,
        "open": report.open(),
        "failures": report.failures(),
        "checks": report.prediction.checks.iter().map(|check| Value::Object(row(report, check))).collect::<Vec<Value>>(),
    });
    if let Some(next) = &report.next {
        all["next"] = next.value();
    }
    crate::report::json::pretty(&all, out)
}

fn source(source: &Source) -> Value {
    json!({
        "name": source.name,
        "tool": source.tool,
        "ttft_definition": source.ttft,
        "unanswered": source.unanswered,
        "discarded": source.discarded,
    })
}

/// Warm and cold requests of a series; `null` where only figures are known.
fn groups(series: &Series) -> Value {
    let Some(groups) = Groups::of(series) else {
        return Value::Null;
    };
    json!({
        "series": series.name,
        "told_by": super::told_by(groups.told_by),
        "warm_requests": groups.warm,
        "warm_ttft_median_s": groups.warm_median_s,
        "cold_requests": groups.cold,
        "cold_ttft_median_s": groups.cold_median_s,
    })
}

/// A free value; numbers in its unit.
fn value(report: &CalibrationReport<'_>, index: usize) -> Value {
    let (posterior, free) = (report.posterior, &report.posterior.free[index]);
    let path = match &free.place {
        Place::Path(path) => Some(path),
        Place::Requests | Place::CvDefinition => None,
    };
    if free.choices().is_some() {
        let shares = posterior.shares(index);
        let count = shares.len() as f64;
        let shares: Map<String, Value> = shares
            .iter()
            .enumerate()
            .map(|(choice, share)| (free.text((choice as f64 + 0.5) / count), json!(share)))
            .collect();
        return json!({"name": free.name, "path": path, "best": free.text(report.best[index]), "shares": shares});
    }
    let marginal = posterior.marginal(index);
    let number = |place: f64| free.number(place);
    json!({
        "name": free.name,
        "path": path,
        "unit": free.unit(),
        "estimate": number(marginal.point),
        "best": number(report.best[index]),
        "low_50": number(marginal.half.0),
        "high_50": number(marginal.half.1),
        "low_90": number(marginal.most.0),
        "high_90": number(marginal.most.1),
        "allowed_from": number(0.0),
        "allowed_to": number(1.0),
        "contraction": marginal.contraction,
    })
}

/// A row of the predictive check.
fn row(report: &CalibrationReport<'_>, check: &Check) -> Map<String, Value> {
    let unit = match check.metric.unit {
        Unit::Seconds => "s",
        Unit::Percent => "percent",
        Unit::Requests => "requests",
        Unit::One => "",
    };
    let (load, others) = match check.metric.load {
        Load::All => ("all", None),
        Load::Quiet(most) => ("quiet", Some(most)),
        Load::Busy(most) => ("busy", Some(most)),
    };
    let fields = [
        ("series", json!(report.series[check.series].name)),
        ("metric", json!(check.metric.name)),
        ("unit", json!(unit)),
        ("load", json!(load)),
        ("load_split_at", json!(others)),
        ("measured", json!(check.measured)),
        ("simulated", json!(check.middle)),
        ("simulated_low_90", json!(check.low)),
        ("simulated_high_90", json!(check.high)),
        (
            "error_percent",
            json!(check.error().map(|error| 100.0 * error)),
        ),
        ("probability", json!(check.probability)),
        ("any_probability", json!(check.any_probability)),
        ("fails", json!(check.fails)),
    ];
    fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// The rows of the predictive check, for spreadsheets.
pub(super) fn write_csv(report: &CalibrationReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<Map<String, Value>> = report
        .prediction
        .checks
        .iter()
        .map(|check| row(report, check))
        .collect();
    crate::report::flat::write_csv(&rows, out)
}
