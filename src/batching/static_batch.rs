//! Static batching: a batch forms, is computed together, padded to its longest member, and only then makes room for the next.
//!
//! An idle replica waits for its batch to fill, but not longer than the window after the first waiting job was handed over.
//! All prompts are computed in one pass padded to the longest, which gives everybody's first token; then all places decode
//! until the longest answer is done (the baseline of Orca, OSDI 2022, §2). Window zero and a constant batch time give the
//! bulk-service queue M/D^(1,b)/1 (Bailey 1954; Neuts 1967).

use super::segment::Segment;
use super::waiting::Waiting;
use super::{Cost, Counters, Job, Listener, Pace, PromptChunk, Step};
use crate::time::{Duration, Time};

/// A replica with static batching; already valid.
#[derive(Clone, Debug)]
pub struct StaticConfig {
    /// Most jobs in a batch, at least one.
    pub batch_size: u32,
    /// How long the first waiting job lets an idle replica wait for a full batch.
    pub window: Duration,
    /// Whether a job finishes with its own last token, or with the last of its batch. Its place stays taken in both cases.
    pub release_early: bool,
    /// How long a batch takes.
    pub time: BatchTime,
}

/// Where a batch's times come from.
#[derive(Clone, Debug)]
pub enum BatchTime {
    /// The longest stated prefill, then the longest stated decode time among the members.
    Stated,
    /// Iteration times of the padded batch.
    Modelled(Cost),
}

/// A replica with static batching.
#[derive(Clone, Debug)]
pub struct Static {
    config: StaticConfig,
    waiting: Waiting<Arrived>,
    /// Members of the current batch that are not done, last to finish first.
    batch: Vec<Member>,
    /// End of the current batch.
    end: Option<Time>,
    /// When the next batch starts, if no batch is under way.
    due: Option<Time>,
    counters: Counters,
}

#[derive(Clone, Copy, Debug)]
struct Arrived {
    job: Job,
    at: Time,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    job: Job,
    finish: Time,
}

/// The times of a batch.
struct Plan {
    first_token: Time,
    end: Time,
    /// The iterations after the first token.
    decode: Option<Segment>,
    iterations: u64,
}

impl Static {
    pub(super) fn new(config: StaticConfig) -> Self {
        Self {
            config,
            waiting: Waiting::default(),
            batch: Vec::new(),
            end: None,
            due: None,
            counters: Counters::default(),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.end.is_none() && self.waiting.len() < self.config.batch_size as usize
    }

    pub(super) fn push(&mut self, now: Time, job: &Job) {
        let arrived = Arrived { job: *job, at: now };
        self.waiting.push(job.priority, arrived);
        if self.end.is_none() {
            self.set_due(now);
        }
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        let finish = self.batch.last().map(|member| member.finish);
        finish.or(self.end).or(self.due)
    }

    pub(super) fn run(&mut self, now: Time, steps: &mut impl Listener) {
        let Some(end) = self.end else {
            self.start(now, steps);
            return;
        };
        while let Some(member) = self.batch.pop_if(|member| member.finish == now) {
            self.counters.finished += 1;
            self.counters.output_tokens += u64::from(member.job.output_tokens);
            self.counters.finished_tokens += u64::from(member.job.output_tokens);
            steps.hear(Step::Finished {
                key: member.job.key,
                at: now,
            });
        }
        if end == now || self.batch.is_empty() {
            self.end = None;
            self.set_due(now);
        }
    }

    /// A member's place stays taken until the batch ends; a batch without members ends at once.
    pub(super) fn cancel(&mut self, now: Time, key: u32) {
        if self
            .waiting
            .remove(|waiting| waiting.job.key == key)
            .is_none()
        {
            let members = self.batch.len();
            self.batch.retain(|member| member.job.key != key);
            if self.batch.is_empty() && members > 0 {
                self.end = None;
            }
        }
        if self.end.is_none() {
            self.set_due(now);
        }
    }

    pub(super) fn fail(&mut self) -> Vec<u32> {
        let members = self.batch.drain(..).rev().map(|member| member.job.key);
        let keys = members
            .chain(self.waiting.iter().map(|waiting| waiting.job.key))
            .collect();
        self.waiting.clear();
        (self.end, self.due) = (None, None);
        keys
    }

    pub(super) fn outstanding(&self) -> usize {
        self.batch.len() + self.waiting.len()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.end.is_none() && self.waiting.is_empty()
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn pace(&self, now: Time, key: u32, first: Time) -> Option<Pace> {
        let member = self.batch.iter().find(|member| member.job.key == key)?;
        let last = member.finish;
        Some(Pace::even(now, first, last, member.job.output_tokens))
    }

    /// Without a batch under way: now if a full batch waits, or else when the oldest job's window ends.
    fn set_due(&mut self, now: Time) {
        let oldest = self.waiting.iter().map(|waiting| waiting.at).min();
        let full = self.waiting.len() >= self.config.batch_size as usize;
        self.due = oldest.map(|at| {
            if full {
                now
            } else {
                now.max(at + self.config.window)
            }
        });
    }

    fn start(&mut self, now: Time, steps: &mut impl Listener) {
        self.due = None;
        while self.batch.len() < self.config.batch_size as usize
            && let Some(Arrived { job, .. }) = self.waiting.pop()
        {
            self.batch.push(Member { job, finish: now });
            steps.hear(Step::Joined {
                key: job.key,
                at: now,
            });
        }
        let plan = self.plan(now);
        for member in &mut self.batch {
            let prefill = self.config.own_prefill(&member.job);
            steps.hear(Step::FirstToken {
                key: member.job.key,
                at: plan.first_token,
                prefill,
            });
            member.finish = self.config.finish(&plan, &member.job);
        }
        // Stable, so equal finishes come in the order of joining.
        self.batch.reverse();
        self.batch
            .sort_by_key(|member| std::cmp::Reverse(member.finish));
        self.end = Some(plan.end);
        self.counters.iterations += plan.iterations;
        self.counters.segments += 1;
    }

    fn plan(&self, now: Time) -> Plan {
        match &self.config.time {
            BatchTime::Stated => {
                let longest = |time: fn(&Job) -> Duration| {
                    self.batch.iter().map(|member| time(&member.job)).max()
                };
                let first_token = now + longest(|job| job.prefill).unwrap_or_default();
                let end = first_token + longest(|job| job.decode).unwrap_or_default();
                Plan {
                    first_token,
                    end,
                    decode: None,
                    iterations: 1,
                }
            }
            BatchTime::Modelled(cost) => self.plan_padded(now, cost),
        }
    }

    /// One pass over all prompts, then one iteration per further token of the longest answer. A batch whose prompts are all
    /// cached has no such pass and gets its first tokens from its first iteration.
    fn plan_padded(&self, now: Time, cost: &Cost) -> Plan {
        let longest = |length: fn(&Job) -> u32| {
            self.batch
                .iter()
                .map(|member| length(&member.job))
                .max()
                .unwrap_or(0)
        };
        let sequences = self.batch.len() as u32;
        let places = f64::from(sequences);
        let uncached = longest(|job| job.prompt_tokens - job.cached_tokens);
        let pass = u64::from(uncached > 0);
        let prefill_s = if uncached == 0 {
            0.0
        } else {
            let before = longest(|job| job.cached_tokens);
            cost.pass(
                0,
                &vec![
                    PromptChunk {
                        tokens: uncached,
                        before
                    };
                    self.batch.len()
                ],
            )
        };
        let step = cost.step(sequences);
        let context = places * (f64::from(longest(|job| job.prompt_tokens)) + pass as f64);
        let iterations = u64::from(longest(|job| job.output_tokens)) - pass;
        let alpha = step.base_s + step.per_context_token_s * context;
        let prefilled = now + Duration::from_secs(prefill_s);
        let decode = Segment::new(
            prefilled,
            0.0,
            alpha,
            step.per_context_token_s * places,
            iterations,
        );
        Plan {
            first_token: decode.boundary(1 - pass),
            end: decode.end(),
            decode: Some(decode),
            iterations: iterations + pass,
        }
    }
}

impl StaticConfig {
    /// Time to compute the job's own prompt without padding.
    fn own_prefill(&self, job: &Job) -> Duration {
        match &self.time {
            BatchTime::Stated => job.prefill,
            BatchTime::Modelled(cost) => {
                Duration::from_secs(match job.prompt_tokens - job.cached_tokens {
                    0 => 0.0,
                    tokens => cost.prefill(PromptChunk {
                        tokens,
                        before: job.cached_tokens,
                    }),
                })
            }
        }
    }

    fn finish(&self, plan: &Plan, job: &Job) -> Time {
        match &plan.decode {
            _ if !self.release_early => plan.end,
            None => plan.first_token + job.decode,
            // The decode segment lacks the iteration of the first token if a prefill pass gave it.
            Some(decode) => {
                decode.boundary(u64::from(job.output_tokens) + decode.count() - plan.iterations)
            }
        }
    }
}
