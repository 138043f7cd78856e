//! Who finishes next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Decoding sequences by the clock at which they finish, then by the number of their admission.
#[derive(Clone, Debug, Default)]
pub(super) struct Finishing(BinaryHeap<Finish>);

/// When a sequence finishes; the greatest comes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finish {
    /// The clock and the number of the sequence's admission, inverted. One number is compared without a branch, and moved
    /// without waiting for its parts.
    order: u128,
    slot: u32,
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
            self.forget_next();
        }
        None
    }

    #[cold]
    fn forget_next(&mut self) {
        self.0.pop();
    }

    /// Takes what [`Finishing::next`] has just returned.
    #[inline]
    pub(super) fn take_next(&mut self) {
        self.0.pop();
    }
}

impl Finish {
    #[inline]
    pub(super) fn new(clock: u64, admitted: u64, slot: u32) -> Self {
        let order = !(u128::from(clock) << 64 | u128::from(admitted));
        Self { order, slot }
    }

    #[inline]
    pub(super) fn clock(&self) -> u64 {
        (!self.order >> 64) as u64
    }

    /// The number of the sequence's admission: it may have left before, and its slot be another's.
    #[inline]
    pub(super) fn admitted(&self) -> u64 {
        !self.order as u64
    }

    #[inline]
    pub(super) fn slot(&self) -> u32 {
        self.slot
    }
}

impl Ord for Finish {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

impl PartialOrd for Finish {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.order < other.order
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.order <= other.order
    }
}

impl PartialEq for Finish {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Finish {}
