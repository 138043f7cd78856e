//! A plan: the cheapest setting that meets the aim with its runner-ups, or that none does and what came nearest.

mod rows;
mod text;

use std::io::{self, Write};

use super::sweep::Setting;
use super::{Format, flat, json, markdown};
use crate::experiment::Plan;
use crate::experiment::plan::{Aim, Found};

/// What a plan gave, with what one must know to read it.
#[derive(Clone, Copy, Debug)]
pub struct PlanReport<'a> {
    /// The plan at the first setting; all settings have its providers and sessions.
    pub plan: &'a Plan,
    /// What is free.
    pub paths: &'a [String],
    /// What it may be.
    pub settings: &'a [Setting],
    /// What is asked for.
    pub aim: &'a Aim,
    /// What was found.
    pub found: &'a Found,
    /// Settings that cannot be, such as a model on GPUs that do not hold it.
    pub impossible: usize,
    /// Where the best lies at an end of what was allowed.
    pub edges: &'a [String],
    /// What it is held against, if anything.
    pub serverless: Option<Serverless>,
}

/// A serverless offer of the same models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Serverless {
    /// What a million tokens cost \[USD\].
    pub usd_per_million_tokens: f64,
    /// Tokens of a request, in and out.
    pub tokens_per_request: f64,
    /// Requests an hour from which on the answer costs less.
    pub break_even_per_hour: f64,
}

impl PlanReport<'_> {
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
            title: self.plan.title.clone(),
            table: text::cells(self),
            names: self.paths.len(),
            conclusions: vec![text::conclusion(self)],
            seed: self.plan.seed,
            replications: format!("{} replications of each setting", self.aim.replications),
        }
    }
}
