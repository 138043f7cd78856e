//! Where the start of a series ceases to matter: the truncation rule MSER.
//!
//! Source: White, *Simulation* 69 (1997), and White, Cobb and Spratt, WSC 2000 (MSER-5).

/// The part of a series that is left when its start has been cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truncation {
    /// Observations to leave out, from the first on.
    pub observations: usize,
    /// Mean of the rest.
    pub mean: f64,
    /// The squared standard error of that mean if batches were independent, times a constant: what was minimised.
    pub statistic: f64,
}

/// Cuts a series so that the mean of the rest has the smallest standard error, over means of batches of `batch` observations; at
/// most the first half goes. `None` for less than two batches. Observations after the last whole batch are left out.
///
/// A heuristic: it does not know what comes after the series. Prefer a warm-up that is known to be long enough.
///
/// # Panics
/// If `batch` is zero.
pub fn mser(values: &[f64], batch: usize) -> Option<Truncation> {
    assert!(batch > 0, "a batch of nothing");
    let batches: Vec<f64> = values.chunks_exact(batch).map(mean).collect();
    if batches.len() < 2 {
        return None;
    }
    let cut = |first: usize| {
        let rest = &batches[first..];
        let mean = mean(rest);
        // Two passes: sums of squares taken apart from each other cancel, and find a minimum that is not there.
        let squares: f64 = rest.iter().map(|value| (value - mean).powi(2)).sum();
        Truncation {
            observations: first * batch,
            mean,
            statistic: squares / (rest.len() as f64).powi(2),
        }
    };
    let cuts = (0..batches.len().div_ceil(2)).map(cut);
    cuts.min_by(|a, b| a.statistic.total_cmp(&b.statistic))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_decays_is_cut_off_and_a_level_one_stays() {
        let noise = |i: u32| f64::from((7919 * i) % 101) / 101.0;
        let decaying: Vec<f64> = (0..200)
            .map(|i| 10.0 * (-f64::from(i) / 15.0).exp() + noise(i))
            .collect();
        // Five time constants, to the batch; its figures are held in `validation`.
        assert_eq!(mser(&decaying, 5).expect("40 batches").observations, 65);
        let level: Vec<f64> = (0..200).map(|i| f64::from(i % 2)).collect();
        assert_eq!(mser(&level, 2).expect("100 batches").observations, 0);
    }

    #[test]
    fn less_than_two_batches_have_no_start() {
        assert_eq!(mser(&[1.0; 9], 5), None);
        assert!(mser(&[1.0; 10], 5).is_some());
    }
}
