//! A calibration for people.

use std::io::{self, Write};

use comfy_table::Color;

use super::CalibrationReport;
use crate::calibrate::distance::{Groups, ToldBy};
use crate::calibrate::observed::Series;
use crate::calibrate::predict::{Check, Load, Metric, Unit};
use crate::report::grid::{Column, fitted};
use crate::report::number::{self, NONE};
use crate::report::text::{BOLD, DIM, wrapped};

/// Writes everything.
pub(super) fn write(
    report: &CalibrationReport<'_>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", report.plan.title)?;
    for line in facts(report).iter().flat_map(|line| wrapped(line, width)) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    writeln!(out, "\n{}", values(report, width))?;
    let open = report.open();
    if !open.is_empty() {
        writeln!(out)?;
    }
    for line in open.iter().flat_map(|line| wrapped(line, width)) {
        writeln!(out, "{line}")?;
    }
    writeln!(
        out,
        "\n{BOLD}Would this scenario have given what was measured?{BOLD:#}"
    )?;
    for index in 0..report.series.len() {
        if report.series.len() > 1 {
            writeln!(out, "\n{BOLD}{}{BOLD:#}", report.series[index].name)?;
        }
        writeln!(out, "{}", checks(report, index, width))?;
    }
    writeln!(out)?;
    for line in verdict(report).iter().flat_map(|line| wrapped(line, width)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn facts(report: &CalibrationReport<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for source in report.sources {
        let mut line = format!(
            "{}: {}; TTFT from {}",
            source.name, source.tool, source.ttft
        );
        if source.discarded > 0 {
            line = format!(
                "{line}; {} of warm-up left out",
                number::counted(source.discarded as u64, "request")
            );
        }
        if source.unanswered > 0 {
            line = format!(
                "{line}; {} without an answer",
                number::counted(source.unanswered as u64, "request")
            );
        }
        lines.push(line);
    }
    lines.extend(report.series.iter().filter_map(groups));
    let posterior = report.posterior;
    let mut line = format!(
        "seed {} · {} simulations",
        report.plan.seed,
        number::count(posterior.simulations)
    );
    if posterior.impossible > 0 {
        line = format!(
            "{line} · {} settings are no valid scenario",
            number::count(posterior.impossible)
        );
    }
    lines.push(line);
    lines
}

/// Warm and cold requests of a series, and what tells them apart.
fn groups(series: &Series) -> Option<String> {
    let groups = Groups::of(series)?;
    let group = |count: usize, median: Option<f64>| {
        let median = median.map_or_else(String::new, |median| {
            format!(" (median {})", number::seconds(median))
        });
        format!("{count}{median}")
    };
    let warm = group(groups.warm, groups.warm_median_s);
    let cold = group(groups.cold, groups.cold_median_s);
    let told = match groups.told_by {
        ToldBy::Flags => format!("{warm} warm and {cold} cold, by the file's own word"),
        ToldBy::TwoGroups => format!("{warm} quick and {cold} slow, two groups by their TTFT"),
        ToldBy::CannotTell => format!(
            "{warm} quick and {cold} slow, but whether those are two groups nobody can tell"
        ),
        ToldBy::OneGroup => format!("{warm}, one group by their TTFT"),
    };
    Some(format!("{}: {told}", series.name))
}

/// A row per free value.
fn values(report: &CalibrationReport<'_>, width: usize) -> String {
    let posterior = report.posterior;
    let free = &posterior.free;
    let numbers: Vec<usize> = (0..free.len())
        .filter(|&index| free[index].choices().is_none())
        .collect();
    let choices: Vec<usize> = (0..free.len())
        .filter(|index| !numbers.contains(index))
        .collect();
    let cells = |of: &dyn Fn(usize) -> String| {
        numbers
            .iter()
            .map(|&index| of(index))
            .collect::<Vec<String>>()
    };
    let range = |index: usize, (low, high): (f64, f64)| {
        format!(
            "{}–{}",
            free[index].text_of(low, 3),
            free[index].text_of(high, 3)
        )
    };
    let columns = vec![
        Column::text("value", cells(&|index| free[index].name.clone())),
        Column::text(
            "estimate",
            cells(&|index| free[index].text_of(posterior.marginal(index).point, 3)),
        ),
        Column::text(
            "best",
            cells(&|index| free[index].text_of(report.best[index], 3)),
        )
        .rank(1),
        Column::text(
            "50 %",
            cells(&|index| range(index, posterior.marginal(index).half)),
        )
        .rank(2),
        Column::text(
            "90 %",
            cells(&|index| range(index, posterior.marginal(index).most)),
        ),
        Column::text("allowed", cells(&|index| range(index, (0.0, 1.0)))).rank(1),
        Column::numbers(
            "narrower\nby %",
            cells(&|index| format!("{:.0}", 100.0 * posterior.marginal(index).contraction)),
        ),
    ];
    let mut text = if numbers.is_empty() {
        String::new()
    } else {
        fitted(columns.clone(), columns, width, 1)
    };
    if !choices.is_empty() {
        let columns = vec![
            Column::text(
                "choice",
                choices
                    .iter()
                    .map(|&index| free[index].name.clone())
                    .collect(),
            ),
            Column::text(
                "share",
                choices
                    .iter()
                    .map(|&index| report.shares(index).join(", "))
                    .collect(),
            ),
        ];
        let table = fitted(columns.clone(), columns, width, 1);
        let gap = if text.is_empty() { "" } else { "\n\n" };
        text = format!("{text}{gap}{table}");
    }
    text
}

fn checks(report: &CalibrationReport<'_>, series: usize, width: usize) -> String {
    let rows: Vec<&Check> = report
        .prediction
        .checks
        .iter()
        .filter(|check| check.series == series)
        .collect();
    let cells =
        |of: &dyn Fn(&Check) -> String| rows.iter().map(|check| of(check)).collect::<Vec<String>>();
    let show = |check: &Check, value: f64| shown(check.metric.unit, value);
    let columns = vec![
        Column::text("metric", cells(&|check| named(&check.metric))),
        Column::numbers("measured", cells(&|check| show(check, check.measured))),
        Column::numbers("simulated", cells(&|check| show(check, check.middle))),
        Column::text(
            "90 %",
            cells(&|check| format!("{}–{}", show(check, check.low), show(check, check.high))),
        ),
        Column::numbers("error %", cells(&error)),
        Column::text(
            "",
            cells(&|check| if check.fails { "fails" } else { "" }.to_owned()),
        )
        .coloured(
            rows.iter()
                .map(|check| check.fails.then_some(Color::Red))
                .collect(),
        ),
    ];
    fitted(columns.clone(), columns, width, 1)
}

/// How far the simulations are off \[%\].
fn error(check: &Check) -> String {
    let error = check.error();
    error.map_or_else(|| NONE.to_owned(), |error| format!("{:+.0}", 100.0 * error))
}

fn verdict(report: &CalibrationReport<'_>) -> Vec<String> {
    if report.prediction.is_calibrated() {
        return vec![format!(
            "Calibrated: what was measured lies within what the scenario gives, in every one of {} metrics.",
            report.prediction.checks.len()
        )];
    }
    let mut lines =
        vec!["Not calibrated: no setting of the free values gives what was measured.".to_owned()];
    lines.extend(
        report
            .failures()
            .iter()
            .map(|failure| format!("  {failure}")),
    );
    lines
}

/// One failure in words: `TTFT p95: measured 6.30 s, simulated 0.60 s (0.50–0.80 s), -90 %`.
pub(super) fn failure(report: &CalibrationReport<'_>, check: &Check) -> String {
    let show = |value| shown(check.metric.unit, value);
    let unit = match check.metric.unit {
        Unit::Seconds => " s",
        Unit::Percent => " %",
        Unit::Requests | Unit::One => "",
    };
    let error = check
        .error()
        .map_or_else(String::new, |error| format!(", {:+.0} %", 100.0 * error));
    let series = if report.series.len() > 1 {
        format!("{}: ", report.series[check.series].name)
    } else {
        String::new()
    };
    format!(
        "{series}{}: measured {}{unit}, simulated {}{unit} ({}–{}{unit}){error}",
        named(&check.metric),
        show(check.measured),
        show(check.middle),
        show(check.low),
        show(check.high),
    )
}

/// A metric with its unit: `TTFT p95 s`.
pub(super) fn named(metric: &Metric) -> String {
    let unit = match metric.unit {
        Unit::Seconds => " s",
        Unit::Percent => " %",
        Unit::Requests | Unit::One => "",
    };
    let load = match metric.load {
        Load::All => String::new(),
        Load::Quiet(most) => format!(", at most {most} others"),
        Load::Busy(most) => format!(", over {most} others"),
    };
    format!("{}{unit}{load}", metric.name)
}

fn shown(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Seconds => number::bare_seconds(value),
        Unit::Percent => number::bare_percent(value),
        Unit::Requests => format!("{value:.0}"),
        Unit::One => format!("{value:.2}"),
    }
}

/// Both tables, for pasting.
pub(super) fn write_markdown(
    report: &CalibrationReport<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "| value | estimate and 90 % interval | best |\n|---|---|---|"
    )?;
    for (index, free) in report.posterior.free.iter().enumerate() {
        let best = free.text_of(report.best[index], 3);
        writeln!(
            out,
            "| {} | {} | {best} |",
            free.name,
            report.in_words(index)
        )?;
    }
    writeln!(
        out,
        "\n| series | metric | measured | simulated | 90 % | error % | |\n|---|---|---:|---:|---|---:|---|"
    )?;
    for check in &report.prediction.checks {
        let show = |value| shown(check.metric.unit, value);
        writeln!(
            out,
            "| {} | {} | {} | {} | {}–{} | {} | {} |",
            report.series[check.series].name,
            named(&check.metric),
            show(check.measured),
            show(check.middle),
            show(check.low),
            show(check.high),
            error(check),
            if check.fails { "fails" } else { "" },
        )?;
    }
    Ok(())
}
