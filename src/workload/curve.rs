//! How demand varies over the day and the week.
//!
//! A curve multiplies a rate hour by hour and has mean 1 over the week, so a stated rate stays the weekly mean.

/// Hours in a week.
pub const WEEK_HOURS: usize = 168;

/// Multipliers of a rate for the 168 hours of a week from Monday 00:00, with mean 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve(Option<Box<[f64; WEEK_HOURS]>>);

impl Curve {
    /// No variation.
    pub const FLAT: Self = Self(None);

    /// The product of a 24-hour and a 7-day profile (Monday first), scaled to mean 1.
    ///
    /// # Panics
    /// If a profile is negative somewhere or zero everywhere: the scenario refuses those.
    pub fn new(daily: &[f64; 24], weekly: &[f64; 7]) -> Self {
        let mut hours = [0.0; WEEK_HOURS];
        for (hour, value) in hours.iter_mut().enumerate() {
            *value = daily[hour % 24] * weekly[hour / 24];
            assert!(*value >= 0.0, "a negative multiplier");
        }
        let mean = hours.iter().sum::<f64>() / WEEK_HOURS as f64;
        assert!(mean > 0.0, "a curve that is zero all week");
        for value in &mut hours {
            *value /= mean;
        }
        if hours.iter().all(|value| *value == 1.0) {
            Self::FLAT
        } else {
            Self(Some(Box::new(hours)))
        }
    }

    /// The same curve, `hours` later.
    #[must_use]
    pub fn shifted(self, hours: i64) -> Self {
        const WEEK: i64 = 168;
        let Some(mut multipliers) = self.0 else {
            return Self::FLAT;
        };
        multipliers.rotate_right(hours.rem_euclid(WEEK) as usize);
        Self(Some(multipliers))
    }

    /// Whether there is no variation.
    #[inline]
    pub fn is_flat(&self) -> bool {
        self.0.is_none()
    }

    /// The multiplier at `seconds` from Monday 00:00, and until when it holds \[s\].
    pub fn at(&self, seconds: f64) -> (f64, f64) {
        let Some(hours) = &self.0 else {
            return (1.0, f64::INFINITY);
        };
        let hour = (seconds / 3600.0).floor();
        (hours[hour as usize % WEEK_HOURS], (hour + 1.0) * 3600.0)
    }
}

/// Weekday profile of a code assistant over 24 hours UTC: Azure LLM inference trace 2024 "code", digitised from the publisher's
/// hourly plot (level error below 1 %).
pub const AZURE_2024_CODE: [f64; 24] = [
    0.70, 0.67, 0.64, 0.52, 0.41, 0.34, 0.29, 0.24, 0.23, 0.23, 0.25, 0.37, 0.69, 1.19, 1.68, 1.80,
    1.72, 1.98, 2.21, 2.25, 2.09, 1.54, 1.11, 0.84,
];

/// Weekday profile of a chat service over 24 hours UTC: the "conv" half of the same trace.
pub const AZURE_2024_CONVERSATION: [f64; 24] = [
    0.89, 0.97, 0.95, 0.79, 0.80, 0.87, 1.01, 1.09, 1.11, 1.08, 0.97, 1.03, 1.15, 1.27, 1.34, 1.25,
    1.13, 1.09, 1.08, 1.01, 0.92, 0.77, 0.69, 0.72,
];

/// A week whose Saturday and Sunday carry `ratio` of a weekday's demand.
pub fn weekend(ratio: f64) -> [f64; 7] {
    [1.0, 1.0, 1.0, 1.0, 1.0, ratio, ratio]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_keeps_the_mean_and_the_ratios() {
        let curve = Curve::new(&AZURE_2024_CODE, &weekend(0.325));
        let total: f64 = (0..WEEK_HOURS)
            .map(|hour| curve.at(hour as f64 * 3600.0).0)
            .sum();
        assert!((total / WEEK_HOURS as f64 - 1.0).abs() < 1e-12);
        let (monday, saturday) = (
            curve.at(18.5 * 3600.0).0,
            curve.at((5.0 * 24.0 + 18.5) * 3600.0).0,
        );
        assert!((saturday / monday - 0.325).abs() < 1e-12);
    }

    #[test]
    fn a_shifted_curve_is_the_same_one_later() {
        let curve = Curve::new(&AZURE_2024_CODE, &weekend(0.5));
        for (hours, hour) in [(3, 20.0), (-3, 14.0), (0, 17.0), (165, 14.0)] {
            let shifted = curve.clone().shifted(hours);
            let at = |curve: &Curve, hour: f64| curve.at(hour * 3600.0).0;
            assert_eq!(at(&shifted, hour), at(&curve, 17.0), "by {hours} hours");
        }
        assert_eq!(Curve::FLAT.shifted(5), Curve::FLAT);
    }

    #[test]
    fn an_even_profile_is_flat() {
        assert_eq!(Curve::new(&[3.0; 24], &[1.0; 7]), Curve::FLAT);
    }
}
