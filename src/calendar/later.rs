//! Events that are not due soon, in buckets of time.
//!
//! The buckets of a lap cover equal spans one after the other, each a list in one arena, unsorted: an event costs the same
//! however many are pending. What is due behind the lap waits in a list of its own until the lap is over.

use super::Key;
use super::heap::Entry;

/// Events that a bucket should hold when the lap is laid out. More will come before it is due.
const HANDFUL: usize = 4;
/// Nearest events from whose density the width of the buckets is taken.
const SAMPLE: usize = 8 * HANDFUL;
/// Widest bucket, as a binary logarithm (ns): 18 minutes. The end of a lap stays far below what a clock can show.
const WIDEST: u32 = 40;
/// Most buckets, as a power of two.
const MOST_BUCKETS: usize = 1 << 16;
/// The end of a list; no node has this place.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Later<E> {
    /// The first node of each bucket's list.
    buckets: Vec<u32>,
    nodes: Vec<Node<E>>,
    /// The first of the nodes to be used again, in a list.
    vacant: u32,
    /// What is due behind the lap.
    behind: Vec<Entry<E>>,
    /// Events in buckets.
    in_lap: usize,
    /// When the lap begins (ns), and a bucket's width as a binary logarithm (ns).
    origin: u64,
    shift: u32,
    /// The next bucket.
    next: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node<E> {
    entry: Entry<E>,
    next: u32,
}

impl<E: Copy> Later<E> {
    pub(super) fn new() -> Self {
        Self {
            buckets: Vec::new(),
            nodes: Vec::new(),
            vacant: NONE,
            behind: Vec::new(),
            in_lap: 0,
            origin: 0,
            shift: 0,
            next: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.in_lap + self.behind.len()
    }

    /// The least key. Looks at all that one bucket holds, or all behind the lap.
    pub(super) fn least(&self) -> Option<Key> {
        if self.in_lap == 0 {
            return self.behind.iter().map(|(key, _)| *key).min();
        }
        let node = |place: u32| self.nodes.get(place as usize);
        let mut buckets = self.buckets[self.next..].iter();
        let first = buckets.find_map(|&first| node(first));
        let list = std::iter::successors(first, |there| node(there.next));
        list.map(|there| there.entry.0).min()
    }

    /// Keeps an event that is due no earlier than [`Later::take_bucket`] last said.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<E>) {
        match self.bucket(entry) {
            Some(bucket) => self.put(bucket, entry),
            None => self.behind.push(entry),
        }
    }

    /// The bucket that an event belongs to, unless that is behind the lap.
    #[inline]
    fn bucket(&self, entry: Entry<E>) -> Option<usize> {
        let bucket = (entry.0.at - self.origin) >> self.shift;
        (bucket < self.buckets.len() as u64).then_some(bucket as usize)
    }

    #[inline]
    fn put(&mut self, bucket: usize, entry: Entry<E>) {
        let first = &mut self.buckets[bucket];
        let node = Node {
            entry,
            next: *first,
        };
        self.in_lap += 1;
        if let Some(vacant) = self.nodes.get_mut(self.vacant as usize) {
            *first = self.vacant;
            self.vacant = vacant.next;
            *vacant = node;
        } else {
            *first = self.nodes.len() as u32;
            self.nodes.push(node);
        }
    }

    /// Hands over the events of the next bucket that has any, and returns when those that stay are due at the earliest (ns).
    pub(super) fn take_bucket(&mut self, mut take: impl FnMut(Entry<E>)) -> u64 {
        if self.in_lap == 0 {
            self.lay_out();
        }
        while self.buckets[self.next] == NONE {
            self.next += 1;
        }
        let mut node = std::mem::replace(&mut self.buckets[self.next], NONE);
        self.next += 1;
        while node != NONE {
            let there = &mut self.nodes[node as usize];
            take(there.entry);
            self.in_lap -= 1;
            (self.vacant, node, there.next) = (node, there.next, self.vacant);
        }
        self.origin.saturating_add((self.next as u64) << self.shift)
    }

    /// Puts an event behind the lap, whenever it is due: the next lap takes it in. To be called between laps.
    pub(super) fn push_behind(&mut self, entry: Entry<E>) {
        self.behind.push(entry);
    }

    /// Empties the buckets: everything is behind the lap now.
    pub(super) fn give_up_lap(&mut self) {
        while self.in_lap > 0 {
            let mut behind = std::mem::take(&mut self.behind);
            self.take_bucket(|entry| behind.push(entry));
            self.behind = behind;
        }
    }

    /// Takes everything, in no order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Entry<E>> {
        self.give_up_lap();
        self.behind.drain(..)
    }

    /// Lays out a lap from the first of the events behind the last one on. There is one, and no lap.
    fn lay_out(&mut self) {
        let at = |entry: &Entry<E>| entry.0.at;
        let nearest = SAMPLE.min(self.behind.len() - 1);
        let (before, last, _) = self.behind.select_nth_unstable_by_key(nearest, at);
        let last = last.0.at;
        self.origin = before.iter().map(at).min().unwrap_or(last);
        let width = (last - self.origin) / (nearest / HANDFUL).max(1) as u64;
        self.shift = width.max(1).ilog2().min(WIDEST);
        let buckets = self.behind.len().next_power_of_two().min(MOST_BUCKETS);
        self.buckets.resize(buckets, NONE);
        self.next = 0;
        for index in (0..self.behind.len()).rev() {
            let entry = self.behind[index];
            if let Some(bucket) = self.bucket(entry) {
                self.behind.swap_remove(index);
                self.put(bucket, entry);
            }
        }
    }
}
