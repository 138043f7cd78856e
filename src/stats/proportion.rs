//! A share of independent trials.

use super::beta::inverse_regularised_beta;
use super::estimate::{Estimate, Interval};

/// The exact interval for a share: `successes` of `trials`; `None` without trials.
///
/// Its ends are the shares at which a count this far out has probability `(1 - confidence) / 2`, so it holds the true share
/// with at least `confidence`, also when nothing was seen: 0 of 75 leaves 0 to 4.8 % at 95 %.
/// Source: Clopper & Pearson 1934, Biometrika 26(4).
///
/// # Panics
/// If there are more successes than trials, or `confidence` is outside `(0, 1)`.
pub fn clopper_pearson(successes: usize, trials: usize, confidence: f64) -> Option<Estimate> {
    assert!(successes <= trials, "{successes} of {trials}");
    assert!(
        confidence > 0.0 && confidence < 1.0,
        "a confidence of {confidence}"
    );
    if trials == 0 {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let (hits, misses) = (successes as f64, (trials - successes) as f64);
    let low = match successes {
        0 => 0.0,
        _ => inverse_regularised_beta(tail, hits, misses + 1.0),
    };
    let high = match trials - successes {
        0 => 1.0,
        _ => inverse_regularised_beta(1.0 - tail, hits + 1.0, misses),
    };
    Some(Estimate {
        point: hits / trials as f64,
        interval: Some(Interval {
            low,
            high,
            confidence,
        }),
        n: trials,
    })
}

/// How many trials show at least one success of probability `share` with this confidence: 299 for 1 % and 95 %.
///
/// # Panics
/// If `share` or `confidence` is outside `(0, 1)`.
pub fn needed_to_see(share: f64, confidence: f64) -> usize {
    let is_inside = |p: f64| p > 0.0 && p < 1.0;
    assert!(is_inside(share), "a share of {share}");
    assert!(is_inside(confidence), "a confidence of {confidence}");
    ((1.0 - confidence).ln() / (-share).ln_1p()).ceil().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

    fn ends(successes: usize, trials: usize, confidence: f64) -> (f64, f64) {
        let estimate = clopper_pearson(successes, trials, confidence).expect("some trials");
        let interval = estimate.interval.expect("always there");
        (interval.low, interval.high)
    }

    #[test]
    fn agrees_with_statrs() {
        for (k, n) in [
            (1, 75),
            (4, 75),
            (12, 300),
            (299, 300),
            (37, 75),
            (40, 100_000),
        ] {
            let (low, high) = ends(k, n, 0.95);
            let (hits, misses) = (k as f64, (n - k) as f64);
            let lower = Beta::new(hits, misses + 1.0)
                .expect("valid")
                .inverse_cdf(0.025);
            let upper = Beta::new(hits + 1.0, misses)
                .expect("valid")
                .inverse_cdf(0.975);
            // 1e-8 relative: statrs stops its own bisection near there.
            assert!(
                (low - lower).abs() <= 1e-8 * lower + 1e-9,
                "{k}/{n}: {low}, not {lower}"
            );
            assert!(
                (high - upper).abs() <= 1e-8 * upper + 1e-9,
                "{k}/{n}: {high}, not {upper}"
            );
        }
    }

    #[test]
    fn its_ends_leave_exactly_the_tails() {
        let (low, high) = ends(4, 75, 0.95);
        let at = |p: f64| Binomial::new(p, 75).expect("valid");
        assert!((at(low).sf(3) - 0.025).abs() < 1e-9);
        assert!((at(high).cdf(4) - 0.025).abs() < 1e-9);
    }

    #[test]
    fn rare_things_need_many_trials() {
        // theory.md: 299, 149, 74, 59 for 1, 2, 4, 5 %.
        let needed = [0.01, 0.02, 0.04, 0.05].map(|share| needed_to_see(share, 0.95));
        assert_eq!(needed, [299, 149, 74, 59]);
        assert_eq!(needed_to_see(0.99, 0.95), 1);
    }

    #[test]
    fn nothing_seen_still_bounds_the_share() {
        // (1 - p)^75 = 0.05 at the one-sided 95 % bound, which is the upper end of a 90 % interval: theory.md says 3.9 %.
        let (low, high) = ends(0, 75, 0.90);
        assert_eq!(low, 0.0);
        assert!((high - (1.0 - 0.05_f64.powf(1.0 / 75.0))).abs() < 1e-12);
        assert_eq!(ends(75, 75, 0.95).1, 1.0);
        assert_eq!(clopper_pearson(0, 0, 0.95), None);
    }
}
