//! What is known of the free values, as a picture: each with its density and interval marks, each pair as draws.
//!
//! Only numbers are drawn: choices have their shares in the table.

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;

use crate::calibrate::free::Free;
use crate::calibrate::posterior::Posterior;
use crate::report::picture::{FONT, shortened, width};

/// Side of one picture of the grid \[px\].
const SIDE: u32 = 280;
/// Width of the plot in it, and size of its labels \[px\].
const PLOT: u32 = SIDE - 68;
const SMALL: u32 = 12;
/// Draws of a pair.
const DRAWS: usize = 600;
/// Bars of a density.
const BARS: usize = 30;
/// Ticks of an axis, at most.
const TICKS: usize = 5;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A value's axis: the part of its range where the draws are, in places of `[0, 1)`.
struct Axis<'a> {
    free: &'a Free,
    index: usize,
    ends: (f64, f64),
    ticks: Vec<f64>,
}

/// Places of `[0, 1)` with ticks of our own.
struct Places {
    ends: (f64, f64),
    ticks: Vec<f64>,
}

impl Ranged for Places {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (place - self.ends.0) / (self.ends.1 - self.ends.0);
        from + (f64::from(to - from) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

/// All numbers against each other, as SVG; `None` where there is no number.
pub(super) fn draw(posterior: &Posterior) -> Result<Option<String>, Box<dyn Error>> {
    let numbers =
        (0..posterior.free.len()).filter(|&index| posterior.free[index].choices().is_none());
    let axes: Vec<Axis<'_>> = numbers.map(|index| Axis::of(posterior, index)).collect();
    if axes.is_empty() {
        return Ok(None);
    }
    let mut svg = String::new();
    let side = SIDE * axes.len() as u32;
    {
        let root = SVGBackend::with_string(&mut svg, (side, side)).into_drawing_area();
        root.fill(&WHITE)?;
        let cells = root.split_evenly((axes.len(), axes.len()));
        for (cell, area) in cells.iter().enumerate() {
            let (row, column) = (cell / axes.len(), cell % axes.len());
            match row.cmp(&column) {
                std::cmp::Ordering::Equal => density(area, posterior, &axes[row])?,
                std::cmp::Ordering::Greater => {
                    scatter(area, posterior, &axes[column], &axes[row])?;
                }
                std::cmp::Ordering::Less => tie(area, posterior, &axes[row], &axes[column])?,
            }
        }
        root.present()?;
    }
    Ok(Some(svg))
}

impl<'a> Axis<'a> {
    fn of(posterior: &'a Posterior, index: usize) -> Self {
        let free = &posterior.free[index];
        let (low, high) = (
            posterior.quantile(index, 0.002),
            posterior.quantile(index, 0.998),
        );
        let room = (0.06 * (high - low)).max(1e-6);
        let ends = ((low - room).max(0.0), (high + room).min(1.0));
        Self {
            free,
            index,
            ticks: ticks(free, ends),
            ends,
        }
    }

    fn coordinate(&self) -> Places {
        Places {
            ends: self.ends,
            ticks: self.ticks.clone(),
        }
    }

    /// The same with as many ticks as labels have room beside each other.
    fn across(&self) -> Places {
        let mut end = 0.0;
        let mut ticks = self.ticks.clone();
        ticks.retain(|place| {
            let share = (place - self.ends.0) / (self.ends.1 - self.ends.0);
            let (middle, wide) = (
                share * f64::from(PLOT),
                f64::from(width(&self.label(*place), SMALL)),
            );
            let begin = middle - wide / 2.0;
            // The first may stand out on the left, over the other axis.
            let fits = begin > end || end == 0.0;
            if fits {
                end = middle + wide / 2.0 + f64::from(SMALL) / 2.0;
            }
            fits
        });
        Places {
            ends: self.ends,
            ticks,
        }
    }

    fn label(&self, place: f64) -> String {
        self.free.text_of(place, 3)
    }

    fn clamp(&self, place: f64) -> f64 {
        place.clamp(self.ends.0, self.ends.1)
    }
}

/// Round values between two places: 1, 2 and 5 times powers of ten, or fewer or finer ones as there is room.
fn ticks(free: &Free, (low, high): (f64, f64)) -> Vec<f64> {
    let (from, to) = (free.number(low), free.number(high.min(1.0 - 1e-12)));
    let mut best: Vec<f64> = Vec::new();
    let steps = (-6..9)
        .rev()
        .flat_map(|power| [5.0, 2.0, 1.0].map(|digit| digit * 10_f64.powi(power)));
    if free.is_logarithmic() {
        for digits in [&[1.0][..], &[1.0, 3.0], &[1.0, 2.0, 5.0]] {
            let round = (-6..9)
                .flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
            let inside: Vec<f64> = round
                .filter(|value| from <= *value && *value <= to)
                .collect();
            if inside.len() <= TICKS && inside.len() > best.len() {
                best = inside;
            }
        }
    }
    if best.len() < 3 {
        for step in steps {
            let first = (from / step).ceil();
            let count = (to / step).floor() - first + 1.0;
            if count > TICKS as f64 {
                break;
            }
            if count > best.len() as f64 {
                best = (0..count as usize)
                    .map(|tick| (first + tick as f64) * step)
                    .collect();
            }
        }
    }
    best.into_iter().map(|value| free.place_of(value)).collect()
}

/// A value's density, with its median and the ends of its 50 % and 90 % intervals.
fn density(area: &Area<'_>, posterior: &Posterior, axis: &Axis<'_>) -> Result<(), Box<dyn Error>> {
    let (low, high) = axis.ends;
    let width = (high - low) / BARS as f64;
    let mut bars = vec![0.0; BARS];
    for draw in &posterior.draws {
        let bar = (axis.clamp(draw.places[axis.index]) - low) / width;
        bars[(bar as usize).min(BARS - 1)] += draw.weight;
    }
    let top = bars.iter().copied().fold(0.0, f64::max) * 1.15;
    let marginal = posterior.marginal(axis.index);
    let title = format!(
        "{}: {} (90 %: {} to {})",
        axis.free.name,
        axis.label(marginal.point),
        axis.label(marginal.most.0),
        axis.label(marginal.most.1)
    );
    let mut chart = ChartBuilder::on(area)
        .caption(shortened(&title, 13, SIDE - 16), (FONT, 13))
        .margin(8)
        .x_label_area_size(28)
        .y_label_area_size(52)
        .build_cartesian_2d(axis.across(), 0.0..top)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .y_labels(0)
        .x_label_formatter(&|place| axis.label(*place))
        .draw()?;
    let bar = |(index, weight): (usize, &f64)| {
        let left = low + width * index as f64;
        Rectangle::new(
            [(left, 0.0), (left + width, *weight)],
            BLUE.mix(0.35).filled(),
        )
    };
    chart.draw_series(bars.iter().enumerate().map(bar))?;
    let mark = |place: f64, stroke: u32, height: f64| {
        PathElement::new(
            [(place, 0.0), (place, height * top)],
            BLACK.stroke_width(stroke),
        )
    };
    let (half, most) = (marginal.half, marginal.most);
    let marks = [
        mark(marginal.point, 2, 1.0),
        mark(half.0, 1, 0.6),
        mark(half.1, 1, 0.6),
        mark(most.0, 1, 0.25),
        mark(most.1, 1, 0.25),
    ];
    chart.draw_series(marks)?;
    Ok(())
}

/// Draws of a pair, with a cross of the 90 % intervals through the medians.
fn scatter(
    area: &Area<'_>,
    posterior: &Posterior,
    across: &Axis<'_>,
    up: &Axis<'_>,
) -> Result<(), Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(40)
        .y_label_area_size(52)
        .build_cartesian_2d(across.across(), up.coordinate())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_label_formatter(&|place| across.label(*place))
        .y_label_formatter(&|place| up.label(*place))
        .x_desc(across.free.name.as_str())
        .y_desc(up.free.name.as_str())
        .draw()?;
    let point = |places: &[f64]| {
        let at = (
            across.clamp(places[across.index]),
            up.clamp(places[up.index]),
        );
        Circle::new(at, 2, BLUE.mix(0.35).filled())
    };
    chart.draw_series(posterior.resampled(DRAWS).into_iter().map(point))?;
    let (x, y) = (
        posterior.marginal(across.index),
        posterior.marginal(up.index),
    );
    let cross = [
        PathElement::new(
            [(x.most.0, y.point), (x.most.1, y.point)],
            BLACK.stroke_width(1),
        ),
        PathElement::new(
            [(x.point, y.most.0), (x.point, y.most.1)],
            BLACK.stroke_width(1),
        ),
    ];
    chart.draw_series(cross)?;
    Ok(())
}

/// How much a pair goes together, in words.
fn tie(
    area: &Area<'_>,
    posterior: &Posterior,
    one: &Axis<'_>,
    other: &Axis<'_>,
) -> Result<(), Box<dyn Error>> {
    let correlation = posterior.correlation(one.index, other.index);
    let centre = i32::try_from(SIDE / 2)?;
    let style = (FONT, 13)
        .into_font()
        .color(&BLACK)
        .pos(plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Center,
            plotters::style::text_anchor::VPos::Center,
        ));
    area.draw(&Text::new(
        format!("{} and {}:", one.free.name, other.free.name),
        (centre, centre - 10),
        style.clone(),
    ))?;
    area.draw(&Text::new(
        format!("correlation {correlation:.2}"),
        (centre, centre + 10),
        style,
    ))?;
    Ok(())
}
