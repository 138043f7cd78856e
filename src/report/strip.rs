//! The requests of a session in time order on a logarithmic axis of TTFT.
//!
//! Marks differ in shape, not only in colour. Requests that share a place show the gravest of them: no answer, cold, warm.
//! Those without an answer have no TTFT and stand in a lane of their own.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::experiment::Measured;
use crate::time::Duration;

const WARM: Style = AnsiColor::Cyan.on_default();
const COLD: Style = AnsiColor::BrightYellow.on_default().bold();
const LOST: Style = AnsiColor::BrightRed.on_default().bold();
const DIM: Style = Style::new().dimmed();
/// Left of the axis \[characters\].
const MARGIN: usize = 10;
/// Text rows in a decade.
const PER_DECADE: usize = 2;
/// No axis reaches below this TTFT \[s\].
const FLOOR_S: f64 = 1e-4;

/// A place of the picture, gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Empty,
    Warm,
    Cold,
    Lost,
}

impl Mark {
    fn shown(self) -> (&'static str, Style) {
        match self {
            Self::Empty => (" ", Style::new()),
            Self::Warm => ("•", WARM),
            Self::Cold => ("◆", COLD),
            Self::Lost => ("×", LOST),
        }
    }
}

/// One request: its TTFT \[s\], or none, and whether it met a cold start.
pub(super) type Seen = (Option<f64>, bool);

/// The requests of a simulated session, and how long after the first the last was due \[s\].
pub(super) fn of_measured(measured: &Measured) -> (Vec<Seen>, f64) {
    let seen = measured.requests.iter().map(|(seen, trace)| {
        let ttft = seen.ttft().filter(|_| seen.succeeded());
        let cold = trace.as_ref().is_some_and(|trace| trace.cold);
        (ttft.map(Duration::as_secs), cold)
    });
    let ends = measured.requests.first().zip(measured.requests.last());
    let lasted = ends.map_or(0.0, |((first, _), (last, _))| {
        last.due().saturating_since(first.due()).as_secs()
    });
    (seen.collect(), lasted)
}

/// The decades that the values span.
#[derive(Clone, Copy, Debug)]
struct Axis {
    low: i32,
    high: i32,
}

impl Axis {
    fn of(seen: &[Seen]) -> Self {
        let values = || seen.iter().filter_map(|(ttft, _)| *ttft);
        let least = values()
            .filter(|&ttft| ttft > 0.0)
            .fold(f64::INFINITY, f64::min);
        let most = values().fold(FLOOR_S, f64::max);
        let least = if least.is_finite() { least } else { 0.1 };
        let low = least.max(FLOOR_S).log10().floor() as i32;
        let high = (most.log10().ceil() as i32).max(low + 1);
        Self { low, high }
    }

    fn rows(self) -> usize {
        (self.high - self.low) as usize * PER_DECADE + 1
    }

    /// Row from the bottom of a TTFT; what is below the axis stands on its lowest row.
    fn row(self, ttft: f64) -> usize {
        let above = (ttft.max(f64::MIN_POSITIVE).log10() - f64::from(self.low)) * PER_DECADE as f64;
        (above.round().max(0.0) as usize).min(self.rows() - 1)
    }

    /// What stands beside a row, on whole decades.
    fn label(self, row: usize) -> Option<String> {
        let exponent = self.low + i32::try_from(row / PER_DECADE).unwrap_or(0);
        row.is_multiple_of(PER_DECADE).then(|| {
            let decimals = usize::try_from(-exponent).unwrap_or(0);
            format!("{:.decimals$} s", 10_f64.powi(exponent))
        })
    }
}

/// Draws requests in time order, at most `width` characters wide; `lasted` is from the first to the last \[s\], if known.
pub(super) fn draw(
    seen: &[Seen],
    lasted: Option<f64>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let axis = Axis::of(seen);
    let picture = Picture::of(seen, axis, width.saturating_sub(MARGIN + 2).max(10));
    if picture.lost.contains(&Mark::Lost) {
        line("no answer", '┊', &picture.lost, out)?;
    }
    let is_answered = seen.iter().any(|(ttft, _)| ttft.is_some());
    let rows = picture.rows.iter().enumerate().rev();
    for (index, row) in rows.filter(|_| is_answered) {
        let label = axis.label(index);
        let tick = if label.is_some() { '┤' } else { '│' };
        line(&label.unwrap_or_default(), tick, row, out)?;
    }
    foot(lasted, picture.lost.len(), out)
}

/// Marks by row from the bottom and by column, and the lane of those without an answer.
struct Picture {
    rows: Vec<Vec<Mark>>,
    lost: Vec<Mark>,
}

impl Picture {
    /// Requests in order over at most `room` columns: several in one where there are more, else up to three columns each.
    fn of(seen: &[Seen], axis: Axis, room: usize) -> Self {
        let each = (room / seen.len().max(1)).min(3);
        let columns = if each == 0 { room } else { seen.len() * each };
        let mut rows = vec![vec![Mark::Empty; columns]; axis.rows()];
        let mut lost = vec![Mark::Empty; columns];
        for (index, &(ttft, cold)) in seen.iter().enumerate() {
            let column = index * columns / seen.len();
            let (row, mark) = match ttft {
                Some(ttft) if cold => (&mut rows[axis.row(ttft)], Mark::Cold),
                Some(ttft) => (&mut rows[axis.row(ttft)], Mark::Warm),
                None => (&mut lost, Mark::Lost),
            };
            row[column] = row[column].max(mark);
        }
        Self { rows, lost }
    }
}

fn line(label: &str, tick: char, marks: &[Mark], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{DIM}{label:>MARGIN$} {tick}{DIM:#}")?;
    let end = marks
        .iter()
        .rposition(|&mark| mark != Mark::Empty)
        .map_or(0, |last| last + 1);
    for run in marks[..end].chunk_by(|a, b| a == b) {
        let (sign, style) = run[0].shown();
        write!(out, "{style}{}{style:#}", sign.repeat(run.len()))?;
    }
    writeln!(out)
}

/// The time axis.
fn foot(lasted: Option<f64>, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{DIM}{:>MARGIN$} └{}{DIM:#}",
        "TTFT",
        "─".repeat(columns)
    )?;
    let left = "first request".to_owned();
    let right = lasted.map_or_else(
        || "last".to_owned(),
        |lasted| format!("last, {} later", super::number::span(lasted)),
    );
    let gap = columns.saturating_sub(left.chars().count() + right.chars().count());
    if gap >= 2 {
        writeln!(
            out,
            "{DIM}{:MARGIN$}  {left}{}{right}{DIM:#}",
            "",
            " ".repeat(gap)
        )?;
    }
    Ok(())
}

/// What the marks mean; `cold` says what is meant by the second.
pub(super) fn legend(cold: &str, has_lost: bool) -> String {
    let sign = |mark: Mark| {
        let (sign, style) = mark.shown();
        format!("{style}{sign}{style:#}")
    };
    let lost = if has_lost {
        format!("   {} no answer", sign(Mark::Lost))
    } else {
        String::new()
    };
    format!(
        "{} warm   {} {cold}{lost}",
        sign(Mark::Warm),
        sign(Mark::Cold)
    )
}
