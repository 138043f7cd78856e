//! Popularity: the share of all requests that each model of a catalogue gets, by rank.
//!
//! Rank 1 is asked for most. Shares add up to one and never rise with the rank.
//!
//! Sources: Zipf 1949; Mandelbrot 1953 for the offset, which flattens the head as public rankings show it.

/// What decides the shares.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Proportional to `1 / (rank + offset)^exponent`.
    Zipf {
        /// How fast demand falls; 0 gives every model the same.
        exponent: f64,
        /// Flattens the head; 0 is Zipf's own law.
        offset: f64,
    },
    /// Stated rank by rank, up to a factor.
    Shares(Vec<f64>),
    /// Groups of models from rank 1 down, each with a share that its models divide evenly, up to a factor.
    Groups(Vec<Group>),
}

/// Models of equal popularity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// How many.
    pub models: usize,
    /// Their share together.
    pub share: f64,
}

impl Law {
    /// The share of each of `models` models, by rank.
    ///
    /// # Panics
    /// If stated shares are of another number of models: the scenario refuses those.
    pub fn shares(&self, models: usize) -> Vec<f64> {
        let weights: Vec<f64> = match self {
            Self::Zipf { exponent, offset } => (1..=models)
                .map(|rank| (rank as f64 + offset).powf(-exponent))
                .collect(),
            Self::Shares(shares) => shares.clone(),
            Self::Groups(groups) => groups
                .iter()
                .flat_map(|group| {
                    std::iter::repeat_n(group.share / group.models as f64, group.models)
                })
                .collect(),
        };
        assert_eq!(weights.len(), models, "a share for each model");
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / total).collect()
    }
}

/// A model that users ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What it is called at every provider.
    pub name: String,
    /// Its class: models of a class are served alike.
    pub class: String,
    /// Its share of all requests, 0 to 1.
    pub share: f64,
    /// Mean rate over the week [1/s].
    pub rate: f64,
}

/// All models that users ask for, the most popular first; the same at every provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Popularity {
    /// By rank.
    pub models: Vec<Model>,
    /// How many of them are the head.
    pub head: usize,
    /// How many of them are the tail.
    pub tail: usize,
}

impl Popularity {
    /// The tier of a rank, counted from 1.
    pub fn tier(&self, rank: usize) -> Tier {
        match rank {
            _ if rank <= self.head => Tier::Head,
            _ if rank > self.models.len() - self.tail => Tier::Tail,
            _ => Tier::Middle,
        }
    }
}

/// A part of the catalogue, by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The most popular models.
    Head,
    /// What lies between.
    Middle,
    /// The least popular models.
    Tail,
}

impl Tier {
    /// All tiers, the most popular first.
    pub const ALL: [Self; 3] = [Self::Head, Self::Middle, Self::Tail];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Middle => "middle",
            Self::Tail => "tail",
        }
    }
}

/// Deals `count` places to kinds with these weights, as evenly as can be: after any number of places each kind has its share to
/// within less than one place a kind (smooth weighted round robin). So the first 40 of 400 models are a catalogue like the whole.
pub fn dealt(weights: &[f64], count: usize) -> Vec<usize> {
    let total: f64 = weights.iter().sum();
    let mut credit = vec![0.0; weights.len()];
    let mut place = || {
        for (credit, weight) in credit.iter_mut().zip(weights) {
            *credit += weight / total;
        }
        let richest = (0..credit.len()).reduce(|best, next| {
            if credit[next] > credit[best] {
                next
            } else {
                best
            }
        });
        let richest = richest.unwrap_or(0);
        credit[richest] -= 1.0;
        richest
    };
    (0..count).map(|_| place()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zipf(exponent: f64, offset: f64) -> Vec<f64> {
        Law::Zipf { exponent, offset }.shares(400)
    }

    /// Sums of shares of the first `ranks` models.
    fn top(shares: &[f64], ranks: usize) -> f64 {
        shares[..ranks].iter().sum()
    }

    #[test]
    fn zipf_shares_are_those_of_harmonic_numbers() {
        // H(400, 1) = 6.569 929 69, H(10, 1) = 2.928 968 25, H(200, 1) = 5.878 030 95.
        let shares = zipf(1.0, 0.0);
        for (found, expected) in [
            (shares[0], 1.0 / 6.569_929_69),
            (top(&shares, 10), 2.928_968_25 / 6.569_929_69),
            (1.0 - top(&shares, 200), 1.0 - 5.878_030_95 / 6.569_929_69),
        ] {
            assert!((found - expected).abs() < 1e-8, "{found} for {expected}");
        }
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn presets_give_the_concentration_they_are_named_for() {
        // traffic.md, section 4: exponent, ranks, their share. Its 79 % of the top ten are those of 1.5, not of 1.4.
        for (exponent, offset, ranks, share, tolerance) in [
            (1.0, 0.0, 10, 0.45, 0.005),
            (1.4, 0.0, 10, 0.74, 0.005),
            (1.5, 0.0, 10, 0.79, 0.01),
            (2.1, 0.0, 24, 0.9865, 0.01),
            (1.71, 5.95, 9, 0.486, 0.01),
            (1.71, 5.95, 1, 0.103, 0.005),
        ] {
            let found = top(&zipf(exponent, offset), ranks);
            assert!((found - share).abs() < tolerance, "{found} for {share}");
        }
    }

    #[test]
    fn groups_divide_their_share_evenly() {
        let law = Law::Groups(vec![
            Group {
                models: 1,
                share: 0.5,
            },
            Group {
                models: 4,
                share: 0.5,
            },
        ]);
        assert_eq!(law.shares(5), [0.5, 0.125, 0.125, 0.125, 0.125]);
        assert_eq!(Law::Shares(vec![3.0, 1.0]).shares(2), [0.75, 0.25]);
    }

    #[test]
    fn places_are_dealt_evenly_all_along() {
        let weights = [0.6, 0.3, 0.1];
        let dealt = dealt(&weights, 400);
        for count in 1..=dealt.len() {
            for (kind, weight) in weights.iter().enumerate() {
                let had = dealt[..count].iter().filter(|&&one| one == kind).count() as f64;
                assert!((had - weight * count as f64).abs() < 1.0 + 1e-9);
            }
        }
    }

    #[test]
    fn tiers_are_by_rank_and_cover_everything() {
        let model = |rank: usize| Model {
            name: format!("rank-{rank}"),
            class: "model".to_owned(),
            share: 0.01,
            rate: 1.0,
        };
        let popularity = Popularity {
            models: (1..=100).map(model).collect(),
            head: 5,
            tail: 50,
        };
        let tiers = [1, 5, 6, 50, 51, 100].map(|rank| popularity.tier(rank).name());
        assert_eq!(tiers, ["head", "head", "middle", "middle", "tail", "tail"]);
    }
}
