//! The benchmark's rows as CSV, columns named as in JSON.

use std::io::{self, Write};

use super::{Report, json};

/// Writes a row per provider, model and session.
pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for row in json::figures(report) {
        writer.serialize(row).map_err(io::Error::from)?;
    }
    writer.flush()
}
