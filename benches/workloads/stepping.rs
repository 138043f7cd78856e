//! A replica with continuous batching, one iteration at a time by the oracle of the tests, and the same by the fast model.

#[expect(dead_code, reason = "the tests ask more of it")]
#[path = "../../src/batching/oracle.rs"]
mod oracle;

use oracle::{Event, simulate};
use thermocline::batching::{Admission, Config, ContinuousConfig, Cost, Executor, Job, StatedCost};
use thermocline::batching::{PromptChunk, Step};
use thermocline::time::{Duration, Time};

/// Sequences at once.
pub(crate) const BATCH: u32 = 32;
/// Tokens of an answer.
pub(crate) const OUTPUT: u32 = 300;

/// Full batches that come, each longer after the one before than that one takes.
const EVERY: Duration = Duration::from_nanos(5_000_000_000);

fn config() -> ContinuousConfig {
    ContinuousConfig {
        max_sequences: BATCH,
        max_batched_tokens: 8192,
        kv_blocks: 4000,
        block_tokens: 16,
        max_context_tokens: 4096,
        admission: Admission::Fcfs,
        cost: Cost::Stated(StatedCost {
            base_s: 8e-3,
            per_sequence_s: 50e-6,
            per_context_token_s: 40e-9,
            prefill_per_token_s: 20e-6,
            prefill_per_pair_s: 0.0,
        }),
    }
}

/// Full batches, one after the other.
pub(crate) struct Batches {
    config: Config,
    /// The same for the oracle.
    stepped: ContinuousConfig,
    jobs: Vec<(Time, Job)>,
    trace: Vec<(Time, Event)>,
}

impl Batches {
    /// So many jobs.
    pub(crate) fn new(count: u32) -> Self {
        let job = |key| Job {
            key,
            prompt_tokens: 200,
            cached_tokens: 0,
            output_tokens: OUTPUT,
            priority: 0,
            prefill: Duration::ZERO,
            decode: Duration::ZERO,
        };
        let at = |key| Time::ZERO + EVERY * u64::from(key / BATCH);
        let jobs: Vec<_> = (0..count).map(|key| (at(key), job(key))).collect();
        let arrive = |&(at, job)| (at, Event::Arrive(job));
        Self {
            config: Config::Continuous(config()),
            stepped: config(),
            trace: jobs.iter().map(arrive).collect(),
            jobs,
        }
    }

    /// When each job gives its first token, iteration by iteration \[s\].
    pub(crate) fn step_by_step(&self) -> Vec<f64> {
        let expected = simulate(&self.stepped, &self.trace).expected;
        let first_token = |job: oracle::Expected| job.first_token.expect("every job ends");
        expected.into_iter().map(first_token).collect()
    }

    /// The same by the fast model.
    pub(crate) fn change_by_change(&self) -> Vec<f64> {
        let mut executor = Executor::new(&self.config);
        let (mut first_tokens, mut steps) = (vec![0.0; self.jobs.len()], Vec::new());
        let mut jobs = self.jobs.iter().peekable();
        loop {
            let due = executor.wake_at().unwrap_or(Time::MAX);
            if let Some((at, job)) = jobs.next_if(|(at, _)| *at <= due) {
                executor.push(*at, job, &mut steps);
            } else if due < Time::MAX {
                executor.run(due, &mut steps);
            } else {
                return first_tokens;
            }
            for step in steps.drain(..) {
                if let Step::FirstToken { key, at, .. } = step {
                    first_tokens[key as usize] = at.as_secs();
                }
            }
        }
    }
}
