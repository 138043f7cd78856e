//! A file as a source of arrivals, and what must be known of it before.

use std::panic::resume_unwind;

use super::rows::Row;
use super::{Trace, refused, survey};
use crate::foreign::ImportError;
use crate::time::Duration;
use crate::workload::replay::{self, Rows, Source};

/// What a replay must know of a trace, found in one pass that also finds everything wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Rows of the file.
    pub rows: u64,
    /// Those that are replayed: of the wanted model, and no failures.
    pub replayed: u64,
    /// From the file's first row to its last.
    pub span: Duration,
    /// Shortest time between different stamps.
    pub least_gap: Option<Duration>,
    /// Rows that have the stamp of the row before them.
    pub shared: u64,
    /// Whether rows tell the lengths of prompts and of answers.
    pub tells: [bool; 2],
}

impl Extent {
    /// The step over which rows of one stamp are spread unless the user says otherwise: none where all stamps differ.
    pub fn step(&self) -> Duration {
        let step = self.least_gap.filter(|_| self.shared > 0);
        step.unwrap_or(Duration::ZERO)
    }

    /// From the first row to where it would come again: a mean gap, and at least a step, after the last.
    pub fn period(&self, step: Duration) -> Duration {
        let gaps = self.rows.saturating_sub(1).max(1);
        let gap = Duration::from_nanos(self.span.as_nanos() / gaps);
        self.span + gap.max(step).max(Duration::from_nanos(1))
    }
}

/// A file whose rows are replayed.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The file.
    pub trace: Trace,
    /// Whose rows; `None` is everybody's.
    pub model: Option<String>,
    /// Whether requests that failed come too.
    pub keeps_failures: bool,
}

/// Ends a run whose trace could no longer be read: the file was sound when the run was planned and has changed since. The core
/// cannot fail, and a run without its arrivals would be a wrong answer, so this unwinds; the command line shows it.
#[derive(Debug)]
pub struct Broken(pub ImportError);

impl Replayed {
    /// Reads the whole file once.
    pub fn extent(&self) -> Result<Extent, ImportError> {
        let mut extent = Extent::default();
        let mut last: Option<Duration> = None;
        let columns = &self.trace.layout.columns;
        extent.tells = [columns.prompt.is_some(), columns.output.is_some()];
        let read = survey::each(self.trace.rows()?, |row, _| {
            extent.rows += 1;
            extent.replayed += u64::from(self.wants(row));
            extent.span = row.at;
            let gap = last.map(|last| row.at.saturating_sub(last));
            match gap {
                Some(Duration::ZERO) => extent.shared += 1,
                Some(gap) => {
                    let least = extent.least_gap.unwrap_or(gap);
                    extent.least_gap = Some(least.min(gap));
                }
                None => {}
            }
            last = Some(row.at);
        });
        read.map_err(|problems| refused(self.trace.file(), problems))?;
        Ok(extent)
    }

    fn wants(&self, row: &Row) -> bool {
        (self.keeps_failures || !row.is_failure())
            && (self.model.is_none() || self.model == row.model)
    }
}

impl Source for Replayed {
    fn open(&self) -> Rows {
        let own = self.clone();
        let rows = self.trace.rows().unwrap_or_else(|error| broken(error));
        let rows = rows.map(move |row| {
            let row =
                row.unwrap_or_else(|problem| broken(refused(own.trace.file(), vec![problem])));
            own.wants(&row).then_some(replay::Row {
                at: row.at,
                prompt_tokens: row.prompt_tokens,
                output_tokens: row.output_tokens,
            })
        });
        Box::new(rows.flatten())
    }
}

fn broken(error: ImportError) -> ! {
    resume_unwind(Box::new(Broken(error)))
}
