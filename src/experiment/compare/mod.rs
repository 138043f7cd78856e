//! Providers or scenarios side by side under the same demand: which is better at what, how surely, and what a short benchmark
//! would have said.
//!
//! Replications are pairs: replication `i` of one side and of another draw the same arrivals, lengths and service times, as far
//! as their traffic is written the same. Which side is best, and how probably, comes from the intervals of those differences.
//! What routing would gain is judged on replications that had no say in the choice of the route.
//!
//! Users are counted from the provider's door to the first token; a benchmark counts what its client sees, which its `network` is
//! a part of. Where that is long against the wait, or differs between sides, a benchmark is also wrong for where it stands.

mod ranking;
mod routing;
mod sessions;
mod tiers;

pub use ranking::{Best, Ranking};
pub use routing::Routing;
pub use sessions::Sessions;
pub use tiers::{Cut, Offer, Steadiness, TierMet, TierPart};

use super::users::{Account, Figure, Users, replicated};
use super::{Plan, RunResult};
use crate::measure::summary::{AwareQuantile, Summary};
use tiers::{Place, TierAccount};

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
    /// Catalogues by tier of popularity; none where no side has one, or their users differ.
    pub tiers: Vec<TierPart>,
    /// What each side's catalogue offers.
    pub offers: Vec<Offer>,
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
    /// That side and all that cannot be told from it.
    pub level: Vec<usize>,
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

/// What one side gave of one subject.
struct Met {
    key: Key,
    accounts: Vec<Account>,
    /// For each size of benchmark the score of each replication: less is better, infinite without an answer.
    scores: Vec<Vec<f64>>,
}

/// Compares the sides on all cores of the present pool. `progress` hears of every run that ends.
pub fn compare(sides: &[Side], questions: &Questions, progress: &(dyn Fn() + Sync)) -> Comparison {
    let cuts = tiers::cuts(sides);
    let (mut met, mut places) = (Vec::new(), Vec::new());
    for (index, side) in sides.iter().enumerate() {
        let (models, tiers) = side_met(side, questions, &cuts, progress);
        met.push(models);
        places.extend(tiers.into_iter().map(|place| Place {
            side: index,
            ..place
        }));
    }
    let subjects: Vec<Subject> = keys(&met)
        .into_iter()
        .map(|key| subject(key, &met, questions))
        .collect();
    Comparison {
        sides: sides.iter().map(|side| side.name.clone()).collect(),
        routing: routing::routing(&subjects, &met, questions.metric),
        sessions: sessions::sessions(&subjects, questions.metric),
        tiers: tiers::tier_parts(&cuts, &places, sides.len()),
        offers: tiers::all_offers(sides, &places),
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

fn side_met(
    side: &Side,
    questions: &Questions,
    cuts: &[Cut],
    progress: &(dyn Fn() + Sync),
) -> (Vec<Met>, Vec<Place>) {
    let (mut models, mut places) = (Vec::new(), Vec::new());
    for provider in 0..side.plan.providers.len() {
        for session in 0..side.plan.sessions.len() {
            let (met, place) = place_met(side, (provider, session), questions, cuts, progress);
            models.extend(met);
            places.push(place);
        }
    }
    (models, places)
}

/// What is kept of a replication: by benchmarked model its account and its score, and by cut the account of a tier's part.
type Kept = (Vec<Account>, Vec<f64>, Vec<Option<TierAccount>>);

/// All benchmarked models of one provider in one session: their users under the scenario's own benchmark, and the scores of
/// benchmarks of every size. Beside them the tiers of its catalogue.
fn place_met(
    side: &Side,
    place: (usize, usize),
    questions: &Questions,
    cuts: &[Cut],
    progress: &(dyn Fn() + Sync),
) -> (Vec<Met>, Place) {
    let (plan, metric) = (&side.plan, questions.metric);
    let benchmarked = &plan.providers[place.0].benchmarked;
    let keep = |result: &RunResult| -> Kept {
        let account = |&deployment: &u32| Account::of(&result.fleet, Some(deployment));
        let summaries = summaries(plan, result);
        let tiers = tiers::accounts(plan, place.0, cuts, result, &summaries);
        let scores = summaries.iter().map(|one| score(one, metric));
        (
            benchmarked.iter().map(account).collect(),
            scores.collect(),
            tiers,
        )
    };
    let own = replicated(plan, place, 0..questions.replications, keep, progress);
    let sized = |size: &u32| -> Vec<Vec<f64>> {
        if *size == plan.sessions[place.1].requests {
            return own.iter().map(|(_, scores, _)| scores.clone()).collect();
        }
        let plan = with_requests(plan, *size);
        let keep = |result: &RunResult| {
            let summaries = summaries(&plan, result);
            summaries.iter().map(|one| score(one, metric)).collect()
        };
        replicated(&plan, place, 0..questions.replications, keep, progress)
    };
    let sized: Vec<Vec<Vec<f64>>> = questions.benchmarks.iter().map(sized).collect();
    let of_lane = |lane: usize| Met {
        key: key(side, place, benchmarked[lane]),
        accounts: own
            .iter()
            .map(|(accounts, ..)| accounts[lane].clone())
            .collect(),
        scores: sized
            .iter()
            .map(|replications| replications.iter().map(|lanes| lanes[lane]).collect())
            .collect(),
    };
    let models = (0..benchmarked.len()).map(of_lane).collect();
    let provider = &plan.providers[place.0].name;
    let tiers = Place {
        side: 0,
        provider: place.0,
        name: side.by_provider.then(|| provider.clone()),
        session: plan.sessions[place.1].name.clone(),
        replications: own.into_iter().map(|(.., tiers)| tiers).collect(),
    };
    (models, tiers)
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

/// What the benchmark of each lane reports.
fn summaries(plan: &Plan, result: &RunResult) -> Vec<Summary> {
    let lanes = result.lanes.iter();
    lanes
        .map(|lane| Summary::of(&lane.observations(), plan.percentile))
        .collect()
}

/// What a benchmark reports of the metric, as far as a benchmark can see it; else its p95.
fn score(summary: &Summary, metric: Figure) -> f64 {
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
    let best = ranking::best(&sides, questions.metric);
    let ranking = |(index, &requests): (usize, &u32)| {
        let scores: Vec<Option<&[f64]>> = met
            .iter()
            .map(|one| one.map(|one| one.scores[index].as_slice()))
            .collect();
        ranking::ranking(requests, &scores, best)
    };
    Subject {
        rankings: questions
            .benchmarks
            .iter()
            .enumerate()
            .map(ranking)
            .collect(),
        level: ranking::level(&sides, best, questions.metric),
        best,
        key,
        sides,
    }
}
