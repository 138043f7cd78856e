//! Who is best, how surely, and who a short benchmark would have said is.

use crate::experiment::users::{Figure, Users};
use crate::measure::summary::CONFIDENCE;
use crate::stats::{Estimate, clopper_pearson};

/// The side that does best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// Index of the side.
    pub side: usize,
    /// At least so probably it is best: one less the probabilities that each other side is better (Bonferroni); `None` from a
    /// single replication, and where no other side has the subject.
    pub probability: Option<f64>,
}

impl Best {
    /// Whether there is a best side, and not just luck.
    pub fn is_sure(self) -> bool {
        self.probability.is_some_and(|one| one >= CONFIDENCE)
    }
}

/// How benchmarks of one size rank the sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Requests of the benchmark.
    pub requests: u32,
    /// Share of the benchmarks in which each side came first; ties are shared.
    pub first: Vec<f64>,
    /// Share of the benchmarks in which another side was ahead of the best; `None` while none is surely best.
    pub wrong: Option<Estimate>,
}

/// The side with the least metric.
pub(super) fn best(sides: &[Option<Users>], metric: Figure) -> Option<Best> {
    let points = sides.iter().enumerate();
    let points = points.filter_map(|(side, users)| Some((side, users.as_ref()?.point(metric)?)));
    let (side, _) = points.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let own = sides[side].as_ref()?;
    let mut others = 0.0;
    let mut has_pairs = sides.iter().flatten().count() > 1;
    for (_, other) in sides.iter().enumerate().filter(|(index, _)| *index != side) {
        let above = other.as_ref().and_then(|other| other.above(own, metric));
        match above.map(|one| one.positive) {
            Some(Some(positive)) => others += 1.0 - positive,
            Some(None) => has_pairs = false,
            None => {}
        }
    }
    let probability = has_pairs.then_some((1.0 - others).max(0.0));
    Some(Best { side, probability })
}

/// The best side and all that cannot be told from it.
pub(super) fn level(sides: &[Option<Users>], best: Option<Best>, metric: Figure) -> Vec<usize> {
    let Some(own) = best.and_then(|best| sides[best.side].as_ref()) else {
        return Vec::new();
    };
    let is_level = |side: &usize| {
        let above = sides[*side].as_ref().and_then(|one| one.above(own, metric));
        above.is_some_and(|above| above.positive.is_none_or(|surely| surely < CONFIDENCE))
    };
    (0..sides.len()).filter(is_level).collect()
}

/// How the scores of each replication rank the sides.
pub(super) fn ranking(requests: u32, scores: &[Option<&[f64]>], best: Option<Best>) -> Ranking {
    let replications = scores.iter().flatten().map(|one| one.len()).max();
    let replications = replications.unwrap_or(0);
    let mut first = vec![0.0; scores.len()];
    let mut wrong = 0;
    for replication in 0..replications {
        let of = |side: usize| scores[side].map_or(f64::INFINITY, |one| one[replication]);
        let least = (0..scores.len()).map(of).fold(f64::INFINITY, f64::min);
        let ahead: Vec<usize> = (0..scores.len())
            .filter(|&side| scores[side].is_some() && of(side) <= least)
            .collect();
        for &side in &ahead {
            first[side] += 1.0 / ahead.len() as f64;
        }
        wrong += usize::from(best.is_some_and(|best| !ahead.contains(&best.side)));
    }
    for share in &mut first {
        *share /= replications.max(1) as f64;
    }
    let is_sure = best.is_some_and(Best::is_sure) && scores.iter().flatten().count() > 1;
    let wrong = is_sure.then(|| clopper_pearson(wrong, replications, CONFIDENCE));
    Ranking {
        requests,
        first,
        wrong: wrong.flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranking_counts_who_is_ahead_and_shares_ties() {
        let sure = Some(Best {
            side: 0,
            probability: Some(0.99),
        });
        let (a, b) = ([1.0, 2.0, 3.0, 1.0], [2.0, 1.0, 3.0, f64::INFINITY]);
        let found = ranking(20, &[Some(&a), Some(&b)], sure);
        assert_eq!(found.first, [0.625, 0.375]);
        assert_eq!(found.wrong.map(|one| one.point), Some(0.25));
        let unsure = Some(Best {
            side: 0,
            probability: Some(0.6),
        });
        assert_eq!(ranking(20, &[Some(&a), Some(&b)], unsure).wrong, None);
        assert_eq!(ranking(20, &[Some(&a), None], sure).wrong, None);
    }
}
