//! Errors as a user sees them, and exit codes.

use std::io;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use thiserror::Error;

use super::terminal::Terminal;
use crate::scenario::ScenarioError;

const ERROR: Style = AnsiColor::BrightRed.on_default().bold();

/// The exit code of "done, and the answer is no".
const NO: u8 = 1;
/// The exit code of "could not".
const COULD_NOT: u8 = 2;

/// The exit code of a run that the user broke off, as shells give it to Ctrl-C.
pub(super) const INTERRUPTED: u8 = 130;

/// The user broke off; what was done by then is reported.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct Interrupted(pub(super) String);

/// The command has done its work and has shown that the answer is no.
#[derive(Clone, Copy, Debug, Error)]
#[error("the answer is no")]
pub(super) struct No;

/// Help and version go out and are done; a wrong flag is an error.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is the reader's choice.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::from(COULD_NOT)
    } else {
        ExitCode::SUCCESS
    }
}

/// Shows an error and gives the exit code; a reader who has left is none.
pub(super) fn report(error: &anyhow::Error, terminal: &Terminal) -> ExitCode {
    let pipe = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(pipe) {
        return ExitCode::SUCCESS;
    }
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        terminal.note(&interrupted.to_string());
        return ExitCode::from(INTERRUPTED);
    }
    if error.is::<No>() {
        return ExitCode::from(NO);
    }
    if let Some(problems) = error.downcast_ref::<ScenarioError>() {
        if terminal.colours_errors() {
            terminal.error(&problems.styled().to_string());
        } else {
            terminal.error(&problems.to_string());
        }
        let count = problems.problems().len();
        if count > 1 {
            terminal.error(&format!("\n{ERROR}{count} problems{ERROR:#}"));
        }
        return ExitCode::from(COULD_NOT);
    }
    terminal.error(&format!("{ERROR}error:{ERROR:#} {error:#}"));
    ExitCode::from(COULD_NOT)
}
