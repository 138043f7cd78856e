//! An explanation: what was replaced by what, what each decision costs, and one sentence.

mod rows;
mod text;

use std::io::{self, Write};

use super::{Format, flat, json, markdown};
use crate::experiment::Plan;
use crate::experiment::explain::{Explanation, Subject};

/// A decision about a deployment, and what stands against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Its name.
    pub name: String,
    /// The values' paths below the deployment.
    pub paths: Vec<String>,
    /// What they are.
    pub now: Vec<String>,
    /// What they become.
    pub counterpart: Vec<String>,
    /// Where that comes from.
    pub source: String,
    /// The counterpart as `--set` takes it.
    pub set: Vec<String>,
}

impl Decision {
    /// The same with those of these names as one.
    pub fn joined(decisions: Vec<Self>, names: &[&str]) -> Vec<Self> {
        let mut joined: Vec<Self> = Vec::new();
        let mut place: Option<usize> = None;
        for one in decisions {
            let is_named = names.contains(&one.name.as_str());
            if let Some(at) = place.filter(|_| is_named) {
                joined[at].take_in(one);
                continue;
            }
            if is_named {
                place = Some(joined.len());
            }
            joined.push(one);
        }
        joined
    }

    fn take_in(&mut self, other: Self) {
        self.name = format!("{} + {}", self.name, other.name);
        self.paths.extend(other.paths);
        self.now.extend(other.now);
        self.counterpart.extend(other.counterpart);
        self.set.extend(other.set);
        if self.source != other.source {
            self.source = format!("{}; {}", self.source, other.source);
        }
    }
}

/// What an explanation gave, with what one must know to read it.
#[derive(Clone, Copy, Debug)]
pub struct ExplainReport<'a> {
    /// The plan as it is.
    pub plan: &'a Plan,
    /// The deployment.
    pub subject: Subject,
    /// The decisions, in the order of the explanation's bits.
    pub decisions: &'a [Decision],
    /// What came of it.
    pub explanation: &'a Explanation,
    /// Replications of every combination.
    pub replications: u64,
}

impl ExplainReport<'_> {
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
            title: self.label(),
            table: text::cells(self),
            names: 3,
            conclusions: vec![text::conclusion(self)],
            seed: self.plan.seed,
            replications: format!("{} replications of each combination", self.replications),
        }
    }

    fn provider(&self) -> &str {
        &self.plan.providers[self.subject.provider].name
    }

    fn model(&self) -> &str {
        let fleet = &self.plan.providers[self.subject.provider].fleet;
        &fleet.deployments[self.subject.deployment as usize].name
    }

    fn session(&self) -> &str {
        &self.plan.sessions[self.subject.session].name
    }

    /// The deployment in one line, with the session where there are several.
    fn label(&self) -> String {
        let label = format!("{} · {}", self.provider(), self.model());
        if self.plan.sessions.len() > 1 {
            return format!("{label} · {}", self.session());
        }
        label
    }
}
