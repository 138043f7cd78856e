//! How each session differs from the first, at every side.

use super::{Key, Subject};
use crate::experiment::users::{Difference, Figure, Users};

/// How a session differs from the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Sessions {
    /// The subject in the other session.
    pub key: Key,
    /// The first session.
    pub first: String,
    /// Index of the side.
    pub side: usize,
    /// The metric in the first session and in the other.
    pub points: [f64; 2],
    /// The other above the first.
    pub difference: Difference,
}

/// The first session of each model at each side against the others.
pub(super) fn sessions(subjects: &[Subject], metric: Figure) -> Vec<Sessions> {
    let mut rows = Vec::new();
    for subject in subjects {
        let is_same = |one: &&Subject| {
            one.key.model == subject.key.model && one.key.provider == subject.key.provider
        };
        let Some(first) = subjects.iter().find(is_same) else {
            continue;
        };
        if first.key.session == subject.key.session {
            continue;
        }
        for (side, pair) in subject.sides.iter().zip(&first.sides).enumerate() {
            let (Some(other), Some(one)) = pair else {
                continue;
            };
            rows.extend(session_row(subject, first, side, [one, other], metric));
        }
    }
    rows
}

fn session_row(
    subject: &Subject,
    first: &Subject,
    side: usize,
    [one, other]: [&Users; 2],
    metric: Figure,
) -> Option<Sessions> {
    Some(Sessions {
        key: subject.key.clone(),
        first: first.key.session.clone(),
        side,
        points: [one.point(metric)?, other.point(metric)?],
        difference: other.above(one, metric)?,
    })
}
