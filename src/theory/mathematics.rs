//! What the closed forms are made of: laws, roots, integrals, and the stationary law of a Markov chain.

/// A move of a Markov chain: from a state to another at a rate, or with a probability.
pub(super) type Move = (usize, usize, f64);

/// The stationary law of a Markov chain with states from 0, in which every state that can be reached leads back to state 0.
///
/// Elimination from the last state down without a subtraction (Grassmann, Taksar and Heyman, *Operations Research* 33, 1985), so
/// every share keeps its digits however small it is. Time grows with the number of states and the square of the longest move.
pub(super) fn stationary(states: usize, moves: &[Move]) -> Vec<f64> {
    let reach = moves.iter().map(|&(from, to, _)| from.abs_diff(to)).max();
    let reach = reach.unwrap_or(0);
    let at = |from: usize, to: usize| from * (2 * reach + 1) + to + reach - from;
    let mut rates = vec![0.0; states * (2 * reach + 1)];
    for &(from, to, rate) in moves.iter().filter(|(from, to, _)| from != to) {
        rates[at(from, to)] += rate;
    }
    let mut leaving = vec![0.0; states];
    for last in (1..states).rev() {
        let lower = last.saturating_sub(reach)..last;
        leaving[last] = lower.clone().map(|to| rates[at(last, to)]).sum();
        for from in lower.clone() {
            let coming = rates[at(from, last)];
            if coming > 0.0 {
                let share = coming / leaving[last];
                for to in lower.clone().filter(|&to| to != from) {
                    rates[at(from, to)] += share * rates[at(last, to)];
                }
            }
        }
    }
    let mut law = vec![0.0; states];
    law[0] = 1.0;
    for state in (1..states).filter(|&state| leaving[state] > 0.0) {
        let lower = state.saturating_sub(reach)..state;
        let coming: f64 = lower.map(|from| law[from] * rates[at(from, state)]).sum();
        law[state] = coming / leaving[state];
    }
    let total: f64 = law.iter().sum();
    law.into_iter().map(|share| share / total).collect()
}

/// The place between `low` and `high` where `is_below` ceases to hold.
pub(super) fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The integral of a smooth function (Simpson's rule on 2000 pieces).
pub(super) fn integral(from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
    const PIECES: u32 = 2000;
    let width = (to - from) / f64::from(PIECES);
    let weighted = |index: u32| {
        let weight = match index {
            0 | PIECES => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * of(from + width * f64::from(index))
    };
    (0..=PIECES).map(weighted).sum::<f64>() * width / 3.0
}

/// Share of the standard normal law below `x` (the series of Marsaglia, *Journal of Statistical Software* 11, 2004).
pub(super) fn normal_below(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return f64::from(u8::from(x > 0.0));
    }
    let (mut sum, mut term, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

/// Probability of `count` under a binomial law.
pub(super) fn binomial_share(n: u32, p: f64, count: u32) -> f64 {
    let ways = (1..=count).map(|k| f64::from(n - count + k) / f64::from(k));
    ways.product::<f64>() * p.powf(f64::from(count)) * (1.0 - p).powf(f64::from(n - count))
}

/// Probability of `count` under a Poisson law with this `mean`.
pub(super) fn poisson_share(mean: f64, count: u32) -> f64 {
    (1..=count).map(|k| mean / f64::from(k)).product::<f64>() * (-mean).exp()
}

/// The `p` quantile of an exponential law.
pub fn exponential_quantile(mean: f64, p: f64) -> f64 {
    -mean * (1.0 - p).ln()
}

/// Share of a Poisson law with this `mean` that is `count` or more.
pub fn poisson_tail(mean: f64, count: u32) -> f64 {
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for k in 0..count {
        below += term;
        term *= mean / f64::from(k + 1);
    }
    1.0 - below
}
