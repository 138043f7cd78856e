//! `trace`: what a file of real demand holds.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};

use super::options::FormatName;
use super::terminal::Terminal;
use crate::report::trace::{Inspected, Inspection};
use crate::trace::{Options, Trace, Unit};

/// Inspect traces of real demand, and fit laws of arrivals to them
///
/// Shows rates, bursts, silences and lengths, and which of three laws the arrivals follow: Poisson, Gamma renewal, or a Poisson
/// process that changes between two rates.
///
/// Reads Azure's LLM inference traces, `BurstGPT`, Mooncake and vidur by their heads, and any CSV with a head or JSON with an object
/// a line by `--time-column`. Files are read row by row, so their size does not matter. A file that states something impossible
/// is refused with the lines.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct TraceCommand {
    /// Files, `-` for standard input
    #[arg(value_name = "FILE", required = true, help_heading = "Arguments")]
    files: Vec<String>,
    #[command(flatten)]
    table: Table,
    /// Print nothing but the best laws as a scenario, for `check` and `simulate`
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    scenario: bool,
    /// The law of that scenario [default: the one most like the gaps]
    #[arg(
        long,
        value_enum,
        value_name = "LAW",
        requires = "scenario",
        help_heading = "Output"
    )]
    law: Option<LawName>,
    /// How results are written
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: FormatName,
}

/// Laws of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LawName {
    /// Independent exponential gaps
    Poisson,
    /// Independent Gamma gaps
    Gamma,
    /// A Poisson process that changes between two rates
    Mmpp,
}

impl LawName {
    /// As results name it.
    fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Gamma => "gamma",
            Self::Mmpp => "mmpp",
        }
    }
}

/// How to read tables that no known program wrote.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tables")]
struct Table {
    /// The column that holds when requests came: dates, or numbers
    #[arg(long, value_name = "NAME")]
    time_column: Option<String>,
    /// The unit of that column, where it holds numbers and its name does not tell: s, ms, us or ns
    #[arg(long, value_name = "UNIT", requires = "time_column")]
    time_unit: Option<Unit>,
    /// The column that holds the lengths of prompts, in tokens
    #[arg(long, value_name = "NAME", requires = "time_column")]
    prompt_column: Option<String>,
    /// The column that holds the lengths of answers, in tokens
    #[arg(long, value_name = "NAME", requires = "time_column")]
    output_column: Option<String>,
    /// The column that holds which model was asked
    #[arg(long, value_name = "NAME", requires = "time_column")]
    model_column: Option<String>,
    /// The column that holds to which session a request belongs
    #[arg(long, value_name = "NAME", requires = "time_column")]
    session_column: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  thermocline trace AzureLLMInferenceTrace_code.csv
      A known file
  thermocline trace AzureLLMInferenceTrace_code.csv --scenario > fitted.toml
      Its best law as a scenario
  thermocline trace log.csv --time-column arrived_ms --prompt-column in
      Any table
  thermocline trace BurstGPT_1.csv BurstGPT_2.csv --format csv
      A row for each file";

impl TraceCommand {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let options = Options {
            time_column: self.table.time_column.clone(),
            time_unit: self.table.time_unit,
            prompt_column: self.table.prompt_column.clone(),
            output_column: self.table.output_column.clone(),
            model_column: self.table.model_column.clone(),
            session_column: self.table.session_column.clone(),
        };
        let inspected = self.files.iter().map(|file| inspected(file, &options));
        let inspected: Vec<Inspected> = inspected.collect::<anyhow::Result<_>>()?;
        let inspection = Inspection { files: &inspected };
        if self.scenario {
            if let Some(few) = inspected.iter().find(|one| one.fits.is_none()) {
                bail!("`{}` has too few arrivals to fit a law to", few.file);
            }
            let law = self.law.map(LawName::name);
            terminal.results(|out| inspection.write_scenario(law, out))?;
            return Ok(());
        }
        let format = self.format.into();
        terminal.results(|out| inspection.write(format, terminal.width(), out))?;
        Ok(())
    }
}

fn inspected(file: &str, options: &Options) -> anyhow::Result<Inspected> {
    let trace = opened(file, options)?;
    let survey = trace.survey()?;
    let fits = trace.fit(&survey)?;
    Ok(Inspected {
        file: trace.file().to_owned(),
        format: trace.format(),
        survey,
        fits,
    })
}

/// A file, or standard input, which is kept because it is read more than once.
fn opened(file: &str, options: &Options) -> anyhow::Result<Trace> {
    if file == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("could not read standard input")?;
        return Ok(Trace::of_bytes("<stdin>", bytes, options)?);
    }
    Ok(Trace::open(file, Path::new(file), options)?)
}
