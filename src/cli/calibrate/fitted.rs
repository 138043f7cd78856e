//! The calibrated scenario as a file that runs, with where it comes from in its head.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::cli::builtin::Text;
use crate::measure::protocol::GapPlan;
use crate::record::{Folder, Record};
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

/// Where it is written.
pub(super) enum Out {
    /// Alone, to a file.
    File(PathBuf),
    /// With all else, to a folder.
    Folder(Folder),
}

impl Out {
    /// A file if it is called one; what is there stays unless it is to be replaced.
    pub(super) fn new(path: &Path, replaces: bool) -> anyhow::Result<Self> {
        if path.extension().is_none_or(|extension| extension != "toml") {
            return Ok(Self::Folder(Folder::new(path, replaces)?));
        }
        if path.exists() && !replaces {
            bail!(
                "`{}` is there already\nhelp: --force replaces it",
                path.display()
            );
        }
        Ok(Self::File(path.to_owned()))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Folder(folder) => folder.path(),
        }
    }

    /// Writes the scenario, and to a folder the rest of the record.
    pub(super) fn write(&self, record: &Record<'_>, scenario: &str) -> anyhow::Result<()> {
        match self {
            Self::Folder(folder) => Ok(folder.write(record)?),
            Self::File(path) => fs::write(path, scenario)
                .with_context(|| format!("could not write `{}`", path.display())),
        }
    }
}
