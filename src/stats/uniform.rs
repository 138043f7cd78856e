//! Whether values are uniform on 0 to 1: Kolmogorov-Smirnov's distance and Pearson's chi-square, with their probabilities.
//!
//! The probability of a distance is Kolmogorov's series with Stephens' correction for small numbers (Stephens 1970, J. R. Stat.
//! Soc. B 32:115), good to a percent from ten values on.

use statrs::function::gamma::gamma_ur;

/// Expected values in a bin of the chi-square test.
const IN_BIN: usize = 15;
/// Bins at most.
const BINS: usize = 20;

/// How surely some values are not uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniformity {
    /// How probable a distance as large is of uniform values (Kolmogorov-Smirnov).
    pub ks_probability: f64,
    /// How probable bins as unequal are of uniform values (chi-square).
    pub chi2_probability: f64,
}

impl Uniformity {
    /// Of values on 0 to 1; `None` with fewer than twice the values that a bin needs.
    pub fn of(values: &[f64]) -> Option<Self> {
        let bins = (values.len() / IN_BIN).min(BINS);
        if bins < 2 {
            return None;
        }
        let mut counts = vec![0_u32; bins];
        for value in values {
            counts[((value * bins as f64) as usize).min(bins - 1)] += 1;
        }
        let expected = values.len() as f64 / bins as f64;
        let off = counts
            .iter()
            .map(|count| (f64::from(*count) - expected).powi(2) / expected);
        let chi2: f64 = off.sum();
        Some(Self {
            ks_probability: ks_probability(ks_distance(values.to_vec()), values.len()),
            chi2_probability: gamma_ur(0.5 * (bins - 1) as f64, 0.5 * chi2.max(1e-12)),
        })
    }
}

/// The Kolmogorov-Smirnov distance of values from the uniform law on 0 to 1.
pub fn ks_distance(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let ends = values.iter().zip(0_u32..).map(|(value, index)| {
        let below = value - f64::from(index) / n;
        let above = f64::from(index + 1) / n - value;
        below.max(above)
    });
    ends.fold(0.0, f64::max)
}

/// How probable a distance as large is of so many uniform values.
fn ks_probability(distance: f64, count: usize) -> f64 {
    /// More terms change nothing.
    const TERMS: i32 = 100;
    let root = (count as f64).sqrt();
    let scaled = (root + 0.12 + 0.11 / root) * distance;
    // Below, the series converges too slowly, and the probability is one to six digits.
    if scaled < 0.3 {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(k * k) * scaled * scaled).exp()
    };
    (1..=TERMS).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_agree_with_tables() {
        // Kolmogorov's 5 % and 1 % points 1.3581 and 1.6276, at a number where the correction is small.
        for (point, probability) in [(1.3581, 0.05), (1.6276, 0.01)] {
            let root = 100.0;
            let found = ks_probability(point / (root + 0.12 + 0.11 / root), 10_000);
            assert!((found - probability).abs() < 1e-4, "{found}");
        }
    }

    #[test]
    fn even_values_are_uniform_and_squares_are_not() {
        let even: Vec<f64> = (0..300).map(|i| (f64::from(i) + 0.5) / 300.0).collect();
        let squares: Vec<f64> = even.iter().map(|value| value * value).collect();
        let (even, squares) = (Uniformity::of(&even), Uniformity::of(&squares));
        let (even, squares) = (even.expect("enough"), squares.expect("enough"));
        assert!(even.ks_probability > 0.999 && even.chi2_probability > 0.999);
        assert!(squares.ks_probability < 1e-6 && squares.chi2_probability < 1e-6);
        assert!(Uniformity::of(&[0.5; 20]).is_none());
    }
}
