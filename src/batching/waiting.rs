//! Jobs that a replica holds but has not started, by rank and then in order of hand-over.

use std::collections::VecDeque;

/// A queue by rank, first come first served within a rank.
#[derive(Clone, Debug)]
pub(super) struct Waiting<T> {
    /// Higher ranks first.
    entries: VecDeque<(u8, T)>,
}

impl<T> Waiting<T> {
    pub(super) fn new() -> Self {
        Self {
            entries: VecDeque::new(),
        }
    }

    /// Queues behind equals.
    #[inline]
    pub(super) fn push(&mut self, rank: u8, job: T) -> usize {
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
    pub(super) fn push_front(&mut self, rank: u8, job: T) {
        let place = self.entries.partition_point(|(other, _)| *other > rank);
        self.entries.insert(place, (rank, job));
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&T> {
        self.entries.front().map(|(_, job)| job)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        self.entries.pop_front().map(|(_, job)| job)
    }

    /// Removes the first job for which `wanted` holds.
    pub(super) fn remove(&mut self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let place = self.entries.iter().position(|(_, job)| wanted(job))?;
        self.entries.remove(place).map(|(_, job)| job)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, job)| job)
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
