//! Figures of samples drawn from a sample: how much a figure owes to the luck of the draw.

use rand::{Rng, RngExt as _};

use super::sample::Sample;

/// Resamples of a small sample.
const ROUNDS: usize = 2000;
/// Values drawn in all; a large sample is resampled less often, and needs it less.
const DRAWS: usize = 20_000_000;
/// Resamples of the largest samples.
const FEWEST: usize = 200;

/// A figure of each of many resamples with replacement, of the size of the sample.
///
/// The number of resamples depends on the size alone: 2000 up to 10 000 values, at least 200. Source: Efron 1979. It knows
/// only values that were seen: a sample without a single cold start says that there are none.
pub fn bootstrap<T>(
    sample: &Sample,
    rng: &mut impl Rng,
    mut figure: impl FnMut(&Sample) -> T,
) -> Vec<T> {
    let rounds = rounds(sample.len());
    (0..rounds)
        .map(|_| figure(&resample(sample, rng)))
        .collect()
}

/// How many resamples a sample of `n` gets.
pub fn rounds(n: usize) -> usize {
    (DRAWS / n.max(1)).clamp(FEWEST, ROUNDS)
}

/// A sample of the same size, drawn with replacement.
pub fn resample(sample: &Sample, rng: &mut impl Rng) -> Sample {
    let values = sample.values();
    let mut counts = vec![0_u32; values.len()];
    for _ in 0..values.len() {
        counts[rng.random_range(0..values.len())] += 1;
    }
    // In order without sorting: the counts stand in the order of the values.
    let drawn = values
        .iter()
        .zip(counts)
        .flat_map(|(value, count)| std::iter::repeat_n(*value, count as usize));
    Sample::of_sorted(drawn.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::PercentileMethod;
    use crate::streams::Streams;

    #[test]
    fn means_of_resamples_spread_by_the_law_of_large_numbers() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let sample = Sample::new(values).expect("finite");
        let mut rng = Streams::new(1, 0).stream("bootstrap");
        let means = bootstrap(&sample, &mut rng, Sample::mean);
        assert_eq!(means.len(), 2000);
        let means = Sample::new(means).expect("finite");
        // Population variance of 0..100 is 833.25: the mean of 100 has a deviation of 2.887; 99.9 % intervals of 2000 draws.
        assert!((means.mean() - 49.5).abs() < 3.29 * 2.887 / 2000_f64.sqrt());
        let std = means.std().expect("many");
        assert!((std / 2.887 - 1.0).abs() < 3.29 / 4000_f64.sqrt(), "{std}");
    }

    #[test]
    fn resamples_are_sorted_and_hold_only_what_was_seen() {
        let sample = Sample::new(vec![3.0, 1.0, 2.0]).expect("finite");
        let mut rng = Streams::new(2, 0).stream("bootstrap");
        for _ in 0..50 {
            let drawn = resample(&sample, &mut rng);
            assert!(drawn.values().is_sorted() && drawn.len() == 3);
            assert!(
                drawn
                    .values()
                    .iter()
                    .all(|value| [1.0, 2.0, 3.0].contains(value))
            );
            assert_eq!(drawn.quantile(1.0, PercentileMethod::Linear), drawn.max());
        }
        assert_eq!(
            [rounds(0), rounds(75), rounds(20_000), rounds(1_000_000)],
            [2000, 2000, 1000, 200]
        );
    }
}
