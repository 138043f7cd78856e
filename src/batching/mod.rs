//! How a replica works through the requests it holds: slots, continuous batching, static batching.
//!
//! An [`Executor`] is a small state machine without a clock or a calendar of its own. Its owner hands over jobs
//! ([`Executor::push`]), calls [`Executor::run`] at exactly [`Executor::wake_at`], and hears what happens in each call as
//! [`Step`]s.
//!
//! **The protocol of one instant.** A batch's members are fixed by a call of `run`, not by `push`: a job pushed to an idle
//! replica makes `wake_at` equal to now, so that all jobs handed over at one instant start together; and every boundary is
//! run in two calls at the same instant, so that its owner can fill freed places in between, and jobs that come or go at
//! the very instant of a boundary find it open, whether or not iterations were skipped before it. The owner
//! therefore does, after every call: act on the steps, push queued jobs while [`Executor::has_room`], ask `wake_at` again. If
//! it says now, it calls `run` once nothing else happens at this instant. A job pushed
//! after the batch of this instant has been fixed joins at the next boundary.
//!
//! **Promises.** Every job pushed ends in exactly one of `Finished`, `Dropped`, a `cancel`, or the list that `fail` returns;
//! `Joined <= FirstToken <= Finished`; no step mentions a key after its end, so the owner may use the key again at once,
//! even if the replica still works on a cancelled job until its boundary.

#![expect(
    clippy::inline_always,
    reason = "a job's way through an iteration is one hot path: its calls were a twentieth of its instructions"
)]

#[cfg(test)]
mod agreement;
mod continuous;
#[cfg(test)]
mod drive;
mod finishing;
mod iteration_time;
mod kv_cache;
#[cfg(test)]
mod oracle;
mod pace;
mod segment;
mod slots;
mod static_batch;
#[cfg(test)]
mod tests;
mod waiting;

pub use continuous::{Admission, Continuous, ContinuousConfig};
pub use iteration_time::{Coefficients, Cost, IterationCost, PromptChunk, StatedCost};
pub use pace::Pace;
pub use slots::Slots;
pub use static_batch::{BatchTime, Static, StaticConfig};
pub(crate) use waiting::Waiting;

use crate::time::{Duration, Time};
use std::hint::cold_path;

/// One request as a replica sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The owner's name for it; unique among the jobs a replica holds.
    pub key: u32,
    /// Length of the prompt (tokens).
    pub prompt_tokens: u32,
    /// How much of the prompt the prefix cache spares (tokens), at most `prompt_tokens`.
    pub cached_tokens: u32,
    /// Length of the answer (tokens), at least one.
    pub output_tokens: u32,
    /// Higher goes first; equal priorities stay in order of hand-over.
    pub priority: u8,
    /// Stated time to the first token once started; used by slots and by static batching with stated times.
    pub prefill: Duration,
    /// Stated time from the first token to the last; used like `prefill`.
    pub decode: Duration,
}

impl Job {
    /// Prompt and answer (tokens).
    #[inline]
    pub fn tokens(&self) -> u64 {
        u64::from(self.prompt_tokens) + u64::from(self.output_tokens)
    }
}

/// What a replica did with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Work on it began. Comes again after a preemption.
    Joined {
        /// The job.
        key: u32,
        /// When.
        at: Time,
    },
    /// Its first token leaves the replica. Comes once.
    FirstToken {
        /// The job.
        key: u32,
        /// When: possibly after the call that said so, because the end of an iteration is certain once it begins. Void if
        /// the job is cancelled or the replica fails before.
        at: Time,
        /// Time spent computing its own prompt, without waiting and without others' work.
        prefill: Duration,
    },
    /// Its last token left the replica, which no longer holds it.
    Finished {
        /// The job.
        key: u32,
        /// When: the instant of the call.
        at: Time,
    },
    /// It lost its KV blocks and waits at the replica to be computed again.
    Preempted {
        /// The job.
        key: u32,
        /// When: the instant of the call.
        at: Time,
    },
    /// It can never fit on this replica, which does not hold it.
    Dropped {
        /// The job.
        key: u32,
        /// When: the instant of the call.
        at: Time,
    },
}

/// Hears what a replica does, in the order in which it happens.
pub trait Listener {
    /// The replica did this.
    fn hear(&mut self, step: Step);
}

/// Keeps all steps.
impl Listener for Vec<Step> {
    fn hear(&mut self, step: Step) {
        self.push(step);
    }
}

/// How a deployment's replicas execute; already valid.
#[derive(Clone, Debug)]
pub enum Config {
    /// Independent places with stated service times.
    Slots {
        /// Number of places, at least one.
        slots: u32,
    },
    /// Sequences join and leave between iterations.
    Continuous(ContinuousConfig),
    /// Batches that start and end together.
    Static(StaticConfig),
}

impl Config {
    /// Requests with which a replica has no room for any more that it could serve, where there is such a number.
    pub fn most_requests(&self) -> Option<u32> {
        match self {
            Self::Slots { slots } => Some(*slots),
            Self::Continuous(config) => Some(config.max_sequences),
            Self::Static(_) => None,
        }
    }

    /// Longest prompt and answer together that an empty replica could serve (tokens); `push` drops a longer job.
    pub fn most_tokens(&self) -> u64 {
        match self {
            Self::Continuous(config) => config.most_tokens(),
            Self::Slots { .. } | Self::Static(_) => u64::MAX,
        }
    }

    /// Longest prompt and answer together that the context takes (tokens), where there is a limit.
    pub fn max_context_tokens(&self) -> Option<u32> {
        match self {
            Self::Continuous(config) => Some(config.max_context_tokens),
            Self::Slots { .. } | Self::Static(_) => None,
        }
    }
}

/// Totals since a replica began, for conservation checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Passes over the batch. Slots have none.
    pub iterations: u64,
    /// Runs of iterations that were advanced in one event.
    pub segments: u64,
    /// Output tokens produced, up to the last boundary. Equals `finished_tokens` plus `abandoned_tokens` plus those of jobs
    /// still held.
    pub output_tokens: u64,
    /// Output tokens of finished jobs.
    pub finished_tokens: u64,
    /// Output tokens of jobs that were cancelled or died with the replica.
    pub abandoned_tokens: u64,
    /// Prompt tokens computed, recomputation included.
    pub prefill_tokens: u64,
    /// Jobs that lost their KV blocks.
    pub preemptions: u64,
    /// Jobs finished.
    pub finished: u64,
}

/// The work of one replica.
#[derive(Clone, Debug)]
pub enum Executor {
    /// See [`Slots`].
    Slots(Box<Slots>),
    /// See [`Continuous`].
    Continuous(Box<Continuous>),
    /// See [`Static`].
    Static(Box<Static>),
}

impl Executor {
    /// An idle replica.
    pub fn new(config: &Config) -> Self {
        match config {
            Config::Slots { slots } => Self::Slots(Box::new(Slots::new(*slots))),
            Config::Continuous(config) => {
                Self::Continuous(Box::new(Continuous::new(config.clone())))
            }
            Config::Static(config) => Self::Static(Box::new(Static::new(config.clone()))),
        }
    }

    /// Whether `job` would start at the next boundary if handed over now. Always true of an idle replica, and of
    /// a job that can never fit, so that it is dropped instead of waiting for ever. A job pushed without room is not lost: it waits at the replica.
    #[inline(always)]
    pub fn has_room(&self, now: Time, job: &Job) -> bool {
        match self {
            Self::Slots(slots) => slots.has_room(),
            Self::Continuous(batch) => batch.has_room(now, job),
            Self::Static(batch) => {
                cold_path();
                batch.has_room()
            }
        }
    }

    /// Hands `job` over.
    #[inline(always)]
    pub fn push(&mut self, now: Time, job: &Job, steps: &mut impl Listener) {
        match self {
            Self::Slots(slots) => slots.push(now, job, steps),
            Self::Continuous(batch) => batch.push(now, job, steps),
            Self::Static(batch) => {
                cold_path();
                batch.push(now, job);
            }
        }
    }

    /// When `run` must be called next; `None` when there is nothing to do. May move with every call.
    #[inline]
    pub fn wake_at(&self) -> Option<Time> {
        match self {
            Self::Slots(slots) => slots.wake_at(),
            Self::Continuous(batch) => batch.wake_at(),
            Self::Static(batch) => {
                cold_path();
                batch.wake_at()
            }
        }
    }

    /// Does what is due. `now` must be `wake_at`.
    #[inline(always)]
    pub fn run(&mut self, now: Time, steps: &mut impl Listener) {
        debug_assert_eq!(self.wake_at(), Some(now), "run at another time");
        match self {
            Self::Slots(slots) => slots.run(now, steps),
            Self::Continuous(batch) => batch.run(now, steps),
            Self::Static(batch) => {
                cold_path();
                batch.run(now, steps);
            }
        }
    }

    /// Forgets the job called `key`: its client left. A slot is free at once; in a batch the work stops at the next
    /// boundary. Nothing happens if no such job is held.
    pub fn cancel(&mut self, now: Time, key: u32, steps: &mut impl Listener) {
        match self {
            Self::Slots(slots) => slots.cancel(now, key, steps),
            Self::Continuous(batch) => batch.cancel(now, key),
            Self::Static(batch) => batch.cancel(now, key),
        }
    }

    /// The replica died: forgets everything and returns the keys of all jobs it held, in a fixed order.
    pub fn fail(&mut self, now: Time) -> Vec<u32> {
        match self {
            Self::Slots(slots) => slots.fail(),
            Self::Continuous(batch) => batch.fail(now),
            Self::Static(batch) => batch.fail(),
        }
    }

    /// Number of jobs held, waiting or running; not those cancelled.
    #[inline]
    pub fn outstanding(&self) -> usize {
        match self {
            Self::Slots(slots) => slots.outstanding(),
            Self::Continuous(batch) => batch.outstanding(),
            Self::Static(batch) => {
                cold_path();
                batch.outstanding()
            }
        }
    }

    /// Whether nothing runs and nothing waits. A cancelled job keeps a batch busy until its boundary.
    #[inline]
    pub fn is_idle(&self) -> bool {
        match self {
            Self::Slots(slots) => slots.outstanding() == 0,
            Self::Continuous(batch) => batch.is_idle(),
            Self::Static(batch) => {
                cold_path();
                batch.is_idle()
            }
        }
    }

    /// Totals so far.
    pub fn counters(&self) -> Counters {
        match self {
            Self::Slots(slots) => slots.counters(),
            Self::Continuous(batch) => batch.counters(),
            Self::Static(batch) => batch.counters(),
        }
    }

    /// How far the answer of the job called `key` is at `now`, with everything due by then done; its first token leaves at
    /// `first`. `None` if no such job is at work.
    pub fn pace(&self, now: Time, key: u32, first: Time) -> Option<Pace> {
        match self {
            Self::Slots(slots) => slots.pace(now, key, first),
            Self::Continuous(batch) => batch.pace(now, key),
            Self::Static(batch) => batch.pace(now, key, first),
        }
    }

    /// Output tokens that the jobs still held have got, up to the last boundary. Only continuous batching credits a job
    /// before its end.
    pub fn held_tokens(&self) -> u64 {
        match self {
            Self::Continuous(batch) => batch.held_tokens(),
            Self::Slots(_) | Self::Static(_) => 0,
        }
    }
}
