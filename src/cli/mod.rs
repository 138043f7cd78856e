//! The command line: what can be asked, and who answers.

mod analyze;
mod builtin;
mod calibrate;
mod catalog;
mod check;
mod compare;
mod explain;
mod failure;
mod figures;
mod files;
mod measure;
mod options;
mod plan;
mod scenarios;
mod selftest;
mod serve;
mod simulate;
mod sweep;
mod terminal;
mod theory;
mod trace;
mod vary;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use options::Global;
use terminal::Terminal;

use crate::trace::Broken;

/// What can be asked of the program.
#[derive(Debug, Parser)]
#[command(
    name = "thermocline",
    version,
    about = "Simulates serverless LLM fleets and reports the TTFT that a benchmark would measure",
    max_term_width = 100
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Simulate(simulate::Simulate),
    Sweep(sweep::Sweep),
    Compare(compare::Compare),
    Plan(plan::PlanCommand),
    Explain(explain::Explain),
    Measure(Box<measure::Measure>),
    Serve(serve::Serve),
    Analyze(analyze::Analyze),
    Calibrate(Box<calibrate::Calibrate>),
    Trace(trace::TraceCommand),
    Check(check::Check),
    Catalog(catalog::CatalogCommand),
    Scenarios(scenarios::Scenarios),
    #[command(name = "selftest")]
    SelfTest(selftest::SelfTest),
    Theory(theory::Theory),
}

/// Does what the arguments ask and says how that went: 0 done, 1 done and the answer is no, 2 could not.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    let terminal = Terminal::new(&cli.global);
    let done = unwound(|| match cli.command {
        Command::Simulate(simulate) => simulate.run(&command(&arguments), &terminal),
        Command::Sweep(sweep) => sweep.run(&command(&arguments), &terminal),
        Command::Compare(compare) => compare.run(&terminal),
        Command::Plan(plan) => plan.run(&terminal),
        Command::Explain(explain) => explain.run(&terminal),
        Command::Measure(measure) => measure.run(&terminal),
        Command::Serve(serve) => serve.run(&terminal),
        Command::Analyze(analyze) => analyze.run(&terminal),
        Command::Calibrate(calibrate) => calibrate.run(&command(&arguments), &terminal),
        Command::Trace(trace) => trace.run(&terminal),
        Command::Check(check) => check.run(&terminal),
        Command::Catalog(catalog) => catalog.run(&terminal),
        Command::Scenarios(scenarios) => scenarios.run(&terminal),
        Command::SelfTest(selftest) => selftest.run(&terminal),
        Command::Theory(theory) => theory.run(&terminal),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error, &terminal),
    }
}

/// Does a command; a trace that breaks while it is replayed unwinds to here, through whatever threads the run is on.
fn unwound(command: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|payload| {
        match payload.downcast::<Broken>() {
            Ok(broken) => {
                Err(anyhow::Error::from(broken.0).context("a trace changed while it was replayed"))
            }
            Err(bug) => resume_unwind(bug),
        }
    })
}

/// The command line as a manifest shows it: the program by its name, wherever it lies.
fn command(arguments: &[OsString]) -> Vec<String> {
    let given = arguments.iter().skip(1);
    std::iter::once("thermocline".to_owned())
        .chain(given.map(|argument| argument.to_string_lossy().into_owned()))
        .collect()
}
