//! The only place that writes to standard output and standard error.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::options::{Global, When};
use crate::experiment::Plan;
use crate::report::too_long;

/// Progress is shown from here on.
const PATIENCE: Duration = Duration::from_secs(1);
/// The width where nothing says another.
const WIDTH: usize = 80;

/// The user's side of the program.
#[derive(Clone, Debug)]
pub(super) struct Terminal {
    color: ColorChoice,
    shows_progress: bool,
    is_quiet: bool,
    width: usize,
}

impl Terminal {
    pub(super) fn new(global: &Global) -> Self {
        let color = match global.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::AlwaysAnsi,
            When::Never => ColorChoice::Never,
        };
        Self {
            color,
            shows_progress: !global.quiet && !global.no_progress && io::stderr().is_terminal(),
            is_quiet: global.quiet,
            width: global.width.map_or_else(width, usize::from),
        }
    }

    /// How wide text may be \[characters\].
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Writes results.
    pub(super) fn results(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut out = BufWriter::new(AutoStream::new(io::stdout().lock(), self.color));
        write(&mut out)?;
        out.flush()
    }

    /// Whether errors are coloured.
    pub(super) fn colours_errors(&self) -> bool {
        match self.color {
            ColorChoice::Auto => AutoStream::choice(&io::stderr()) != ColorChoice::Never,
            choice => choice != ColorChoice::Never,
        }
    }

    /// Writes an error. There is nobody to tell when that fails.
    pub(super) fn error(&self, text: &str) {
        let mut out = AutoStream::new(io::stderr().lock(), self.color);
        let _ = writeln!(out, "{text}");
    }

    /// Says something beside the results.
    pub(super) fn note(&self, text: &str) {
        if !self.is_quiet {
            self.error(text);
        }
    }

    /// Says what a plan should have made known before it is run.
    pub(super) fn warn(&self, plan: &Plan) {
        for warning in too_long::warnings(plan) {
            self.note(&warning);
        }
    }

    /// A text for the state of work that goes on.
    pub(super) fn live(&self) -> Live {
        let bar = self.shows_progress.then(ProgressBar::no_length);
        if let (Some(bar), Ok(style)) = (&bar, ProgressStyle::with_template("{msg}")) {
            bar.set_style(style);
        }
        Live(bar)
    }

    /// Does work of `steps` steps and shows how far it is when it takes longer than a second.
    pub(super) fn progress<T>(&self, steps: u64, work: impl FnOnce(&(dyn Fn() + Sync)) -> T) -> T {
        if !self.shows_progress {
            return work(&|| ());
        }
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let template = "{bar:40.cyan} {pos}/{len} runs, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let (ended, end) = channel::<()>();
        std::thread::scope(|scope| {
            let shown = bar.clone();
            scope.spawn(move || {
                if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    shown.set_draw_target(ProgressDrawTarget::stderr());
                    shown.enable_steady_tick(Duration::from_millis(200));
                }
            });
            let done = work(&|| bar.inc(1));
            drop(ended);
            bar.finish_and_clear();
            done
        })
    }
}

/// A text that is drawn again and again below everything else, until it is dropped; nothing where there is no terminal.
#[derive(Debug)]
pub(super) struct Live(Option<ProgressBar>);

impl Live {
    /// Whether anybody sees it.
    pub(super) fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Draws the text in place of the one before.
    pub(super) fn show(&self, text: String) {
        if let Some(bar) = &self.0 {
            bar.set_message(text);
            bar.tick();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// The terminal's width, else what `COLUMNS` says, else 80.
fn width() -> usize {
    let terminal =
        terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let columns = || std::env::var("COLUMNS").ok()?.trim().parse::<usize>().ok();
    terminal
        .or_else(columns)
        .filter(|width| (40..=1000).contains(width))
        .unwrap_or(WIDTH)
}
