//! Links that concurrent weight loads share fairly.
//!
//! Max-min fairness on one link: every load gets the same share unless it cannot take that much, in which case the others
//! divide the rest. Rates change only when a load joins or leaves, so progress is advanced in closed form between changes.

use crate::time::{Duration, Time};

/// A link and the loads on it.
#[derive(Clone, Debug)]
pub(super) struct Link {
    bytes_per_s: f64,
    loads: Vec<Load>,
    updated: Time,
    /// Changes whenever rates do: an event of an older generation is void.
    pub(super) generation: u32,
}

/// One replica's load.
#[derive(Clone, Debug)]
struct Load {
    replica: u32,
    remaining: f64,
    cap: f64,
    rate: f64,
}

impl Link {
    pub(super) fn new(bytes_per_s: f64) -> Self {
        Self {
            bytes_per_s,
            loads: Vec::new(),
            updated: Time::ZERO,
            generation: 0,
        }
    }

    /// Its capacity [bytes/s].
    pub(super) fn bytes_per_s(&self) -> f64 {
        self.bytes_per_s
    }

    /// Puts a load of `bytes` on the link.
    pub(super) fn add(&mut self, now: Time, replica: u32, bytes: f64, cap: f64) {
        self.progress(now);
        self.loads.push(Load {
            replica,
            remaining: bytes,
            cap,
            rate: 0.0,
        });
        self.share();
    }

    /// Takes a load off, finished or not.
    pub(super) fn remove(&mut self, now: Time, replica: u32) {
        self.progress(now);
        self.loads.retain(|load| load.replica != replica);
        self.share();
    }

    /// The replica whose load is through by `now`, taken off the link.
    pub(super) fn take_finished(&mut self, now: Time) -> Option<u32> {
        self.progress(now);
        // A load within a nanosecond of its end is through: completions are scheduled on whole nanoseconds.
        let index = self
            .loads
            .iter()
            .position(|load| load.remaining <= load.rate * 1e-9)?;
        let load = self.loads.remove(index);
        self.share();
        Some(load.replica)
    }

    /// When the next load is through.
    pub(super) fn next_finish(&self) -> Option<Time> {
        let seconds = self
            .loads
            .iter()
            .map(|load| load.remaining / load.rate)
            .min_by(f64::total_cmp)?;
        Some(self.updated + Duration::from_secs(seconds))
    }

    fn progress(&mut self, now: Time) {
        let elapsed = now.since(self.updated).as_secs();
        for load in &mut self.loads {
            load.remaining = (load.remaining - load.rate * elapsed).max(0.0);
        }
        self.updated = now;
    }

    /// Divides the capacity anew: narrowest loads first.
    fn share(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        let mut order: Vec<usize> = (0..self.loads.len()).collect();
        order.sort_by(|&a, &b| self.loads[a].cap.total_cmp(&self.loads[b].cap));
        let mut left = self.bytes_per_s;
        for (served, index) in order.into_iter().enumerate() {
            let share = left / (self.loads.len() - served) as f64;
            let load = &mut self.loads[index];
            load.rate = share.min(load.cap);
            left -= load.rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the link until it is empty; (replica, finish) in order.
    fn drain(link: &mut Link) -> Vec<(u32, Time)> {
        let mut finished = Vec::new();
        while let Some(at) = link.next_finish() {
            while let Some(replica) = link.take_finished(at) {
                finished.push((replica, at));
            }
        }
        finished
    }

    #[test]
    fn ten_loads_at_once_share_and_one_alone_does_not() {
        let mut link = Link::new(10e9);
        link.add(Time::ZERO, 0, 10e9, f64::INFINITY);
        assert_eq!(drain(&mut link), [(0, Time::from_secs(1.0))]);
        for replica in 0..10 {
            link.add(Time::from_secs(1.0), replica, 10e9, f64::INFINITY);
        }
        assert!(
            drain(&mut link)
                .iter()
                .all(|&(_, at)| at == Time::from_secs(11.0))
        );
    }

    #[test]
    fn a_narrow_load_leaves_the_rest_to_the_others() {
        let mut link = Link::new(10e9);
        link.add(Time::ZERO, 0, 2e9, 1e9);
        link.add(Time::ZERO, 1, 18e9, f64::INFINITY);
        assert_eq!(
            drain(&mut link),
            [(0, Time::from_secs(2.0)), (1, Time::from_secs(2.0))]
        );
    }

    #[test]
    fn a_late_load_slows_the_first_only_while_both_run() {
        let mut link = Link::new(10e9);
        link.add(Time::ZERO, 0, 10e9, f64::INFINITY);
        link.add(Time::from_secs(0.5), 1, 10e9, f64::INFINITY);
        // 5 GB left at 0.5 s, half speed: 1.5 s; then the second has 5 GB left at full speed: 2 s.
        assert_eq!(
            drain(&mut link),
            [(0, Time::from_secs(1.5)), (1, Time::from_secs(2.0))]
        );
    }
}
