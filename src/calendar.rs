//! The event calendar: pending events, ordered by time.
//!
//! Events at one instant are ordered by their class and then by when they were scheduled, so a run never depends on the heap's
//! shape. The calendar never goes back: an event before the last one popped is a bug. A 4-ary heap over one packed key
//! (time, class, sequence) is as quick as anything for the 10 to 10^4 pending events of a fleet.

use crate::time::Time;

/// Pending events of type `E`.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    heap: Vec<Entry<E>>,
    /// Whether the event at the root has been popped. The next one scheduled takes its place, so that an event that schedules
    /// its successor costs one pass through the heap instead of two.
    is_root_popped: bool,
    sequence: u64,
    now: Time,
}

/// An event under its key.
type Entry<E> = (u128, E);

/// Children of a heap node.
const ARITY: usize = 4;
/// Bits of the key below the class: the sequence number.
const SEQUENCE_BITS: u32 = 56;

impl<E: Copy> Calendar<E> {
    /// An empty calendar at the origin.
    pub fn new() -> Self {
        Self {
            heap: Vec::new(),
            is_root_popped: false,
            sequence: 0,
            now: Time::ZERO,
        }
    }

    /// The instant of the last event popped, or the latest one waited for.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.is_root_popped)
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Time> {
        // Below a root that has been popped, the next one is among its children.
        let (from, until) = if self.is_root_popped {
            (1, ARITY + 1)
        } else {
            (0, 1)
        };
        let first = self.heap.iter().take(until).skip(from);
        let key = first.map(|(key, _)| *key).min()?;
        Some(Time::from_nanos((key >> 64) as u64))
    }

    /// Schedules `event` at `at`; among equal instants the lower `class` comes first.
    ///
    /// # Panics
    /// If `at` lies in the past.
    #[inline]
    pub fn schedule(&mut self, at: Time, class: u8, event: E) {
        assert!(at >= self.now, "an event at {at}, before {}", self.now);
        let key = u128::from(at.as_nanos()) << 64
            | u128::from(class) << SEQUENCE_BITS
            | u128::from(self.sequence);
        self.sequence += 1;
        if self.is_root_popped {
            self.is_root_popped = false;
            self.sift_down((key, event));
        } else {
            self.heap.push((key, event));
            self.sift_up((key, event));
        }
    }

    /// Moves to the next event if it is due before `until`; otherwise moves to `until`, whose own events stay pending.
    #[inline]
    pub fn pop_before(&mut self, until: Time) -> Option<E> {
        if self.is_root_popped {
            self.is_root_popped = false;
            self.remove_root();
        }
        if let Some(&(key, event)) = self.heap.first() {
            let at = Time::from_nanos((key >> 64) as u64);
            if at < until {
                self.now = at;
                self.is_root_popped = true;
                return Some(event);
            }
        }
        self.now = self.now.max(until);
        None
    }

    fn remove_root(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Puts an entry where it belongs on the way from the last place up: the others make room, each moved once.
    fn sift_up(&mut self, entry: Entry<E>) {
        let mut hole = self.heap.len() - 1;
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent].0 <= entry.0 {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Puts an entry where it belongs on the way from the root down.
    fn sift_down(&mut self, entry: Entry<E>) {
        let heap = self.heap.as_mut_slice();
        let mut hole = 0;
        while let Some(child) = least_child(heap, hole)
            && heap[child].0 < entry.0
        {
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = entry;
    }
}

/// The child of a node with the least key.
#[inline]
fn least_child<E: Copy>(heap: &[Entry<E>], node: usize) -> Option<usize> {
    let first = node * ARITY + 1;
    if let Some([a, b, c, d]) = heap.get(first..first + ARITY) {
        // A tournament: two of its three comparisons do not wait for each other.
        let (left, left_key) = if b.0 < a.0 { (1, b.0) } else { (0, a.0) };
        let (right, right_key) = if d.0 < c.0 { (3, d.0) } else { (2, c.0) };
        return Some(first + if right_key < left_key { right } else { left });
    }
    (first..heap.len()).min_by_key(|&child| heap[child].0)
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
