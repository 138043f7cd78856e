//! Weighted linear regression of several targets on many features.
//!
//! Features are standardised over the rows, cut at [`CUT`] deviations so that no single simulation leads, and carry a small ridge,
//! so that features which repeat each other do no harm. Solved by Cholesky's decomposition of the normal equations.

/// Standardised features are cut here.
const CUT: f64 = 5.0;
/// The ridge, as a share of a feature's own sum of squares.
const RIDGE: f64 = 1e-3;

/// A fitted regression.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    mean: Vec<f64>,
    scale: Vec<f64>,
    /// By target: the constant, then a coefficient for each feature.
    coefficients: Vec<Vec<f64>>,
}

impl Linear {
    /// Fits `targets` on `features`; a row of each has a weight.
    pub(super) fn fit(features: &[&[f64]], targets: &[Vec<f64>], weights: &[f64]) -> Self {
        let width = features.first().map_or(0, |row| row.len());
        let total: f64 = weights.iter().sum();
        let average = |of: &dyn Fn(usize) -> f64| {
            let sum: f64 = weights.iter().enumerate().map(|(row, w)| w * of(row)).sum();
            sum / total
        };
        let mean: Vec<f64> = (0..width)
            .map(|column| average(&|row| features[row][column]))
            .collect();
        let scale = (0..width).map(|column| {
            let variance = average(&|row| (features[row][column] - mean[column]).powi(2));
            // A feature that never moves says nothing.
            if variance > 1e-18 {
                1.0 / variance.sqrt()
            } else {
                0.0
            }
        });
        let mut fitted = Self {
            scale: scale.collect(),
            mean,
            coefficients: Vec::new(),
        };
        fitted.coefficients = fitted.solve(features, targets, weights, total);
        fitted
    }

    fn solve(
        &self,
        features: &[&[f64]],
        targets: &[Vec<f64>],
        weights: &[f64],
        total: f64,
    ) -> Vec<Vec<f64>> {
        let size = self.mean.len() + 1;
        let goals = targets.first().map_or(0, Vec::len);
        let mut normal = vec![vec![0.0; size]; size];
        let mut right = vec![vec![0.0; size]; goals];
        for ((row, target), &weight) in features.iter().zip(targets).zip(weights) {
            let x = self.standard(row);
            for (i, &xi) in x.iter().enumerate() {
                let scaled = weight * xi;
                for (entry, &xj) in normal[i].iter_mut().zip(&x[..=i]) {
                    *entry += scaled * xj;
                }
                for (goal, value) in right.iter_mut().zip(target) {
                    goal[i] += scaled * value;
                }
            }
        }
        for (i, row) in normal.iter_mut().enumerate().skip(1) {
            row[i] += RIDGE * total + 1e-9;
        }
        let root = cholesky(normal);
        right.into_iter().map(|goal| solved(&root, goal)).collect()
    }

    /// One, then the features standardised.
    fn standard(&self, row: &[f64]) -> Vec<f64> {
        let scaled = row.iter().zip(self.mean.iter().zip(&self.scale));
        let scaled = scaled.map(|(value, (mean, scale))| ((value - mean) * scale).clamp(-CUT, CUT));
        std::iter::once(1.0).chain(scaled).collect()
    }

    /// The targets that these features let expect.
    pub(super) fn predict(&self, features: &[f64]) -> Vec<f64> {
        let x = self.standard(features);
        let dot = |row: &Vec<f64>| row.iter().zip(&x).map(|(a, b)| a * b).sum();
        self.coefficients.iter().map(dot).collect()
    }
}

/// The lower triangle whose square is `matrix`, of which only the lower triangle is read.
pub(super) fn cholesky(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for i in 0..matrix.len() {
        for j in 0..=i {
            let (above, below) = matrix.split_at(i);
            let row = &below[0];
            let other = if j < i { &above[j] } else { row };
            let dot: f64 = row[..j].iter().zip(&other[..j]).map(|(a, b)| a * b).sum();
            let left = row[j] - dot;
            matrix[i][j] = if i == j {
                left.max(1e-12).sqrt()
            } else {
                left / matrix[j][j]
            };
        }
    }
    matrix
}

/// Solves `root * z = right`.
pub(super) fn forward(root: &[Vec<f64>], mut right: Vec<f64>) -> Vec<f64> {
    for i in 0..right.len() {
        let dot: f64 = root[i][..i].iter().zip(&right).map(|(a, b)| a * b).sum();
        right[i] = (right[i] - dot) / root[i][i];
    }
    right
}

/// Solves `root * root' * x = right`.
fn solved(root: &[Vec<f64>], right: Vec<f64>) -> Vec<f64> {
    let mut x = forward(root, right);
    for i in (0..x.len()).rev() {
        let above: f64 = (i + 1..x.len()).map(|j| root[j][i] * x[j]).sum();
        x[i] = (x[i] - above) / root[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_found_whatever_its_features_repeat() {
        let rows: Vec<Vec<f64>> = (0..200)
            .map(|i| {
                let (a, b) = (f64::from(i % 17), f64::from(i % 23));
                vec![a, b, a + b, 7.0]
            })
            .collect();
        let features: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let target = |row: &Vec<f64>| vec![3.0 + 2.0 * row[0] - row[1], row[1]];
        let targets: Vec<Vec<f64>> = rows.iter().map(target).collect();
        let fitted = Linear::fit(&features, &targets, &vec![1.0; rows.len()]);
        for (row, expected) in rows.iter().zip(&targets) {
            let found = fitted.predict(row);
            // The ridge draws a thousandth towards the mean.
            assert!(
                (found[0] - expected[0]).abs() < 0.1,
                "{found:?} {expected:?}"
            );
            assert!(
                (found[1] - expected[1]).abs() < 0.05,
                "{found:?} {expected:?}"
            );
        }
    }

    #[test]
    fn a_root_squares_to_its_matrix() {
        let matrix = vec![vec![4.0, 0.0], vec![2.0, 5.0]];
        let root = cholesky(matrix);
        assert_eq!(root[0][0], 2.0);
        assert_eq!((root[1][0], root[1][1]), (1.0, 2.0));
        assert_eq!(forward(&root, vec![2.0, 5.0]), [1.0, 2.0]);
    }
}
