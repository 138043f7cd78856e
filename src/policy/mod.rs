//! Investment policies: how a provider spreads its warm replicas over the models of its catalogue.
//!
//! Popularity decides who is kept warm, and each policy decides otherwise. A policy sees each model's demand, what one warm
//! replica takes of the budget, and how the model serves; it answers with a number of warm replicas for each. Replicas that start
//! on demand are not its affair.
//!
//! Invariant: what the replicas take together never exceeds the budget. Budgets and prices are whole millionths, so that is exact.
//!
//! Sources: the square-root rule makes the sum of `requests / copies` least for a given number of copies, as a Lagrange multiplier
//! shows, and lies between uniform and proportional (Cohen and Shenker, SIGCOMM 2002, on replicas in search networks); rounding is
//! by largest remainder (Hamilton 1792); the optimised rule is greedy on the closed forms of [`crate::theory`].

mod estimate;
mod rounding;

pub use estimate::Service;

use rounding::{Purse, spread};

/// A model that may have warm replicas; candidates come by rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its requests [1/s].
    pub rate: f64,
    /// What one warm replica takes of the budget \[millionths\], at least one.
    pub price: u64,
    /// Most replicas that it may have.
    pub most: u32,
    /// How it serves with warm replicas.
    pub warm: Service,
    /// How it serves without any.
    pub asleep: Service,
}

/// What a budget is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// GPUs held by warm replicas.
    Gpus,
    /// Their price [USD/h].
    UsdPerHour,
}

impl Unit {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpus => "GPUs",
            Self::UsdPerHour => "USD/h",
        }
    }
}

/// A rule that spreads warm replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Few models, all warm: one replica each from rank 1 down; then as many as each needs; then the rest in turns.
    Curated,
    /// Many models, the head is warm: the first so many ranks get what they need from rank 1 down, all others nothing.
    BreadthFirst {
        /// How many ranks.
        head: usize,
    },
    /// The same number each.
    Uniform,
    /// Money in proportion to requests.
    Proportional,
    /// Money in proportion to the square root of requests.
    SquareRoot,
    /// Stated, by rank.
    Table(Vec<u32>),
    /// One block of replicas after the other, each where it saves most: traffic times the fall of the p95, per budget spent.
    Optimised,
}

/// Busy share up to which a replica is planned: what a model "needs" keeps below it.
pub const PLANNED_UTILISATION: f64 = 0.7;
/// Most replicas that the optimised rule looks ahead: a p95 falls in steps, and one replica alone may move none.
const LOOK_AHEAD: u32 = 8;

impl Policy {
    /// Its name in scenarios and results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Curated => "curated",
            Self::BreadthFirst { .. } => "breadth-first",
            Self::Uniform => "uniform",
            Self::Proportional => "proportional",
            Self::SquareRoot => "square-root",
            Self::Table(_) => "table",
            Self::Optimised => "optimised",
        }
    }

    /// Warm replicas of each candidate under a budget \[millionths\]. A table that asks for more than the budget gets it by rank
    /// until the budget is spent.
    pub fn allocate(&self, candidates: &[Candidate], budget: u64) -> Vec<u32> {
        let mut purse = Purse::new(candidates, budget);
        match self {
            Self::Curated => curated(&mut purse, candidates),
            Self::BreadthFirst { head } => {
                for (index, candidate) in candidates.iter().enumerate().take(*head) {
                    purse.fill(index, candidate.needed());
                }
            }
            Self::Uniform => spread(&mut purse, |candidate| candidate.price as f64),
            Self::Proportional => spread(&mut purse, |candidate| candidate.rate),
            Self::SquareRoot => spread(&mut purse, |candidate| candidate.rate.sqrt()),
            Self::Table(warm) => {
                for (index, &count) in warm.iter().enumerate().take(candidates.len()) {
                    purse.fill(index, count);
                }
            }
            Self::Optimised => optimised(&mut purse, candidates),
        }
        purse.into_bought()
    }
}

/// What an allocation takes of a budget \[millionths\].
pub fn spent(candidates: &[Candidate], warm: &[u32]) -> u64 {
    let each = candidates.iter().zip(warm);
    each.map(|(candidate, &count)| candidate.price * u64::from(count))
        .sum()
}

impl Candidate {
    /// Replicas that keep the busy share below [`PLANNED_UTILISATION`], at least one.
    fn needed(&self) -> u32 {
        let places = self.rate * self.warm.mean_s / PLANNED_UTILISATION;
        let replicas = (places / f64::from(self.warm.places)).ceil();
        (replicas as u32).max(1)
    }

    /// The p95 with so many warm replicas \[s\].
    fn ttft_p95_s(&self, warm: u32) -> f64 {
        match warm {
            0 => self.asleep.ttft_p95_asleep_s(self.rate),
            _ => self.warm.ttft_p95_warm_s(self.rate, warm),
        }
    }
}

fn curated(purse: &mut Purse<'_>, candidates: &[Candidate]) {
    for index in 0..candidates.len() {
        purse.fill(index, 1);
    }
    for (index, candidate) in candidates.iter().enumerate() {
        purse.fill(index, candidate.needed());
    }
    loop {
        let before = purse.left();
        for index in 0..candidates.len() {
            purse.buy(index, 1);
        }
        if purse.left() == before {
            return;
        }
    }
}

/// A block of replicas for one model, and what it saves per budget spent.
#[derive(Clone, Copy, Debug)]
struct Block {
    replicas: u32,
    worth: f64,
}

fn optimised(purse: &mut Purse<'_>, candidates: &[Candidate]) {
    let block = |purse: &Purse<'_>, index: usize| best_block(&candidates[index], purse, index);
    let mut blocks: Vec<Option<Block>> = (0..candidates.len())
        .map(|index| block(purse, index))
        .collect();
    loop {
        // The first of equals: the more popular one.
        let best = blocks
            .iter()
            .enumerate()
            .filter_map(|(index, block)| Some((index, (*block)?)))
            .reduce(|best, next| {
                if next.1.worth > best.1.worth {
                    next
                } else {
                    best
                }
            });
        let Some((index, Block { replicas, .. })) = best else {
            return;
        };
        // Where the purse has become too small for the block, a smaller one may still do.
        purse.buy(index, replicas);
        blocks[index] = block(purse, index);
    }
}

/// The block of up to [`LOOK_AHEAD`] more replicas that saves most per budget spent, of those that can be paid.
fn best_block(candidate: &Candidate, purse: &Purse<'_>, index: usize) -> Option<Block> {
    let has = purse.bought(index);
    let now = candidate.ttft_p95_s(has);
    let worth = |replicas: u32| {
        let then = candidate.ttft_p95_s(has + replicas);
        let saved = candidate.rate * (now - then);
        saved / (candidate.price as f64 * f64::from(replicas))
    };
    (1..=LOOK_AHEAD)
        .filter(|&replicas| purse.can_buy(index, replicas))
        .map(|replicas| Block {
            replicas,
            worth: worth(replicas),
        })
        .filter(|block| block.worth > 0.0)
        .reduce(|best, next| if next.worth > best.worth { next } else { best })
}

#[cfg(test)]
mod tests;
