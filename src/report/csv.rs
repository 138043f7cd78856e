//! The benchmark's rows as CSV, columns named as in JSON.

use std::io::{self, Write};

use serde_json::{Map, Value};

use super::{Report, json};

/// Writes a row per provider, model and session.
pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for row in json::figures(report) {
        writer.serialize(row).map_err(io::Error::from)?;
    }
    writer.flush()
}

/// A row: keys in their order.
pub(super) type Flat = Map<String, Value>;

/// Writes rows that have the same keys.
pub(super) fn write_rows(rows: &[Flat], out: &mut dyn Write) -> io::Result<()> {
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
