//! The wire: flat rows, the same in JSON and CSV. Every number's unit stands in its key; an undefined one is `null`, or empty.

use serde_json::{Value, json};

use super::{Setting, SweepReport};
use crate::experiment::repeat::Spread;
use crate::experiment::sweep::Row;
use crate::experiment::users::Figure;
use crate::measure::summary::CONFIDENCE;
use crate::report::flat::{self, Flat};
use crate::report::users;
use crate::report::{SCHEMA, VERSION};

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

/// A row per setting, setting by setting within a model.
pub(super) fn flat(report: &SweepReport<'_>) -> Vec<Flat> {
    let all = report.flat();
    let of_model = |rows: &[(&Setting, &Row)]| {
        let mut flat: Vec<Flat> = rows
            .iter()
            .map(|(setting, row)| flat_row(report, setting, row))
            .collect();
        for figure in Figure::ALL {
            let (name, unit) = figure.name();
            for (cells, change) in flat.iter_mut().zip(report.changes(rows, figure)) {
                let change = change.map(|one| one.estimate);
                flat::put(cells, &format!("{name}_change"), unit, change);
            }
        }
        flat
    };
    all.chunks(report.settings.len())
        .flat_map(of_model)
        .collect()
}

fn flat_row(report: &SweepReport<'_>, setting: &Setting, row: &Row) -> Flat {
    let mut cells = Flat::new();
    cells.insert("provider".to_owned(), report.provider(row).into());
    cells.insert("model".to_owned(), report.model(row).into());
    cells.insert("session".to_owned(), report.session(row).into());
    for (path, value) in report.paths.iter().zip(setting) {
        cells.insert(path.clone(), flat::value(value));
    }
    users::put_all(&mut cells, &row.users);
    cells.insert("window_hours".to_owned(), row.users.window_hours.into());
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
        let quantile = |pick: fn(Spread) -> Option<f64>| Value::from(spread.and_then(pick));
        cells.insert(format!("{name}_p05{unit}"), quantile(|one| one.p05));
        cells.insert(format!("{name}_p50{unit}"), quantile(|one| one.p50));
        cells.insert(format!("{name}_p95{unit}"), quantile(|one| one.p95));
    }
    cells
}
