//! The event calendar: pending events, ordered by time.
//!
//! Events at one instant are ordered by their class and then by when they were scheduled, so a run never depends on the heap's
//! shape. The calendar never goes back: an event before the last one popped is a bug. A 4-ary heap over one packed key
//! (time, class, sequence) is as quick as anything for the 10 to 10^4 pending events of a fleet.

use crate::time::Time;

/// Pending events of type `E`.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    heap: Vec<(u128, E)>,
    sequence: u64,
    now: Time,
}

/// Children of a heap node.
const ARITY: usize = 4;
/// Bits of the key below the class: the sequence number.
const SEQUENCE_BITS: u32 = 56;

impl<E: Copy> Calendar<E> {
    /// An empty calendar at the origin.
    pub fn new() -> Self {
        Self {
            heap: Vec::new(),
            sequence: 0,
            now: Time::ZERO,
        }
    }

    /// The instant of the last event popped, or the latest one waited for.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Schedules `event` at `at`; among equal instants the lower `class` comes first.
    ///
    /// # Panics
    /// If `at` lies in the past.
    pub fn schedule(&mut self, at: Time, class: u8, event: E) {
        assert!(at >= self.now, "an event at {at}, before {}", self.now);
        let key = u128::from(at.as_nanos()) << 64
            | u128::from(class) << SEQUENCE_BITS
            | u128::from(self.sequence);
        self.sequence += 1;
        self.heap.push((key, event));
        self.sift_up(self.heap.len() - 1);
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Time> {
        self.heap
            .first()
            .map(|(key, _)| Time::from_nanos((key >> 64) as u64))
    }

    /// Moves to the next event if it is due before `until`; otherwise moves to `until`, whose own events stay pending.
    pub fn pop_before(&mut self, until: Time) -> Option<E> {
        match self.next_at() {
            Some(at) if at < until => {
                self.now = at;
                let last = self.heap.len() - 1;
                self.heap.swap(0, last);
                let (_, event) = self.heap.pop()?;
                self.sift_down(0);
                Some(event)
            }
            _ => {
                self.now = self.now.max(until);
                None
            }
        }
    }

    fn sift_up(&mut self, mut child: usize) {
        while child > 0 {
            let parent = (child - 1) / ARITY;
            if self.heap[parent].0 <= self.heap[child].0 {
                return;
            }
            self.heap.swap(parent, child);
            child = parent;
        }
    }

    fn sift_down(&mut self, mut parent: usize) {
        loop {
            let first = parent * ARITY + 1;
            let last = (first + ARITY).min(self.heap.len());
            let Some(least) = (first..last).min_by_key(|&child| self.heap[child].0) else {
                return;
            };
            if self.heap[parent].0 <= self.heap[least].0 {
                return;
            }
            self.heap.swap(parent, least);
            parent = least;
        }
    }
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pops_in_the_order_of_a_stable_sort(events in prop::collection::vec((0_u64..50, 0_u8..4), 0..200)) {
            let mut calendar = Calendar::new();
            for (index, &(at, class)) in events.iter().enumerate() {
                calendar.schedule(Time::from_nanos(at), class, index);
            }
            let mut expected: Vec<usize> = (0..events.len()).collect();
            expected.sort_by_key(|&index| events[index]);
            let popped: Vec<usize> = std::iter::from_fn(|| calendar.pop_before(Time::MAX)).collect();
            prop_assert_eq!(popped, expected);
        }
    }

    #[test]
    fn waiting_moves_the_clock() {
        let mut calendar = Calendar::new();
        calendar.schedule(Time::from_secs(2.0), 0, ());
        assert_eq!(calendar.pop_before(Time::from_secs(2.0)), None);
        assert_eq!(calendar.now(), Time::from_secs(2.0));
        assert_eq!(calendar.pop_before(Time::from_secs(2.1)), Some(()));
        assert_eq!(calendar.now(), Time::from_secs(2.0));
    }

    #[test]
    #[should_panic(expected = "before")]
    fn the_past_is_closed() {
        let mut calendar = Calendar::new();
        calendar.schedule(Time::from_secs(2.0), 0, ());
        calendar.pop_before(Time::MAX);
        calendar.schedule(Time::from_secs(1.0), 0, ());
    }
}
