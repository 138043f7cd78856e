//! `analyze`: what requests that were measured say, whoever measured them.

use anyhow::bail;
use clap::Args;
use jiff::tz::TimeZone;

use super::figures;
use super::files::{Tables, read, zone};
use super::options::{FormatName, Statistics, seed};
use super::terminal::Terminal;
use crate::import::Imported;
use crate::measure::analysis::Method;
use crate::report::analysis::{self, Findings, Settings};

/// Analyze measured requests: ours, and the result files of other benchmarks
///
/// Reads observation files of `measure`, and what vLLM bench, `SGLang`, `AIPerf`, `GenAI-Perf`, `GuideLLM`, `LLMPerf`,
/// inference-perf, inference-benchmarker and llmprobe write; files are known by their content. Any other CSV or JSON is read with
/// `--column`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Analyze {
    /// Files, `-` for standard input
    #[arg(
        value_name = "FILE",
        required_unless_present = "reported",
        conflicts_with = "reported",
        help_heading = "Arguments"
    )]
    files: Vec<String>,
    /// Instead of files: figures without their requests; can they be, and what do they force?
    ///
    /// median, p95 and cv, and if known n, std, max, floor (no TTFT was shorter) and timeout (none was longer).
    #[arg(long, value_name = "FIGURES", help_heading = "Arguments")]
    reported: Option<String>,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    statistics: Statistics,
    /// Add a row for all requests together
    #[arg(long, help_heading = "Statistics")]
    merge: bool,
    /// A cold share, such as 1%: how many requests show one
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Statistics")]
    cold_share: Option<f64>,
    /// Seed of the resampling that tells how sure things are
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = seed,
        help_heading = "Statistics"
    )]
    seed: u64,
    /// Zone of the hours of the day: UTC, a name such as Europe/Berlin, or `local`
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = zone, help_heading = "Statistics")]
    timezone: TimeZone,
    /// How results are written
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: FormatName,
}

const EXAMPLES: &str = "\
Examples:
  thermocline analyze observations.jsonl
      What `measure` recorded
  thermocline analyze vllm.json aiperf/profile_export.jsonl
      Two tools' files side by side
  thermocline analyze probes.csv --column ttft_ms --by model --time-column hour_utc
      Any table
  thermocline analyze --reported median=0.55s,p95=6.3s,cv=541%,n=75
      Figures that somebody published";

impl Analyze {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let (format, width) = (self.format.into(), terminal.width());
        if let Some(text) = &self.reported {
            let reported = figures::parse("--reported", text, figures::REPORTED)?.reported();
            terminal.results(|out| analysis::reported::write(&reported, format, width, out))?;
            return Ok(());
        }
        let options = self.tables.options(&self.timezone);
        let files = self.files.iter().map(|file| read(file, &options));
        let files: Vec<Imported> = files.collect::<anyhow::Result<_>>()?;
        self.refuse_to_merge(&files)?;
        let settings = Settings {
            method: Method {
                percentile: self.statistics.percentile,
                definition: self.statistics.cv,
            },
            seed: self.seed,
            zone: self.timezone.iana_name().unwrap_or("local").to_owned(),
            cold_share: self.cold_share,
            merge: self.merge,
        };
        let findings = Findings::of(&files, &settings);
        terminal.results(|out| findings.write(format, width, out))?;
        Ok(())
    }
}

impl Analyze {
    /// Percentiles of the whole come from its requests: figures of parts cannot be put together.
    fn refuse_to_merge(&self, files: &[Imported]) -> anyhow::Result<()> {
        let figures_only = files.iter().find(|file| !file.stated.is_empty());
        match figures_only.filter(|_| self.merge) {
            Some(file) => bail!(
                "`{}` holds figures without their requests, which cannot be merged",
                file.file
            ),
            None => Ok(()),
        }
    }
}

/// A share such as `1%` or `0.01`, between none and all.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim(), 0.01),
        None => (text, 1.0),
    };
    let share = number.parse::<f64>().ok().map(|number| number * scale);
    share
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| "a share between 0 % and 100 %, such as 1%, is needed".to_owned())
}
