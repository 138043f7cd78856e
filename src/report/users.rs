//! Figures of all users as every question's table shows them: their heads, their numbers, their keys.

use super::flat::{self, Flat};
use super::number;
use crate::experiment::users::{Figure, Users};

/// The head of a figure's column: its name over its unit.
pub(super) fn head(figure: Figure) -> &'static str {
    match figure {
        Figure::TtftP50 => "p50\ns",
        Figure::TtftP95 => "p95\ns",
        Figure::TtftP99 => "p99\ns",
        Figure::Cv => "CV\n%",
        Figure::ColdRequests => "cold\n%",
        Figure::Unanswered => "un-\nanswered %",
        Figure::GpuHours => "GPU-\nhours",
        Figure::Cost => "cost\n$",
    }
}

/// The head of a figure's row.
pub(super) fn row_head(figure: Figure) -> String {
    match figure {
        Figure::Unanswered => "unanswered %".to_owned(),
        Figure::GpuHours => "GPU-hours".to_owned(),
        other => head(other).replace('\n', " "),
    }
}

/// What a figure is called within a sentence.
pub(super) fn name(figure: Figure) -> &'static str {
    match figure {
        Figure::TtftP50 => "p50",
        Figure::TtftP95 => "p95",
        Figure::TtftP99 => "p99",
        Figure::Cv => "CV",
        Figure::ColdRequests => "share of cold requests",
        Figure::Unanswered => "share of unanswered requests",
        Figure::GpuHours => "GPU-hours",
        Figure::Cost => "cost",
    }
}

/// A figure's number without its unit.
pub(super) fn bare(figure: Figure, value: f64) -> String {
    match figure {
        Figure::TtftP50 | Figure::TtftP95 | Figure::TtftP99 => number::bare_seconds(value),
        Figure::Cv | Figure::ColdRequests | Figure::Unanswered => number::bare_percent(value),
        Figure::GpuHours | Figure::Cost => number::quantity(value),
    }
}

/// A figure's number with its unit.
pub(super) fn with_unit(figure: Figure, value: f64) -> String {
    let bare = bare(figure, value);
    match figure {
        Figure::TtftP50 | Figure::TtftP95 | Figure::TtftP99 => format!("{bare} s"),
        Figure::Cv | Figure::ColdRequests | Figure::Unanswered => format!("{bare} %"),
        Figure::GpuHours => format!("{bare} GPU-hours"),
        Figure::Cost => format!("${bare}"),
    }
}

/// Whether a figure says anything of these users: a scenario without prices has no costs, and most have no refusals.
pub(super) fn is_telling<'a>(figure: Figure, mut users: impl Iterator<Item = &'a Users>) -> bool {
    let is_rare = matches!(figure, Figure::Unanswered | Figure::Cost);
    !is_rare || users.any(|one| one.point(figure).is_some_and(|point| point > 0.0))
}

/// Puts every figure into a row.
pub(super) fn put_all(row: &mut Flat, users: &Users) {
    for figure in Figure::ALL {
        let (name, unit) = figure.name();
        flat::put(row, name, unit, users.estimate(figure));
    }
}
