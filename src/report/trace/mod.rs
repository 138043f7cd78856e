//! What traces hold: a page for each file, or a row.

mod laws;
mod rows;
mod scenario;
mod text;

use std::io::{self, Write};

use super::{Format, VERSION, json, markdown};
use crate::trace::{self, Fits, Survey};

/// A file and what it holds.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The file as the user named it.
    pub file: String,
    /// What kind of file it is.
    pub format: trace::Format,
    /// What it holds.
    pub survey: Survey,
    /// Laws of its arrivals, where there are enough.
    pub fits: Option<Fits>,
}

/// Files, side by side.
#[derive(Clone, Copy, Debug)]
pub struct Inspection<'a> {
    /// The files.
    pub files: &'a [Inspected],
}

impl Inspection<'_> {
    /// Writes what was found; text is `width` characters wide.
    pub fn write(&self, format: Format, width: usize, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text => text::write(self, width, out),
            Format::Json => json::pretty(&rows::results(self), out),
            Format::Csv => rows::write_csv(self, out),
            Format::Markdown => self.write_markdown(out),
        }
    }

    /// Writes the laws called `law`, or each trace's best, as a scenario.
    pub fn write_scenario(&self, law: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(scenario::scenario(self.files, law).as_bytes())
    }

    fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let heads = [
            "file",
            "requests",
            "span",
            "rate",
            "CV of gaps",
            "longest silence",
            "var/mean in 60 s",
            "prompt p50",
            "p95",
            "output p50",
            "p95",
            "best law",
        ];
        markdown::header(&heads, 1, out)?;
        for one in self.files {
            markdown::line(&text::row(one), out)?;
        }
        writeln!(out, "\nthermocline {VERSION}; lengths in tokens")
    }
}
