//! The laws beside the trace that they were fitted to.

use super::Inspected;
use crate::report::grid::{Column, fitted};
use crate::report::number::{self, NONE};
use crate::report::text::text_or;
use crate::trace::{Dispersion, Fit, Fits, Law};

/// From this Kolmogorov-Smirnov distance on a law is a bad one, however many gaps say so.
const BADLY: f64 = 0.05;

/// A table: the trace, and the laws from the best to the worst.
pub(super) fn table(one: &Inspected, fits: &Fits, width: usize) -> String {
    let survey = &one.survey;
    let with_trace = |trace: String, of: &dyn Fn(&Fit) -> String| {
        std::iter::once(trace)
            .chain(fits.laws.iter().map(of))
            .collect::<Vec<String>>()
    };
    let percent = |cv: Option<f64>| text_or(cv.map(|cv| 100.0 * cv), number::percent);
    let best = fits.laws.first().map_or(0.0, |best| best.aic);
    let mut columns = vec![
        Column::text(
            "",
            with_trace("the trace".to_owned(), &|fit| named(&fit.law)),
        ),
        Column::numbers(
            "AIC above the best",
            with_trace(NONE.to_owned(), &|fit| {
                number::count((fit.aic - best).round() as u64)
            }),
        ),
        Column::numbers(
            "KS",
            with_trace(NONE.to_owned(), &|fit| format!("{:.3}", fit.ks)),
        ),
        Column::numbers(
            "CV of gaps",
            with_trace(
                percent(survey.gaps.as_ref().and_then(|gaps| gaps.cv)),
                &|fit| percent(fit.gap_cv),
            ),
        ),
    ];
    for (index, window) in survey.dispersion.iter().enumerate() {
        if window.index.is_none() {
            continue;
        }
        let index_of = |found: &[Dispersion]| text_or(found[index].index, number::quantity);
        let cells = with_trace(index_of(&survey.dispersion), &|fit| {
            index_of(&fit.dispersion)
        });
        let head = format!("var/mean\n{}", number::span(window.window_s as f64));
        columns.push(Column::numbers(&head, cells).rank(window_rank(window.window_s)));
    }
    let mut narrow = columns.clone();
    if let Some(column) = narrow.get_mut(1) {
        *column = Column::numbers(
            "AIC\nabove",
            with_trace(NONE.to_owned(), &|fit| {
                number::count((fit.aic - best).round() as u64)
            }),
        );
    }
    if let Some(column) = narrow.get_mut(3) {
        *column = Column::numbers(
            "CV of\ngaps",
            with_trace(
                percent(survey.gaps.as_ref().and_then(|gaps| gaps.cv)),
                &|fit| percent(fit.gap_cv),
            ),
        );
    }
    fitted(columns, narrow, width, 2)
}

/// Minutes say most; the others go where there is no room.
fn window_rank(window_s: u64) -> u8 {
    match window_s {
        60 => 0,
        1 | 600 => 2,
        _ => 3,
    }
}

fn named(law: &Law) -> String {
    match law {
        Law::Poisson { .. } => "Poisson",
        Law::Gamma { .. } => "Gamma renewal",
        Law::Mmpp { .. } => "MMPP, 2 states",
    }
    .to_owned()
}

/// Which law fits best and which is dispersed most like the trace, with their parameters.
pub(super) fn sentences(one: &Inspected, fits: &Fits) -> Vec<String> {
    let Some((best, others)) = fits.laws.split_first() else {
        return Vec::new();
    };
    let described = |fit: &Fit| format!("{} ({})", named(&fit.law), parameters(&fit.law));
    let mut lines = vec![format!("Gaps are most like {}.", described(best))];
    let closest = fits.closest(&one.survey);
    let other = closest.filter(|closest| closest.law != best.law);
    if let Some(closest) = other {
        lines.push(format!(
            "Counts are dispersed most like those of {}, which is what queues and cold starts feel: --law {} takes it.",
            described(closest),
            closest.law.name()
        ));
    }
    let rest = others
        .iter()
        .filter(|fit| other.is_none_or(|other| other.law != fit.law));
    let rest: Vec<String> = rest.map(described).collect();
    lines.push(format!("Less like: {}.", rest.join(", ")));
    if best.ks > BADLY {
        lines.push(format!(
            "Even the best predicts gaps badly (KS {:.2}): where bursts matter, replay the trace.",
            best.ks
        ));
    }
    if fits.stretches > 1 {
        lines.push(format!(
            "Fitted to {} gaps in {} stretches all over the trace.",
            number::count(fits.gaps as u64),
            fits.stretches
        ));
    }
    lines
}

fn parameters(law: &Law) -> String {
    let rate = |rate: f64| format!("{}/s", number::significant(rate, 3));
    match law {
        Law::Poisson { rate: mean } => rate(*mean),
        Law::Gamma { rate: mean, cv } => {
            format!("{} with CV {}", rate(*mean), number::percent(100.0 * cv))
        }
        Law::Mmpp { rates, sojourns } => format!(
            "{} for {} and {} for {} on average",
            rate(rates[0]),
            number::span(sojourns[0]),
            rate(rates[1]),
            number::span(sojourns[1])
        ),
    }
}
