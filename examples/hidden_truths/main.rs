//! Ten hidden truths: how much narrower a keep-alive gets when 75 requests are spread as `calibrate --suggest` says.
//!
//! The truths are drawn from what `scenarios/spacing.toml` allows, so some models are asked for so often that they hardly ever sleep:
//! those count too. `results/hidden-truths.txt` is what `cargo run --release --example hidden_truths -- 10 3000` prints: ten truths,
//! 3000 simulations a calibration.

use std::io::Write as _;

use rand::RngExt as _;
use thermocline::calibrate::posterior::Posterior;
use thermocline::measure::protocol::GapPlan;
use thermocline::streams::Streams;
use thermocline::time::Duration;

mod trial;

use trial::{Effort, Subject};

/// The scenario.
const SPACING: &str = include_str!("../../scenarios/spacing.toml");
/// Constant gaps to compare with: what `measure` does unless told otherwise, the middle of the range, and beyond it \[s\].
const CONSTANT: [f64; 3] = [5.0, 120.0, 1200.0];
/// Requests of each measurement, in the parts in which the suggested one is made.
const PARTS: [u32; 3] = [25, 25, 25];

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|one| one.parse::<u64>().ok());
    let mut number = |otherwise| arguments.next().flatten().unwrap_or(otherwise);
    let (truths, simulations) = (number(10), number(10_000));
    let subject = Subject::new("spacing.toml", SPACING);
    let keep_alive = subject.index("keep_alive");
    let requests = PARTS.iter().sum();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Width of the keep-alive's 90 % interval, as a share of the allowed range (log scale); {requests} requests each; ! where\nit misses the truth\n"
    )?;
    writeln!(
        out,
        "{:>9} {:>10} {:>8} {:>8} {:>8} {:>10}  suggested gaps",
        "rate", "keep_alive", "5s", "120s", "1200s", "suggested"
    )?;
    let mut all: Vec<Vec<Told>> = Vec::new();
    for number in 0..truths {
        let mut stream = Streams::new(subject.plan.seed, number).stream("hidden truths");
        let truth: Vec<f64> = subject.free.iter().map(|_| stream.random()).collect();
        let effort = Effort {
            simulations,
            replication: number,
        };
        let mut row: Vec<Told> = Vec::new();
        for gap in CONSTANT {
            let gaps = GapPlan::Fixed(Duration::from_secs(gap));
            let told = subject.with_gaps(&truth, requests, gaps, effort);
            row.push(Told::of(&told, keep_alive, truth[keep_alive]));
        }
        let (plans, told) = subject.as_suggested(&truth, &PARTS, effort);
        row.push(Told::of(&told, keep_alive, truth[keep_alive]));
        let named: Vec<String> = subject
            .free
            .iter()
            .zip(&truth)
            .map(|(free, at)| free.text_of(*at, 3))
            .collect();
        writeln!(
            out,
            "{:>9} {:>10} {:>8.3}{} {:>7.3}{} {:>7.3}{} {:>9.4}{} {}",
            named[0],
            named[1],
            row[0].width,
            row[0].mark(),
            row[1].width,
            row[1].mark(),
            row[2].width,
            row[2].mark(),
            row[3].width,
            row[3].mark(),
            plans
                .iter()
                .map(listed)
                .collect::<Vec<String>>()
                .join(" | ")
        )?;
        out.flush()?;
        all.push(row);
    }
    let medians: Vec<f64> = (0..=CONSTANT.len())
        .map(|column| median(all.iter().map(|row| row[column].width)))
        .collect();
    let held: Vec<usize> = (0..=CONSTANT.len())
        .map(|column| all.iter().filter(|row| row[column].is_held).count())
        .collect();
    writeln!(
        out,
        "{:>9} {:>10} {:>8.3} {:>8.3} {:>8.3} {:>10.4}",
        "median", "", medians[0], medians[1], medians[2], medians[3]
    )?;
    writeln!(
        out,
        "{:>9} {:>10} {:>8} {:>8} {:>8} {:>10}",
        "held", "", held[0], held[1], held[2], held[3]
    )?;
    for (index, gap) in CONSTANT.iter().enumerate() {
        writeln!(
            out,
            "against a constant gap of {gap} s: {:.1} times narrower by the medians; the median of the ratios is {:.1}",
            medians[index] / medians[CONSTANT.len()],
            median(
                all.iter()
                    .map(|row| row[index].width / row[CONSTANT.len()].width)
            ),
        )?;
    }
    Ok(())
}

fn listed(plan: &GapPlan) -> String {
    let seconds = |gap: &Duration| format!("{}", gap.as_secs());
    match plan {
        GapPlan::Fixed(gap) => seconds(gap),
        GapPlan::Ladder(gaps) => gaps.iter().map(seconds).collect::<Vec<String>>().join(","),
        other => format!("{other:?}"),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    0.5 * (values[last / 2] + values[last.div_ceil(2)])
}

/// What a posterior says of a value whose truth is known.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// The width of its 90 % interval, as a share of its range.
    width: f64,
    /// Whether the interval holds the truth.
    is_held: bool,
}

impl Told {
    /// Of the value of this index, whose truth is at this place.
    fn of(posterior: &Posterior, index: usize, truth: f64) -> Self {
        let (low, high) = posterior.marginal(index).most;
        Self {
            width: high - low,
            is_held: (low..=high).contains(&truth),
        }
    }

    /// What stands behind the width in a table.
    fn mark(self) -> char {
        if self.is_held { ' ' } else { '!' }
    }
}
