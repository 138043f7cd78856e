//! A finite set of numbers, sorted once.

use std::fmt;
use std::str::FromStr;

use super::quantile::PercentileMethod;

/// Values of which statistics are taken: at least one, all finite, sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
    mean: f64,
}

impl Sample {
    /// A sample of these values, or `None` when there is none or one is not finite.
    pub fn new(mut values: Vec<f64>) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let mean = mean_of(&values);
        Some(Self {
            sorted: values,
            mean,
        })
    }

    /// A sample of finite values, at least one, that are in ascending order already.
    pub(super) fn of_sorted(sorted: Vec<f64>) -> Self {
        let mean = mean_of(&sorted);
        Self { sorted, mean }
    }

    /// The values in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.sorted
    }

    /// How many values there are; never zero.
    #[expect(clippy::len_without_is_empty, reason = "a sample is never empty")]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The smallest value.
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The largest value.
    pub fn max(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The sample variance, with divisor `n - 1`; `None` for a single value, which shows no spread.
    ///
    /// Two passes with the correction of Chan, Golub & `LeVeque` 1983, so that a large mean costs no digits.
    pub fn variance(&self) -> Option<f64> {
        if self.len() < 2 {
            return None;
        }
        let n = self.len() as f64;
        let (mut squares, mut residue) = (0.0, 0.0);
        for value in &self.sorted {
            let off = value - self.mean;
            squares += off * off;
            residue += off;
        }
        Some(((squares - residue * residue / n) / (n - 1.0)).max(0.0))
    }

    /// The sample standard deviation, with divisor `n - 1`; `None` for a single value.
    pub fn std(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// The `p` quantile by `method`.
    ///
    /// # Panics
    /// If `p` is outside `[0, 1]`.
    pub fn quantile(&self, p: f64, method: PercentileMethod) -> f64 {
        let place = method.position(self.len(), p);
        let low = self.sorted[place.index];
        if place.fraction == 0.0 {
            return low;
        }
        let high = self.sorted[place.index + 1];
        // Rounding may not carry the result past its neighbour: quantiles grow with p.
        (low + place.fraction * (high - low)).min(high)
    }

    /// The middle value, or the mean of the two middle ones.
    pub fn median(&self) -> f64 {
        self.quantile(0.5, PercentileMethod::Linear)
    }

    /// The coefficient of variation: sample standard deviation over mean. `None` for one value or a zero mean.
    pub fn cv(&self) -> Option<f64> {
        ratio(self.std()?, self.mean)
    }

    /// Sample standard deviation over median. `None` for one value or a zero median.
    pub fn std_over_median(&self) -> Option<f64> {
        ratio(self.std()?, self.median())
    }

    /// The relative spread by the `definition`.
    pub fn spread(&self, definition: CvDefinition) -> Option<f64> {
        match definition {
            CvDefinition::StdOverMean => self.cv(),
            CvDefinition::StdOverMedian => self.std_over_median(),
        }
    }
}

/// The mean, as an offset from the smallest value: exact when all values are equal.
fn mean_of(sorted: &[f64]) -> f64 {
    let least = sorted[0];
    let above: f64 = sorted.iter().map(|value| value - least).sum();
    least + above / sorted.len() as f64
}

/// The ratio, unless it is undefined.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| part / whole)
}

/// What a standard deviation is divided by.
///
/// "CV" is std/mean. Published tables exist whose figures fit only std/median, so each ratio has its own name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CvDefinition {
    /// Standard deviation over mean: the coefficient of variation.
    #[default]
    StdOverMean,
    /// Standard deviation over median.
    StdOverMedian,
}

impl CvDefinition {
    /// Both definitions.
    pub const ALL: [Self; 2] = [Self::StdOverMean, Self::StdOverMedian];

    /// The name used in tables and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::StdOverMean => "std/mean",
            Self::StdOverMedian => "std/median",
        }
    }
}

impl fmt::Display for CvDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`CvDefinition`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown definition of CV `{0}`; it is `std/mean` or `std/median`")]
pub struct UnknownDefinition(String);

impl FromStr for CvDefinition {
    type Err = UnknownDefinition;

    fn from_str(name: &str) -> Result<Self, UnknownDefinition> {
        Self::ALL
            .into_iter()
            .find(|definition| definition.name() == name)
            .ok_or_else(|| UnknownDefinition(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(values: impl IntoIterator<Item = f64>) -> Sample {
        Sample::new(values.into_iter().collect()).expect("finite values")
    }

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!(
            (found - expected).abs() <= tolerance,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn nothing_and_infinities_are_no_sample() {
        assert_eq!(Sample::new(vec![]), None);
        assert_eq!(Sample::new(vec![1.0, f64::NAN]), None);
        assert_eq!(Sample::new(vec![f64::INFINITY]), None);
    }

    #[test]
    fn three_methods_on_one_to_ten_and_to_a_hundred() {
        let ten = sample((1..=10).map(f64::from));
        let hundred = sample((1..=100).map(f64::from));
        let figures =
            PercentileMethod::ALL.map(|m| (ten.quantile(0.9, m), hundred.quantile(0.95, m)));
        // linear, nearest rank, exclusive; 1e-12: two roundings of numbers up to 100.
        for (found, expected) in figures
            .into_iter()
            .zip([(9.1, 95.05), (9.0, 95.0), (9.9, 95.95)])
        {
            close(found.0, expected.0, 1e-12);
            close(found.1, expected.1, 1e-12);
        }
        assert_eq!(ten.quantile(1.0, PercentileMethod::Exclusive), 10.0);
        assert_eq!(ten.quantile(0.0, PercentileMethod::Exclusive), 1.0);
    }

    #[test]
    fn undefined_figures_are_none_and_equal_values_have_no_spread() {
        let one = sample([0.4]);
        assert_eq!(
            (one.std(), one.cv(), one.std_over_median()),
            (None, None, None)
        );
        let zeros = sample([0.0, 0.0, 0.0]);
        assert_eq!((zeros.std(), zeros.cv()), (Some(0.0), None));
        assert_eq!(zeros.std_over_median(), None);
        let equal = sample([0.1; 7]);
        assert_eq!(
            (equal.mean(), equal.std(), equal.cv()),
            (0.1, Some(0.0), Some(0.0))
        );
        let two = sample([1.0, 3.0]);
        close(two.std().expect("two"), std::f64::consts::SQRT_2, 1e-15);
        close(
            two.cv().expect("two"),
            std::f64::consts::FRAC_1_SQRT_2,
            1e-15,
        );
    }

    #[test]
    fn a_large_mean_costs_no_digits() {
        let s = sample([1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert_eq!(s.variance(), Some(30.0));
    }

    proptest! {
        #[test]
        fn quantiles_grow_with_p_and_stay_inside(values in prop::collection::vec(0.0..1e3, 1..40), a in 0.0..=1.0, b in 0.0..=1.0) {
            let s = sample(values);
            for method in PercentileMethod::ALL {
                let (low, high) = (s.quantile(f64::min(a, b), method), s.quantile(f64::max(a, b), method));
                prop_assert!(s.min() <= low && low <= high && high <= s.max());
            }
        }

        #[test]
        fn order_of_input_does_not_matter(values in prop::collection::vec(-1e3..1e3, 1..40).prop_shuffle()) {
            let mut other = values.clone();
            other.reverse();
            prop_assert_eq!(sample(values), sample(other));
        }
    }
}
