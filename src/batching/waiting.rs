//! Who waits, by rank and then in order: jobs that a replica has not started, requests that no replica holds.

use std::collections::VecDeque;

/// A queue by rank, first come first served within a rank.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<T> {
    /// Higher ranks first.
    entries: VecDeque<(u8, T)>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
        }
    }
}

impl<T> Waiting<T> {
    /// Queues behind equals.
    #[inline(always)]
    pub(crate) fn push(&mut self, rank: u8, job: T) -> usize {
        let last = self.entries.back();
        if last.is_none_or(|(other, _)| *other >= rank) {
            self.entries.push_back((rank, job));
            return self.entries.len() - 1;
        }
        let place = self.entries.partition_point(|(other, _)| *other >= rank);
        self.entries.insert(place, (rank, job));
        place
    }

    /// Queues before equals: for a job that was already at work.
    pub(crate) fn push_front(&mut self, rank: u8, job: T) {
        let place = self.entries.partition_point(|(other, _)| *other > rank);
        self.entries.insert(place, (rank, job));
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.entries.front().map(|(_, job)| job)
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.entries.pop_front().map(|(_, job)| job)
    }

    /// Removes the last, if its rank is lower than `rank`.
    pub(crate) fn pop_last_below(&mut self, rank: u8) -> Option<T> {
        let (last, _) = self.entries.back()?;
        if *last >= rank {
            return None;
        }
        self.entries.pop_back().map(|(_, job)| job)
    }

    /// Removes the first job for which `wanted` holds.
    pub(crate) fn remove(&mut self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let place = self.entries.iter().position(|(_, job)| wanted(job))?;
        self.entries.remove(place).map(|(_, job)| job)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, job)| job)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
