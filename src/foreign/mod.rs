//! What stands in files of other programs: text, JSON that knows its places, exact decimals, dates, and what is wrong with them.
//!
//! Shared by whoever reads such files: results of benchmarks ([`import`](crate::import)) and traces of demand ([`trace`](crate::trace)).

pub(crate) mod decimal;
pub(crate) mod node;
pub(crate) mod problem;
pub(crate) mod stamp;
pub(crate) mod table;
pub(crate) mod text;

pub use decimal::Unit;
pub use problem::{ImportError, Problem};

/// The candidate that `word` is most likely a misspelling of, if any is near enough.
pub fn did_you_mean<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    // Distance is quadratic, and nobody misspells a name into a page.
    let word: String = word.chars().take(64).collect::<String>().to_lowercase();
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| {
            let lower = candidate.to_lowercase();
            (strsim::damerau_levenshtein(&word, &lower), candidate)
        })
        .filter(|&(distance, candidate)| {
            distance <= allowed && distance < candidate.chars().count()
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}
