//! Experiments: a plan, run once or many times, on all cores.
//!
//! A run is one replication of one session at one provider: the fleet starts before the session, warms up under its own
//! demand, and then the benchmark goes through it. The measured window holds its first instant but not its last. Runs share
//! nothing, so they are spread over threads and gathered in order: the thread count never shows in a result.

pub mod catalogue;
pub mod compare;
pub mod explain;
pub mod plan;
pub mod repeat;
pub mod sweep;
pub mod too_long;
pub mod users;
pub mod watch;

pub use catalogue::{Bet, Budget, Catalogue, Lot, Software};

use crate::billing::Billing;
use crate::catalog::Catalog;
use crate::catalog::performance::Performance;
use crate::catalog::start::ColdStart;
use crate::fleet::config::{FleetConfig, KeepAlive, Warmth};
use crate::fleet::{Fleet, Ledger, Probe, RequestTrace};
use crate::measure::drive::{Lane, drive, place_of};
use crate::measure::protocol::Protocol;
use crate::observation::Observation;
use crate::request::{EndpointId, RequestId};
use crate::stats::{Histogram, PercentileMethod};
use crate::streams::Streams;
use crate::target::Target;
use crate::time::{Duration, Time};
use crate::workload::{Popularity, Tier};
use std::ops::ControlFlow;
use std::sync::Arc;
use watch::Watch;

/// Everything that a scenario says, ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the scenario is about.
    pub title: String,
    /// The root of all randomness.
    pub seed: u64,
    /// How percentiles are read off.
    pub percentile: PercentileMethod,
    /// How long the fleet runs before each session.
    pub warm_up: Duration,
    /// How long the measured window lasts at least; it always lasts until the benchmark is over.
    pub horizon: Duration,
    /// When benchmarks are made.
    pub sessions: Vec<Session>,
    /// What they send.
    pub benchmark: Protocol,
    /// Whose models.
    pub providers: Vec<Provider>,
    /// What users ask of providers with a catalogue.
    pub popularity: Option<Popularity>,
    /// Figures that others have published of these models.
    pub published: Vec<Published>,
    /// What is known of hardware and software, the scenario's own entries included.
    pub catalog: Catalog,
}

/// A time of the week at which a benchmark starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// From Monday 00:00.
    pub at: Duration,
    /// Requests that count in this session.
    pub requests: u32,
}

/// A provider.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Whose demand it meets: the name under which all that is random is drawn. Its own, unless providers are compared.
    pub demand: String,
    /// Its fleet; `phase` and `window` are set by each run.
    pub fleet: FleetConfig,
    /// Which deployments the benchmark measures, by index.
    pub benchmarked: Vec<u32>,
    /// What the catalogue predicts, by deployment and placement; empty where times are stated.
    pub predictions: Vec<Vec<Prediction>>,
    /// Which deployments are its part of the plan's popularity.
    pub catalogue: Option<Catalogue>,
    /// What its customers pay.
    pub billing: Billing,
}

/// A part of a provider's fleet that results speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// One deployment, by index.
    Deployment(u32),
    /// The models of its catalogue in one tier of popularity.
    Tier(Tier),
    /// Everything.
    All,
}

impl Plan {
    /// The tier of a deployment, if it is of a catalogue.
    pub fn tier(&self, provider: usize, deployment: u32) -> Option<Tier> {
        let rank = self.providers[provider]
            .catalogue
            .as_ref()?
            .rank(deployment)?;
        Some(self.popularity.as_ref()?.tier(rank))
    }

    /// The deployments of a part, by index.
    pub fn members(&self, provider: usize, part: Part) -> impl Iterator<Item = u32> {
        let count = self.providers[provider].fleet.deployments.len() as u32;
        (0..count).filter(move |&deployment| match part {
            Part::Deployment(index) => index == deployment,
            Part::Tier(tier) => self.tier(provider, deployment) == Some(tier),
            Part::All => true,
        })
    }

    /// How long a deployment's idle replicas live on average \[s\]; `None` for ever.
    pub fn keep_alive_s(&self, provider: usize, deployment: u32) -> Option<f64> {
        let fleet = &self.providers[provider].fleet;
        match &fleet.deployments[deployment as usize].scaling.keep_alive {
            KeepAlive::For(time) => Some(time.mean()),
            KeepAlive::Infinite => None,
        }
    }

    /// What a part is called in results: a model's name, or a tier's and how many models are in it.
    pub fn part_name(&self, provider: usize, part: Part) -> String {
        let deployments = &self.providers[provider].fleet.deployments;
        match part {
            Part::Deployment(index) => deployments[index as usize].name.clone(),
            Part::Tier(tier) => format!("{} {}", tier.name(), self.members(provider, part).count()),
            Part::All => format!("all {}", deployments.len()),
        }
    }
}

/// What the catalogue predicts of a deployment on certain GPUs.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The placement.
    pub placement: String,
    /// What runs there.
    pub software: Software,
    /// Prefill and decode.
    pub performance: Arc<Performance>,
    /// Cold starts, by where the weights are.
    pub starts: Vec<(Warmth, ColdStart)>,
}

/// Figures published of one model at one provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The provider's name in this scenario.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The published coefficient of variation, however it was computed [%].
    pub cv_percent: f64,
    /// Median TTFT \[s\].
    pub ttft_median_s: f64,
    /// 95 % quantile of the TTFT \[s\].
    pub ttft_p95_s: f64,
    /// Standard deviation of the TTFT, where it was published \[s\].
    pub ttft_std_s: Option<f64>,
}

/// What happens at one provider in one session of one replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the provider.
    pub provider: usize,
    /// Index of the session.
    pub session: usize,
    /// Number of the replication, from zero.
    pub replication: u64,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// When the measured window opened, on the run's clock.
    pub opened: Time,
    /// What the benchmark saw of each benchmarked deployment, in their order.
    pub lanes: Vec<Measured>,
    /// What each deployment of the fleet did.
    pub fleet: Vec<Did>,
    /// Requests of all users, where they were asked for.
    pub everybody: Vec<RequestTrace>,
    /// Replicas' changes of stage, where they were asked for.
    pub replicas: Vec<crate::fleet::ReplicaMoved>,
}

/// A benchmark's view of one deployment, with the truth beside it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Index of the deployment.
    pub deployment: u32,
    /// Requests that count, each with what the fleet knows of it; `None` for one that never reached it.
    pub requests: Vec<(Observation, Option<RequestTrace>)>,
    /// Requests thrown away.
    pub discarded: usize,
}

/// What really happened at one deployment in the measured window.
#[derive(Clone, Debug)]
pub struct Did {
    /// Its account.
    pub ledger: Ledger,
    /// Times to first token of all users' answered requests, at the provider's door.
    pub ttft: Histogram,
}

/// What a run keeps beside its figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Every request of every user.
    pub everybody: bool,
    /// Every change of stage of every replica.
    pub replicas: bool,
}

/// A request that is never answered counts as timed out this long after the window opened.
const PATIENCE: Duration = Duration::from_nanos(400 * 86_400_000_000_000);

/// Runs one session at one provider.
pub fn run(plan: &Plan, run: Run, keep: Keep) -> RunResult {
    let provider = &plan.providers[run.provider];
    let opened = Time::ZERO + plan.warm_up;
    let watch = Watch::new(provider.fleet.deployments.len(), opened, keep);
    let mut fleet = open(plan, run, watch);

    let lanes = lanes(plan, run);
    let seen = drive(&lanes, &mut fleet, opened + PATIENCE, &mut |_| {
        ControlFlow::Continue(())
    });
    let closed = opened + plan.horizon;
    while fleet.now() < closed {
        fleet.advance(closed);
    }
    let ledgers = fleet.close_window(opened);
    let mut watch = fleet.into_probe();
    let lanes = provider
        .benchmarked
        .iter()
        .zip(seen)
        .map(|(&deployment, seen)| Measured {
            deployment,
            discarded: seen.discarded.len(),
            requests: seen
                .counted
                .into_iter()
                .map(|one| (one, watch.take(one.id())))
                .collect(),
        });
    let lanes = lanes.collect();
    let fleet = ledgers
        .into_iter()
        .zip(watch.ttft)
        .map(|(ledger, ttft)| Did { ledger, ttft })
        .collect();
    RunResult {
        opened,
        lanes,
        fleet,
        everybody: watch.everybody,
        replicas: watch.replicas,
    }
}

/// The fleet of a run, warmed up, at the opening of its measured window.
pub fn open<P: Probe>(plan: &Plan, run: Run, probe: P) -> Fleet<P> {
    let provider = &plan.providers[run.provider];
    let opened = Time::ZERO + plan.warm_up;
    let mut config = provider.fleet.clone();
    config.window = opened;
    config.phase = before(plan.sessions[run.session].at, plan.warm_up);
    let mut fleet = Fleet::new(config, &provider.demand, streams(plan, run), probe);
    assert!(fleet.advance(opened).is_none(), "nothing was sent yet");
    fleet.open_window();
    fleet
}

/// The randomness of a run.
fn streams(plan: &Plan, run: Run) -> Streams {
    Streams::new(plan.seed, run.replication << 16 | run.session as u64)
}

/// The benchmark's plans in a run, one for each benchmarked deployment.
pub fn lanes(plan: &Plan, run: Run) -> Vec<Lane> {
    let provider = &plan.providers[run.provider];
    let lane = |&deployment: &u32| {
        let protocol = Protocol {
            requests: plan.sessions[run.session].requests,
            ..plan.benchmark.clone()
        };
        let model = &provider.fleet.deployments[deployment as usize].name;
        let name = format!("{}/{model}/jitter", provider.demand);
        Lane {
            endpoint: EndpointId(deployment),
            moves: protocol.moves(streams(plan, run).stream(&name)),
            protocol,
            start: Time::ZERO + plan.warm_up,
            done: Vec::new(),
        }
    };
    provider.benchmarked.iter().map(lane).collect()
}

/// The time of the week `span` before `at`.
fn before(at: Duration, span: Duration) -> Duration {
    const WEEK: u64 = 7 * 86_400_000_000_000;
    Duration::from_nanos((at.as_nanos() % WEEK + WEEK - span.as_nanos() % WEEK) % WEEK)
}

impl Measured {
    /// The observations, each with whether it met a cold start.
    pub fn observations(&self) -> Vec<(Observation, Option<bool>)> {
        let cold =
            |trace: &Option<RequestTrace>| Some(trace.as_ref().is_some_and(|trace| trace.cold));
        self.requests
            .iter()
            .map(|(seen, trace)| (*seen, cold(trace)))
            .collect()
    }

    /// The name of a request, counted from one.
    pub fn number(id: RequestId) -> u64 {
        u64::from(place_of(id).1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_week_wraps_around_before_a_session() {
        let hour = |hours: u64| Duration::from_nanos(hours * 3_600_000_000_000);
        assert_eq!(before(hour(14), hour(1)), hour(13));
        assert_eq!(before(hour(1), hour(2)), hour(167));
        assert_eq!(before(hour(1), hour(168 * 3 + 2)), hour(167));
    }
}
