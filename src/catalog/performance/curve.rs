//! Functions given by points: efficiencies, message times.

/// A function given by points, constant to their left.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// From abscissae, rising, and as many ordinates.
    pub(super) fn new(x: &[f64], y: &[f64]) -> Self {
        debug_assert_eq!(x.len(), y.len());
        Self {
            points: x.iter().copied().zip(y.iter().copied()).collect(),
        }
    }

    /// Linear between the points, constant outside.
    pub(super) fn linear(&self, x: f64) -> f64 {
        self.between(x, |x| x)
    }

    /// Linear in the logarithm of `x` between the points, constant outside.
    pub(super) fn logarithmic(&self, x: f64) -> f64 {
        self.between(x, f64::ln)
    }

    /// A message's time: linear in its bytes between the points, constant below, proportional beyond the last, where only
    /// the link's rate matters.
    pub(super) fn message(&self, bytes: f64) -> f64 {
        match self.points.last() {
            Some(&(last, time)) if bytes > last => time * bytes / last,
            _ => self.linear(bytes),
        }
    }

    fn between(&self, x: f64, scale: impl Fn(f64) -> f64) -> f64 {
        let right = self.points.partition_point(|point| point.0 < x);
        if right == 0 {
            return self.points[0].1;
        }
        let Some(&(x1, y1)) = self.points.get(right) else {
            return self.points[right - 1].1;
        };
        let (x0, y0) = self.points[right - 1];
        y0 + (y1 - y0) * (scale(x) - scale(x0)) / (scale(x1) - scale(x0))
    }
}
