//! Stocks of GPUs that several models share.
//!
//! Sources: Kaufman, *IEEE Transactions on Communications* 29 (1981), and Roberts (1981); Flajolet, Gardy and Thimonier,
//! *Discrete Applied Mathematics* 39 (1992); keep-alive as a cache with a time to live.

use super::integral;

/// Models that hold different numbers of GPUs of one stock, refused where there are too few free: for each model the share of
/// requests refused, and the mean number of GPUs held. A model is its load (rate times mean time held) and its GPUs.
pub fn kaufman_roberts(gpus: usize, models: &[(f64, usize)]) -> (Vec<f64>, f64) {
    let mut weights = vec![1.0];
    for held in 1..=gpus {
        let from = |&(load, needs): &(f64, usize)| {
            let before = held.checked_sub(needs);
            before.map_or(0.0, |before| load * needs as f64 * weights[before])
        };
        weights.push(models.iter().map(from).sum::<f64>() / held as f64);
    }
    let total: f64 = weights.iter().sum();
    let refused =
        |&(_, needs): &(f64, usize)| weights[gpus + 1 - needs..].iter().sum::<f64>() / total;
    let held = weights
        .iter()
        .enumerate()
        .map(|(held, weight)| held as f64 * weight);
    (
        models.iter().map(refused).collect(),
        held.sum::<f64>() / total,
    )
}

/// Shares of demand by rank: proportional to `1 / rank^exponent`, summing to 1.
pub fn zipf(models: u32, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=models)
        .map(|rank| f64::from(rank).powf(-exponent))
        .collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// For each model the share of its requests that find it evicted from a stock of `slots` GPUs, of which the least recently used
/// model always goes first; Poisson requests at these rates, no time in service or in set-up.
pub fn lru_miss_shares(rates: &[f64], slots: usize) -> Vec<f64> {
    let total: f64 = rates.iter().sum();
    let asked_within = |time: f64, own: usize| {
        let others = rates
            .iter()
            .enumerate()
            .filter(move |(other, _)| *other != own);
        others.map(move |(_, rate)| -(-rate * time).exp_m1())
    };
    // By then so many others have been asked for that nothing is left to be a hit.
    let mut longest = 1.0 / total;
    while fewer_than(slots, asked_within(longest, rates.len())) > 1e-12 {
        longest *= 1.5;
    }
    let hit = |(own, rate): (usize, &f64)| {
        integral(0.0, longest, |time| {
            rate * (-rate * time).exp() * fewer_than(slots, asked_within(time, own))
        })
    };
    rates.iter().enumerate().map(|one| 1.0 - hit(one)).collect()
}

/// Probability that fewer than `limit` of independent events happen.
fn fewer_than(limit: usize, events: impl Iterator<Item = f64>) -> f64 {
    // By number so far.
    let mut law = vec![0.0; limit];
    law[0] = 1.0;
    for happens in events {
        for number in (1..limit).rev() {
            law[number] += happens * (law[number - 1] - law[number]);
        }
        law[0] *= 1.0 - happens;
    }
    law.iter().sum()
}

/// Models kept for `keep_alive` \[s\] after each request, with GPUs for all and no time in service: the share of requests that find
/// their model asleep, and the mean number of models that are awake.
pub fn time_to_live(rates: &[f64], keep_alive: f64) -> (f64, f64) {
    let total: f64 = rates.iter().sum();
    let asleep = |rate: &f64| (-rate * keep_alive).exp();
    let missed: f64 = rates.iter().map(|rate| rate * asleep(rate)).sum();
    (
        missed / total,
        rates.iter().map(|rate| 1.0 - asleep(rate)).sum(),
    )
}
