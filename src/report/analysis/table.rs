//! Findings as flat rows: CSV with the columns of JSON, and Markdown for pasting.

use std::io::{self, Write};

use super::Findings;
use crate::report::json::Figures;
use crate::report::{VERSION, markdown};

/// Writes a row per series.
pub(super) fn csv(findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for line in findings.lines() {
        writer
            .serialize(Figures::of(&line))
            .map_err(io::Error::from)?;
    }
    writer.flush()
}

/// Writes the table, and what each file means by TTFT.
pub(super) fn markdown(findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
    markdown::table(&findings.lines(), out)?;
    writeln!(out)?;
    for file in findings.files {
        let (tool, definition) = (file.tool, file.tool.definition());
        writeln!(out, "- {}: {tool}, TTFT from {definition}", file.file)?;
    }
    let method = findings.settings.method;
    writeln!(
        out,
        "\nthermocline {VERSION}, percentiles {}, verdict by {}",
        method.percentile, method.definition
    )
}
