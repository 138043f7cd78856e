//! The calibrated scenario as a file that runs, with where it comes from in its head.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::cli::builtin::Text;
use crate::measure::protocol::GapPlan;
use crate::report::VERSION;
use crate::report::calibrate::CalibrationReport;
use crate::scenario::{self, Overrides, units};

/// The scenario at its point estimate, everything spelt out; its benchmark is the one that was made, where there is one only.
pub(super) fn scenario(
    text: &Text,
    values: &Overrides,
    report: &CalibrationReport<'_>,
    command: &[String],
) -> anyhow::Result<String> {
    let mut overrides = values.clone();
    overrides.set.extend(benchmark(report));
    let (_, understood) = scenario::load(&text.name, &text.text, &overrides)?;
    let mut lines = vec![
        format!("Calibrated by thermocline {VERSION} from {}:", text.name),
        format!("  {}", command.join(" ")),
    ];
    lines.extend(report.provenance());
    let head = lines
        .iter()
        .map(|line| format!("# {line}").trim_end().to_owned() + "\n");
    let head: String = head.collect();
    Ok(format!("{head}\n{}", understood.to_plain_toml()))
}

/// The benchmark that was made, as `--set` takes it.
fn benchmark(report: &CalibrationReport<'_>) -> Vec<String> {
    let [series] = report.series else {
        return Vec::new();
    };
    let protocol = &series.protocol;
    let spans = |spans: &[crate::time::Duration]| {
        let texts: Vec<String> = spans
            .iter()
            .map(|span| format!("\"{}\"", units::print_duration(*span)))
            .collect();
        texts.join(", ")
    };
    let gaps = match &protocol.gaps {
        GapPlan::Ladder(gaps) => format!("{{ ladder = {{ gaps = [{}] }} }}", spans(gaps)),
        GapPlan::At(times) => format!("{{ at = {{ times = [{}] }} }}", spans(times)),
        _ => return vec![format!("benchmark.requests={}", protocol.requests)],
    };
    let start = units::print_time_of_week(series.at);
    vec![
        format!("benchmark.requests={}", protocol.requests),
        format!("benchmark.discard={}", protocol.discard),
        format!("benchmark.gaps={gaps}"),
        format!("benchmark.sessions={{ measured = \"{start}\" }}"),
    ]
}

/// Writes the file; one that is there stays unless it is to be replaced.
pub(super) fn write(path: &Path, text: &str, replaces: bool) -> anyhow::Result<()> {
    if path.exists() && !replaces {
        bail!(
            "`{}` is there already\nhelp: --force replaces it",
            path.display()
        );
    }
    let mut file = std::fs::File::create(path)
        .with_context(|| format!("could not write `{}`", path.display()))?;
    file.write_all(text.as_bytes())?;
    Ok(())
}
