//! Many metrics looked at together: how improbable the most improbable of them is.
//!
//! Of a dozen metrics one lies in its outer twentieth more often than not. How far out the farthest of them lies by chance is told by
//! the simulated measurements themselves: the smallest probability of each among the others has the law that the measured one's
//! smallest has, if the scenario made it. That holds whatever metrics say the same twice, and however few values some of them have;
//! Bonferroni's share for each would refuse far less (Westfall & Young 1993, Resampling-Based Multiple Testing, §2.3: single-step
//! min P).
//!
//! Invariant: measured and simulated measurements are treated alike, so the share refused by chance is at most the level.

/// In which direction a metric can be too far out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Too small or too large.
    Both,
    /// Too large: small is good.
    Upper,
}

/// A metric of one measured and many simulated measurements.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub tail: Tail,
    pub measured: f64,
    /// By simulation; `None` where it has no such metric.
    pub simulated: Vec<Option<f64>>,
}

/// How probable it is that chance puts a metric as far out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Probability {
    /// This one.
    pub alone: f64,
    /// Any of them.
    pub any: f64,
}

/// Of each metric; all have as many simulations.
pub(super) fn probabilities(columns: &[Column]) -> Vec<Probability> {
    let alone: Vec<Vec<f64>> = columns.iter().map(Column::probabilities).collect();
    let members = alone.first().map_or(0, Vec::len);
    let least = |member: usize| alone.iter().map(|of| of[member]).fold(1.0, f64::min);
    let mut smallest: Vec<f64> = (0..members).map(least).collect();
    smallest.sort_by(f64::total_cmp);
    let any = |alone: f64| {
        let as_far = smallest.partition_point(|one| *one <= alone);
        as_far as f64 / members as f64
    };
    alone
        .iter()
        .map(|of| Probability {
            alone: of[0],
            any: any(of[0]),
        })
        .collect()
}

impl Column {
    /// The probability of the measured metric, then that of each simulated one, each among all of them.
    fn probabilities(&self) -> Vec<f64> {
        let all = || std::iter::once(Some(self.measured)).chain(self.simulated.iter().copied());
        let mut sorted: Vec<f64> = all().flatten().collect();
        sorted.sort_by(f64::total_cmp);
        let of = |value: f64| {
            // A rounding may part two ways to compute the same figure.
            let slack = 1e-9 * value.abs();
            let upto = sorted.partition_point(|one| *one <= value + slack);
            let from = sorted.len() - sorted.partition_point(|one| *one < value - slack);
            let as_far = match self.tail {
                Tail::Both => (2 * upto.min(from)).min(sorted.len()),
                Tail::Upper => from,
            };
            as_far as f64 / sorted.len() as f64
        };
        // What has no such metric is not far out in it.
        all().map(|value| value.map_or(1.0, of)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::Streams;
    use rand::RngExt as _;

    fn column(measured: f64, simulated: impl IntoIterator<Item = f64>) -> Column {
        Column {
            tail: Tail::Both,
            measured,
            simulated: simulated.into_iter().map(Some).collect(),
        }
    }

    #[test]
    fn a_metric_alone_is_as_improbable_as_its_rank() {
        let simulated = || (1..=99).map(f64::from);
        let one = probabilities(&[column(100.0, simulated())]);
        assert_eq!((one[0].alone, one[0].any), (0.02, 0.02));
        let middle = probabilities(&[column(50.5, simulated())]);
        assert_eq!((middle[0].alone, middle[0].any), (1.0, 1.0));
        let small_is_good = Column {
            tail: Tail::Upper,
            ..column(0.0, simulated())
        };
        assert_eq!(probabilities(&[small_is_good])[0].alone, 1.0);
    }

    #[test]
    fn a_metric_said_twice_costs_nothing_and_another_one_does() {
        let simulated = || (1..=99).map(f64::from);
        let one = column(100.0, simulated());
        let twice = probabilities(&[one.clone(), one.clone()]);
        assert_eq!(twice[1].any, 0.02);
        // Of the other metric two simulations lie as far out at its two ends, which are others than those of the first.
        let turned = (1..=99).map(|at| f64::from((at + 50) % 99));
        let both = probabilities(&[one, column(50.0, turned)]);
        assert_eq!(both[0].any, 0.04);
    }

    /// 400 measurements from the scenario itself, eight metrics of which some go together: 5 % are refused, 99.9 % of such counts
    /// lie between 7 and 36.
    #[test]
    fn chance_is_refused_at_the_level() {
        let mut stream = Streams::new(3, 0).stream("test");
        let refused = (0..400).filter(|_| {
            let mut columns: Vec<Column> = (0..8).map(|_| column(0.0, [])).collect();
            for member in 0..600 {
                let shared: f64 = stream.random();
                for (index, column) in columns.iter_mut().enumerate() {
                    let own: f64 = stream.random();
                    // The last has three values only.
                    let value = match index {
                        0..4 => shared + 0.2 * own,
                        7 => (3.0 * own).floor(),
                        _ => own,
                    };
                    match member {
                        0 => column.measured = value,
                        _ => column.simulated.push(Some(value)),
                    }
                }
            }
            probabilities(&columns).iter().any(|one| one.any <= 0.05)
        });
        let refused = refused.count();
        assert!((7..=36).contains(&refused), "{refused} of 400");
    }

    #[test]
    fn what_some_simulations_lack_is_compared_among_the_others() {
        let mut half = column(10.0, (1..=9).map(f64::from));
        half.simulated.extend([None; 10]);
        let one = probabilities(&[half]);
        assert_eq!((one[0].alone, one[0].any), (0.2, 0.1));
    }
}
