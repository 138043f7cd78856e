//! The wire: flat rows, the same in JSON and CSV. Every number's unit stands in its key; an undefined one is `null`, or empty.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Setting, SweepReport};
use crate::experiment::repeat::Spread;
use crate::experiment::sweep::Row;
use crate::measure::summary::CONFIDENCE;
use crate::report::csv::{Flat, write_rows};
use crate::report::{SCHEMA, VERSION};
use crate::stats::Estimate;

/// Everything, for JSON.
pub(super) fn results(report: &SweepReport<'_>) -> Value {
    json!({
        "schema": SCHEMA,
        "version": VERSION,
        "seed": report.plan.seed,
        "percentile_method": report.plan.percentile.name(),
        "confidence": CONFIDENCE,
        "replications": report.replications,
        "title": report.plan.title,
        "varied": report.paths,
        "settings": flat(report),
    })
}

/// The rows as CSV.
pub(super) fn write_csv(report: &SweepReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_rows(&flat(report), out)
}

fn flat(report: &SweepReport<'_>) -> Vec<Flat> {
    let rows = report.flat().into_iter();
    rows.map(|(setting, row)| flat_row(report, setting, row))
        .collect()
}

fn flat_row(report: &SweepReport<'_>, setting: &Setting, row: &Row) -> Flat {
    let mut flat = Flat::new();
    let mut put = |key: &str, value: Value| {
        flat.insert(key.to_owned(), value);
    };
    put("provider", report.provider(row).into());
    put("model", report.model(row).into());
    put("session", report.session(row).into());
    for (path, value) in report.paths.iter().zip(setting) {
        // A number stays one, so that a spreadsheet can draw it.
        put(
            path,
            serde_json::from_str(value).unwrap_or_else(|_| value.as_str().into()),
        );
    }
    let users = &row.users;
    let estimates = [
        ("ttft_p50", "_s", users.ttft_p50_s),
        ("ttft_p95", "_s", users.ttft_p95_s),
        ("ttft_p99", "_s", users.ttft_p99_s),
        ("cv", "_percent", users.cv_percent),
        ("cold_requests", "_percent", users.cold_requests_percent),
        ("unanswered", "_percent", users.unanswered_percent),
        ("total", "_gpu_hours", users.gpu_hours),
        ("cost", "_usd", users.cost_usd),
    ];
    for (name, unit, estimate) in estimates {
        let [point, low, high] = ends(estimate);
        put(&format!("{name}{unit}"), point.into());
        put(&format!("{name}_low{unit}"), low.into());
        put(&format!("{name}_high{unit}"), high.into());
    }
    put("window_hours", users.window_hours.into());
    let reported = row.reported;
    let spreads = [
        (
            "reported_ttft_median",
            "_s",
            reported.map(|one| one.ttft_median_s),
        ),
        (
            "reported_ttft_p95",
            "_s",
            reported.map(|one| one.ttft_p95_s),
        ),
        (
            "reported_cv",
            "_percent",
            reported.map(|one| one.cv_percent),
        ),
    ];
    for (name, unit, spread) in spreads {
        let quantile = |pick: fn(Spread) -> Option<f64>| spread.and_then(pick);
        put(&format!("{name}_p05{unit}"), quantile(|one| one.p05).into());
        put(&format!("{name}_p50{unit}"), quantile(|one| one.p50).into());
        put(&format!("{name}_p95{unit}"), quantile(|one| one.p95).into());
    }
    flat
}

/// The point and the ends of its interval.
fn ends(estimate: Option<Estimate>) -> [Option<f64>; 3] {
    let interval = estimate.and_then(|one| one.interval);
    [
        estimate.map(|one| one.point),
        interval.map(|one| one.low),
        interval.map(|one| one.high),
    ]
}
