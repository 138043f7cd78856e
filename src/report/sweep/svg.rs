//! p95 of every setting as a picture: a point with its interval, on a logarithmic axis.

use std::io;

use plotters::prelude::*;

use super::{Setting, SweepReport, short};
use crate::experiment::sweep::Row;
use crate::experiment::users::Figure;
use crate::stats::Estimate;

/// Width and height \[px\].
const SIZE: (u32, u32) = (720, 440);

/// The picture of one model's settings, as SVG.
pub(super) fn draw(report: &SweepReport<'_>, rows: &[(&Setting, &Row)]) -> io::Result<String> {
    let mut svg = String::new();
    drawn(report, rows, &mut svg).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(svg)
}

fn drawn(
    report: &SweepReport<'_>,
    rows: &[(&Setting, &Row)],
    svg: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let points: Vec<Option<Estimate>> = rows
        .iter()
        .map(|(_, row)| row.users.estimate(Figure::TtftP95))
        .collect();
    let Some((low, high)) = decades(&points) else {
        root.present()?;
        return Ok(());
    };
    let paths: Vec<String> = report.paths.iter().map(|path| short(path)).collect();
    let count = i32::try_from(rows.len())?;
    let mut chart = ChartBuilder::on(&root)
        .caption(report.label(rows), ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(-1..count, (low..high).log_scale())?;
    let name = |at: &i32| {
        let row = usize::try_from(*at).ok().and_then(|at| rows.get(at));
        row.map_or_else(String::new, |(setting, _)| setting.join(", "))
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(rows.len() + 2)
        .x_label_formatter(&name)
        .x_desc(paths.join(", "))
        .y_desc("p95 of all users' TTFT, 95 % interval [s]")
        .draw()?;
    let place = |(at, point): (i32, &Option<Estimate>)| Some((at, point.as_ref()?.point));
    let placed: Vec<(i32, f64)> = (0..count).zip(&points).filter_map(place).collect();
    // A line for each run of the last axis.
    for run in report.runs(rows) {
        let line = placed
            .iter()
            .filter(|(at, _)| usize::try_from(*at).is_ok_and(|at| run.contains(&at)));
        chart.draw_series(LineSeries::new(line.copied(), &BLUE))?;
    }
    let bars = (0..count).zip(&points).filter_map(|(at, point)| {
        let interval = point.as_ref()?.interval?;
        let ends = [
            interval.low.clamp(low, high),
            interval.high.clamp(low, high),
        ];
        Some(PathElement::new(ends.map(|end| (at, end)).to_vec(), BLUE))
    });
    chart.draw_series(bars)?;
    chart.draw_series(
        placed
            .iter()
            .map(|place| Circle::new(*place, 4, BLUE.filled())),
    )?;
    root.present()?;
    Ok(())
}

/// The whole decades around all points.
fn decades(points: &[Option<Estimate>]) -> Option<(f64, f64)> {
    let values = || points.iter().flatten().map(|one| one.point);
    let logs = || values().filter(|value| *value > 0.0).map(f64::log10);
    let low = logs().reduce(f64::min)?.floor();
    let high = logs().reduce(f64::max)?.ceil().max(low + 1.0);
    Some((10_f64.powf(low), 10_f64.powf(high)))
}
