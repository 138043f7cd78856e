//! The event calendar: pending events, ordered by time.
//!
//! Events at one instant are ordered by their class and then by when they were scheduled, so a run never depends on the heap's
//! shape. The calendar never goes back: an event before the last one popped is a bug.
//!
//! A few hundred events lie in a heap, which nothing beats. When there are more, only those that are due soon do; the others wait
//! unsorted in buckets of time (a calendar queue, R. Brown 1988, in front of a heap, as in the ladder queue of Tang, Goh and
//! Thng 2005), and a bucket is poured into the heap when its time has come. Which events lie where decides about speed alone.

#![expect(
    clippy::inline_always,
    reason = "the heap is the one hot place of a simulation"
)]

mod heap;
mod later;

use crate::time::Time;
use heap::{Entry, Heap};
use later::Later;
use std::cmp::Ordering;

/// Pending events of type `E`.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    /// What is due before `soon_until` (ns).
    soon: Heap<E>,
    soon_until: u64,
    later: Later<E>,
    /// Events in the heap that are too many.
    crowd: usize,
    sequence: u64,
    now: Time,
}

/// Events that a heap alone copes with best.
const FEW: usize = 512;

/// What decides the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// When it is due (ns).
    at: u64,
    /// The class, and below it the sequence number.
    order: u64,
}

/// Bits of the order below the class: the sequence number.
const SEQUENCE_BITS: u32 = 56;

impl Key {
    /// One number is compared without a branch.
    #[inline]
    fn packed(self) -> u128 {
        u128::from(self.at) << 64 | u128::from(self.order)
    }
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.packed().cmp(&other.packed())
    }
}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.packed() < other.packed()
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.packed() <= other.packed()
    }
}

impl<E: Copy> Calendar<E> {
    /// An empty calendar at the origin.
    pub fn new() -> Self {
        Self {
            soon: Heap::new(),
            soon_until: u64::MAX,
            later: Later::new(),
            crowd: FEW,
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
        self.soon.len() + self.later.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When the next event is due.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        let key = self.soon.least().or_else(|| self.later.least())?;
        Some(Time::from_nanos(key.at))
    }

    /// Schedules `event` at `at`; among equal instants the lower `class` comes first.
    ///
    /// # Panics
    /// If `at` lies in the past.
    #[inline]
    pub fn schedule(&mut self, at: Time, class: u8, event: E) {
        if at < self.now {
            is_past(at, self.now);
        }
        let key = Key {
            at: at.as_nanos(),
            order: u64::from(class) << SEQUENCE_BITS | self.sequence,
        };
        self.sequence += 1;
        if key.at >= self.soon_until {
            return self.later.push((key, event));
        }
        let grown = self.soon.push((key, event));
        if grown.is_some_and(|len| len > self.crowd) {
            self.spread();
        }
    }

    /// Whether another event is due at this very instant.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.next_at() == Some(self.now)
    }

    /// Moves to the next event if it is due before `until`; otherwise moves to `until`, whose own events stay pending.
    #[inline]
    pub fn pop_before(&mut self, until: Time) -> Option<E> {
        if let Some((key, event)) = self.first() {
            let at = Time::from_nanos(key.at);
            if at < until {
                self.now = at;
                self.soon.take_first();
                return Some(event);
            }
        }
        self.now = self.now.max(until);
        None
    }

    /// The next event.
    #[inline]
    fn first(&mut self) -> Option<Entry<E>> {
        let first = self.soon.first();
        if first.is_some() || self.later.len() == 0 {
            return first;
        }
        self.refill();
        self.soon.peek()
    }

    /// Pours the next bucket into the heap.
    fn refill(&mut self) {
        if self.later.len() <= FEW / 4 {
            self.gather();
        } else {
            self.soon_until = self.later.take_bucket(|entry| {
                self.soon.push(entry);
            });
        }
    }

    /// All that is left is few enough for the heap.
    fn gather(&mut self) {
        for entry in self.later.drain() {
            self.soon.push(entry);
        }
        (self.soon_until, self.crowd) = (u64::MAX, FEW);
    }

    /// Too many events are due soon: narrower buckets.
    #[cold]
    fn spread(&mut self) {
        self.later.give_up_lap();
        for entry in self.soon.drain() {
            self.later.push_behind(entry);
        }
        self.refill();
        // Where many are due at once, no bucket is narrow enough.
        self.crowd = FEW.max(4 * self.soon.len());
    }
}

#[cold]
fn is_past(at: Time, now: Time) -> ! {
    panic!("an event at {at}, before {now}")
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;
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

    proptest! {
        /// Enough of them for several laps; spans from nothing to years.
        #[test]
        fn many_events_near_and_far_keep_their_order(spans in prop::collection::vec((0_u32..56, 0_u8..4, 0_u32..4), 1000..4000)) {
            let mut calendar = Calendar::new();
            let mut model = std::collections::BTreeSet::new();
            for (index, &(bits, class, pops)) in spans.iter().enumerate() {
                let at = calendar.now() + Duration::from_nanos((1 << bits) - 1);
                calendar.schedule(at, class, index);
                model.insert((at, class, index));
                // As many come as go, behind the first few hundred.
                for _ in 0..if index < 800 { 0 } else { pops.saturating_sub(1) } {
                    let next = model.pop_first();
                    prop_assert_eq!(calendar.next_at(), next.map(|(at, ..)| at));
                    prop_assert_eq!(calendar.pop_before(Time::MAX), next.map(|(.., index)| index));
                    let is_due = model.first().is_some_and(|(at, ..)| *at == calendar.now());
                    prop_assert_eq!(calendar.is_due(), is_due);
                    prop_assert_eq!(calendar.len(), model.len());
                }
            }
            while let Some((.., index)) = model.pop_first() {
                prop_assert_eq!(calendar.pop_before(Time::MAX), Some(index));
            }
            prop_assert!(calendar.is_empty());
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
