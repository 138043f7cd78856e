//! A sweep: a table of every setting, and its p95 as a picture.

mod rows;
mod svg;
mod text;

use std::io::{self, Write};
use std::ops::Range;

use super::{Format, flat, json, markdown};
use crate::experiment::Plan;
use crate::experiment::sweep::{Point, Row};
use crate::experiment::users::{Difference, Figure};

/// One value for each axis, as written.
pub type Setting = Vec<String>;

/// What a sweep gave, with what one must know to read it.
#[derive(Clone, Copy, Debug)]
pub struct SweepReport<'a> {
    /// The plan at the first setting; all settings have its providers and sessions.
    pub plan: &'a Plan,
    /// What was varied.
    pub paths: &'a [String],
    /// To what.
    pub settings: &'a [Setting],
    /// What happened, by setting.
    pub points: &'a [Point],
    /// Replications of each setting.
    pub replications: u64,
}

impl SweepReport<'_> {
    /// Writes the results; text is `width` characters wide.
    pub fn write(&self, format: Format, width: usize, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text => text::write(self, width, out),
            Format::Json => json::pretty(&rows::results(self), out),
            Format::Csv => flat::write_csv(&rows::flat(self), out),
            Format::Markdown => self.page().write(out),
        }
    }

    fn page(&self) -> markdown::Page {
        let rows = self.flat();
        let models = rows.chunks(self.settings.len());
        let conclusions =
            models.map(|rows| format!("{}: {}", self.label(rows), text::conclusion(self, rows)));
        markdown::Page {
            title: self.plan.title.clone(),
            table: text::cells(self),
            names: 2 + self.paths.len(),
            conclusions: conclusions.collect(),
            seed: self.plan.seed,
            replications: format!("{} replications of each setting", self.replications),
        }
    }

    /// Every row with its setting, setting by setting within a model.
    fn flat(&self) -> Vec<(&Setting, &Row)> {
        let rows = self.points.first().map_or(0, |point| point.rows.len());
        let of_row = |row: usize| {
            let pairs = self.settings.iter().zip(self.points);
            pairs.map(move |(setting, point)| (setting, &point.rows[row]))
        };
        (0..rows).flat_map(of_row).collect()
    }

    /// The pictures of all models, each with a file's name.
    pub fn pictures(&self) -> io::Result<Vec<(String, String)>> {
        let rows = self.flat();
        let models = rows.chunks(self.settings.len()).enumerate();
        let picture = |(index, rows): (usize, &[(&Setting, &Row)])| {
            Ok((format!("p95-{}.svg", index + 1), svg::draw(self, rows)?))
        };
        models.map(picture).collect()
    }

    /// Stretches of settings that differ in the last axis alone, in the order of the settings.
    fn runs(&self, rows: &[(&Setting, &Row)]) -> Vec<Range<usize>> {
        let prefix = |at: usize| &rows[at].0[..self.paths.len().saturating_sub(1)];
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in 0..rows.len() {
            match runs.last_mut() {
                Some(run) if prefix(run.start) == prefix(at) => run.end = at + 1,
                _ => runs.push(at..at + 1),
            }
        }
        runs
    }

    /// By how much a figure changes from each setting's neighbour before it on the last axis; the first of each run has none.
    fn changes(&self, rows: &[(&Setting, &Row)], figure: Figure) -> Vec<Option<Difference>> {
        let mut changes = Vec::new();
        for run in self.runs(rows) {
            changes.push(None);
            for pair in rows[run].windows(2) {
                changes.push(pair[1].1.users.above(&pair[0].1.users, figure));
            }
        }
        changes
    }

    /// Whose settings these are: `acme · model · peak`.
    fn label(&self, rows: &[(&Setting, &Row)]) -> String {
        let Some((_, row)) = rows.first() else {
            return String::new();
        };
        let label = format!("{} · {}", self.provider(row), self.model(row));
        if self.plan.sessions.len() > 1 {
            return format!("{label} · {}", self.session(row));
        }
        label
    }

    fn provider(&self, row: &Row) -> &str {
        &self.plan.providers[row.provider].name
    }

    fn model(&self, row: &Row) -> String {
        self.plan.part_name(row.provider, row.part)
    }

    fn session(&self, row: &Row) -> &str {
        &self.plan.sessions[row.session].name
    }
}

/// The last two names of a path: `scaling.min`.
pub(super) fn short(path: &str) -> String {
    let names: Vec<&str> = path.split('.').collect();
    names[names.len().saturating_sub(2)..].join(".")
}
