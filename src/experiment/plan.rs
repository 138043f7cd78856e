//! The cheapest setting that meets an objective, with a stated confidence.
//!
//! A setting meets an objective when the upper end of the figure's one-sided interval does, not its point estimate. A share is
//! never said to be smaller than the sample can show: of requests of which none was cold, the upper end is the exact binomial
//! one for as many trials as there were minutes with a request. Requests of one minute are taken to share a fate, for a start or
//! a full queue lasts about so long; those of different minutes are taken to be independent. All requests as trials would promise
//! too much, and all replications would ask for hundreds of days. Every
//! setting meets the same demand. Where all of them can be run in full within the budget of runs, all are; else they race:
//! each round doubles the replications of those left and drops the worse half of them (successive halving: Jamieson &
//! Talwalkar 2016), and only settings that were run in full can be the answer.

use std::cmp::Ordering;

use super::users::{Account, Figure, Users, replicated};
use super::{Plan, RunResult};
use crate::stats::{clopper_pearson, needed_to_see};

/// Requests within so long are one trial of whether something befalls them \[h\].
const TOGETHER_HOURS: f64 = 1.0 / 60.0;

/// Replications of a race's first round.
const FIRST_ROUND: u64 = 4;

/// A figure and what it must stay below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The figure.
    pub figure: Figure,
    /// Its limit, in the figure's unit.
    pub limit: f64,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Aim {
    /// All must hold.
    pub objectives: Vec<Objective>,
    /// So many of them, from the first, were asked for; the others go without saying.
    pub asked: usize,
    /// For these models; for every benchmarked one where it is empty.
    pub models: Vec<String>,
    /// Share of the requests whose models must meet the objectives.
    pub share: f64,
    /// The confidence of the one-sided intervals.
    pub confidence: f64,
    /// Replications of a setting that is run in full.
    pub replications: u64,
    /// At most so many runs, if a race can keep to it.
    pub budget: u64,
}

/// A setting after its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its index.
    pub setting: usize,
    /// Cost of all providers' GPUs \[USD/h\].
    pub usd_per_hour: f64,
    /// GPUs held by all providers, on average.
    pub gpus: f64,
    /// The figures of every model asked for, by provider, model and session.
    pub rows: Vec<Row>,
    /// How far the worst of the needed rows is from its objectives: the upper end over the limit. Below 1 all are met.
    pub miss: f64,
    /// Replications.
    pub replications: u64,
}

/// What the users of one model meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Index of the provider.
    pub provider: usize,
    /// Index of the session.
    pub session: usize,
    /// Index of the deployment.
    pub deployment: u32,
    /// Requests of a replication.
    pub requests: f64,
    /// What they meet.
    pub users: Users,
    /// The upper ends of the objectives' figures, in their order; infinite where there is none.
    pub upper: Vec<f64>,
    /// The largest upper end over its limit.
    pub miss: f64,
    /// Replications.
    pub replications: u64,
}

impl Row {
    /// Trials of whether something befalls requests: minutes, or requests where there are fewer.
    fn trials(&self) -> f64 {
        let minutes = self.users.window_hours / TOGETHER_HOURS;
        self.replications as f64 * self.requests.min(minutes)
    }

    /// The least that a share is shown to stay below [%].
    fn least_share(&self, confidence: f64) -> f64 {
        let none = clopper_pearson(0, self.trials() as usize, two_sided(confidence));
        let interval = none.and_then(|none| none.interval);
        interval.map_or(f64::INFINITY, |interval| 100.0 * interval.high)
    }

    /// The upper end of a figure; infinite where there is none.
    fn upper(&self, figure: Figure, confidence: f64) -> f64 {
        let estimate = self.users.estimate_at(figure, two_sided(confidence));
        let interval = estimate.and_then(|estimate| estimate.interval);
        let upper = interval.map_or(f64::INFINITY, |interval| interval.high);
        if is_share(figure) {
            upper.max(self.least_share(confidence))
        } else {
            upper
        }
    }

    /// How many replications show that a share of which nothing was seen is below its limit; `None` where these do, or where
    /// something was seen.
    pub fn needed(&self, objective: &Objective, confidence: f64) -> Option<u64> {
        let is_unseen =
            is_share(objective.figure) && self.users.point(objective.figure) == Some(0.0);
        if !is_unseen || self.trials() < 1.0 || self.least_share(confidence) < objective.limit {
            return None;
        }
        let trials = needed_to_see(objective.limit / 100.0, confidence) as f64;
        let each = self.trials() / self.replications as f64;
        Some((trials / each).floor() as u64 + 1)
    }
}

/// Whether a figure is a share of the requests to which something happens.
fn is_share(figure: Figure) -> bool {
    matches!(figure, Figure::ColdRequests | Figure::Unanswered)
}

/// The confidence of a two-sided interval whose upper end is that of the one-sided one.
fn two_sided(confidence: f64) -> f64 {
    2.0 * confidence - 1.0
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Settings that were run in full: those that meet the aim by cost, then the others by how far they miss it.
    pub candidates: Vec<Candidate>,
    /// Settings dropped in a race before they were run in full.
    pub dropped: usize,
    /// Runs made.
    pub runs: u64,
}

impl Candidate {
    /// Whether it meets the aim.
    pub fn is_met(&self) -> bool {
        self.miss < 1.0
    }

    /// Those that meet the aim come first, the cheapest before others: by dollars, and by GPUs where nothing has a price. Of
    /// the others the one that misses it least comes first.
    fn rank(&self, other: &Self) -> Ordering {
        let miss = |one: &Self| if one.is_met() { 0.0 } else { one.miss };
        miss(self)
            .total_cmp(&miss(other))
            .then(self.usd_per_hour.total_cmp(&other.usd_per_hour))
            .then(self.gpus.total_cmp(&other.gpus))
            .then(self.setting.cmp(&other.setting))
    }
}

impl Found {
    /// The cheapest setting that meets the aim.
    pub fn answer(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|one| one.is_met())
    }
}

/// Finds the cheapest of some plans on all cores of the present pool. `progress` hears of every run that ends.
pub fn plan(plans: &[Plan], aim: &Aim, progress: &(dyn Fn() + Sync)) -> Found {
    let mut left: Vec<Racer> = (0..plans.len()).map(Racer::new).collect();
    let mut runs = 0;
    let mut done = 0;
    let mut dropped = 0;
    for round in rounds(plans, aim) {
        for racer in &mut left {
            let plan = &plans[racer.setting];
            racer.run(plan, aim, done..round, progress);
            runs += (round - done) * places(plan);
        }
        done = round;
        if round < aim.replications {
            let mut ranked: Vec<Racer> = ranked(left, plans, aim)
                .into_iter()
                .map(|one| one.0)
                .collect();
            let keep = ranked.len().div_ceil(2);
            dropped += ranked.len() - keep;
            ranked.truncate(keep);
            left = ranked;
        }
    }
    let candidates = ranked(left, plans, aim);
    Found {
        candidates: candidates.into_iter().map(|(_, one)| one).collect(),
        dropped,
        runs,
    }
}

/// At most so many runs are made.
pub fn runs(plans: &[Plan], aim: &Aim) -> u64 {
    let mut left = plans.len() as u64;
    let (mut all, mut done) = (0, 0);
    let most = plans.iter().map(places).max().unwrap_or(0);
    for round in rounds(plans, aim) {
        all += left * (round - done) * most;
        done = round;
        left = left.div_ceil(2);
    }
    all
}

/// Providers and sessions of a plan: so many runs make a replication.
fn places(plan: &Plan) -> u64 {
    (plan.providers.len() * plan.sessions.len()) as u64
}

/// How many replications the settings left have after each round.
fn rounds(plans: &[Plan], aim: &Aim) -> Vec<u64> {
    let all: u64 = plans.iter().map(places).sum::<u64>() * aim.replications;
    let mut rounds = Vec::new();
    if all > aim.budget {
        let doubled = std::iter::successors(Some(FIRST_ROUND), |round| Some(round * 2));
        rounds.extend(doubled.take_while(|round| *round < aim.replications));
    }
    rounds.push(aim.replications);
    rounds
}

/// A setting on its way.
struct Racer {
    setting: usize,
    /// By provider and session, by replication: the accounts of each benchmarked model, and of all deployments.
    accounts: Vec<Vec<(Vec<Account>, Account)>>,
}

impl Racer {
    fn new(setting: usize) -> Self {
        Self {
            setting,
            accounts: Vec::new(),
        }
    }

    fn run(
        &mut self,
        plan: &Plan,
        aim: &Aim,
        which: std::ops::Range<u64>,
        progress: &(dyn Fn() + Sync),
    ) {
        let sessions = plan.sessions.len();
        self.accounts
            .resize_with(plan.providers.len() * sessions, Vec::new);
        for (place, accounts) in self.accounts.iter_mut().enumerate() {
            let provider = place / sessions;
            let benchmarked = asked(plan, aim, provider);
            let keep = |result: &RunResult| {
                let models = benchmarked.iter();
                let models = models
                    .map(|&one| Account::of(&result.fleet, Some(one)))
                    .collect();
                (models, Account::of_all(&result.fleet))
            };
            let place = (provider, place % sessions);
            accounts.extend(replicated(plan, place, which.clone(), keep, progress));
        }
    }

    fn candidate(&self, plan: &Plan, aim: &Aim) -> Candidate {
        let sessions = plan.sessions.len();
        let mut rows = Vec::new();
        let (mut usd_per_hour, mut gpus) = (0.0, 0.0);
        for (place, accounts) in self.accounts.iter().enumerate() {
            let provider = place / sessions;
            let all: Vec<Account> = accounts.iter().map(|(_, all)| all.clone()).collect();
            let all = Users::of(&all);
            // Sessions are hours of one week: a provider's cost is their mean.
            let hourly =
                |figure| all.point(figure).unwrap_or(0.0) / all.window_hours / sessions as f64;
            usd_per_hour += hourly(Figure::Cost);
            gpus += hourly(Figure::GpuHours);
            for (index, deployment) in asked(plan, aim, provider).into_iter().enumerate() {
                let own: Vec<Account> = accounts
                    .iter()
                    .map(|(models, _)| models[index].clone())
                    .collect();
                rows.push(row(aim, (provider, place % sessions), deployment, &own));
            }
        }
        Candidate {
            setting: self.setting,
            usd_per_hour,
            gpus,
            miss: miss(&rows, aim.share),
            rows,
            replications: self.accounts.first().map_or(0, |one| one.len() as u64),
        }
    }
}

/// The benchmarked deployments of a provider that the aim is about.
fn asked(plan: &Plan, aim: &Aim, provider: usize) -> Vec<u32> {
    let provider = &plan.providers[provider];
    let name = |one: u32| &provider.fleet.deployments[one as usize].name;
    let benchmarked = provider.benchmarked.iter().copied();
    benchmarked
        .filter(|&one| aim.models.is_empty() || aim.models.contains(name(one)))
        .collect()
}

fn row(
    aim: &Aim,
    (provider, session): (usize, usize),
    deployment: u32,
    accounts: &[Account],
) -> Row {
    let users = Users::of(accounts);
    let requests = accounts.iter().map(|one| one.arrived() as f64).sum::<f64>();
    let mut row = Row {
        provider,
        session,
        deployment,
        requests: requests / accounts.len().max(1) as f64,
        users,
        upper: Vec::new(),
        miss: 0.0,
        replications: accounts.len() as u64,
    };
    for one in &aim.objectives {
        let upper = row.upper(one.figure, aim.confidence);
        row.upper.push(upper);
        row.miss = row.miss.max(upper / one.limit);
    }
    row
}

/// The least bound below which rows lie that carry the share of all requests.
fn miss(rows: &[Row], share: f64) -> f64 {
    let all: f64 = rows.iter().map(|row| row.requests).sum();
    let mut order: Vec<&Row> = rows.iter().filter(|row| row.requests > 0.0).collect();
    order.sort_by(|a, b| a.miss.total_cmp(&b.miss));
    let mut carried = 0.0;
    for row in order {
        carried += row.requests;
        // A hair less, so that rounding does not ask for one more.
        if carried >= share * all * (1.0 - 1e-12) {
            return row.miss;
        }
    }
    f64::INFINITY
}

/// Settings with what they came to: those that meet the aim by cost, then the others by how far they miss it.
fn ranked(racers: Vec<Racer>, plans: &[Plan], aim: &Aim) -> Vec<(Racer, Candidate)> {
    let mut all: Vec<(Racer, Candidate)> = racers
        .into_iter()
        .map(|racer| {
            let candidate = racer.candidate(&plans[racer.setting], aim);
            (racer, candidate)
        })
        .collect();
    all.sort_by(|(_, a), (_, b)| a.rank(b));
    all
}
