//! Ten hidden truths: how much narrower a keep-alive gets when 75 requests are spread as `calibrate --suggest` says.
//!
//! The truths are drawn from what `scenarios/spacing.toml` allows, so some models are asked for so often that they hardly ever sleep:
//! those count too. `results/hidden-truths.txt` is what `cargo run --release --example hidden_truths -- 10 3000` prints: ten truths,
//! 3000 simulations a calibration.

use std::io::Write as _;

use rand::RngExt as _;
use thermocline::measure::protocol::GapPlan;
use thermocline::streams::Streams;
use thermocline::time::Duration;

mod trial;

use trial::{Effort, Subject, width};

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
        "Width of the keep-alive's 90 % interval, as a share of the allowed range (log scale); {requests} requests each\n"
    )?;
    writeln!(
        out,
        "{:>9} {:>10} {:>8} {:>8} {:>8} {:>10}  suggested gaps",
        "rate", "keep_alive", "5s", "120s", "1200s", "suggested"
    )?;
    let mut all: Vec<Vec<f64>> = Vec::new();
    for number in 0..truths {
        let mut stream = Streams::new(subject.plan.seed, number).stream("hidden truths");
        let truth: Vec<f64> = subject.free.iter().map(|_| stream.random()).collect();
        let effort = Effort {
            simulations,
            replication: number,
        };
        let mut widths: Vec<f64> = Vec::new();
        for gap in CONSTANT {
            let gaps = GapPlan::Fixed(Duration::from_secs(gap));
            let told = subject.at_constant_gap(&truth, requests, gaps, effort);
            widths.push(width(&told, keep_alive));
        }
        let (plans, told) = subject.as_suggested(&truth, &PARTS, effort);
        widths.push(width(&told, keep_alive));
        let named: Vec<String> = subject
            .free
            .iter()
            .zip(&truth)
            .map(|(free, at)| free.text_of(*at, 3))
            .collect();
        writeln!(
            out,
            "{:>9} {:>10} {:>8.3} {:>8.3} {:>8.3} {:>10.4}  {}",
            named[0],
            named[1],
            widths[0],
            widths[1],
            widths[2],
            widths[3],
            plans
                .iter()
                .map(listed)
                .collect::<Vec<String>>()
                .join(" | ")
        )?;
        out.flush()?;
        all.push(widths);
    }
    let medians: Vec<f64> = (0..=CONSTANT.len())
        .map(|column| median(all.iter().map(|row| row[column])))
        .collect();
    writeln!(
        out,
        "{:>9} {:>10} {:>8.3} {:>8.3} {:>8.3} {:>10.4}",
        "median", "", medians[0], medians[1], medians[2], medians[3]
    )?;
    for (index, gap) in CONSTANT.iter().enumerate() {
        writeln!(
            out,
            "against a constant gap of {gap} s: {:.1} times narrower by the medians; the median of the ratios is {:.1}",
            medians[index] / medians[CONSTANT.len()],
            median(all.iter().map(|row| row[index] / row[CONSTANT.len()])),
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
