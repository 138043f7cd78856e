//! Drives one executor through a trace, as a fleet would, and asserts what its documentation promises.

use super::oracle::Event;
use super::{Config, Counters, Executor, Job, Step};
use crate::time::{Duration, Time};
use std::collections::VecDeque;

/// What became of a job.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) arrived: Time,
    pub(super) joined: Option<Time>,
    pub(super) first_token: Option<Time>,
    pub(super) prefill: Duration,
    pub(super) finished: Option<Time>,
    pub(super) dropped: bool,
    pub(super) cancelled: bool,
    pushed: bool,
    output_tokens: u32,
}

impl Seen {
    pub(super) fn joined_at(&self) -> Time {
        self.joined.expect("joined")
    }

    pub(super) fn first_token_at(&self) -> Time {
        self.first_token.expect("gave a token")
    }

    pub(super) fn finished_at(&self) -> Time {
        self.finished.expect("finished")
    }
}

#[derive(Debug)]
pub(super) struct Outcome {
    /// By key.
    pub(super) jobs: Vec<Seen>,
    pub(super) counters: Counters,
    /// Calls of `run`.
    pub(super) runs: u64,
}

struct Driver {
    executor: Executor,
    /// Jobs that the owner holds back until there is room; unused if it hands over at once.
    queue: VecDeque<Job>,
    late_binding: bool,
    jobs: Vec<Seen>,
    steps: Vec<Step>,
    runs: u64,
}

/// Runs `trace` (sorted by time, keys from zero) to its end. With `late_binding` the owner keeps a queue of its own.
pub(super) fn drive(config: &Config, trace: &[(Time, Event)], late_binding: bool) -> Outcome {
    let mut driver = Driver {
        executor: Executor::new(config),
        queue: VecDeque::new(),
        late_binding,
        jobs: vec![Seen::default(); trace.len()],
        steps: Vec::new(),
        runs: 0,
    };
    let mut trace = trace.iter().peekable();
    let mut now = Time::ZERO;
    loop {
        let due = driver.executor.wake_at().unwrap_or(Time::MAX);
        assert!(due >= now, "a wake-up in the past");
        if let Some((at, event)) = trace.next_if(|(at, _)| *at <= due) {
            now = *at;
            driver.happen(now, *event);
        } else if due < Time::MAX {
            now = due;
            driver.runs += 1;
            driver.executor.run(now, &mut driver.steps);
        } else {
            break;
        }
        driver.settle(now);
    }
    driver.end()
}

impl Driver {
    fn happen(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrive(job) => {
                let seen = &mut self.jobs[job.key as usize];
                (seen.arrived, seen.output_tokens) = (now, job.output_tokens);
                self.queue.push_back(job);
            }
            Event::Cancel(key) => {
                self.queue.retain(|job| job.key != key);
                self.executor.cancel(now, key, &mut self.steps);
                let seen = &mut self.jobs[key as usize];
                seen.cancelled = seen.finished.is_none() && !seen.dropped;
            }
        }
    }

    /// Reads the steps, hands over what there is room for, and checks that nothing stalls.
    fn settle(&mut self, now: Time) {
        self.read_steps(now);
        while let Some(job) = self.queue.front().copied()
            && (!self.late_binding || self.executor.has_room(now, &job))
        {
            self.queue.pop_front();
            self.jobs[job.key as usize].pushed = true;
            self.executor.push(now, &job, &mut self.steps);
            self.read_steps(now);
        }
        if self.executor.outstanding() > 0 || !self.queue.is_empty() {
            assert!(
                !self.executor.is_idle() && self.executor.wake_at().is_some(),
                "jobs wait at an idle replica"
            );
        }
    }

    fn read_steps(&mut self, now: Time) {
        for step in self.steps.drain(..) {
            let (Step::Joined { key, at }
            | Step::FirstToken { key, at, .. }
            | Step::Finished { key, at }
            | Step::Preempted { key, at }
            | Step::Dropped { key, at }) = step;
            let seen = &mut self.jobs[key as usize];
            assert!(at >= now && seen.pushed, "{step:?} at {now}");
            assert!(
                !seen.cancelled && !seen.dropped && seen.finished.is_none(),
                "{step:?} after its end"
            );
            match step {
                Step::Joined { .. } => _ = seen.joined.get_or_insert(at),
                Step::FirstToken { prefill, .. } => {
                    assert!(
                        seen.first_token.is_none()
                            && seen.joined.is_some_and(|joined| joined <= at)
                    );
                    (seen.first_token, seen.prefill) = (Some(at), prefill);
                }
                Step::Finished { .. } => {
                    assert!(at == now && seen.first_token.is_some_and(|first| first <= at));
                    seen.finished = Some(at);
                }
                Step::Preempted { .. } => assert!(seen.joined.is_some()),
                Step::Dropped { .. } => seen.dropped = true,
            }
        }
    }

    /// Everybody has ended, and tokens are conserved.
    fn end(self) -> Outcome {
        let counters = self.executor.counters();
        assert!(
            self.executor.is_idle()
                && self.executor.outstanding() == 0
                && self.executor.held_tokens() == 0
        );
        let finished = self.jobs.iter().filter(|seen| seen.finished.is_some());
        assert_eq!(finished.clone().count() as u64, counters.finished);
        assert_eq!(
            finished
                .map(|seen| u64::from(seen.output_tokens))
                .sum::<u64>(),
            counters.finished_tokens
        );
        assert_eq!(
            counters.output_tokens,
            counters.finished_tokens + counters.abandoned_tokens
        );
        for seen in self.jobs.iter().filter(|seen| seen.pushed) {
            assert!(
                seen.finished.is_some() || seen.dropped || seen.cancelled,
                "{seen:?} has no end"
            );
        }
        Outcome {
            jobs: self.jobs,
            counters,
            runs: self.runs,
        }
    }
}
