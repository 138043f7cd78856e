//! Quantiles of a finite sample: which rule, and how sure.
//!
//! Tools disagree on what "p95" of the same values is (for 1..=10, p90 is 9, 9.1 or 9.9), so the rule has a name that goes
//! with every number. The intervals are ranks of order statistics: exact for independent values of any continuous law,
//! conservative when values tie.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Positions closer than this to a whole number are that number: `0.07 * 100.0` is not 7 in binary.
const SNAP: f64 = 1e-9;

/// How a quantile is read off sorted values `x[0] ..= x[n - 1]`.
///
/// Names as in Hyndman & Fan 1996, "Sample quantiles in statistical packages".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PercentileMethod {
    /// Type 7: linear between the neighbours of `h = (n - 1) p`. What `NumPy`, R and spreadsheets do unless told otherwise.
    #[default]
    Linear,
    /// Type 1: the value of rank `ceil(n p)`. Always a value that was seen.
    NearestRank,
    /// Type 6: linear between the neighbours of `h = (n + 1) p - 1`, held to the smallest and the largest value.
    Exclusive,
}

/// Where a quantile lies among sorted values: a share `fraction` of the way from `index` to the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Index of the lower neighbour, from zero.
    pub index: usize,
    /// Share of the way to the upper neighbour, in `[0, 1)`. Zero means that the value itself is the quantile.
    pub fraction: f64,
}

impl PercentileMethod {
    /// Every method, in the order in which help texts list them.
    pub const ALL: [Self; 3] = [Self::Linear, Self::NearestRank, Self::Exclusive];

    /// Where the `p` quantile of `n` sorted values lies.
    ///
    /// # Panics
    /// If `n` is zero or `p` is outside `[0, 1]`.
    pub fn position(self, n: usize, p: f64) -> Position {
        assert!(n > 0, "a quantile of no values");
        assert!((0.0..=1.0).contains(&p), "a quantile at {p}");
        let count = n as f64;
        let place = match self {
            Self::Linear => snap((count - 1.0) * p),
            Self::NearestRank => snap(count * p).ceil() - 1.0,
            Self::Exclusive => snap((count + 1.0) * p) - 1.0,
        };
        let place = place.clamp(0.0, count - 1.0);
        Position {
            index: place as usize,
            fraction: place.fract(),
        }
    }

    /// The name used in files, options and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::NearestRank => "nearest-rank",
            Self::Exclusive => "exclusive",
        }
    }
}

impl fmt::Display for PercentileMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`PercentileMethod`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown percentile method `{0}`; it is `linear`, `nearest-rank` or `exclusive`")]
pub struct UnknownMethod(String);

impl FromStr for PercentileMethod {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        Self::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// The nearest whole number, when `place` is one up to rounding.
fn snap(place: f64) -> f64 {
    let whole = place.round();
    if (place - whole).abs() < SNAP {
        whole
    } else {
        place
    }
}

/// Ranks `(l, u)`, from 1, whose order statistics hold the `p` quantile of the law with at least `confidence`.
///
/// Among `1 <= l < u <= n` the pair with the smallest `u - l` such that `P(l <= K <= u - 1) >= confidence` for
/// `K ~ Binomial(n, p)`; ties go to the larger probability, then to the smaller ranks. `None` when no pair reaches it: the
/// sample is too small for that quantile. Time and memory grow with `sqrt(n)`.
/// Source: David & Nagaraja, Order Statistics, 2003, §7.1.
///
/// # Panics
/// If `p` or `confidence` is outside `(0, 1)`.
pub fn rank_interval(n: usize, p: f64, confidence: f64) -> Option<(usize, usize)> {
    assert_inside(p, confidence);
    let (first, mass) = binomial_mass(n, p);
    // K = 0 and K = n lie outside every pair of ranks.
    let inside = inner(first, mass.len(), n);
    let mut best: Option<(usize, f64, usize)> = None;
    let (mut end, mut covered) = (inside.start, 0.0);
    for start in inside.clone() {
        while covered < confidence - 1e-12 && end < inside.end {
            covered += mass[end];
            end += 1;
        }
        if covered < confidence - 1e-12 {
            break;
        }
        let width = end - start;
        let better =
            best.is_none_or(|(least, most, _)| width < least || (width == least && covered > most));
        if better {
            best = Some((width, covered, first + start));
        }
        covered -= mass[start];
    }
    best.map(|(width, _, lower)| (lower, lower + width))
}

/// The part of `first..first + len` that is neither 0 nor `n`, counted from `first`.
fn inner(first: usize, len: usize, n: usize) -> Range<usize> {
    let start = usize::from(first == 0);
    let end = if first + len == n + 1 { len - 1 } else { len };
    start..end.max(start)
}

/// Probabilities of `Binomial(n, p)` around its mode, and the count of the first.
///
/// Built from the mode by ratios and normalised at the end: no logarithm of a factorial, so no digits are lost at large n.
/// What is left out is below 1e-20 of the mode's.
fn binomial_mass(n: usize, p: f64) -> (usize, Vec<f64>) {
    const NEGLIGIBLE: f64 = 1e-20;
    let odds = p / (1.0 - p);
    let mode = (((n + 1) as f64 * p) as usize).min(n);
    let (mut below, mut mass, mut count) = (Vec::new(), 1.0, mode);
    while count > 0 && mass > NEGLIGIBLE {
        mass *= count as f64 / ((n - count + 1) as f64 * odds);
        count -= 1;
        below.push(mass);
    }
    let first = count;
    below.reverse();
    below.push(1.0);
    (mass, count) = (1.0, mode);
    while count < n && mass > NEGLIGIBLE {
        mass *= (n - count) as f64 * odds / (count + 1) as f64;
        count += 1;
        below.push(mass);
    }
    let total: f64 = below.iter().sum();
    for mass in &mut below {
        *mass /= total;
    }
    (first, below)
}

/// How many independent values bound a quantile at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// For one bound: the extreme value lies beyond the quantile with the confidence.
    pub one_sided: usize,
    /// For an interval with equal tails.
    pub two_sided: usize,
}

/// The smallest samples that bound the `p` quantile with `confidence`.
///
/// One-sided: `1 - p^n >= confidence`; two-sided with equal tails: `p^n <= (1 - confidence) / 2`, with `p` replaced by
/// `1 - p` below the median. For p95 and 95 % these are 59 and 72.
///
/// # Panics
/// If `p` or `confidence` is outside `(0, 1)`.
pub fn needed_for_quantile(p: f64, confidence: f64) -> Needed {
    assert_inside(p, confidence);
    let far = p.max(1.0 - p).ln();
    let beyond = |tail: f64| snap(tail.ln() / far).ceil() as usize;
    Needed {
        one_sided: beyond(1.0 - confidence),
        two_sided: beyond((1.0 - confidence) / 2.0),
    }
}

/// The smallest sample whose nearest-rank `p` quantile is not its maximum: `1 / (1 - p)`, 20 for p95 and 100 for p99.
///
/// # Panics
/// If `p` is outside `[0, 1)`.
pub fn needed_below_maximum(p: f64) -> usize {
    assert!((0.0..1.0).contains(&p), "a quantile at {p}");
    snap(1.0 / (1.0 - p)).ceil() as usize
}

fn assert_inside(p: f64, confidence: f64) {
    assert!(p > 0.0 && p < 1.0, "a quantile at {p}");
    assert!(
        confidence > 0.0 && confidence < 1.0,
        "a confidence of {confidence}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Binomial, DiscreteCDF};

    #[test]
    fn names_round_trip_and_a_wrong_one_lists_the_right_ones() {
        for method in PercentileMethod::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        let error = "median".parse::<PercentileMethod>().expect_err("no method");
        assert_eq!(
            error.to_string(),
            "unknown percentile method `median`; it is `linear`, `nearest-rank` or `exclusive`"
        );
        assert_eq!(PercentileMethod::default(), PercentileMethod::Linear);
    }

    #[test]
    fn binary_fractions_do_not_move_a_rank() {
        // 0.07 * 100 is 7.000000000000001: without the snap the rank would be 8.
        let position = PercentileMethod::NearestRank.position(100, 0.07);
        assert_eq!((position.index, position.fraction), (6, 0.0));
        assert_eq!(PercentileMethod::Linear.position(101, 0.95).index, 95);
    }

    #[test]
    fn the_search_finds_what_trying_every_pair_finds() {
        let coverage =
            |law: &Binomial, l: usize, u: usize| law.cdf(u as u64 - 1) - law.cdf(l as u64 - 1);
        for (p, n) in [0.05, 0.3, 0.5, 0.9, 0.99]
            .into_iter()
            .flat_map(|p| [7, 20, 61].map(|n| (p, n)))
        {
            let law = Binomial::new(p, n as u64).expect("a valid law");
            let every = (1..n).flat_map(|l| (l + 1..=n).map(move |u| (l, u)));
            let least = every
                .filter(|&(l, u)| coverage(&law, l, u) >= 0.9)
                .map(|(l, u)| u - l)
                .min();
            let found = rank_interval(n, p, 0.9);
            assert_eq!(found.map(|(l, u)| u - l), least, "p = {p}, n = {n}");
            if let Some((l, u)) = found {
                assert!(coverage(&law, l, u) >= 0.9);
                let rivals = (1..=n - (u - l)).map(|l2| coverage(&law, l2, l2 + u - l));
                // 1e-9: statrs computes the same sums by another route.
                assert!(rivals.fold(0.0, f64::max) <= coverage(&law, l, u) + 1e-9);
            }
        }
    }

    #[test]
    fn a_million_values_keep_their_coverage() {
        let n = 1_000_000;
        let (l, u) = rank_interval(n, 0.95, 0.95).expect("plenty of values");
        // Normal approximation: 2 * 1.96 * sqrt(n p (1 - p)) = 854.3 ranks.
        assert!((853..=856).contains(&(u - l)), "{l} {u}");
        assert!((949_500..950_500).contains(&usize::midpoint(l, u)));
    }
}
