//! One kind of values or two? Laws fitted to real numbers by maximum likelihood, and compared.
//!
//! Two normal laws always fit better than one. Whether they fit better than they should is told by the Bayesian information
//! criterion (Schwarz 1978), and not against a single normal law only: a heavy tail (Student's t), a skew to the right (a normal
//! law of `ln(exp(y) - shift)`, which is a shifted lognormal law of `exp(y)`) or to the left (a Weibull law of `exp(y)`, such as
//! waits in a queue) is one kind too, and explains stragglers without a second. The mixtures are fitted by expectation and maximisation (Dempster, Laird, Rubin 1977) from several starts.

use super::beta::ln_gamma;

/// No deviation is fitted below this: values that tie would otherwise be infinitely likely.
const NARROWEST: f64 = 0.02;
/// Steps of a fit at most.
const STEPS: usize = 200;
/// A logarithm of a likelihood that changes by less is there: a difference of 2 is what matters.
const CHANGE: f64 = 1e-5;
/// Steps that every start of two laws gets, and how many starts are followed further.
const FIRST_STEPS: usize = 6;
const FOLLOWED: usize = 2;
/// Degrees of freedom that are tried for the heavy tail.
const DEGREES: [f64; 7] = [1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 15.0];
/// Shifts that are tried for the skew, as shares of the smallest `exp(y)`.
const SHIFTS: [f64; 8] = [0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995];

/// A normal law that some share of values follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// Its share.
    pub weight: f64,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub std: f64,
}

impl Component {
    fn ln_density(&self, y: f64) -> f64 {
        self.weight.ln() + ln_normal(y, self.mean, self.std)
    }
}

/// The best description by two normal laws, and how it fares against those by one law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoKinds {
    /// The law with the smaller mean, and the one with the larger.
    pub components: [Component; 2],
    /// The probability that there are two kinds, from the criterion's weights of all descriptions.
    pub probability: f64,
}

impl TwoKinds {
    /// Fits values; `None` for fewer than eight, which tell nothing of their law.
    ///
    /// # Panics
    /// If a value is not finite.
    pub fn fit(values: &[f64]) -> Option<Self> {
        if values.len() < 8 {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted[sorted.len() - 1];
        assert!(
            sorted[0].is_finite() && last.is_finite(),
            "a value that is not finite"
        );
        let ones = [normal, heavy, skewed, weibull].map(|law| law(&sorted));
        let twos = [(false, 5.0), (true, 4.0)].map(|(is_tied, parameters)| {
            let (likelihood, components) = two(&sorted, is_tied);
            (criterion(likelihood, parameters, sorted.len()), components)
        });
        // Both mixtures say the same thing: the better one stands for them.
        let [free, tied] = twos;
        let (best, components) = if free.0 < tied.0 { free } else { tied };
        let weight = |criterion: f64| (0.5 * (best - criterion)).exp();
        let against: f64 = ones.into_iter().map(weight).fold(0.0, f64::max);
        Some(Self {
            components,
            probability: 1.0 / (1.0 + against),
        })
    }

    /// The probability that a value belongs to the law with the larger mean.
    pub fn of_second(&self, y: f64) -> f64 {
        let [first, second] = self.components.map(|component| component.ln_density(y));
        1.0 / (1.0 + (first - second).exp())
    }

    /// How far apart the laws lie: the distance of their means over the root mean square of their deviations (Ashman's D).
    ///
    /// Below 2 a mixture of two equal shares has a single peak.
    pub fn separation(&self) -> f64 {
        let [first, second] = self.components;
        let spread = f64::midpoint(first.std * first.std, second.std * second.std).sqrt();
        (second.mean - first.mean) / spread
    }
}

fn ln_normal(y: f64, mean: f64, std: f64) -> f64 {
    let z = (y - mean) / std;
    -0.5 * (z * z + std::f64::consts::TAU.ln()) - std.ln()
}

fn criterion(likelihood: f64, parameters: f64, n: usize) -> f64 {
    parameters * (n as f64).ln() - 2.0 * likelihood
}

/// Mean and deviation (divisor `n`), not below the narrowest.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n;
    (mean, variance.sqrt().max(NARROWEST))
}

/// One normal law.
fn normal(values: &[f64]) -> f64 {
    let (mean, std) = moments(values);
    let likelihood = values.iter().map(|&y| ln_normal(y, mean, std)).sum();
    criterion(likelihood, 2.0, values.len())
}

/// One law with heavy tails: Student's t with the best of a few degrees of freedom.
fn heavy(values: &[f64]) -> f64 {
    let fits = DEGREES.map(|degrees| student(values, degrees));
    let likelihood = fits.into_iter().fold(f64::NEG_INFINITY, f64::max);
    criterion(likelihood, 3.0, values.len())
}

/// The likelihood of Student's t with these degrees of freedom, by expectation and maximisation.
fn student(values: &[f64], degrees: f64) -> f64 {
    let n = values.len();
    let quartile = |share: f64| values[(share * (n - 1) as f64) as usize];
    let mut mean = quartile(0.5);
    let mut scale = (0.74 * (quartile(0.75) - quartile(0.25))).max(NARROWEST);
    for _ in 0..STEPS {
        let (mut weights, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for &y in values {
            let z = (y - mean) / scale;
            let weight = (degrees + 1.0) / (degrees + z * z);
            weights += weight;
            sum += weight * y;
            squares += weight * (y - mean) * (y - mean);
        }
        let (before, after) = (scale, (squares / n as f64).sqrt().max(NARROWEST));
        let moved = (sum / weights - mean).abs();
        mean = sum / weights;
        scale = after;
        if moved + (after - before).abs() < 1e-6 * after {
            break;
        }
    }
    let half = 0.5 * (degrees + 1.0);
    let constant =
        ln_gamma(half) - ln_gamma(0.5 * degrees) - 0.5 * (degrees * std::f64::consts::PI).ln();
    let density = |y: f64| {
        let z = (y - mean) / scale;
        constant - scale.ln() - half * (z * z / degrees).ln_1p()
    };
    values.iter().map(|&y| density(y)).sum()
}

/// One skewed law: `exp(y)` less a shift is lognormal.
fn skewed(values: &[f64]) -> f64 {
    let least = values[0].exp();
    let fits = SHIFTS.map(|share| {
        let shift = share * least;
        let shifted: Vec<f64> = values.iter().map(|y| (y.exp() - shift).ln()).collect();
        let (mean, std) = moments(&shifted);
        // The density of y is that of ln(exp(y) - shift) times the slope of the one over the other.
        let slope = |y: f64, z: f64| y - z;
        let pairs = values.iter().zip(&shifted);
        pairs
            .map(|(&y, &z)| ln_normal(z, mean, std) + slope(y, z))
            .sum()
    });
    let likelihood = fits.into_iter().fold(f64::NEG_INFINITY, f64::max);
    criterion(likelihood, 3.0, values.len())
}

/// One law skewed to the left: `exp(y)` follows a Weibull law, of which the exponential is one.
fn weibull(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (mean, std) = moments(values);
    // Powers relative to the largest value, so that none overflows.
    let top = values[values.len() - 1];
    let sums = |shape: f64| {
        let powers = values.iter().map(|y| ((shape * (y - top)).exp(), y));
        powers.fold((0.0, 0.0), |(sum, first), (power, y)| {
            (sum + power, first + power * y)
        })
    };
    // The condition of the maximum rises with the shape.
    let slope = |shape: f64| {
        let (sum, first) = sums(shape);
        first / sum - mean - 1.0 / shape
    };
    let (mut low, mut high) = (1e-3 / std, 1e3 / std);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let shape = (low * high).sqrt();
    // scale^shape is the mean of the powers, with which the density of y is shape * r * exp(-r) for r = exp(shape y) / that.
    let ln_mean_power = (sums(shape).0 / n).ln() + shape * top;
    let density = |y: f64| {
        let ln_ratio = shape * y - ln_mean_power;
        shape.ln() + ln_ratio - ln_ratio.exp()
    };
    let likelihood = values.iter().map(|&y| density(y)).sum();
    criterion(likelihood, 2.0, values.len())
}

/// Where to cut sorted values in two for a start: at the widest gaps and at a few shares.
fn starts(sorted: &[f64]) -> Vec<usize> {
    let n = sorted.len();
    let mut gaps: Vec<usize> = (1..n).collect();
    gaps.sort_by(|&a, &b| {
        let gap = |at: usize| sorted[at] - sorted[at - 1];
        gap(b).total_cmp(&gap(a)).then(a.cmp(&b))
    });
    gaps.truncate(4);
    let shares = [0.3, 0.5, 0.7, 0.85, 0.95].map(|share| (share * n as f64) as usize);
    gaps.extend(shares);
    gaps.retain(|&cut| cut >= 1 && cut < n);
    gaps.sort_unstable();
    gaps.dedup();
    gaps
}

/// The likelihood and the two normal laws that fit best, by their means.
///
/// Every start gets a few steps, and the most promising ones are followed to the end.
fn two(sorted: &[f64], is_tied: bool) -> (f64, [Component; 2]) {
    let mut fits: Vec<(f64, [Component; 2])> = starts(sorted)
        .into_iter()
        .map(|cut| followed(sorted, cut_at(sorted, cut), is_tied, FIRST_STEPS))
        .collect();
    fits.sort_by(|a, b| b.0.total_cmp(&a.0));
    fits.truncate(FOLLOWED);
    let ends = fits
        .into_iter()
        .map(|(_, laws)| followed(sorted, laws, is_tied, STEPS));
    let best = ends.max_by(|a, b| a.0.total_cmp(&b.0));
    let (likelihood, mut laws) = best.expect("eight values can be cut");
    if laws[0].mean > laws[1].mean {
        laws.swap(0, 1);
    }
    (likelihood, laws)
}

/// The laws of the two parts of sorted values.
fn cut_at(sorted: &[f64], cut: usize) -> [Component; 2] {
    let (low, high) = sorted.split_at(cut);
    [low, high].map(|part| {
        let (mean, std) = moments(part);
        let weight = part.len() as f64 / sorted.len() as f64;
        Component { weight, mean, std }
    })
}

/// Up to so many steps from these laws, until nothing changes any more.
fn followed(
    sorted: &[f64],
    mut laws: [Component; 2],
    is_tied: bool,
    steps: usize,
) -> (f64, [Component; 2]) {
    let mut likelihood = f64::NEG_INFINITY;
    for _ in 0..steps {
        let (now, next) = step(sorted, laws, is_tied);
        let is_done = (now - likelihood).abs() < CHANGE;
        likelihood = now;
        if is_done {
            break;
        }
        laws = next;
    }
    (likelihood, laws)
}

/// The likelihood of two laws, and the laws that expectation and maximisation make of them.
fn step(values: &[f64], laws: [Component; 2], is_tied: bool) -> (f64, [Component; 2]) {
    let n = values.len() as f64;
    let (mut likelihood, mut sums) = (0.0, [[0.0; 3]; 2]);
    for &y in values {
        let [a, b] = laws.map(|law| law.ln_density(y));
        let top = a.max(b);
        let both = top + ((a - top).exp() + (b - top).exp()).ln();
        likelihood += both;
        for ((share, sum), law) in [(a - both).exp(), (b - both).exp()]
            .into_iter()
            .zip(&mut sums)
            .zip(laws)
        {
            let off = y - law.mean;
            sum[0] += share;
            sum[1] += share * off;
            sum[2] += share * off * off;
        }
    }
    let pooled: f64 = sums
        .iter()
        .map(|[count, off, squares]| squares - off * off / count.max(1e-9))
        .sum();
    let mut next = laws;
    for (law, [count, off, squares]) in next.iter_mut().zip(sums) {
        // A law that no value follows any more stays where it is.
        let count = count.max(1e-6);
        let variance = if is_tied {
            pooled / n
        } else {
            squares / count - (off / count) * (off / count)
        };
        law.weight = (count / n).clamp(1e-6, 1.0 - 1e-6);
        law.mean += off / count;
        law.std = variance.max(0.0).sqrt().max(NARROWEST);
    }
    (likelihood, next)
}
