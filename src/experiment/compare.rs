//! Providers or scenarios side by side under the same demand: which is better at what, how surely, and what a short benchmark
//! would have said.
//!
//! Replications are pairs: replication `i` of one side and of another draw the same arrivals, lengths and service times, as far
//! as their traffic is written the same. Which side is best, and how probably, comes from the intervals of those differences.
//! What routing would gain is judged on replications that had no say in the choice of the route.

use super::users::{Account, Difference, Figure, Users, replicated};
use super::{Plan, RunResult};
use crate::measure::summary::{AwareQuantile, CONFIDENCE, Summary};
use crate::stats::{Estimate, clopper_pearson};

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Side {
    /// What it is called.
    pub name: String,
    /// What is run: the plan's providers belong to this side. Their `demand` names what they share with other sides.
    pub plan: Plan,
    /// Whether its rows are known by provider, model and session, or by model and session alone.
    pub by_provider: bool,
}

/// What to find out.
#[derive(Clone, Debug)]
pub struct Questions {
    /// Independent replications.
    pub replications: u64,
    /// Which figure says what is best: the least is.
    pub metric: Figure,
    /// Numbers of requests of benchmarks whose rankings are judged.
    pub benchmarks: Vec<u32>,
}

/// What a comparison gave.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The sides' names.
    pub sides: Vec<String>,
    /// A row per provider (where sides have several), model and session, in the order of the first side that has it.
    pub subjects: Vec<Subject>,
    /// What routing each model to its best side would gain, by session; none where fewer than two models can be routed.
    pub routing: Vec<Routing>,
    /// How sessions of the same subject and side differ: the first against each other.
    pub sessions: Vec<Sessions>,
}

/// What is compared: a model in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Its name.
    pub key: Key,
    /// What its users met, by side; `None` where the side lacks it.
    pub sides: Vec<Option<Users>>,
    /// The side with the least metric, if any has it.
    pub best: Option<Best>,
    /// How benchmarks of the asked sizes would have ranked the sides.
    pub rankings: Vec<Ranking>,
}

/// Names a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The provider, where sides have several.
    pub provider: Option<String>,
    /// The model.
    pub model: String,
    /// The session.
    pub session: String,
}

/// The side that does best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// Index of the side.
    pub side: usize,
    /// At least so probably it is best: one less the probabilities that each other side is better (Bonferroni); `None` from a
    /// single replication, and where no other side has the subject.
    pub probability: Option<f64>,
}

impl Best {
    /// Whether there is a best side, and not just luck.
    pub fn is_sure(self) -> bool {
        self.probability.is_some_and(|one| one >= CONFIDENCE)
    }
}

/// How benchmarks of one size rank the sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Requests of the benchmark.
    pub requests: u32,
    /// Share of the benchmarks in which each side came first; ties are shared.
    pub first: Vec<f64>,
    /// Share of the benchmarks in which another side was ahead of the best; `None` while none is surely best.
    pub wrong: Option<Estimate>,
}

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

/// What one side gave of one subject.
struct Met {
    key: Key,
    accounts: Vec<Account>,
    /// For each size of benchmark the score of each replication: less is better, infinite without an answer.
    scores: Vec<Vec<f64>>,
}

/// Compares the sides on all cores of the present pool. `progress` hears of every run that ends.
pub fn compare(sides: &[Side], questions: &Questions, progress: &(dyn Fn() + Sync)) -> Comparison {
    let met: Vec<Vec<Met>> = sides
        .iter()
        .map(|side| side_met(side, questions, progress))
        .collect();
    let subjects: Vec<Subject> = keys(&met)
        .into_iter()
        .map(|key| subject(key, &met, questions))
        .collect();
    Comparison {
        sides: sides.iter().map(|side| side.name.clone()).collect(),
        routing: routing(&subjects, &met, questions.metric),
        sessions: sessions(&subjects, questions.metric),
        subjects,
    }
}

/// How many runs a comparison makes.
pub fn runs(sides: &[Side], questions: &Questions) -> u64 {
    let of_side = |side: &Side| {
        let plan = &side.plan;
        let sizes = questions.benchmarks.iter();
        let sized = |session: usize| {
            let own = plan.sessions[session].requests;
            1 + sizes.clone().filter(|size| **size != own).count()
        };
        let per_provider: usize = (0..plan.sessions.len()).map(sized).sum();
        (plan.providers.len() * per_provider) as u64 * questions.replications
    };
    sides.iter().map(of_side).sum()
}

fn side_met(side: &Side, questions: &Questions, progress: &(dyn Fn() + Sync)) -> Vec<Met> {
    let mut all = Vec::new();
    for provider in 0..side.plan.providers.len() {
        for session in 0..side.plan.sessions.len() {
            all.extend(place_met(side, (provider, session), questions, progress));
        }
    }
    all
}

/// All benchmarked models of one provider in one session: their users under the scenario's own benchmark, and the scores of
/// benchmarks of every size.
fn place_met(
    side: &Side,
    place: (usize, usize),
    questions: &Questions,
    progress: &(dyn Fn() + Sync),
) -> Vec<Met> {
    let (plan, metric) = (&side.plan, questions.metric);
    let benchmarked = &plan.providers[place.0].benchmarked;
    let keep = |result: &RunResult| {
        let account = |&deployment: &u32| Account::of(&result.fleet, Some(deployment));
        let accounts: Vec<Account> = benchmarked.iter().map(account).collect();
        (accounts, scores(plan, result, metric))
    };
    let own = replicated(plan, place, 0..questions.replications, keep, progress);
    let sized = |size: &u32| -> Vec<Vec<f64>> {
        if *size == plan.sessions[place.1].requests {
            return own.iter().map(|(_, scores)| scores.clone()).collect();
        }
        let plan = with_requests(plan, *size);
        let keep = |result: &RunResult| scores(&plan, result, metric);
        replicated(&plan, place, 0..questions.replications, keep, progress)
    };
    let sized: Vec<Vec<Vec<f64>>> = questions.benchmarks.iter().map(sized).collect();
    let of_lane = |lane: usize| Met {
        key: key(side, place, benchmarked[lane]),
        accounts: own
            .iter()
            .map(|(accounts, _)| accounts[lane].clone())
            .collect(),
        scores: sized
            .iter()
            .map(|replications| replications.iter().map(|lanes| lanes[lane]).collect())
            .collect(),
    };
    (0..benchmarked.len()).map(of_lane).collect()
}

fn with_requests(plan: &Plan, requests: u32) -> Plan {
    let mut plan = plan.clone();
    for session in &mut plan.sessions {
        session.requests = requests;
    }
    plan
}

fn key(side: &Side, (provider, session): (usize, usize), deployment: u32) -> Key {
    let provider = &side.plan.providers[provider];
    Key {
        provider: side.by_provider.then(|| provider.name.clone()),
        model: provider.fleet.deployments[deployment as usize].name.clone(),
        session: side.plan.sessions[session].name.clone(),
    }
}

/// What the benchmark of each lane reports of the metric, as far as a benchmark can see it; else its p95.
fn scores(plan: &Plan, result: &RunResult, metric: Figure) -> Vec<f64> {
    let score = |summary: &Summary| {
        let aware = match metric {
            Figure::Cv => {
                let cv = summary.ttft.as_ref().and_then(|ttft| ttft.cv_percent);
                return cv.unwrap_or(f64::INFINITY);
            }
            Figure::TtftP50 => summary.aware_p50,
            _ => summary.aware_p95,
        };
        match aware {
            Some(AwareQuantile::Seconds(seconds)) => seconds,
            Some(AwareQuantile::Unbounded) | None => f64::INFINITY,
        }
    };
    let lanes = result.lanes.iter();
    lanes
        .map(|lane| score(&Summary::of(&lane.observations(), plan.percentile)))
        .collect()
}

/// Every key once, in order of first appearance.
fn keys(met: &[Vec<Met>]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for one in met.iter().flatten() {
        if !keys.contains(&one.key) {
            keys.push(one.key.clone());
        }
    }
    keys
}

/// What each side gave of a subject.
fn of_key<'a>(met: &'a [Vec<Met>], key: &Key) -> Vec<Option<&'a Met>> {
    met.iter()
        .map(|side| side.iter().find(|one| one.key == *key))
        .collect()
}

fn subject(key: Key, met: &[Vec<Met>], questions: &Questions) -> Subject {
    let met = of_key(met, &key);
    let users = |one: Option<&Met>| one.map(|one| Users::of(&one.accounts));
    let sides: Vec<Option<Users>> = met.iter().copied().map(users).collect();
    let best = best(&sides, questions.metric);
    let ranking = |(index, &requests): (usize, &u32)| {
        let scores: Vec<Option<&[f64]>> = met
            .iter()
            .map(|one| one.map(|one| one.scores[index].as_slice()))
            .collect();
        ranking(requests, &scores, best)
    };
    Subject {
        rankings: questions
            .benchmarks
            .iter()
            .enumerate()
            .map(ranking)
            .collect(),
        best,
        key,
        sides,
    }
}

/// The side with the least metric.
fn best(sides: &[Option<Users>], metric: Figure) -> Option<Best> {
    let points = sides.iter().enumerate();
    let points = points.filter_map(|(side, users)| Some((side, users.as_ref()?.point(metric)?)));
    let (side, _) = points.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let own = sides[side].as_ref()?;
    let mut others = 0.0;
    let mut has_pairs = sides.iter().flatten().count() > 1;
    for (_, other) in sides.iter().enumerate().filter(|(index, _)| *index != side) {
        let above = other.as_ref().and_then(|other| other.above(own, metric));
        match above.map(|one| one.positive) {
            Some(Some(positive)) => others += 1.0 - positive,
            Some(None) => has_pairs = false,
            None => {}
        }
    }
    let probability = has_pairs.then_some((1.0 - others).max(0.0));
    Some(Best { side, probability })
}

/// How the scores of each replication rank the sides.
fn ranking(requests: u32, scores: &[Option<&[f64]>], best: Option<Best>) -> Ranking {
    let replications = scores.iter().flatten().map(|one| one.len()).max();
    let replications = replications.unwrap_or(0);
    let mut first = vec![0.0; scores.len()];
    let mut wrong = 0;
    for replication in 0..replications {
        let of = |side: usize| scores[side].map_or(f64::INFINITY, |one| one[replication]);
        let least = (0..scores.len()).map(of).fold(f64::INFINITY, f64::min);
        let ahead: Vec<usize> = (0..scores.len())
            .filter(|&side| scores[side].is_some() && of(side) <= least)
            .collect();
        for &side in &ahead {
            first[side] += 1.0 / ahead.len() as f64;
        }
        wrong += usize::from(best.is_some_and(|best| !ahead.contains(&best.side)));
    }
    for share in &mut first {
        *share /= replications.max(1) as f64;
    }
    let is_sure = best.is_some_and(Best::is_sure) && scores.iter().flatten().count() > 1;
    let wrong = is_sure.then(|| clopper_pearson(wrong, replications, CONFIDENCE));
    Ranking {
        requests,
        first,
        wrong: wrong.flatten(),
    }
}

/// In each session, all models that every side has: at the best single side, and each at its own best.
fn routing(subjects: &[Subject], met: &[Vec<Met>], metric: Figure) -> Vec<Routing> {
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

/// The first session of each model at each side against the others.
fn sessions(subjects: &[Subject], metric: Figure) -> Vec<Sessions> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranking_counts_who_is_ahead_and_shares_ties() {
        let sure = Some(Best {
            side: 0,
            probability: Some(0.99),
        });
        let (a, b) = ([1.0, 2.0, 3.0, 1.0], [2.0, 1.0, 3.0, f64::INFINITY]);
        let found = ranking(20, &[Some(&a), Some(&b)], sure);
        assert_eq!(found.first, [0.625, 0.375]);
        assert_eq!(found.wrong.map(|one| one.point), Some(0.25));
        let unsure = Some(Best {
            side: 0,
            probability: Some(0.6),
        });
        assert_eq!(ranking(20, &[Some(&a), Some(&b)], unsure).wrong, None);
        assert_eq!(ranking(20, &[Some(&a), None], sure).wrong, None);
    }
}
