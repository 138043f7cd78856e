//! Requests that no replica of their model can ever hold: known before a run, and easily overlooked in it.
//!
//! A request is refused (413) where its prompt and answer together exceed the context or, alone, the KV cache of every placement.
//! How many of a stream's requests do is estimated from its own length laws.

use super::Plan;
use crate::batching::Config;
use crate::distribution::Distribution;
use crate::fleet::config::{DeploymentConfig, TrafficConfig};
use crate::streams::{Stream, Streams};
use crate::workload::Pattern;

/// Requests drawn for an estimate.
const DRAWS: u32 = 4000;
/// A smaller share is not worth a warning.
const LEAST_SHARE: f64 = 0.001;

/// Models whose replicas hold no more than so many tokens of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct TooLong {
    /// Index of the provider.
    pub provider: usize,
    /// Deployments, by index.
    pub deployments: Vec<u32>,
    /// Prompt and answer together that fit \[tokens\].
    pub room: u64,
    /// Whether a replica has only a part of its GPUs' memory.
    pub is_part: bool,
    /// Share of users' requests that do not fit, 0 to 1, at the model that suffers most.
    pub share: f64,
    /// Whether the benchmark's own requests do not fit.
    pub hits_benchmark: bool,
}

/// Every provider's models with a share of requests that can never be served, models of equal room together.
pub fn too_long(plan: &Plan) -> Vec<TooLong> {
    let mut found: Vec<TooLong> = Vec::new();
    let mut known: Vec<([Distribution; 2], u64, f64)> = Vec::new();
    let asked = u64::from(plan.benchmark.prompt_tokens) + u64::from(plan.benchmark.output_tokens);
    for (provider, named) in plan.providers.iter().enumerate() {
        for (deployment, config) in (0..).zip(&named.fleet.deployments) {
            let Some((room, is_part)) = room(config) else {
                continue;
            };
            let shares = config
                .traffic
                .iter()
                .map(|one| share(plan.seed, one, room, &mut known));
            let share = shares.fold(0.0, f64::max);
            let hits_benchmark = asked > room && named.benchmarked.contains(&deployment);
            if share < LEAST_SHARE && !hits_benchmark {
                continue;
            }
            let is_like = |one: &&mut TooLong| {
                (one.provider, one.room, one.is_part) == (provider, room, is_part)
            };
            if let Some(like) = found.iter_mut().find(is_like) {
                like.deployments.push(deployment);
                like.share = like.share.max(share);
                like.hits_benchmark |= hits_benchmark;
            } else {
                found.push(TooLong {
                    provider,
                    deployments: vec![deployment],
                    room,
                    is_part,
                    share,
                    hits_benchmark,
                });
            }
        }
    }
    found
}

/// What the roomiest placement holds of a request, and whether it has only a part of its GPUs' memory.
fn room(config: &DeploymentConfig) -> Option<(u64, bool)> {
    let rooms = config
        .placements
        .iter()
        .map(|placement| match &placement.batching {
            Config::Continuous(batching) => {
                let cache = u64::from(batching.kv_blocks) * u64::from(batching.block_tokens);
                let room = cache.min(u64::from(batching.max_context_tokens));
                Some((room, placement.share.part() < 1.0))
            }
            Config::Slots { .. } | Config::Static(_) => None,
        });
    let rooms: Option<Vec<(u64, bool)>> = rooms.collect();
    rooms?.into_iter().max_by_key(|(room, _)| *room)
}

/// The share of a stream's requests that do not fit; `known` are those worked out before.
fn share(
    seed: u64,
    traffic: &TrafficConfig,
    room: u64,
    known: &mut Vec<([Distribution; 2], u64, f64)>,
) -> f64 {
    // A trace's rows have their own lengths; the replay says itself which are too long.
    if matches!(traffic.arrivals.pattern, Pattern::Trace(_)) {
        return 0.0;
    }
    let laws = [&traffic.prompt_tokens, &traffic.output_tokens].map(Clone::clone);
    let is_known = |one: &&([Distribution; 2], u64, f64)| one.0 == laws && one.1 == room;
    if let Some((.., share)) = known.iter().find(is_known) {
        return *share;
    }
    let mut stream = Streams::new(seed, 0).stream("too-long");
    let is_longer = |stream: &mut Stream| {
        let tokens: f64 = laws
            .iter()
            .map(|law| law.sample(stream).round().max(1.0))
            .sum();
        tokens > room as f64
    };
    let longer = (0..DRAWS).filter(|_| is_longer(&mut stream)).count();
    let share = longer as f64 / f64::from(DRAWS);
    known.push((laws, room, share));
    share
}
