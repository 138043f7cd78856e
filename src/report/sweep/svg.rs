//! p95 of every setting as a picture: a point with its interval, on a logarithmic axis.

use std::io;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Setting, SweepReport, short};
use crate::experiment::sweep::Row;
use crate::experiment::users::Figure;
use crate::report::number;
use crate::report::picture::{FONT, shortened, width};
use crate::stats::Estimate;

/// Least width, most width and height of the plot itself \[px\].
const PLOT: (u32, u32, u32) = (616, 1600, 340);
/// Around the plot: its margin, the labels to its left and its title above it \[px\].
const MARGIN: u32 = 16;
const LEFT: u32 = 72;
const ABOVE: u32 = 36;
/// Size of titles and of labels \[px\].
const LARGE: u32 = 18;
const SMALL: u32 = 12;
/// The longest label \[px\].
const LONGEST: u32 = 200;
/// The axis reaches so many times beyond the points, at most.
const FAR: f64 = 1e3;
/// Values with a tick, at most; else only powers of ten have one.
const TICKS: usize = 12;

/// The picture of one model's settings, as SVG.
pub(super) fn draw(report: &SweepReport<'_>, rows: &[(&Setting, &Row)]) -> io::Result<String> {
    let mut svg = String::new();
    drawn(report, rows, &mut svg).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(svg)
}

/// The labels of the settings, and how they are laid out.
struct Labels {
    texts: Vec<String>,
    /// Width of the plot, and room for the labels below it \[px\].
    plot: u32,
    room: u32,
    is_upright: bool,
    /// Every so many settings have one.
    step: usize,
}

impl Labels {
    /// Beside each other where they fit a plot that may grow, else upright, and only as many as there is room for.
    fn of(rows: &[(&Setting, &Row)]) -> Self {
        let texts = rows.iter().map(|(setting, _)| setting.join(", "));
        let texts: Vec<String> = texts.map(|text| shortened(&text, SMALL, LONGEST)).collect();
        let longest = texts
            .iter()
            .map(|text| width(text, SMALL))
            .max()
            .unwrap_or(0);
        let slots = rows.len() as u32 + 1;
        let (least, most, _) = PLOT;
        let flat = slots.saturating_mul(longest + SMALL);
        let is_upright = flat > most;
        let line = SMALL + 4;
        let needed = if is_upright {
            slots.saturating_mul(line)
        } else {
            flat
        };
        let plot = needed.clamp(least, most);
        Self {
            texts,
            plot,
            room: if is_upright { longest } else { SMALL } + SMALL,
            is_upright,
            step: (needed.div_ceil(plot)).max(1) as usize,
        }
    }
}

fn drawn(
    report: &SweepReport<'_>,
    rows: &[(&Setting, &Row)],
    svg: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let labels = Labels::of(rows);
    let below = labels.room + 2 * SMALL;
    let size = (
        labels.plot + LEFT + 2 * MARGIN,
        PLOT.2 + ABOVE + below + 2 * MARGIN,
    );
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let points: Vec<Option<Estimate>> = rows
        .iter()
        .map(|(_, row)| row.users.estimate(Figure::TtftP95))
        .collect();
    let Some((low, high)) = ends(&points) else {
        root.present()?;
        return Ok(());
    };
    let is_cut = |value: f64| value < low || value > high;
    let cut = intervals(&points).any(|(_, ends)| ends.into_iter().any(is_cut));
    let paths: Vec<String> = report.paths.iter().map(|path| short(path)).collect();
    let count = i32::try_from(rows.len())?;
    let mut chart = ChartBuilder::on(&root)
        .caption(
            shortened(&report.label(rows), LARGE, labels.plot),
            (FONT, LARGE),
        )
        .margin(MARGIN)
        .x_label_area_size(below)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(-1..count, (low..high).log_scale())?;
    let more = if cut { ", × where it goes on" } else { "" };
    chart
        .configure_mesh()
        .disable_mesh()
        // Ours are drawn below; none at all is more than the library counts with.
        .x_labels(2)
        .y_labels(2)
        .x_label_formatter(&|_| String::new())
        .y_label_formatter(&|_| String::new())
        .set_all_tick_mark_size(0)
        .x_desc(shortened(&paths.join(", "), SMALL, labels.plot))
        .y_desc(format!("p95 of all users' TTFT, 95 % interval{more} [s]"))
        .draw()?;
    let ticks = ticks(low, high);
    let line = |value: &f64| PathElement::new(vec![(-1, *value), (count, *value)], BLACK.mix(0.15));
    chart.draw_series(ticks.iter().map(line))?;
    let style = (FONT, SMALL).into_font().color(&BLACK);
    for value in &ticks {
        let (x, y) = chart.backend_coord(&(-1, *value));
        let style = style.pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(plain(*value), (x - 6, y), style))?;
    }
    for (at, text) in (0..count).zip(&labels.texts).step_by(labels.step) {
        let (x, y) = chart.backend_coord(&(at, low));
        root.draw(&PathElement::new(vec![(x, y), (x, y + 4)], BLACK))?;
        let style = if labels.is_upright {
            let turned = (FONT, SMALL).into_font().transform(FontTransform::Rotate90);
            turned.color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center))
        } else {
            style.pos(Pos::new(HPos::Center, VPos::Top))
        };
        root.draw(&Text::new(text.clone(), (x, y + 8), style))?;
    }
    let place = |(at, point): (i32, &Option<Estimate>)| Some((at, point.as_ref()?.point));
    let placed: Vec<(i32, f64)> = (0..count).zip(&points).filter_map(place).collect();
    // A line for each run of the last axis.
    for run in report.runs(rows) {
        let line = placed
            .iter()
            .filter(|(at, _)| usize::try_from(*at).is_ok_and(|at| run.contains(&at)));
        chart.draw_series(LineSeries::new(line.copied(), &BLUE))?;
    }
    for (at, ends) in intervals(&points) {
        let within = ends.map(|end| (at, end.clamp(low, high)));
        chart.draw_series([PathElement::new(within.to_vec(), BLUE)])?;
        let cut = ends.iter().zip(within).filter(|(end, _)| is_cut(**end));
        chart.draw_series(cut.map(|(_, place)| Cross::new(place, 4, BLUE)))?;
    }
    chart.draw_series(
        placed
            .iter()
            .map(|place| Circle::new(*place, 4, BLUE.filled())),
    )?;
    root.present()?;
    Ok(())
}

/// Every setting's place and the ends of its interval.
fn intervals(points: &[Option<Estimate>]) -> impl Iterator<Item = (i32, [f64; 2])> {
    (0..).zip(points).filter_map(|(at, point)| {
        let interval = point.as_ref()?.interval?;
        Some((at, [interval.low, interval.high]))
    })
}

/// The round values around all points and, as far as they are not too far from those, all intervals.
fn ends(points: &[Option<Estimate>]) -> Option<(f64, f64)> {
    let values = || {
        points
            .iter()
            .flatten()
            .map(|one| one.point)
            .filter(|value| *value > 0.0)
    };
    let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let all = intervals(points).flat_map(|(_, ends)| ends);
    let near = all.map(|end| end.clamp(least / FAR, most * FAR));
    let (low, high) = near.fold((least, most), |(low, high), end| {
        (low.min(end), high.max(end))
    });
    let low = steps().rfind(|step| *step <= low)?;
    // Never both the same, so that there is an axis.
    Some((low, steps().find(|step| *step >= high.max(low * 1.1))?))
}

/// 1, 2 and 5 times every power of ten, in order.
fn steps() -> impl DoubleEndedIterator<Item = f64> {
    (-12..13).flat_map(|power| [1, 2, 5].map(|digit| step(digit, power)))
}

/// As a person writes it, so that no rounding shows.
fn step(digit: i32, power: i32) -> f64 {
    format!("{digit}e{power}").parse().unwrap_or(f64::NAN)
}

/// Values with a tick, the ends among them.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let within = steps().filter(|step| (low..=high).contains(step));
    let all: Vec<f64> = within.collect();
    if all.len() <= TICKS {
        return all;
    }
    let is_inside = |ten: &f64| *ten > low * 3.0 && *ten < high / 3.0;
    let tens = (-12..13).map(|power| step(1, power)).filter(is_inside);
    [low].into_iter().chain(tens).chain([high]).collect()
}

/// A tick's number without zeros that say nothing.
fn plain(value: f64) -> String {
    if value >= 1e4 {
        return number::count(value as u64);
    }
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    fn point(low: f64, point: f64, high: f64) -> Estimate {
        let confidence = 0.95;
        Estimate {
            point,
            interval: Some(Interval {
                low,
                high,
                confidence,
            }),
            n: 20,
        }
    }

    #[test]
    fn the_axis_covers_the_intervals_and_both_its_ends_have_ticks() {
        let cases = [
            (vec![point(0.3, 1.0, 8.0)], (0.2, 10.0)),
            (vec![point(1.0, 1.0, 1.0)], (1.0, 2.0)),
            (
                vec![point(3.0, 4.0, 6.0), point(0.04, 4.0, 300.0)],
                (0.02, 500.0),
            ),
            (vec![point(1e-9, 1.0, 1e9)], (0.001, 1000.0)),
        ];
        for (points, (low, high)) in cases {
            let points: Vec<_> = points.into_iter().map(Some).collect();
            assert_eq!(ends(&points), Some((low, high)));
            let ticks = ticks(low, high);
            assert_eq!((ticks.first(), ticks.last()), (Some(&low), Some(&high)));
            assert!(ticks.len() <= TICKS && ticks.is_sorted(), "{ticks:?}");
        }
        assert_eq!(ends(&[None]), None);
    }
}
