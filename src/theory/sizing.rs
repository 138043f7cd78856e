//! Sizes by arithmetic: replicas for a load, a mix of GPUs for a capacity, a volume for a price.
//!
//! Sources: Little 1961 (requests in flight = rate x time); the mix is an unbounded or bounded knapsack, searched exactly.

/// Requests in flight at a rate \[1/s\] of requests that each take a time \[s\], and the fewest replicas of so many slots that
/// are then used to at most a share.
///
/// # Panics
/// If the share is not in `(0, 1]`, there are no slots, or the load needs more than `u32::MAX` replicas.
pub fn replicas_for(rate: f64, time: f64, slots: u32, most_used: f64) -> (f64, u32) {
    assert!(
        most_used > 0.0 && most_used <= 1.0,
        "a share of {most_used}"
    );
    assert!(slots > 0, "a replica without slots");
    let in_flight = rate * time;
    // A hair less, so that rounding adds no replica.
    let replicas = (in_flight / (f64::from(slots) * most_used) * (1.0 - 1e-12)).ceil();
    assert!(replicas <= f64::from(u32::MAX), "{replicas} replicas");
    (in_flight, replicas as u32)
}

/// A kind of GPU, or of anything that is bought by the piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// What one costs.
    pub cost: f64,
    /// What one can do.
    pub capacity: f64,
    /// How many there are.
    pub stock: u32,
}

/// The cheapest numbers of pieces whose capacities add up to the need, of equally cheap ones that with the most of the first
/// kinds; `None` where all stocks together do not reach.
///
/// Branch and bound over whole numbers, most of each kind first: exact, where taking the kind with the best ratio is not.
///
/// # Panics
/// If a cost is negative or a capacity not positive.
pub fn cheapest_mix(pieces: &[Piece], need: f64) -> Option<Vec<u32>> {
    for piece in pieces {
        assert!(piece.cost >= 0.0 && piece.capacity > 0.0, "{piece:?}");
    }
    let mut search = Mix {
        pieces,
        taken: vec![0; pieces.len()],
        best: None,
    };
    search.from(0, need, 0.0);
    search.best.map(|(_, taken)| taken)
}

struct Mix<'a> {
    pieces: &'a [Piece],
    taken: Vec<u32>,
    best: Option<(f64, Vec<u32>)>,
}

impl Mix<'_> {
    /// Completes the choice from the piece at `index` on.
    fn from(&mut self, index: usize, need: f64, cost: f64) {
        let is_dearer = |best: &(f64, Vec<u32>)| cost + self.least(index, need) >= best.0;
        if self.best.as_ref().is_some_and(is_dearer) {
            return;
        }
        if need <= 0.0 {
            self.taken[index..].fill(0);
            self.best = Some((cost, self.taken.clone()));
            return;
        }
        let Some(piece) = self.pieces.get(index) else {
            return;
        };
        let enough = (need / piece.capacity * (1.0 - 1e-12)).ceil();
        for count in (0..=enough.min(f64::from(piece.stock)) as u32).rev() {
            self.taken[index] = count;
            let left = need - f64::from(count) * piece.capacity;
            // What rounding leaves is no need.
            let left = if left < 1e-9 * need { 0.0 } else { left };
            self.from(index + 1, left, cost + f64::from(count) * piece.cost);
        }
    }

    /// At least so much the need costs with pieces from `index` on, as if they could be cut.
    fn least(&self, index: usize, need: f64) -> f64 {
        let ratios = self.pieces[index..]
            .iter()
            .map(|one| one.cost / one.capacity);
        ratios
            .reduce(f64::min)
            .map_or(0.0, |ratio| need.max(0.0) * ratio)
    }
}

/// Requests an hour from which on something that costs so much an hour is cheaper than paying for each request.
///
/// # Panics
/// If a request costs nothing.
pub fn break_even(usd_per_hour: f64, usd_per_request: f64) -> f64 {
    assert!(usd_per_request > 0.0, "a request for {usd_per_request} USD");
    usd_per_hour / usd_per_request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_is_as_cheap_as_any_other() {
        // Against all mixes there are, for three kinds and every need up to all of it.
        let kind = |cost, capacity, stock| Piece {
            cost,
            capacity,
            stock,
        };
        let pieces = [
            kind(10.0, 200.0, 2),
            kind(6.0, 100.0, 3),
            kind(1.5, 30.0, 4),
        ];
        let cost = |mix: &[u32]| -> f64 {
            mix.iter()
                .zip(&pieces)
                .map(|(&n, one)| f64::from(n) * one.cost)
                .sum()
        };
        let capacity = |mix: &[u32]| -> f64 {
            mix.iter()
                .zip(&pieces)
                .map(|(&n, one)| f64::from(n) * one.capacity)
                .sum()
        };
        for need in (0..=850).step_by(10).map(f64::from) {
            let mut least = f64::INFINITY;
            for (a, b, c) in (0..60).map(|i| (i % 3, i / 3 % 4, i / 12)) {
                if capacity(&[a, b, c]) >= need {
                    least = least.min(cost(&[a, b, c]));
                }
            }
            let found = cheapest_mix(&pieces, need);
            assert_eq!(
                found.as_deref().map_or(f64::INFINITY, cost),
                least,
                "{need}: {found:?}"
            );
            assert!(found.is_none_or(|mix| capacity(&mix) >= need));
        }
    }

    #[test]
    fn a_dedicated_gpu_pays_from_its_volume_on() {
        // 3 USD an hour against 650 tokens at 1 USD a million: 4615.4 requests an hour.
        assert!((break_even(3.0, 650e-6) - 3.0 / 650e-6).abs() < 1e-9);
    }
}
