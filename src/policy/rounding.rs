//! Whole replicas under a budget: what is bought, what is left, and largest remainders.

use super::Candidate;

/// A budget being spent.
#[derive(Clone, Debug)]
pub(super) struct Purse<'a> {
    candidates: &'a [Candidate],
    bought: Vec<u32>,
    left: u64,
}

impl<'a> Purse<'a> {
    pub(super) fn new(candidates: &'a [Candidate], budget: u64) -> Self {
        Self {
            candidates,
            bought: vec![0; candidates.len()],
            left: budget,
        }
    }

    /// What is not spent \[millionths\].
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn bought(&self, index: usize) -> u32 {
        self.bought[index]
    }

    pub(super) fn into_bought(self) -> Vec<u32> {
        self.bought
    }

    /// Whether so many more replicas of a model are allowed and can be paid.
    pub(super) fn can_buy(&self, index: usize, replicas: u32) -> bool {
        let candidate = &self.candidates[index];
        let total = self.bought[index].saturating_add(replicas);
        let price = candidate.price.saturating_mul(replicas.into());
        total <= candidate.most && price <= self.left
    }

    /// Buys so many more, or none.
    pub(super) fn buy(&mut self, index: usize, replicas: u32) -> bool {
        let can = self.can_buy(index, replicas);
        if can {
            self.bought[index] += replicas;
            self.left -= self.candidates[index].price * u64::from(replicas);
        }
        can
    }

    /// Buys until the model has `replicas`, or as many as can be.
    pub(super) fn fill(&mut self, index: usize, replicas: u32) {
        let candidate = &self.candidates[index];
        let missing = replicas
            .min(candidate.most)
            .saturating_sub(self.bought[index]);
        let payable = u32::try_from(self.left / candidate.price).unwrap_or(u32::MAX);
        self.buy(index, missing.min(payable));
    }
}

/// Divides the budget in proportion to a weight. Each model gets the whole replicas in its part; then one more each, in the order
/// of the remainders, the more popular first among equals, to all whom what is left can pay.
pub(super) fn spread(purse: &mut Purse<'_>, weight: impl Fn(&Candidate) -> f64) {
    let candidates = purse.candidates;
    let weights: Vec<f64> = candidates.iter().map(weight).collect();
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return;
    }
    let budget = purse.left as f64;
    let quotas: Vec<f64> = candidates
        .iter()
        .zip(&weights)
        .map(|(candidate, weight)| budget * (weight / total) / candidate.price as f64)
        .collect();
    for (index, quota) in quotas.iter().enumerate() {
        purse.fill(index, quota.floor() as u32);
    }
    let mut order: Vec<usize> = (0..quotas.len()).collect();
    // A stable sort: equal remainders stay in the order of the ranks.
    order.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
    for index in order {
        purse.buy(index, 1);
    }
}
