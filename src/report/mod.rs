//! Results as text, JSON, CSV or Markdown. Everything here writes into a `Write`; nothing prints.
//!
//! A figure that is undefined is `–` in text and `null` in JSON. The wire names stand in `json.rs` and are the same in CSV.

mod account;
mod allotment;
pub mod analysis;
pub mod calibrate;
pub mod catalogue;
pub mod compare;
mod costs;
mod csv;
pub mod explain;
mod figures;
mod flat;
mod grid;
mod json;
mod markdown;
pub mod measured;
pub mod number;
mod picture;
pub mod plan;
mod published;
pub mod selftest;
pub mod sentence;
mod strip;
pub mod sweep;
mod text;
mod text_published;
mod text_spread;
pub mod theory;
pub mod too_long;
pub mod trace;
mod users;
pub mod words;

use std::io::{self, Write};

use crate::experiment::Plan;
use crate::experiment::repeat::{Outcome, Row};
use crate::stats::CvDefinition;

use figures::Line;
use text::Names;

pub use text::wrapped;

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: everything, strict JSON.
    Json,
    /// For spreadsheets: the benchmark's rows.
    Csv,
    /// For pasting: the benchmark's rows.
    Markdown,
}

/// The number of the layout of JSON results.
pub const SCHEMA: u32 = json::SCHEMA;

/// The version that results name.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a plan gave, with what one must know to read it.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The scenario as the user named it.
    pub name: &'a str,
    /// What was run.
    pub plan: &'a Plan,
    /// What came of it.
    pub outcome: &'a Outcome,
    /// Which relative spread gives the verdicts.
    pub definition: CvDefinition,
}

impl Report<'_> {
    /// Writes the results. Text is `width` characters wide and carries ANSI colours, which a terminal's stream removes where
    /// they are not wanted.
    pub fn write(&self, format: Format, width: usize, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text => text::write(self, width, out),
            Format::Json => json::write(self, out),
            Format::Csv => csv::write(self, out),
            Format::Markdown => markdown::write(self, out),
        }
    }

    fn provider(&self, row: &Row) -> &str {
        &self.plan.providers[row.provider].name
    }

    fn model(&self, row: &Row) -> &str {
        let fleet = &self.plan.providers[row.provider].fleet;
        &fleet.deployments[row.deployment as usize].name
    }

    fn session(&self, row: &Row) -> &str {
        &self.plan.sessions[row.session].name
    }

    /// The row as the table takes it.
    fn line<'r>(&'r self, row: &'r Row) -> Line<'r> {
        Line {
            names: Names {
                provider: self.provider(row),
                model: self.model(row),
                session: self.session(row),
            },
            summary: &row.summary,
            verdict: row.verdict,
            classes: row.classes.as_ref(),
        }
    }

    /// The row's name in one line: `breadth-first · niche-model · peak`.
    fn label(&self, row: &Row) -> String {
        let mut label = format!("{} · {}", self.provider(row), self.model(row));
        if self.plan.sessions.len() > 1 {
            label = format!("{label} · {}", self.session(row));
        }
        label
    }
}
