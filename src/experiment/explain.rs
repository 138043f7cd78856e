//! What each decision about a deployment costs its users.
//!
//! Every decision is replaced by its counterpart, alone and together with every set of the others, always under the same
//! demand. A decision's share of the gap is its Shapley value: what replacing it gains, averaged over all orders in which the
//! decisions could be replaced. Shares add up to the gap exactly, also where decisions compound, as one at a time they do not.
//! Source: Shapley 1953, "A value for n-person games"; the weights by subset are those of its formula (4).

use super::Plan;
use super::users::{Account, Difference, Figure, Users, replicated};

/// More decisions than this make more than a thousand subsets.
pub const MOST_DECISIONS: usize = 10;

/// The figures whose gaps are explained.
pub const EXPLAINED: [Figure; 3] = [Figure::TtftP50, Figure::TtftP95, Figure::Cv];

/// Where decisions are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Index of the provider.
    pub provider: usize,
    /// Index of the deployment.
    pub deployment: u32,
    /// Index of the session.
    pub session: usize,
}

/// What the decisions cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What users meet with every subset of the decisions replaced: bit `i` of the index stands for decision `i`.
    pub subsets: Vec<Users>,
    /// The gaps, in the order of [`EXPLAINED`]; `None` where a subset has no such figure.
    pub gaps: Vec<Option<Gap>>,
}

/// How much worse a figure is than with every decision replaced, and whose doing that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// Which figure.
    pub figure: Figure,
    /// As it is, above everything replaced.
    pub whole: Difference,
    /// By decision, in their order.
    pub decisions: Vec<Cost>,
}

/// What one decision costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// What replacing it alone gains.
    pub alone: Difference,
    /// What it alone costs where all others are replaced.
    pub remaining: Difference,
    /// Its Shapley share of the gap.
    pub share: Difference,
}

/// Runs every subset on all cores of the present pool. `plans` are those of the subsets: bit `i` of the index stands for
/// decision `i`. `progress` hears of every run that ends.
///
/// # Panics
/// If there are not `2^k` plans.
pub fn explain(
    plans: &[Plan],
    subject: Subject,
    replications: u64,
    progress: &(dyn Fn() + Sync),
) -> Explanation {
    assert!(plans.len().is_power_of_two(), "{} subsets", plans.len());
    let met = |plan: &Plan| met(plan, &[subject], replications, progress);
    let subsets: Vec<Users> = plans.iter().flat_map(met).collect();
    Explanation {
        gaps: EXPLAINED.map(|figure| gap(&subsets, figure)).to_vec(),
        subsets,
    }
}

/// What all users of some deployments of one provider meet in one session.
pub fn met(
    plan: &Plan,
    subjects: &[Subject],
    replications: u64,
    progress: &(dyn Fn() + Sync),
) -> Vec<Users> {
    let Some(first) = subjects.first() else {
        return Vec::new();
    };
    let place = (first.provider, first.session);
    let keep = |result: &super::RunResult| -> Vec<Account> {
        let account = |one: &Subject| Account::of(&result.fleet, Some(one.deployment));
        subjects.iter().map(account).collect()
    };
    let met = replicated(plan, place, 0..replications, keep, progress);
    let of_subject = |index: usize| {
        let own: Vec<Account> = met.iter().map(|all| all[index].clone()).collect();
        Users::of(&own)
    };
    (0..subjects.len()).map(of_subject).collect()
}

fn gap(subsets: &[Users], figure: Figure) -> Option<Gap> {
    let points: Option<Vec<f64>> = subsets.iter().map(|one| one.point(figure)).collect();
    let points = points?;
    let each: Vec<Vec<Option<f64>>> = subsets
        .iter()
        .map(|one| one.each(figure).collect())
        .collect();
    // A replication counts where every subset has the figure, so that its shares add up too.
    let replications: Vec<Vec<f64>> = (0..each[0].len())
        .filter_map(|one| each.iter().map(|subset| subset[one]).collect())
        .collect();
    let difference = |of: &dyn Fn(&[f64]) -> f64| {
        let parts: Vec<f64> = replications.iter().map(|one| of(one)).collect();
        Difference::of(of(&points), &parts)
    };
    let all = subsets.len() - 1;
    let shares: Vec<Vec<f64>> = replications.iter().map(|one| shapley(one)).collect();
    let cost = |(decision, share): (usize, f64)| {
        let bit = 1 << decision;
        let parts: Vec<f64> = shares.iter().map(|one| one[decision]).collect();
        Cost {
            alone: difference(&|values| values[0] - values[bit]),
            remaining: difference(&|values| values[all ^ bit] - values[all]),
            share: Difference::of(share, &parts),
        }
    };
    Some(Gap {
        figure,
        whole: difference(&|values| values[0] - values[all]),
        decisions: shapley(&points).into_iter().enumerate().map(cost).collect(),
    })
}

/// The share of each decision in `values[0] - values[all]`, given the value of every subset: the Shapley value.
pub fn shapley(values: &[f64]) -> Vec<f64> {
    let decisions = values.len().trailing_zeros() as usize;
    let share = |decision: usize| {
        let bit = 1 << decision;
        let without = (0..values.len()).filter(|subset| subset & bit == 0);
        let gains = without.map(|subset: usize| {
            let weight = weight(subset.count_ones() as usize, decisions);
            weight * (values[subset] - values[subset | bit])
        });
        gains.sum()
    };
    (0..decisions).map(share).collect()
}

/// The share of orders in which exactly a given set of `size` comes before a decision: `size! (k - size - 1)! / k!`, which is
/// one over `k` times the number of such sets.
fn weight(size: usize, decisions: usize) -> f64 {
    let mut sets = 1.0;
    for index in 0..size {
        sets *= (decisions - 1 - index) as f64 / (index + 1) as f64;
    }
    1.0 / (decisions as f64 * sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_and_three_decisions_as_by_hand() {
        // As it is 10; the first replaced 6; the second 9; both 1. Orders: (4, 5) and (8, 1), so 6 and 3.
        assert_eq!(shapley(&[10.0, 6.0, 9.0, 1.0]), [6.0, 3.0]);
        // The glove game turned round: decision 0 helps only together with 1 or 2. Known value: 2/3, 1/6, 1/6.
        let value = |subset: usize| {
            let helps = subset & 1 != 0 && subset & 6 != 0;
            1.0 - f64::from(u8::from(helps))
        };
        let values: Vec<f64> = (0..8).map(value).collect();
        for (found, expected) in shapley(&values)
            .into_iter()
            .zip([2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0])
        {
            assert!((found - expected).abs() < 1e-15, "{found}, not {expected}");
        }
    }

    #[test]
    fn shares_add_up_and_who_changes_nothing_has_none() {
        // Any values will do: a fixed scramble, in which decision 3 of 5 changes nothing.
        let value = |subset: usize| ((subset & !8) * 2_654_435_761 % 1009) as f64;
        let values: Vec<f64> = (0..32).map(value).collect();
        let shares = shapley(&values);
        let sum: f64 = shares.iter().sum();
        assert!((sum - (values[0] - values[31])).abs() < 1e-9);
        assert_eq!(shares[3], 0.0);
    }
}
