//! Independent places with stated service times: the textbook queues.
//!
//! A job that finds a free place starts at once, gives its first token after its stated prefill time and finishes after its
//! stated decode time; places do not slow each other. Jobs beyond the places wait here by priority, then in order.

use super::waiting::Waiting;
use super::{Counters, Job, Listener, Pace, Step};
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A replica with a fixed number of places.
#[derive(Clone, Debug)]
pub struct Slots {
    places: usize,
    /// Jobs at work, earliest end first; equal ends in order of start.
    running: BinaryHeap<Reverse<Running>>,
    waiting: Waiting<Job>,
    started: u64,
    counters: Counters,
}

/// A job in a slot; ordered by its end, then by its start number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Running {
    /// Its end (ns), and below it its start number: as one, they are moved without waiting for each.
    order: u128,
    key: u32,
    output_tokens: u32,
}

impl Running {
    #[inline]
    fn end(&self) -> Time {
        Time::from_nanos((self.order >> 64) as u64)
    }

    fn number(&self) -> u64 {
        self.order as u64
    }
}

impl Slots {
    pub(super) fn new(slots: u32) -> Self {
        Self {
            places: slots as usize,
            running: BinaryHeap::new(),
            waiting: Waiting::default(),
            started: 0,
            counters: Counters::default(),
        }
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.running.len() < self.places
    }

    #[inline]
    pub(super) fn push(&mut self, now: Time, job: &Job, steps: &mut impl Listener) {
        if self.has_room() {
            self.start(now, job, steps);
        } else {
            self.waiting.push(job.priority, *job);
        }
    }

    #[inline]
    pub(super) fn wake_at(&self) -> Option<Time> {
        self.running.peek().map(|Reverse(next)| next.end())
    }

    #[inline]
    pub(super) fn run(&mut self, now: Time, steps: &mut impl Listener) {
        while let Some(Reverse(next)) = self.running.peek().copied()
            && next.end() == now
        {
            self.running.pop();
            self.counters.finished += 1;
            self.counters.output_tokens += u64::from(next.output_tokens);
            self.counters.finished_tokens += u64::from(next.output_tokens);
            steps.hear(Step::Finished {
                key: next.key,
                at: now,
            });
        }
        self.fill(now, steps);
    }

    pub(super) fn cancel(&mut self, now: Time, key: u32, steps: &mut impl Listener) {
        if self.waiting.remove(|job| job.key == key).is_none() {
            self.running.retain(|Reverse(job)| job.key != key);
            self.fill(now, steps);
        }
    }

    pub(super) fn fail(&mut self) -> Vec<u32> {
        let mut running: Vec<_> = self
            .running
            .drain()
            .map(|Reverse(job)| (job.number(), job.key))
            .collect();
        running.sort_unstable();
        let keys = running.into_iter().map(|(_, key)| key);
        let keys = keys.chain(self.waiting.iter().map(|job| job.key)).collect();
        self.waiting.clear();
        keys
    }

    #[inline]
    pub(super) fn outstanding(&self) -> usize {
        self.running.len() + self.waiting.len()
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn pace(&self, now: Time, key: u32, first: Time) -> Option<Pace> {
        let Reverse(job) = self.running.iter().find(|Reverse(job)| job.key == key)?;
        Some(Pace::even(now, first, job.end(), job.output_tokens))
    }

    /// Starts waiting jobs in free slots.
    #[inline]
    fn fill(&mut self, now: Time, steps: &mut impl Listener) {
        if !self.waiting.is_empty() {
            self.start_waiting(now, steps);
        }
    }

    #[cold]
    fn start_waiting(&mut self, now: Time, steps: &mut impl Listener) {
        while self.has_room()
            && let Some(job) = self.waiting.pop()
        {
            self.start(now, &job, steps);
        }
    }

    #[inline(always)]
    fn start(&mut self, now: Time, job: &Job, steps: &mut impl Listener) {
        let first = now + job.prefill;
        self.started += 1;
        let end = (first + job.decode).as_nanos();
        self.running.push(Reverse(Running {
            order: u128::from(end) << 64 | u128::from(self.started),
            key: job.key,
            output_tokens: job.output_tokens,
        }));
        steps.hear(Step::Joined {
            key: job.key,
            at: now,
        });
        steps.hear(Step::FirstToken {
            key: job.key,
            at: first,
            prefill: job.prefill,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(1.0) * seconds
    }

    fn job(key: u32, priority: u8) -> Job {
        Job {
            key,
            prompt_tokens: 10,
            cached_tokens: 0,
            output_tokens: 5,
            priority,
            prefill: Duration::from_secs(1.0),
            decode: Duration::from_secs(2.0),
        }
    }

    #[test]
    fn a_job_takes_its_stated_times_and_the_next_follows_at_once() {
        let (mut slots, mut steps) = (Slots::new(1), Vec::new());
        slots.push(at(1), &job(7, 0), &mut steps);
        slots.push(at(2), &job(8, 0), &mut steps);
        assert_eq!(slots.wake_at(), Some(at(4)));
        slots.run(at(4), &mut steps);
        slots.run(at(7), &mut steps);
        let prefill = Duration::from_secs(1.0);
        let expected = [
            Step::Joined { key: 7, at: at(1) },
            Step::FirstToken {
                key: 7,
                at: at(2),
                prefill,
            },
            Step::Finished { key: 7, at: at(4) },
            Step::Joined { key: 8, at: at(4) },
            Step::FirstToken {
                key: 8,
                at: at(5),
                prefill,
            },
            Step::Finished { key: 8, at: at(7) },
        ];
        assert_eq!(steps, expected);
        assert_eq!(slots.wake_at(), None);
        assert_eq!(slots.counters().output_tokens, 10);
    }

    #[test]
    fn a_cancel_frees_the_slot_at_once_and_the_highest_priority_takes_it() {
        let (mut slots, mut steps) = (Slots::new(1), Vec::new());
        for (key, priority) in [(1, 0), (2, 0), (3, 5), (4, 5)] {
            slots.push(at(0), &job(key, priority), &mut steps);
        }
        slots.cancel(at(1), 1, &mut steps);
        assert!(steps.contains(&Step::Joined { key: 3, at: at(1) }));
        slots.cancel(at(1), 4, &mut steps);
        assert_eq!(slots.outstanding(), 2);
        assert_eq!(slots.fail(), [3, 2]);
        assert_eq!((slots.outstanding(), slots.wake_at()), (0, None));
    }

    #[test]
    fn equal_ends_come_in_order_of_start() {
        let (mut slots, mut steps) = (Slots::new(3), Vec::new());
        for key in [9, 4, 6] {
            slots.push(at(0), &job(key, 0), &mut steps);
        }
        steps.clear();
        slots.run(at(3), &mut steps);
        assert_eq!(
            steps,
            [9, 4, 6].map(|key| Step::Finished { key, at: at(3) })
        );
    }
}
