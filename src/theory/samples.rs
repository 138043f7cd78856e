//! What samples of times to first token look like when some requests meet a cold start.

use super::{binomial_share, bisect, normal_below};

/// Times to first token of two kinds: `warm`, and with probability `p` `cold` \[s\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoPoints {
    /// Time of a warm request \[s\].
    pub warm: f64,
    /// Time of a cold one \[s\].
    pub cold: f64,
    /// Probability of a cold one.
    pub p: f64,
}

impl TwoPoints {
    fn gap(self) -> f64 {
        self.cold - self.warm
    }

    /// Mean \[s\].
    pub fn mean(self) -> f64 {
        self.warm + self.p * self.gap()
    }

    /// Standard deviation \[s\].
    pub fn std(self) -> f64 {
        self.gap() * (self.p * (1.0 - self.p)).sqrt()
    }

    /// Standard deviation over mean.
    pub fn cv(self) -> f64 {
        self.std() / self.mean()
    }

    /// The largest CV that these two times can have, and the probability that gives it.
    pub fn largest_cv(self) -> (f64, f64) {
        let p = self.warm / (self.warm + self.cold);
        (self.gap() / (2.0 * (self.warm * self.cold).sqrt()), p)
    }

    /// Mean of a figure of `n` such times, given by the number of cold ones among them.
    pub fn over_samples(self, n: u32, figure: impl Fn(u32) -> f64) -> f64 {
        (0..=n)
            .map(|cold| binomial_share(n, self.p, cold) * figure(cold))
            .sum()
    }

    /// The p95 of `n` such times of which `cold` are cold, interpolated between order statistics (type 7) \[s\].
    pub fn p95(self, n: u32, cold: u32) -> f64 {
        let place = 0.95 * f64::from(n - 1);
        let (index, fraction) = (place.floor() as u32, place.fract());
        match n - cold {
            warm if warm >= index + 2 => self.warm,
            warm if warm == index + 1 => self.warm + fraction * self.gap(),
            _ => self.cold,
        }
    }

    /// The CV of `n` such times of which `cold` are cold, with divisor `n`.
    pub fn sample_cv(self, n: u32, cold: u32) -> f64 {
        let (n, cold) = (f64::from(n), f64::from(cold));
        self.gap() * (cold * (n - cold)).sqrt() / (n * self.warm + cold * self.gap())
    }
}

/// Lognormal warm times, and with probability `p` lognormal cold ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoLognormals {
    /// Median \[s\] and sigma of a warm time.
    pub warm: (f64, f64),
    /// Median \[s\] and sigma of a cold one.
    pub cold: (f64, f64),
    /// Probability of a cold one.
    pub p: f64,
}

impl TwoLognormals {
    fn mixed(self, of: impl Fn(f64, f64) -> f64) -> f64 {
        (1.0 - self.p) * of(self.warm.0, self.warm.1) + self.p * of(self.cold.0, self.cold.1)
    }

    /// Mean \[s\].
    pub fn mean(self) -> f64 {
        self.mixed(|median, sigma| median * (sigma * sigma / 2.0).exp())
    }

    /// Standard deviation \[s\].
    pub fn std(self) -> f64 {
        let second = self.mixed(|median, sigma| median * median * (2.0 * sigma * sigma).exp());
        (second - self.mean().powi(2)).sqrt()
    }

    /// The `p` quantile \[s\].
    pub fn quantile(self, p: f64) -> f64 {
        let below =
            |time: f64| self.mixed(|median, sigma| normal_below((time / median).ln() / sigma));
        bisect(1e-6 * self.warm.0, 1e3 * self.cold.0, |time| {
            below(time) < p
        })
    }
}
