//! What a trace holds, found in one pass and in little memory.
//!
//! Arrivals are those of all rows, failures included: they were demand too. Lengths are those of the other rows. Quantiles of
//! lengths are exact (linear between order statistics), those of gaps within 0.8 %.

mod count;
mod course;

use std::collections::BTreeMap;

use super::rows::{Row, Rows};
use crate::foreign::problem::Problem;
use crate::foreign::stamp::Stamp;
use crate::stats::Histogram;
use crate::time::Duration;

pub use count::{Dispersion, Gaps, Lengths};
pub use course::{Course, Hours};

use count::{GapCount, LengthCount, WindowCount};
use course::{CourseCount, HourCount};

/// After so many problems reading stops: nobody mends a file by a longer list.
const PROBLEMS: usize = 100;
/// Windows in which the dispersion of counts is taken \[s\].
const WINDOWS_S: [u64; 5] = [1, 10, 60, 600, 3600];
/// A silence worth a word \[s\].
const LONG_SILENCE: Duration = Duration::from_nanos(3600 * 1_000_000_000);
/// From so many rows on, gaps that are all alike are no accident.
const MANY: u64 = 10;

/// What a trace holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// Requests.
    pub rows: u64,
    /// Those without tokens, which is how traces write a failure.
    pub failures: u64,
    /// When the first one came, where stamps are dates \[ns since 1970 UTC\].
    pub first_ns: Option<i128>,
    /// From the file's zero to the first one, where stamps are no dates \[s\].
    pub zero_s: f64,
    /// From the first to the last.
    pub span: Duration,
    /// Times between one and the next; `None` for a single request.
    pub gaps: Option<Gaps>,
    /// The longest of them.
    pub silence: Option<Silence>,
    /// Variance over mean of counts in windows; 1 for a Poisson process.
    pub dispersion: Vec<Dispersion>,
    /// Counts over the whole span.
    pub course: Course,
    /// Counts by hour of the day and of the week.
    pub hours: Hours,
    /// Lengths of prompts, where the file tells them.
    pub prompt_tokens: Option<Lengths>,
    /// Lengths of answers, likewise.
    pub output_tokens: Option<Lengths>,
    /// Requests to each model, most first.
    pub models: Vec<(String, u64)>,
    /// Requests that belong to a session.
    pub in_session: u64,
    /// Steps on which stamps lie, where requests share them.
    pub step: Option<Step>,
    /// Shortest time between different stamps.
    pub least_gap: Option<Duration>,
    /// What is odd, in words.
    pub notes: Vec<String>,
}

/// Stamps that are coarser than the arrivals were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Shortest time between different stamps.
    pub length: Duration,
    /// Rows that have the stamp of the row before them.
    pub shared: u64,
    /// Most rows with one stamp.
    pub most: u64,
}

/// A time without requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// How long.
    pub length: Duration,
    /// When it began, from the first request.
    pub from: Duration,
    /// Line of the request that ended it.
    pub line: usize,
}

impl Survey {
    /// Mean rate [1/s]: one over the mean gap.
    pub fn rate(&self) -> Option<f64> {
        let gaps = self.rows.saturating_sub(1);
        (gaps > 0 && self.span > Duration::ZERO).then(|| gaps as f64 / self.span.as_secs())
    }
}

/// Reads all rows.
pub(super) fn of(rows: Rows) -> Result<Survey, Vec<Problem>> {
    let mut collector = Collector::default();
    let rows = each(rows, |row, first| collector.take(row, first.nanos()))?;
    Ok(collector.survey(&rows))
}

/// Shows each row and the first one's stamp to `take`, until something is wrong; then only looks for what else is. Gives the
/// reader back, at its end.
pub(super) fn each(
    mut rows: Rows,
    mut take: impl FnMut(&Row, Stamp),
) -> Result<Rows, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut count = 0;
    while let Some(row) = rows.next() {
        match (row, rows.first()) {
            (Ok(row), Some(first)) if problems.is_empty() => {
                count += 1;
                take(&row, first);
            }
            (Ok(_), _) => {}
            (Err(problem), _) => problems.push(problem),
        }
        if problems.len() == PROBLEMS {
            let why = format!("{PROBLEMS} rows are wrong, and nothing after them was read");
            problems.push(Problem::of_file(why));
            break;
        }
    }
    if problems.is_empty() && count == 0 {
        problems.push(Problem::of_file("empty: there is a head and no row"));
    }
    if problems.is_empty() {
        Ok(rows)
    } else {
        Err(problems)
    }
}

/// From the file's zero to a stamp that is no date \[s\].
fn since_zero(stamp: Stamp) -> f64 {
    match stamp {
        Stamp::Wall(_) => 0.0,
        Stamp::Relative(nanos) => nanos as f64 / 1e9,
    }
}

/// Gaps and counts of arrivals, whoever makes them.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    last: Option<Duration>,
    gaps: GapCount,
    windows: Vec<WindowCount>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            last: None,
            gaps: GapCount::default(),
            windows: WINDOWS_S.map(WindowCount::new).to_vec(),
        }
    }
}

impl Tally {
    pub(super) fn arrived(&mut self, at: Duration) {
        if let Some(last) = self.last.replace(at) {
            self.gaps.take(at.saturating_sub(last));
        }
        for window in &mut self.windows {
            window.arrived(at);
        }
    }

    pub(super) fn gap_cv(&self) -> Option<f64> {
        self.gaps.cv()
    }

    pub(super) fn dispersion(&self) -> Vec<Dispersion> {
        self.windows.iter().map(WindowCount::summed).collect()
    }
}

/// The row before, as far as the next one is compared with it.
#[derive(Debug, Default)]
struct Before {
    row: Row,
    /// Rows so far with its stamp.
    tied: u64,
}

/// Counts while rows go by.
#[derive(Debug)]
struct Collector {
    rows: u64,
    failures: u64,
    before: Option<Before>,
    tally: Tally,
    all_gaps: Histogram,
    silence: Option<Silence>,
    silences: u64,
    course: CourseCount,
    hours: HourCount,
    prompts: LengthCount,
    outputs: LengthCount,
    models: BTreeMap<String, u64>,
    in_session: u64,
    least_gap: Option<Duration>,
    shared: u64,
    most_tied: u64,
    repeated: u64,
}

impl Default for Collector {
    fn default() -> Self {
        Self {
            rows: 0,
            failures: 0,
            before: None,
            tally: Tally::default(),
            all_gaps: Histogram::new(),
            silence: None,
            silences: 0,
            course: CourseCount::default(),
            hours: HourCount::default(),
            prompts: LengthCount::default(),
            outputs: LengthCount::default(),
            models: BTreeMap::new(),
            in_session: 0,
            least_gap: None,
            shared: 0,
            most_tied: 1,
            repeated: 0,
        }
    }
}

impl Collector {
    /// Counts a row; `first` is the first one's stamp \[ns\].
    fn take(&mut self, row: &Row, first: i128) {
        self.rows += 1;
        self.arrived(row);
        self.tally.arrived(row.at);
        self.course.arrived(row.at);
        self.hours.arrived(first + i128::from(row.at.as_nanos()));
        if row.is_failure() {
            self.failures += 1;
        } else {
            self.prompts.take(row.prompt_tokens);
            self.outputs.take(row.output_tokens);
        }
        if let Some(model) = &row.model {
            match self.models.get_mut(model) {
                Some(count) => *count += 1,
                None => {
                    self.models.insert(model.clone(), 1);
                }
            }
        }
        self.in_session += u64::from(row.session.is_some());
    }

    /// Compares a row with the one before.
    fn arrived(&mut self, row: &Row) {
        let Some(before) = &mut self.before else {
            self.before = Some(Before {
                row: row.clone(),
                tied: 1,
            });
            return;
        };
        let gap = row.at.saturating_sub(before.row.at);
        self.all_gaps.record(gap);
        self.silences += u64::from(gap > LONG_SILENCE);
        if self.silence.is_none_or(|longest| gap > longest.length) {
            self.silence = Some(Silence {
                length: gap,
                from: before.row.at,
                line: row.line,
            });
        }
        if gap == Duration::ZERO {
            self.shared += 1;
            before.tied += 1;
            let line = before.row.line;
            before.row.line = row.line;
            self.repeated += u64::from(before.row == *row);
            before.row.line = line;
        } else {
            before.tied = 1;
            let least = self.least_gap.unwrap_or(gap);
            self.least_gap = Some(least.min(gap));
        }
        self.most_tied = self.most_tied.max(before.tied);
        before.row.clone_from(row);
    }

    fn survey(self, rows: &Rows) -> Survey {
        let span = self
            .before
            .as_ref()
            .map_or(Duration::ZERO, |last| last.row.at);
        let first = rows.first();
        let zero_s = first.map_or(0.0, since_zero);
        let notes = self.notes(rows, zero_s);
        let step = self
            .least_gap
            .filter(|_| self.shared > 0)
            .map(|length| Step {
                length,
                shared: self.shared,
                most: self.most_tied,
            });
        let mut models: Vec<(String, u64)> = self.models.into_iter().collect();
        models.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Survey {
            rows: self.rows,
            failures: self.failures,
            first_ns: first.and_then(Stamp::wall),
            zero_s,
            span,
            gaps: self.tally.gaps.summed(&self.all_gaps),
            silence: self.silence,
            dispersion: self.tally.dispersion(),
            course: self.course.summed(span),
            hours: self.hours.summed(first.map_or(0, Stamp::nanos), span),
            prompt_tokens: self.prompts.summed(),
            output_tokens: self.outputs.summed(),
            models,
            in_session: self.in_session,
            step,
            least_gap: self.least_gap,
            notes,
        }
    }

    /// What is odd and yet usable.
    fn notes(&self, rows: &Rows, zero_s: f64) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |is_so: bool, text: String| {
            if is_so {
                notes.push(text);
            }
        };
        note(
            rows.is_naive(),
            "dates name no zone: read as UTC".to_owned(),
        );
        note(
            zero_s > 0.0,
            format!(
                "stamps begin at {zero_s} s: times are counted from there, hours of the day from the file's zero"
            ),
        );
        note(
            self.failures > 0,
            format!(
                "{} of {} rows have no tokens: failures, which a replay leaves out",
                self.failures, self.rows
            ),
        );
        note(
            self.shared > 0,
            format!(
                "{} of {} rows have the stamp of the row before them: a replay spreads them over the step unless told otherwise",
                self.shared, self.rows
            ),
        );
        note(
            self.repeated > 0,
            format!(
                "{} of {} rows repeat the row before them to the letter",
                self.repeated, self.rows
            ),
        );
        note(
            self.silences > 0,
            format!("silences longer than an hour: {}", self.silences),
        );
        note(
            self.rows > MANY && self.tally.gaps.are_alike(),
            "all gaps are alike: a counter, not a measurement".to_owned(),
        );
        notes
    }
}
