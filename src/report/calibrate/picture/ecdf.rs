//! TTFT as measured against TTFT as simulated, as a picture: both distribution functions, and the band of 90 % of simulations.

use std::error::Error;

use plotters::prelude::*;

use crate::calibrate::predict::Point;
use crate::report::picture::{FONT, shortened};

/// Width and height \[px\].
const SIZE: (u32, u32) = (720, 440);
/// The band's colour.
const BAND: RGBColor = RGBColor(198, 216, 240);

/// The picture of one series, as SVG.
pub(super) fn draw(title: &str, curve: &[Point]) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    drawn(title, curve, &mut svg)?;
    Ok(svg)
}

fn drawn(title: &str, curve: &[Point], svg: &mut String) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (low, high) = ends(curve);
    let mut chart = ChartBuilder::on(&root)
        .caption(shortened(title, 18, SIZE.0 - 32), (FONT, 18))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d((low..high).log_scale(), 0.0..1.0)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_label_formatter(&|seconds| super::plain(*seconds))
        .y_label_formatter(&|share| format!("{:.0}", 100.0 * share))
        .x_desc("TTFT [s]")
        .y_desc("requests that were as quick [%]")
        .draw()?;
    let line = |of: &dyn Fn(&Point) -> Option<f64>| -> Vec<(f64, f64)> {
        let place = |point: &Point| Some((of(point)?.clamp(low, high), point.p));
        curve.iter().filter_map(place).collect()
    };
    let right = line(&|point| Some(point.high_s));
    let mut around = line(&|point| Some(point.low_s));
    around.extend(right.into_iter().rev());
    let square = |colour: RGBColor| {
        move |(x, y)| Rectangle::new([(x, y - 5), (x + 20, y + 5)], colour.filled())
    };
    let stroke = |colour: RGBColor, width: u32| {
        move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(width))
    };
    chart
        .draw_series(std::iter::once(Polygon::new(around, BAND.filled())))?
        .label("90 % of simulations")
        .legend(square(BAND));
    chart
        .draw_series(LineSeries::new(
            line(&|point| Some(point.middle_s)),
            BLUE.stroke_width(1),
        ))?
        .label("simulated, median")
        .legend(stroke(BLUE, 1));
    let measured = line(&|point| point.measured_s);
    if !measured.is_empty() {
        chart
            .draw_series(LineSeries::new(measured, BLACK.stroke_width(2)))?
            .label("measured")
            .legend(stroke(BLACK, 2));
    }
    chart
        .configure_series_labels()
        .position(corner(curve, (low * high).sqrt()))
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 13))
        .draw()?;
    root.present()?;
    Ok(())
}

/// The corner that the curve leaves free, by whether half of the requests are quicker than the middle of the axis.
fn corner(curve: &[Point], middle_s: f64) -> SeriesLabelPosition {
    let quick = curve
        .iter()
        .filter(|point| point.middle_s < middle_s)
        .count();
    if 2 * quick > curve.len() {
        SeriesLabelPosition::LowerRight
    } else {
        SeriesLabelPosition::UpperLeft
    }
}

/// The axis: all of it, with a little room, and never less than a factor of two.
fn ends(curve: &[Point]) -> (f64, f64) {
    let all = || {
        curve
            .iter()
            .flat_map(|one| [one.low_s, one.high_s].into_iter().chain(one.measured_s))
    };
    let positive = || all().filter(|seconds| *seconds > 0.0);
    let low = positive().fold(f64::INFINITY, f64::min);
    let high = positive().fold(0.0, f64::max);
    if high == 0.0 {
        return (0.1, 10.0);
    }
    (low / 1.2, (high * 1.2).max(low * 2.0))
}
