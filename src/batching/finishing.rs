//! Who finishes next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Decoding sequences by the clock at which they finish, then by the number of their admission.
#[derive(Clone, Debug, Default)]
pub(super) struct Finishing(BinaryHeap<Finish>);

/// When a sequence finishes; the greatest comes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finish {
    pub(super) clock: u64,
    /// The number of the sequence's admission, and its slot: it may have left before, and the slot be another's.
    pub(super) admitted: u64,
    pub(super) slot: u32,
}

impl Finishing {
    #[inline]
    pub(super) fn push(&mut self, finish: Finish) {
        self.0.push(finish);
    }

    /// The earliest finish, after dropping those of sequences that are there no more.
    #[inline]
    pub(super) fn next(&mut self, is_there: impl Fn(&Finish) -> bool) -> Option<Finish> {
        while let Some(next) = self.0.peek() {
            if is_there(next) {
                return Some(*next);
            }
            self.0.pop();
        }
        None
    }

    /// Takes what [`Finishing::next`] has just returned.
    #[inline]
    pub(super) fn take_next(&mut self) {
        self.0.pop();
    }
}

impl Finish {
    /// One number is compared without a branch.
    #[inline]
    fn packed(&self) -> u128 {
        !(u128::from(self.clock) << 64 | u128::from(self.admitted))
    }
}

impl Ord for Finish {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.packed().cmp(&other.packed())
    }
}

impl PartialOrd for Finish {
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

impl PartialEq for Finish {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.packed() == other.packed()
    }
}

impl Eq for Finish {}
