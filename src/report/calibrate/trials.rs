//! What trials of a calibration say: whether intervals hold the truth as often as they promise.

use std::io::{self, Write};

use comfy_table::Color;
use serde_json::{Map, Value, json};

use crate::calibrate::trials::{
    BIAS, DRAWS, Digest, Finding, Found, LEAST_PROBABILITY, Trial, Trials,
};
use crate::experiment::Plan;
use crate::report::grid::{Column, fitted};
use crate::report::markdown::Page;
use crate::report::number;
use crate::report::text::{BOLD, DIM, wrapped};
use crate::report::{Format, SCHEMA, VERSION};
use crate::stats::Uniformity;

/// A drill is caught when the check refuses this share of its measurements.
const CAUGHT: f64 = 0.5;

/// Heads of the table, each of two lines.
const HEADS: [(&str, &str); 7] = [
    ("value", ""),
    ("truth within", "90 % interval"),
    ("that is", "%"),
    ("bias", "deviations"),
    ("ranks", "KS p"),
    ("", "chi2 p"),
    ("off", ""),
];

/// What the trials gave, with what one must know to read it.
#[derive(Clone, Copy, Debug)]
pub struct TrialsReport<'a> {
    /// The scenario as the user named it.
    pub name: &'a str,
    /// The scenario.
    pub plan: &'a Plan,
    /// How they were made.
    pub trials: &'a Trials<'a>,
    /// All of them.
    pub done: &'a [Trial],
    /// Whether measurements were made by another world than is calibrated.
    pub is_drill: bool,
}

impl TrialsReport<'_> {
    /// Whether calibrations do what they promise; of a drill, whether the check catches it.
    pub fn holds(&self) -> bool {
        if self.is_drill {
            self.refused() as f64 >= CAUGHT * self.done.len() as f64
        } else {
            self.findings()
                .iter()
                .all(|(_, finding)| finding.faults().is_empty())
        }
    }

    /// Writes the results; text is `width` characters wide.
    pub fn write(&self, format: Format, width: usize, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text => self.text(width, out),
            Format::Markdown => self.page().write(out),
            Format::Json => self.json(out),
            Format::Csv => crate::report::flat::write_csv(&self.rows(), out),
        }
    }

    fn refused(&self) -> usize {
        self.done
            .iter()
            .filter(|trial| !trial.refused.is_empty())
            .count()
    }

    /// By quantity, its name and what was found.
    fn findings(&self) -> Vec<(String, Finding)> {
        let quantities = self.trials.quantities();
        let one = |(index, quantity): (usize, &crate::calibrate::trials::Quantity)| {
            let found: Vec<Found> = self.done.iter().map(|trial| trial.found[index]).collect();
            let finding = Finding::of(&found, self.trials.truth.is_some());
            (quantity.name(self.trials.calibrated.free), finding)
        };
        quantities.iter().enumerate().map(one).collect()
    }

    fn text(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{BOLD}{}: can its calibrations be trusted?{BOLD:#}",
            self.plan.title
        )?;
        for line in wrapped(&format!("seed {}, {}", self.plan.seed, self.facts()), width) {
            writeln!(out, "{DIM}{line}{DIM:#}")?;
        }
        writeln!(out, "\n{}\n", self.table(width))?;
        for line in wrapped(&self.verdict(), width) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn facts(&self) -> String {
        let truth = match self.trials.truth {
            Some(_) => "at one and the same truth",
            None => "at truths drawn from the ranges",
        };
        let measured = match self.trials.figures {
            None => "requests".to_owned(),
            Some(digest) => figures(digest),
        };
        format!(
            "{} measurements {truth}, as {measured}, {} simulations each",
            number::count(self.done.len() as u64),
            number::count(self.trials.simulations)
        )
    }

    fn table(&self, width: usize) -> String {
        let findings = self.findings();
        let faults = findings.iter().map(|(_, one)| !one.faults().is_empty());
        let colours: Vec<Option<Color>> =
            faults.map(|is_off| is_off.then_some(Color::Red)).collect();
        let column = |index: usize, (first, second): (&str, &str)| {
            let cells = findings.iter().map(|one| cells(one)[index].clone());
            let head = format!("{first}\n{second}");
            match index {
                0 => Column::text(head.trim(), cells.collect()),
                6 => Column::text(head.trim(), cells.collect()).coloured(colours.clone()),
                _ => Column::numbers(&head, cells.collect()),
            }
        };
        let columns: Vec<Column> = HEADS
            .into_iter()
            .enumerate()
            .map(|(index, head)| column(index, head))
            .collect();
        fitted(columns.clone(), columns, width, 2)
    }

    fn page(&self) -> Page {
        let heads = HEADS.map(|(first, second)| format!("{first} {second}").trim().to_owned());
        let rows = self.findings().into_iter().map(|one| cells(&one).to_vec());
        Page {
            title: format!("{}: can its calibrations be trusted?", self.plan.title),
            table: (heads.to_vec(), rows.collect()),
            names: 1,
            conclusions: vec![self.verdict()],
            seed: self.plan.seed,
            replications: self.facts(),
        }
    }

    fn verdict(&self) -> String {
        let (refused, all) = (self.refused(), self.done.len());
        let share = number::percent(100.0 * refused as f64 / all as f64);
        if self.is_drill {
            let verdict = if self.holds() { "Caught" } else { "Not caught" };
            return format!(
                "{verdict}: the check refuses {refused} of {all} measurements ({share}) that another world made."
            );
        }
        let checked = format!(
            "The check refuses {refused} of {all} measurements ({share}; 5 % are expected)."
        );
        let bad: Vec<String> = self
            .findings()
            .into_iter()
            .filter(|(_, one)| !one.faults().is_empty())
            .map(|(name, one)| format!("{name} ({})", one.faults().join(", ")))
            .collect();
        let (low, high) = self.findings()[0].1.coverage_bounds();
        if bad.is_empty() {
            format!(
                "Trusted: coverages lie within {:.1} to {:.1} %, biases below {BIAS} deviations, and ranks are uniform (p above {LEAST_PROBABILITY}). {checked}",
                100.0 * low,
                100.0 * high
            )
        } else {
            format!("Not to be trusted: {}. {checked}", bad.join("; "))
        }
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let quantity = |(name, one): (String, Finding)| {
            json!({
                "name": name,
                "trials": one.trials,
                "covered_90": one.covered,
                "bias_deviations": one.bias,
                "ks_probability": one.uniformity.map(|one| one.ks_probability),
                "chi2_probability": one.uniformity.map(|one| one.chi2_probability),
                "faults": one.faults(),
            })
        };
        let all = json!({
            "schema": SCHEMA,
            "kind": "calibration-trials",
            "version": VERSION,
            "scenario": self.name,
            "seed": self.plan.seed,
            "simulations": self.trials.simulations,
            "draws": DRAWS,
            "holds": self.holds(),
            "is_drill": self.is_drill,
            "refused": self.refused(),
            "values": self.findings().into_iter().map(quantity).collect::<Vec<Value>>(),
        });
        serde_json::to_writer_pretty(&mut *out, &all).map_err(io::Error::from)?;
        writeln!(out)
    }

    /// A row per trial and quantity; logarithms are undone.
    fn rows(&self) -> Vec<Map<String, Value>> {
        let free = self.trials.calibrated.free;
        let mut rows = Vec::new();
        for (number, trial) in self.done.iter().enumerate() {
            for (quantity, found) in self.trials.quantities().iter().zip(&trial.found) {
                let shown = |value: f64| json!(format!("{:.4}", quantity.shown(free, value)));
                let fields = [
                    ("trial", json!(number)),
                    ("value", json!(quantity.name(free))),
                    ("truth", shown(found.truth)),
                    ("estimate", shown(found.estimate)),
                    ("low_90", shown(found.most.0)),
                    ("high_90", shown(found.most.1)),
                    ("rank", json!(found.rank)),
                    ("refused", json!(!trial.refused.is_empty())),
                ];
                rows.push(
                    fields
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                );
            }
        }
        rows
    }
}

/// What was found of a quantity, as the table shows it.
fn cells((name, one): &(String, Finding)) -> [String; 7] {
    let probability = |of: fn(&Uniformity) -> f64| {
        let shown = one.uniformity.as_ref().map(|one| format!("{:.3}", of(one)));
        shown.unwrap_or_else(|| number::NONE.to_owned())
    };
    [
        name.clone(),
        format!("{} of {}", one.covered, one.trials),
        format!("{:.1}", 100.0 * one.coverage()),
        format!("{:+.2}", one.bias),
        probability(|one| one.ks_probability),
        probability(|one| one.chi2_probability),
        one.faults().join(", "),
    ]
}

/// What a digest holds.
fn figures(digest: Digest) -> String {
    let names = if digest.has_max {
        "median, p95, max and CV"
    } else {
        "median, p95 and CV"
    };
    let (said, taken) = (digest.said, digest.taken);
    if said == taken {
        format!("{names} ({said})")
    } else {
        format!("{names} ({said}, taken for {taken})")
    }
}
