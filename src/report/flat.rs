//! Flat rows that JSON and CSV share. Every number's unit stands in its key; an undefined one is `null`, or empty.

use std::io::{self, Write};

use serde_json::{Map, Value};

use crate::stats::Estimate;

/// A row: keys in their order.
pub(super) type Flat = Map<String, Value>;

/// Puts an estimate and the ends of its interval into a row, as `NAME[_low|_high]UNIT`.
pub(super) fn put(row: &mut Flat, name: &str, unit: &str, estimate: Option<Estimate>) {
    let interval = estimate.and_then(|one| one.interval);
    let ends = [
        ("", estimate.map(|one| one.point)),
        ("_low", interval.map(|one| one.low)),
        ("_high", interval.map(|one| one.high)),
    ];
    for (end, value) in ends {
        row.insert(format!("{name}{end}{unit}"), value.into());
    }
}

/// A setting's value: a number stays one, so that a spreadsheet can draw it.
pub(super) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Writes rows as CSV; all have the keys of the first.
pub(super) fn write_csv(rows: &[Flat], out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for (index, row) in rows.iter().enumerate() {
        if index == 0 {
            writer.write_record(row.keys())?;
        }
        writer.write_record(row.values().map(cell))?;
    }
    writer.flush()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
