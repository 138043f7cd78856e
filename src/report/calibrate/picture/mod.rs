//! A calibration as pictures: TTFT as measured and as simulated, and what is known of the free values.

mod ecdf;
mod pairs;

use std::io;

use super::CalibrationReport;

/// All pictures, each with a file's name.
pub(super) fn all(report: &CalibrationReport<'_>) -> io::Result<Vec<(String, String)>> {
    let failed = |error: Box<dyn std::error::Error>| io::Error::other(error.to_string());
    let mut pictures = Vec::new();
    let series = report.series.iter().zip(&report.prediction.curves);
    for (index, (series, curve)) in series.enumerate() {
        let title = format!("{} · {}", report.plan.title, series.name);
        let picture = ecdf::draw(&title, curve).map_err(failed)?;
        pictures.push((format!("ttft-{}.svg", index + 1), picture));
    }
    let pairs = pairs::draw(report.posterior).map_err(failed)?;
    pictures.extend(pairs.map(|picture| ("values.svg".to_owned(), picture)));
    Ok(pictures)
}

/// A number without an exponent and without zeros that say nothing: `0.5`, `20`.
fn plain(number: f64) -> String {
    // The axis multiplies its way up, and rounding shows.
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
