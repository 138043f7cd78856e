//! Which measurement next: plans with what they let expect, and the best one as commands.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::calibrate::free::Free;
use crate::calibrate::suggest::{Expected, Suggestion};
use crate::experiment::Plan;
use crate::measure::protocol::{GapPlan, Protocol};
use crate::report::flat::{self, Flat};
use crate::report::grid::{Column, fitted};
use crate::report::json::pretty;
use crate::report::number::{self, NONE};
use crate::report::text::{BOLD, DIM, wrapped};
use crate::report::{Format, SCHEMA, VERSION, markdown};
use crate::scenario::units::print_duration;
use crate::time::Duration;

/// What `measure` asks for unless told otherwise.
const USUAL_TOKENS: u32 = 64;
/// And how long it waits.
const USUAL_TIMEOUT: Duration = Duration::from_nanos(300_000_000_000);

/// What was suggested, with what one must know to read it.
#[derive(Clone, Copy, Debug)]
pub struct SuggestionReport<'a> {
    /// The scenario as the user named it on the command line.
    pub name: &'a str,
    /// The scenario as it was given.
    pub plan: &'a Plan,
    /// Which model is measured.
    pub model: &'a str,
    /// The benchmark but for its gaps.
    pub protocol: &'a Protocol,
    /// Measurements made before.
    pub measured: usize,
    /// The plans, the best first; there is one.
    pub suggestion: &'a Suggestion,
}

impl SuggestionReport<'_> {
    /// Writes the results; text is `width` characters wide.
    pub fn write(&self, format: Format, width: usize, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text => {
                writeln!(out, "{BOLD}{}{BOLD:#}\n", self.plan.title)?;
                self.write_text(width, out)
            }
            Format::Json => pretty(&self.alone(), out),
            Format::Csv => {
                let rows: Vec<Flat> = self
                    .suggestion
                    .plans
                    .iter()
                    .map(|one| self.row(one))
                    .collect();
                flat::write_csv(&rows, out)
            }
            Format::Markdown => self.write_markdown(out),
        }
    }

    /// For people, below a title.
    pub(super) fn write_text(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{BOLD}{}{BOLD:#}", self.question())?;
        for line in wrapped(&self.facts(), width) {
            writeln!(out, "{DIM}{line}{DIM:#}")?;
        }
        let (heads, rows) = (self.heads(), self.rows());
        let column = |(index, head): (usize, &String)| {
            let cells = rows.iter().map(|row| row[index].clone()).collect();
            match index {
                0 => Column::text(head, cells),
                // Of no use without a plan's length and its gain.
                _ if index > 1 && index + 1 < heads.len() => Column::numbers(head, cells).rank(1),
                _ => Column::numbers(head, cells),
            }
        };
        let columns: Vec<Column> = heads.iter().enumerate().map(column).collect();
        writeln!(out, "\n{}\n", fitted(columns.clone(), columns, width, 1))?;
        for line in wrapped(&self.conclusion(), width) {
            writeln!(out, "{line}")?;
        }
        // Whole, however long: they are there to be copied.
        writeln!(out, "\n{}", self.measure())?;
        writeln!(out, "\n{DIM}The same of the scenario:{DIM:#}")?;
        writeln!(out, "\n{}", self.simulate())
    }

    fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let heads = self.heads();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        markdown::header(&heads, 1, out)?;
        for row in self.rows() {
            markdown::line(&row, out)?;
        }
        writeln!(
            out,
            "\n{}\n\n```sh\n{}\n```",
            self.conclusion(),
            self.measure()
        )
    }

    fn question(&self) -> String {
        format!(
            "Which {} next?",
            number::counted(u64::from(self.protocol.requests), "request")
        )
    }

    fn facts(&self) -> String {
        let known = if self.measured > 0 {
            "from what was measured"
        } else {
            "nothing measured yet: from what is allowed"
        };
        format!(
            "{known} · {} plans · {} simulations · 90 % intervals: × from end to end",
            self.suggestion.considered,
            number::count(self.suggestion.simulations),
        )
    }

    fn heads(&self) -> Vec<String> {
        let names = self.suggestion.free.iter().map(|free| free.name.clone());
        ["gaps".to_owned(), "lasts".to_owned()]
            .into_iter()
            .chain(names)
            .chain(["narrower".to_owned()])
            .collect()
    }

    /// What is known now, then a row for each plan.
    fn rows(&self) -> Vec<Vec<String>> {
        let suggestion = self.suggestion;
        let shown = |open: &[f64]| -> Vec<String> {
            let pairs = suggestion.free.iter().zip(open);
            pairs.map(|(free, open)| shown(free, *open)).collect()
        };
        let now = [
            vec!["(now)".to_owned(), NONE.to_owned()],
            shown(&suggestion.now),
            vec![NONE.to_owned()],
        ];
        let plan = |one: &Expected| {
            let ends = [gaps(&one.gaps), number::span(one.lasts_s)];
            let gain = format!("×{}", number::factor(one.narrower));
            [ends.to_vec(), shown(&one.open), vec![gain]].concat()
        };
        let mut rows = vec![now.concat()];
        rows.extend(suggestion.plans.iter().map(plan));
        rows
    }

    fn conclusion(&self) -> String {
        let best = &self.suggestion.plans[0];
        format!(
            "{} narrows most: intervals {} times narrower on average, in {}.",
            sentence(&gaps(&best.gaps)),
            number::factor(best.narrower),
            number::span(best.lasts_s),
        )
    }

    /// The best plan for a real endpoint.
    pub fn measure(&self) -> String {
        let mut words = vec![
            format!(
                "thermocline measure --url \"$URL\" --model {}",
                quoted(self.model)
            ),
            format!("--requests {}", self.protocol.requests),
        ];
        if self.protocol.discard != 1 {
            words.push(format!("--discard {}", self.protocol.discard));
        }
        words.push(match &self.suggestion.plans[0].gaps {
            GapPlan::Fixed(gap) => format!("--gap {}", print_duration(*gap)),
            plan => format!("--ladder={}", spans(plan).join(",")),
        });
        if self.protocol.output_tokens != USUAL_TOKENS {
            words.push(format!("--max-tokens {}", self.protocol.output_tokens));
        }
        match self.protocol.timeout {
            Some(USUAL_TIMEOUT) => {}
            Some(timeout) => words.push(format!("--timeout {}", print_duration(timeout))),
            None => words.push("--timeout none".to_owned()),
        }
        words.push(format!("--out {}.jsonl", self.part()));
        words.join(" ")
    }

    /// The best plan on the scenario itself.
    fn simulate(&self) -> String {
        let spans = spans(&self.suggestion.plans[0].gaps);
        let gaps = match spans.as_slice() {
            [gap] => format!("benchmark.gaps={gap}"),
            gaps => format!("'benchmark.gaps.ladder.gaps=[\"{}\"]'", gaps.join("\", \"")),
        };
        // The next part meets other users than the parts before.
        let seed = self.plan.seed + 1 + self.measured as u64;
        format!(
            "thermocline simulate {} --set benchmark.requests={} --set {gaps} --seed {seed} --out {}",
            quoted(self.name),
            self.protocol.requests,
            self.part()
        )
    }

    fn part(&self) -> String {
        format!("part-{}", self.measured + 1)
    }

    /// For JSON, beside a calibration.
    pub(super) fn value(&self) -> Value {
        let suggestion = self.suggestion;
        let now = suggestion.free.iter().zip(&suggestion.now);
        let now: Flat = now
            .map(|(free, open)| (key(free, "now"), number_of(free, *open)))
            .collect();
        json!({
            "requests": self.protocol.requests,
            "plans_considered": suggestion.considered,
            "simulations": suggestion.simulations,
            "now": now,
            "plans": suggestion.plans.iter().map(|one| Value::Object(self.row(one))).collect::<Vec<Value>>(),
            "measure": self.measure(),
            "simulate": self.simulate(),
        })
    }

    fn alone(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "kind": "suggestion",
            "version": VERSION,
            "scenario": self.name,
            "title": self.plan.title,
            "seed": self.plan.seed,
            "next": self.value(),
        })
    }

    fn row(&self, one: &Expected) -> Flat {
        let gaps: Vec<String> = seconds(&one.gaps).iter().map(ToString::to_string).collect();
        let mut row = Flat::new();
        row.insert("gaps_s".to_owned(), gaps.join(" ").into());
        row.insert("lasts_s".to_owned(), one.lasts_s.into());
        row.insert("narrower_factor".to_owned(), one.narrower.into());
        for (free, open) in self.suggestion.free.iter().zip(&one.open) {
            row.insert(key(free, "expected"), number_of(free, *open));
        }
        row
    }
}

/// The gaps of a plan that is suggested.
fn listed(plan: &GapPlan) -> &[Duration] {
    match plan {
        GapPlan::Fixed(gap) => std::slice::from_ref(gap),
        GapPlan::Ladder(gaps) => gaps,
        GapPlan::Even { .. } | GapPlan::Bursts { .. } | GapPlan::At(_) => &[],
    }
}

fn spans(plan: &GapPlan) -> Vec<String> {
    listed(plan)
        .iter()
        .map(|gap| print_duration(*gap))
        .collect()
}

fn seconds(plan: &GapPlan) -> Vec<f64> {
    listed(plan).iter().map(|gap| gap.as_secs()).collect()
}

/// In a few words: `constant 5s`, `5 gaps 20s–700s`.
fn gaps(plan: &GapPlan) -> String {
    let all = listed(plan);
    match (all.iter().min(), all.iter().max()) {
        (Some(only), Some(_)) if all.len() == 1 => format!("constant {}", print_duration(*only)),
        (Some(least), Some(most)) => format!(
            "{} gaps {}–{}",
            all.len(),
            print_duration(*least),
            print_duration(*most)
        ),
        _ => NONE.to_owned(),
    }
}

/// With a capital.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// How open a value is: `×14` from end to end, `3.2s` wide, `61 %` sure.
fn shown(free: &Free, open: f64) -> String {
    match free.choices() {
        Some(_) => format!("{} sure", number::percent(100.0 * (1.0 - open))),
        None if free.is_logarithmic() => format!("×{}", number::quantity(free.extent(open))),
        None => format!("{}{}", number::quantity(free.extent(open)), free.unit()),
    }
}

/// The key of how open a value is, with what its number means.
fn key(free: &Free, when: &str) -> String {
    let meaning = match free.choices() {
        Some(_) => "sure".to_owned(),
        None if free.is_logarithmic() => "ratio_90".to_owned(),
        None => format!("width_90_{}", free.unit()),
    };
    format!("{}_{when}_{}", free.name, meaning.trim_end_matches('_'))
}

fn number_of(free: &Free, open: f64) -> Value {
    match free.choices() {
        Some(_) => json!(1.0 - open),
        None => json!(free.extent(open)),
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
