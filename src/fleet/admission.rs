//! The hold queue: first come, first served within a priority, higher priorities first, never longer than its limit.

use crate::batching::Waiting;

/// Requests that wait for a replica.
#[derive(Clone, Debug, Default)]
pub(super) struct HoldQueue {
    waiting: Waiting<u32>,
}

/// What became of a request offered to a queue with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    /// It waits.
    Held,
    /// It waits; the newest of the lowest priority gave way.
    Displaced(u32),
    /// The queue is full of its equals or betters.
    Refused,
}

impl HoldQueue {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Offers a request to a queue of at most `limit`.
    pub(super) fn offer(&mut self, key: u32, priority: u8, limit: u32) -> Admitted {
        if self.waiting.len() < limit as usize {
            self.waiting.push(priority, key);
            return Admitted::Held;
        }
        match self.waiting.pop_last_below(priority) {
            Some(displaced) => {
                self.waiting.push(priority, key);
                Admitted::Displaced(displaced)
            }
            None => Admitted::Refused,
        }
    }

    /// The next request.
    #[inline]
    pub(super) fn head(&self) -> Option<u32> {
        self.waiting.front().copied()
    }

    /// The requests, in the order in which they will be served.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.waiting.iter().copied()
    }

    /// Takes the next request.
    pub(super) fn pop(&mut self) -> Option<u32> {
        self.waiting.pop()
    }

    /// Takes out a request that left; whether it was there.
    pub(super) fn remove(&mut self, key: u32) -> bool {
        self.waiting.remove(|other| *other == key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_wait_in_order_and_betters_go_first() {
        let mut queue = HoldQueue::default();
        for (key, priority) in [(1, 0), (2, 0), (3, 5), (4, 5), (5, 0)] {
            assert_eq!(queue.offer(key, priority, 10), Admitted::Held);
        }
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [3, 4, 1, 2, 5]);
    }

    #[test]
    fn a_full_queue_gives_up_its_newest_lowest_and_never_grows() {
        let mut queue = HoldQueue::default();
        queue.offer(1, 0, 2);
        queue.offer(2, 0, 2);
        assert_eq!(queue.offer(3, 0, 2), Admitted::Refused);
        assert_eq!(queue.offer(4, 1, 2), Admitted::Displaced(2));
        assert_eq!((queue.len(), queue.head()), (2, Some(4)));
    }
}
