//! Measured cold starts by class: their phases, the sum, the total, and what lies between the two.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::calibrate::starts::StartClass;
use crate::report::grid::{Column, fitted};
use crate::report::number;
use crate::report::text::{BOLD, wrapped};
use crate::report::{Format, SCHEMA, VERSION};
use crate::start_phase::StartPhase;

/// What a file of cold starts says.
#[derive(Clone, Copy, Debug)]
pub struct StartsReport<'a> {
    /// The file as the user named it.
    pub name: &'a str,
    /// Its starts.
    pub classes: &'a [StartClass],
}

impl StartsReport<'_> {
    /// Writes the results; text is `width` characters wide.
    pub fn write(&self, format: Format, width: usize, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text | Format::Markdown => self.text(width, out),
            Format::Json => self.json(out),
            Format::Csv => {
                let rows: Vec<Map<String, Value>> = self.classes.iter().map(row).collect();
                crate::report::flat::write_csv(&rows, out)
            }
        }
    }

    fn text(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{BOLD}Cold starts of {}{BOLD:#}\n", self.name)?;
        writeln!(out, "{}\n", self.table(width))?;
        for line in self
            .classes
            .iter()
            .flat_map(|class| wrapped(&said(class), width))
        {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn table(&self, width: usize) -> String {
        let numbers = |head: &str, of: &dyn Fn(&StartClass) -> Option<f64>| {
            let show =
                |class| of(class).map_or_else(|| number::NONE.to_owned(), number::bare_seconds);
            Column::numbers(head, self.classes.iter().map(show).collect())
        };
        let columns = || {
            let names = self.classes.iter().map(|class| class.name.clone());
            let counts = self.classes.iter().map(|class| class.starts.to_string());
            let mut columns = vec![
                Column::text("class", names.collect()),
                Column::numbers("starts", counts.collect()),
            ];
            let is_measured = |phase: &StartPhase| {
                let mut all = self.classes.iter().flat_map(|class| &class.phases);
                all.any(|(one, _)| one == phase)
            };
            for phase in StartPhase::ALL.into_iter().filter(is_measured) {
                let of = move |class: &StartClass| {
                    let found = class.phases.iter().find(|(one, _)| *one == phase);
                    found.map(|(_, span)| *span)
                };
                let head = format!("{}\ns", phase.name().replace('_', "\n"));
                columns.push(numbers(&head, &of).rank(1));
            }
            columns.push(numbers("unattri-\nbuted\ns", &|class| {
                Some(class.unattributed_s())
            }));
            columns.push(numbers("overlap\ns", &|class| Some(class.overlap_s())));
            columns.push(numbers("total\ns", &|class| Some(class.total_s)));
            columns
        };
        fitted(columns(), columns(), width, 2)
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = json!({
            "schema": SCHEMA,
            "kind": "cold-starts",
            "version": VERSION,
            "file": self.name,
            "classes": self.classes.iter().map(row).collect::<Vec<_>>(),
        });
        serde_json::to_writer_pretty(&mut *out, &all).map_err(io::Error::from)?;
        writeln!(out)
    }
}

/// A class with every phase, those that were not measured `null`.
fn row(class: &StartClass) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("class".to_owned(), json!(class.name));
    row.insert("starts".to_owned(), json!(class.starts));
    for phase in StartPhase::ALL {
        let found = class.phases.iter().find(|(one, _)| *one == phase);
        row.insert(
            format!("{}_s", phase.name()),
            json!(found.map(|(_, span)| span)),
        );
    }
    for (key, value) in [
        ("unattributed_s", class.unattributed_s()),
        ("overlap_s", class.overlap_s()),
        ("sum_s", class.sum_s),
        ("total_s", class.total_s),
    ] {
        row.insert(key.to_owned(), json!(value));
    }
    row
}

/// What a class comes to, in a sentence.
fn said(class: &StartClass) -> String {
    let span = number::seconds;
    let (sum, total) = (span(class.sum_s), span(class.total_s));
    let name = &class.name;
    if class.overlap_s() > 0.0 {
        let by = span(class.overlap_s());
        format!(
            "{name}: the phases add up to {sum}, {by} more than the total of {total}: they overlap, and one after the other they overstate a start."
        )
    } else if class.unattributed_s() > 0.0 {
        let by = span(class.unattributed_s());
        format!(
            "{name}: the phases add up to {sum}, {by} less than the total of {total}: that rest belongs to no phase."
        )
    } else {
        format!("{name}: the phases add up to the total of {total}.")
    }
}
