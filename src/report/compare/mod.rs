//! A comparison: which side is best for each model, every difference with its interval, and one sentence.

mod rows;
mod sentence;
mod text;
mod tiers;

use std::io::{self, Write};

use super::{Format, flat, json, markdown};
use crate::experiment::compare::{Comparison, Key, Questions};

/// What a comparison gave, with what one must know to read it.
#[derive(Clone, Copy, Debug)]
pub struct CompareReport<'a> {
    /// What is compared.
    pub title: &'a str,
    /// The root of all randomness.
    pub seed: u64,
    /// What was asked.
    pub questions: &'a Questions,
    /// What came of it.
    pub comparison: &'a Comparison,
    /// What must be known before the sides are compared, such as that their users ask for different things.
    pub notes: &'a [String],
}

impl CompareReport<'_> {
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
        markdown::Page {
            title: self.title.to_owned(),
            table: text::cells(self),
            names: 3,
            conclusions: vec![sentence::conclusion(self)],
            seed: self.seed,
            replications: format!("{} replications in pairs", self.questions.replications),
        }
    }

    /// Whether the subjects are of several sessions.
    fn has_sessions(&self) -> bool {
        let mut subjects = self.comparison.subjects.iter();
        let first = subjects.next().map(|one| &one.key.session);
        subjects.any(|one| Some(&one.key.session) != first)
    }

    /// A subject in one line: `acme · model · peak`.
    fn label(&self, key: &Key) -> String {
        let provider = key.provider.iter().map(String::as_str);
        let session = self.has_sessions().then_some(key.session.as_str());
        let parts = provider.chain([key.model.as_str()]).chain(session);
        parts.collect::<Vec<&str>>().join(" · ")
    }
}
