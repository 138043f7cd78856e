//! Options that several commands share.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::record;
use crate::report::Format;
use crate::scenario::{Complaint, Overrides, units};
use crate::stats::{CvDefinition, PercentileMethod};
use crate::time::Duration;

/// For every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Terminal")]
pub(super) struct Global {
    /// Say nothing but results and errors
    #[arg(long, short, global = true)]
    pub(super) quiet: bool,
    /// Show no progress bar
    #[arg(long, global = true)]
    pub(super) no_progress: bool,
    /// Colours: on terminals, always or never (`NO_COLOR` is honoured)
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub(super) color: When,
    /// Width of text in characters [default: the terminal's, else COLUMNS, else 80]
    #[arg(long, global = true, value_name = "N", value_parser = whole::<u16>(40..=1000))]
    pub(super) width: Option<u16>,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// On terminals.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Which scenario, and what about it is different this time.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scenario")]
pub(super) struct Chosen {
    /// A built-in scenario's name, a path, or `-` for standard input
    #[arg(default_value = super::builtin::DEFAULT, help_heading = "Arguments")]
    pub(super) scenario: String,
    /// Override a value, such as `benchmark.requests=20`; may be given again
    ///
    /// A provider, model or stream within the path must be there (`*` is every one); a new one is given whole, as in
    /// `providers.acme.deployments.mine={ price = "2usd/h" }`.
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
    /// Seed of all randomness; wins over the scenario's
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(super) seed: Option<u64>,
}

impl Chosen {
    /// What the command line adds to the scenario.
    pub(super) fn overrides(&self, percentile: PercentileMethod) -> Overrides {
        Overrides {
            set: self.set.clone(),
            varied: Vec::new(),
            seed: self.seed,
            percentile,
        }
    }
}

/// How figures are computed.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Statistics")]
pub(super) struct Statistics {
    /// How percentiles are read off: linear, nearest-rank or exclusive
    #[arg(long, value_name = "METHOD", default_value = "linear")]
    pub(super) percentile: PercentileMethod,
    /// Which relative spread gives the verdict: std/mean or std/median; both are always shown
    #[arg(long, value_name = "DEFINITION", default_value = "std/mean")]
    pub(super) cv: CvDefinition,
}

/// On how many threads runs are made, and how what came of them is written.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Runs {
    /// Threads for the runs, 0 for all cores; never changes a result
    #[arg(long, value_name = "N", value_parser = threads, default_value_t = 0, help_heading = "Terminal")]
    threads: usize,
    /// How results are written
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub(super) format: FormatName,
}

impl Runs {
    /// The threads.
    pub(super) fn pool(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        pool(self.threads)
    }
}

/// So many threads, 0 for one a core.
pub(super) fn pool(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(threads).build()
}

/// Where results go.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct Output {
    /// How results are written
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: FormatName,
    /// Also write a run folder: manifest, scenario, summary, every request
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Whose requests the run folder holds
    #[arg(long, value_enum, default_value = "benchmark", requires = "out")]
    pub(super) requests: Whose,
    /// Write into a folder that holds something else
    #[arg(long, requires = "out")]
    pub(super) force: bool,
}

/// The formats of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatName {
    /// For people
    Text,
    /// For programs: everything
    Json,
    /// For spreadsheets: the benchmark's rows
    Csv,
    /// For pasting: the benchmark's rows
    Markdown,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Text => Self::Text,
            FormatName::Json => Self::Json,
            FormatName::Csv => Self::Csv,
            FormatName::Markdown => Self::Markdown,
        }
    }
}

/// Whose requests are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Whose {
    /// The benchmark's
    Benchmark,
    /// Every user's
    Everybody,
}

impl From<Whose> for record::Whose {
    fn from(whose: Whose) -> Self {
        match whose {
            Whose::Benchmark => Self::Benchmark,
            Whose::Everybody => Self::Everybody,
        }
    }
}

/// Reads a duration such as `90s`; at most a year, which is as far as timers reach.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let span = units::duration(text).map_err(|complaint| stated(&complaint))?;
    if span.as_secs() <= 3.15e7 {
        Ok(span)
    } else {
        Err("must be at most a year".to_owned())
    }
}

/// Reads a size such as `16MiB`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    units::bytes(text).map_err(|complaint| stated(&complaint))
}

/// Reads a share such as `95%`.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    units::percent(text).map_err(|complaint| stated(&complaint))
}

/// Reads a whole number of a range.
pub(super) fn whole<N: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        let (least, most) = (range.start(), range.end());
        number.ok_or_else(|| format!("must be a whole number from {least} to {most}"))
    }
}

/// Reads a seed: all are as good, but a scenario must be able to hold it, and TOML ends at 63 bits.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    whole(0..=i64::MAX as u64)(text)
}

/// Reads how many threads to use; 0 for all cores.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    whole(0..=1024)(text)
}

fn stated(complaint: &Complaint) -> String {
    format!("{}: {}", complaint.says, complaint.found)
}
