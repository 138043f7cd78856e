//! Theory beside simulation: a row for each figure of each case, and what has no oracle.

use std::io::{self, Write};

use comfy_table::Color;
use serde::Serialize;

use super::grid::{Column, fitted};
use super::markdown;
use super::number::significant;
use super::text::{BOLD, DIM, wrapped};
use super::{Format, VERSION};
use crate::validation::{CONFIDENCE, Case, Checked, Figure, SEED, UNPROVEN, Verdict};

/// Digits that a figure shows.
const DIGITS: u8 = 4;

/// What the suite found, with what one must know to read it.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// The cases, checked.
    pub checked: &'a [Checked<'a>],
    /// The root of all randomness.
    pub seed: u64,
    /// Whether text explains each case: formula, source, scenario.
    pub explains: bool,
}

impl Comparison<'_> {
    /// Writes the comparison; text is `width` characters wide.
    pub fn write(&self, format: Format, width: usize, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text => self.text(width, out),
            Format::Json => self.json(out),
            Format::Csv => self.csv(out),
            Format::Markdown => self.markdown(out),
        }
    }

    fn rows(&self) -> impl Iterator<Item = (&Case, &Figure)> {
        self.checked
            .iter()
            .flat_map(|one| one.figures.iter().map(move |figure| (one.case, figure)))
    }

    fn text(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{BOLD}Theory and simulation{BOLD:#}")?;
        let facts = format!(
            "seed {} · {} % intervals (Student's t over independent replications)",
            self.seed,
            100.0 * CONFIDENCE
        );
        for line in wrapped(&facts, width) {
            writeln!(out, "{DIM}{line}{DIM:#}")?;
        }
        writeln!(out, "\n{}\n", self.table(width))?;
        for line in self
            .conclusion()
            .iter()
            .flat_map(|line| wrapped(line, width))
        {
            writeln!(out, "{line}")?;
        }
        if self.explains {
            self.explanations(width, out)
        } else {
            unproven(width, out)
        }
    }

    fn table(&self, width: usize) -> String {
        let rows: Vec<(&Case, &Figure)> = self.rows().collect();
        let cells = |of: fn(&Case, &Figure) -> String| -> Vec<String> {
            rows.iter().map(|(case, figure)| of(case, figure)).collect()
        };
        let opens = |index: usize| index == 0 || rows[index - 1].0.id != rows[index].0.id;
        let once = |of: fn(&Case) -> &str| -> Vec<String> {
            let cell = |index: usize| if opens(index) { of(rows[index].0) } else { "" };
            (0..rows.len())
                .map(|index| cell(index).to_owned())
                .collect()
        };
        let colours = rows.iter().map(|(_, figure)| Some(colour(figure.verdict)));
        let figures = vec![
            Column::numbers(
                "theory",
                cells(|_, figure| significant(figure.theory, DIGITS)),
            ),
            Column::numbers(
                "found",
                cells(|_, figure| significant(figure.found, DIGITS)),
            ),
            Column::text("interval", cells(|_, figure| interval(figure))),
            Column::text(
                "verdict",
                cells(|_, figure| figure.verdict.name().to_owned()),
            )
            .coloured(colours.collect()),
        ];
        let metric = |_: &Case, figure: &Figure| figure.metric.to_owned();
        let mut wide = vec![
            Column::text("case", once(|case| case.id)),
            Column::text("metric", cells(metric)),
        ];
        wide.extend(figures.clone());
        wide.push(Column::text("system", once(|case| case.title)).rank(2));
        // Where there is no room for both, a case's name stands above its metrics.
        let above = |index: usize| {
            let metric = rows[index].1.metric;
            match (index, opens(index)) {
                (0, _) => format!("{}\n{metric}", rows[index].0.id),
                (_, true) => format!("\n{}\n{metric}", rows[index].0.id),
                _ => metric.to_owned(),
            }
        };
        let mut narrow = vec![Column::text(
            "case, metric",
            (0..rows.len()).map(above).collect(),
        )];
        narrow.extend(figures);
        fitted(wide, super::grid::sunk(narrow), width, 2)
    }

    /// How many figures hold, and how many must be expected not to.
    fn conclusion(&self) -> Vec<String> {
        let figures: Vec<&Figure> = self.rows().map(|(_, figure)| figure).collect();
        let holding = figures
            .iter()
            .filter(|one| one.verdict == Verdict::Holds)
            .count();
        let simulated = figures.iter().filter(|one| one.is_simulated).count();
        let cases = self.checked.len();
        let mut lines = vec![if holding == figures.len() {
            format!("All {holding} figures of {cases} cases hold.")
        } else {
            let wrong = figures.len() - holding;
            format!(
                "{wrong} of {} figures of {cases} cases do not hold.",
                figures.len()
            )
        }];
        if self.seed != SEED {
            let expected = simulated as f64 * (1.0 - CONFIDENCE);
            lines.push(format!(
                "At another seed than {SEED} an interval misses a true value once in {:.0} times: of {simulated} expect {expected:.2}.",
                1.0 / (1.0 - CONFIDENCE)
            ));
        }
        lines
    }

    fn explanations(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        for Checked { case, .. } in self.checked {
            writeln!(out, "\n{BOLD}{}{BOLD:#}", case.id)?;
            let facts = [
                ("system", case.title),
                ("theory", case.formula),
                ("source", case.source),
                ("note", case.note),
            ];
            for (name, text) in facts.into_iter().filter(|(_, text)| !text.is_empty()) {
                labelled(name, text, width, out)?;
            }
            if let Some(scenario) = case.scenario() {
                writeln!(out, "  scenario, {} replications:", case.replications())?;
                for line in scenario.lines() {
                    writeln!(out, "{}", format!("    {line}").trim_end())?;
                }
            }
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let cases = self.checked.iter().map(CaseJson::of).collect();
        let holds = self.checked.iter().all(Checked::holds);
        let all = ComparisonJson {
            version: VERSION,
            seed: self.seed,
            confidence: CONFIDENCE,
            holds,
            cases,
            unproven: UNPROVEN.iter().map(UnprovenJson::of).collect(),
        };
        serde_json::to_writer_pretty(&mut *out, &all).map_err(io::Error::from)?;
        writeln!(out)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let head = [
            "case", "metric", "theory", "found", "low", "high", "verdict",
        ];
        writer.write_record(head).map_err(io::Error::from)?;
        for (case, figure) in self.rows() {
            let Figure {
                metric,
                theory,
                found,
                low,
                high,
                ..
            } = *figure;
            let verdict = figure.verdict.name();
            let row = (case.id, metric, theory, found, low, high, verdict);
            writer.serialize(row).map_err(io::Error::from)?;
        }
        writer.flush()
    }

    fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let heads = ["case", "metric", "theory", "found", "interval", "verdict"];
        markdown::header(&heads, 2, out)?;
        for (case, figure) in self.rows() {
            let [theory, found] =
                [figure.theory, figure.found].map(|value| significant(value, DIGITS));
            let names = [case.id, figure.metric].map(str::to_owned);
            let [case, metric] = names;
            let verdict = figure.verdict.name().to_owned();
            let cells = [case, metric, theory, found, interval(figure), verdict];
            markdown::line(&cells, out)?;
        }
        writeln!(out)?;
        for line in self.conclusion() {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "\nthermocline {VERSION}, seed {}", self.seed)
    }
}

/// The ends of a simulated figure's interval, or how far rounding may move a computed one.
fn interval(figure: &Figure) -> String {
    if figure.is_simulated {
        let [low, high] = [figure.low, figure.high].map(|end| significant(end, DIGITS));
        format!("{low}–{high}")
    } else if figure.low == figure.high {
        "exact".to_owned()
    } else {
        format!("± {:.0e}", 0.5 * (figure.high - figure.low))
    }
}

fn colour(verdict: Verdict) -> Color {
    match verdict {
        Verdict::Holds => Color::Green,
        Verdict::Differs => Color::Red,
        Verdict::TooWide => Color::Yellow,
    }
}

/// What has no oracle, and what is tested in its stead.
fn unproven(width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{BOLD}Without an oracle{BOLD:#}")?;
    for one in UNPROVEN {
        labelled(
            one.what,
            &format!("{} ({})", one.instead, one.tests.join(", ")),
            width,
            out,
        )?;
    }
    Ok(())
}

/// `name: text`, wrapped, later lines further in.
fn labelled(name: &str, text: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let lines = wrapped(&format!("{name}: {text}"), width.saturating_sub(4));
    for (index, line) in lines.iter().enumerate() {
        let margin = if index == 0 { "  " } else { "    " };
        writeln!(out, "{margin}{line}")?;
    }
    Ok(())
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    version: &'static str,
    seed: u64,
    confidence: f64,
    holds: bool,
    cases: Vec<CaseJson<'a>>,
    unproven: Vec<UnprovenJson>,
}

#[derive(Serialize)]
struct CaseJson<'a> {
    case: &'static str,
    system: &'static str,
    formula: &'static str,
    source: &'static str,
    note: &'static str,
    scenario: Option<&'a str>,
    replications: u64,
    holds: bool,
    figures: Vec<FigureJson>,
}

impl<'a> CaseJson<'a> {
    fn of(checked: &'a Checked<'a>) -> Self {
        let case = checked.case;
        Self {
            case: case.id,
            system: case.title,
            formula: case.formula,
            source: case.source,
            note: case.note,
            scenario: case.scenario(),
            replications: case.replications(),
            holds: checked.holds(),
            figures: checked.figures.iter().map(FigureJson::of).collect(),
        }
    }
}

/// A figure; its keys are also the columns of CSV.
#[derive(Serialize)]
struct FigureJson {
    metric: &'static str,
    theory: f64,
    found: f64,
    low: f64,
    high: f64,
    verdict: &'static str,
}

impl FigureJson {
    fn of(figure: &Figure) -> Self {
        Self {
            metric: figure.metric,
            theory: figure.theory,
            found: figure.found,
            low: figure.low,
            high: figure.high,
            verdict: figure.verdict.name(),
        }
    }
}

#[derive(Serialize)]
struct UnprovenJson {
    what: &'static str,
    instead: &'static str,
    tests: &'static [&'static str],
}

impl UnprovenJson {
    fn of(unproven: &crate::validation::Unproven) -> Self {
        Self {
            what: unproven.what,
            instead: unproven.instead,
            tests: unproven.tests,
        }
    }
}
