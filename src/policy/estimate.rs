//! What a policy expects of a model with some warm replicas: its p95, from closed forms.
//!
//! With no warm replica the model sleeps after its keep-alive: one replica with room for all, Poisson requests and a constant
//! start, so requests that open a start wait for all of it and those that come during it for what is left
//! ([`crate::theory::KeptAlive`]). With warm replicas a request waits when all places are taken: the share of those is Erlang's
//! loss formula, and each waits for the next free place or, at most, for a start. Both leave out bursts and daily curves.

use crate::batching::{Config, PromptChunk};
use crate::fleet::config::{DeploymentConfig, KeepAlive, LinkConfig};
use crate::fleet::{PhaseTime, StartPlan};
use crate::theory::{KeptAlive, erlang_b};

/// The share of requests that a p95 leaves above it.
const ABOVE: f64 = 0.05;
/// Sequences at which a continuous batch is taken to run.
const PLANNED_SEQUENCES: u32 = 32;

/// How one replica of a model serves, in a few figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// Requests that a replica serves at once, at least one.
    pub places: u32,
    /// Mean time for which a request takes a place \[s\].
    pub mean_s: f64,
    /// Mean time to first token of a request that waits for nothing \[s\].
    pub first_token_s: f64,
    /// Mean time of a start from remote storage \[s\].
    pub start_s: f64,
    /// How long a replica above the warm pool is kept \[s\]; infinite where it stays.
    pub keep_alive_s: f64,
}

impl Service {
    /// Of a deployment in its first placement, for requests of these mean lengths \[tokens\].
    pub fn of(
        config: &DeploymentConfig,
        links: &[LinkConfig],
        prompt_tokens: f64,
        output_tokens: f64,
    ) -> Self {
        let placement = &config.placements[0];
        let stated = (config.prefill.mean(), config.decode.mean());
        let (places, first_token_s, mean_s) = match &placement.batching {
            Config::Slots { slots } => (*slots, stated.0, stated.0 + stated.1),
            Config::Static(batch) => (batch.batch_size, stated.0, stated.0 + stated.1),
            Config::Continuous(batch) => {
                let places = batch.max_sequences.min(PLANNED_SEQUENCES);
                let chunk = PromptChunk {
                    tokens: prompt_tokens.round().max(1.0) as u32,
                    before: 0,
                };
                let prefill = batch.cost.prefill(chunk);
                let step = batch.cost.step(places);
                let context = (prompt_tokens + output_tokens / 2.0) * f64::from(places);
                let step_s = step.base_s + step.per_context_token_s * context;
                // All places share the replica: each request holds it for its prompt and its part of the steps.
                let share = prefill + output_tokens * step_s / f64::from(places);
                (places, prefill + step_s, share * f64::from(places))
            }
        };
        let remote = placement.starts.last();
        Self {
            places: places.clamp(1, 1_000_000),
            mean_s,
            first_token_s,
            start_s: remote.map_or(0.0, |plan| mean_start_s(plan, links)),
            keep_alive_s: match &config.scaling.keep_alive {
                KeepAlive::For(span) => span.mean(),
                KeepAlive::Infinite => f64::INFINITY,
            },
        }
    }

    /// The 95 % quantile of the TTFT without warm replicas under this rate [1/s] \[s\].
    ///
    /// Of all requests, the share `trigger (1 + rate (start - t))` waits for more than `t`: those that open a start, and those that
    /// come in its first `start - t`.
    pub(super) fn ttft_p95_asleep_s(&self, rate: f64) -> f64 {
        self.first_token_s + self.wait_p95_asleep(rate)
    }

    fn wait_p95_asleep(&self, rate: f64) -> f64 {
        if rate <= 0.0 || self.keep_alive_s.is_infinite() {
            return 0.0;
        }
        let kept = KeptAlive::constant(rate, self.keep_alive_s, self.start_s, self.mean_s);
        let trigger = kept.trigger_share();
        if trigger >= ABOVE {
            return self.start_s;
        }
        (self.start_s - (ABOVE / trigger - 1.0) / rate).max(0.0)
    }

    /// The 95 % quantile of the TTFT with so many warm replicas, at least one, under this rate [1/s] \[s\].
    ///
    /// Those that find all places taken wait for the next free one, exponentially, and for no longer than a start.
    pub(super) fn ttft_p95_warm_s(&self, rate: f64, warm: u32) -> f64 {
        self.first_token_s + self.wait_p95_warm(rate, warm)
    }

    fn wait_p95_warm(&self, rate: f64, warm: u32) -> f64 {
        let places = warm.saturating_mul(self.places);
        let load = rate * self.mean_s;
        let waiting = erlang_b(load, places);
        if waiting <= ABOVE {
            return 0.0;
        }
        let spare = f64::from(places) - load;
        if spare <= 0.0 {
            return self.start_s;
        }
        let next = (waiting / ABOVE).ln() * self.mean_s / spare;
        next.min(self.start_s)
    }
}

/// The mean length of a start that shares its links with no other \[s\].
fn mean_start_s(plan: &StartPlan, links: &[LinkConfig]) -> f64 {
    let phase = |time: &PhaseTime| match time {
        PhaseTime::Stated(span) => span.mean(),
        PhaseTime::Transfer(transfer) => {
            let link = transfer.link.map(|index| links[index].bytes_per_s);
            let narrowest = link.map_or(transfer.cap_bytes_per_s, |capacity| {
                capacity.min(transfer.cap_bytes_per_s)
            });
            transfer.first_byte_s + transfer.bytes * transfer.spread.mean() / narrowest
        }
    };
    plan.phases.iter().map(|one| phase(&one.time)).sum()
}
