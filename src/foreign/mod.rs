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

/// The candidate that `word` is most likely a misspelling of, if any is near enough, or else the only one that it begins.
pub fn did_you_mean<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    nearest(word, candidates.iter().copied()).or_else(|| begun(word, &candidates))
}

/// Letters of which a name may be the beginning without being any beginning.
const TELLING: usize = 4;

fn begun<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let mut longer = candidates.iter().filter(|one| one.starts_with(word));
    let only = longer.next()?;
    let is_only = longer.all(|other| other == only);
    (word.chars().count() >= TELLING && is_only).then_some(only)
}

fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
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
