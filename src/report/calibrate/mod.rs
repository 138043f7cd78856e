//! What a calibration found: values with intervals, what cannot be told apart, and whether the scenario does what was measured.

mod json;
mod picture;
pub mod starts;
mod suggestion;
mod text;
pub mod trials;

use std::io::{self, Write};

use super::Format;
use crate::calibrate::distance::ToldBy;
use crate::calibrate::observed::Series;
use crate::calibrate::posterior::{Pair, Posterior};
use crate::calibrate::predict::Prediction;
use crate::experiment::{Plan, Published};
use crate::import::Imported;

pub use suggestion::SuggestionReport;

/// Where a measurement comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, or the figures.
    pub name: String,
    /// What wrote it.
    pub tool: String,
    /// From where to where its TTFT runs.
    pub ttft: String,
    /// Requests without an answer.
    pub unanswered: usize,
    /// Warm-up requests that were dropped.
    pub discarded: usize,
}

impl Source {
    /// Of a file, of whose requests so many were not answered.
    pub fn of_file(file: &Imported, unanswered: usize) -> Self {
        Self {
            name: file.file.clone(),
            tool: file.tool.name().to_owned(),
            ttft: file.tool.definition().to_string(),
            unanswered,
            discarded: file.discarded,
        }
    }

    /// Of a published row.
    pub fn of_published(row: &Published) -> Self {
        Self {
            name: format!("{}/{}", row.provider, row.model),
            tool: "published figures".to_owned(),
            ..Self::of_figures("")
        }
    }

    /// Of reported figures.
    pub fn of_figures(text: &str) -> Self {
        Self {
            name: text.to_owned(),
            tool: "reported figures".to_owned(),
            ttft: "unknown".to_owned(),
            unanswered: 0,
            discarded: 0,
        }
    }
}

/// What was found, with what one must know to read it.
#[derive(Clone, Copy, Debug)]
pub struct CalibrationReport<'a> {
    /// The scenario as the user named it.
    pub name: &'a str,
    /// The scenario as it was given.
    pub plan: &'a Plan,
    /// What was measured.
    pub series: &'a [Series],
    /// Where that comes from.
    pub sources: &'a [Source],
    /// What is known of the free values.
    pub posterior: &'a Posterior,
    /// Places of the best single setting.
    pub best: &'a [f64],
    /// Whether the scenario does what was measured.
    pub prediction: &'a Prediction,
    /// Which measurement to make next, where that was asked.
    pub next: Option<SuggestionReport<'a>>,
}

impl CalibrationReport<'_> {
    /// Writes the results; text is `width` characters wide.
    pub fn write(&self, format: Format, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let next = self.next.as_ref();
        match format {
            Format::Text => {
                text::write(self, width, out)?;
                next.map_or(Ok(()), |next| {
                    writeln!(out)?;
                    next.write_text(width, out)
                })
            }
            Format::Json => json::write(self, out),
            // One table a file: the plans, where those were asked for.
            Format::Csv => match next {
                Some(next) => next.write(format, width, out),
                None => json::write_csv(self, out),
            },
            Format::Markdown => {
                text::write_markdown(self, out)?;
                next.map_or(Ok(()), |next| {
                    writeln!(out)?;
                    next.write(format, width, out)
                })
            }
        }
    }

    /// Pictures, each with a file's name.
    pub fn pictures(&self) -> io::Result<Vec<(String, String)>> {
        picture::all(self)
    }

    /// The rows of the check, for spreadsheets, whatever else was asked.
    pub fn write_checks(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write_csv(self, out)
    }

    /// Where the values come from, in lines.
    pub fn provenance(&self) -> Vec<String> {
        let posterior = self.posterior;
        let mut lines: Vec<String> = Vec::new();
        for source in self.sources {
            lines.push(format!("Measured: {} ({})", source.name, source.tool));
        }
        lines.push(format!(
            "Search: {} simulations, seed {}; point estimates are posterior medians.",
            posterior.simulations, self.plan.seed
        ));
        for (index, free) in posterior.free.iter().enumerate() {
            lines.push(format!("  {} = {}", free.name, self.in_words(index)));
        }
        lines.push(if self.prediction.is_calibrated() {
            "The scenario would have given what was measured.".to_owned()
        } else {
            format!("NOT CALIBRATED: {}", self.failures().join("; "))
        });
        lines
    }

    /// A value with its interval, or its shares.
    fn in_words(&self, index: usize) -> String {
        let (posterior, free) = (self.posterior, &self.posterior.free[index]);
        if free.choices().is_some() {
            return self.shares(index).join(", ");
        }
        let marginal = posterior.marginal(index);
        let text = |place| free.text_of(place, 3);
        let (low, high) = marginal.most;
        format!(
            "{} (90 %: {} to {})",
            text(marginal.point),
            text(low),
            text(high)
        )
    }

    /// The choices of a value with their shares: `0 (97 %)`.
    fn shares(&self, index: usize) -> Vec<String> {
        let free = &self.posterior.free[index];
        let shares = self.posterior.shares(index);
        let count = shares.len() as f64;
        let mut all: Vec<(f64, String)> = shares
            .into_iter()
            .enumerate()
            .map(|(choice, share)| (share, free.text((choice as f64 + 0.5) / count)))
            .collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let word = |(share, text): (f64, String)| format!("{text} ({:.0} %)", 100.0 * share);
        all.into_iter().map(word).collect()
    }

    /// What the measurement cannot tell, in sentences.
    fn open(&self) -> Vec<String> {
        let posterior = self.posterior;
        let mut lines: Vec<String> = posterior.tied().iter().map(|pair| self.tie(pair)).collect();
        for (index, free) in posterior.free.iter().enumerate() {
            if free.choices().is_some() {
                continue;
            }
            let contraction = posterior.marginal(index).contraction;
            if contraction < crate::calibrate::posterior::IDENTIFIED {
                let left = 100.0 * (1.0 - contraction);
                lines.push(format!(
                    "{} is not identified: its interval is {left:.0} % as wide as what was allowed.",
                    free.name
                ));
            }
        }
        lines
    }

    fn tie(&self, pair: &Pair) -> String {
        let free = &self.posterior.free;
        let (first, second) = (&free[pair.first], &free[pair.second]);
        let both_log = first.is_logarithmic() && second.is_logarithmic();
        let known = match (pair.correlation < 0.0, both_log) {
            (true, true) => "what is known is their product",
            (false, true) => "what is known is their ratio",
            (true, false) => "more of one is less of the other",
            (false, false) => "they go up together",
        };
        format!(
            "{} and {} cannot be told apart (correlation {:.2}): {known}.",
            first.name, second.name, pair.correlation
        )
    }

    /// What fails, in words.
    fn failures(&self) -> Vec<String> {
        let fails = self.prediction.checks.iter().filter(|check| check.fails);
        fails.map(|check| text::failure(self, check)).collect()
    }
}

/// What tells warm requests from cold ones, in a word or two.
fn told_by(by: ToldBy) -> &'static str {
    match by {
        ToldBy::Flags => "flags",
        ToldBy::TwoGroups => "two groups",
        ToldBy::CannotTell => "cannot tell",
        ToldBy::OneGroup => "one group",
    }
}
