//! What routing each model to its best side would gain, judged on replications that had no say in the choice of the route.

use super::{Met, Subject, of_key};
use crate::experiment::users::{Account, Difference, Figure, Users};

/// What routing each model to its best side would gain in one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// The session.
    pub session: String,
    /// Models that several sides have.
    pub models: usize,
    /// The best single side for all of them.
    pub single: usize,
    /// The metric of all models' users there.
    pub at_single: f64,
    /// The metric of all models' users when each model goes to its best side.
    pub routed: f64,
    /// The second above the first, in pairs: negative is a gain.
    pub change: Difference,
}

/// In each session, all models that every side has: at the best single side, and each at its own best.
pub(super) fn routing(subjects: &[Subject], met: &[Vec<Met>], metric: Figure) -> Vec<Routing> {
    let mut names: Vec<&str> = Vec::new();
    for subject in subjects {
        if !names.contains(&subject.key.session.as_str()) {
            names.push(&subject.key.session);
        }
    }
    let of_session = |name: &&str| {
        let routable = subjects
            .iter()
            .filter(|one| one.key.session == *name && one.sides.iter().all(Option::is_some));
        let models: Vec<Vec<&[Account]>> = routable
            .map(|one| {
                let met = of_key(met, &one.key);
                met.into_iter()
                    .flatten()
                    .map(|one| one.accounts.as_slice())
                    .collect()
            })
            .collect();
        routed(name, &models, metric)
    };
    names.iter().filter_map(of_session).collect()
}

/// `models` are by model and side the accounts of all replications.
fn routed(session: &str, models: &[Vec<&[Account]>], metric: Figure) -> Option<Routing> {
    let sides = models.first().filter(|_| models.len() > 1)?.len();
    let replications = models[0][0].len();
    if sides < 2 || replications < 2 {
        return None;
    }
    let halves = [0, 1].map(|half| (half..replications).step_by(2).collect::<Vec<usize>>());
    // The choice of a half is used in the other.
    let choices = halves.clone().map(|half| {
        let choose = |sides: &Vec<&[Account]>| {
            least(sides.len(), |side| {
                whole(half.iter().map(|&one| &sides[side][one])).figure(metric)
            })
        };
        models.iter().map(choose).collect::<Vec<usize>>()
    });
    let together = |replication: usize, side_of: &dyn Fn(usize) -> usize| {
        let mut account = models[0][side_of(0)][replication].clone();
        for (model, sides) in models.iter().enumerate().skip(1) {
            account.merge(&sides[side_of(model)][replication]);
        }
        account
    };
    let at = |side: usize| -> Vec<Account> {
        (0..replications)
            .map(|one| together(one, &|_| side))
            .collect()
    };
    let alone: Vec<Users> = (0..sides).map(|side| Users::of(&at(side))).collect();
    let single = least(sides, |side| alone[side].point(metric));
    let routed: Vec<Account> = (0..replications)
        .map(|one| together(one, &|model| choices[1 - one % 2][model]))
        .collect();
    let routed = Users::of(&routed);
    Some(Routing {
        session: session.to_owned(),
        models: models.len(),
        single,
        at_single: alone[single].point(metric)?,
        routed: routed.point(metric)?,
        change: routed.above(&alone[single], metric)?,
    })
}

/// Some replications taken together.
fn whole<'a>(accounts: impl Iterator<Item = &'a Account>) -> Account {
    let mut whole = Account::default();
    for account in accounts {
        whole.add(account);
    }
    whole
}

/// The index with the least value; those without one come last.
fn least(count: usize, value: impl Fn(usize) -> Option<f64>) -> usize {
    let value = |index: &usize| value(*index).unwrap_or(f64::INFINITY);
    let order = |a: &usize, b: &usize| value(a).total_cmp(&value(b));
    (0..count).min_by(order).unwrap_or(0)
}
