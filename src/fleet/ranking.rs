//! Replicas in the order in which they are looked at.
//!
//! Ranks are unique. Under most orders replicas come to an end and are taken from an end, which costs the same however many
//! there are.

use std::collections::VecDeque;

/// Replicas by ascending rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranking {
    entries: VecDeque<(u128, u32)>,
}

impl Ranking {
    /// Puts a replica in its place.
    #[inline]
    pub(super) fn insert(&mut self, rank: u128, replica: u32) {
        let entry = (rank, replica);
        if self.entries.back().is_none_or(|last| last.0 < rank) {
            self.entries.push_back(entry);
        } else if self.entries.front().is_none_or(|first| first.0 > rank) {
            self.entries.push_front(entry);
        } else {
            let place = self.entries.partition_point(|other| other.0 < rank);
            self.entries.insert(place, entry);
        }
    }

    /// Takes the replica of this rank out, if it is there.
    #[inline]
    pub(super) fn remove(&mut self, rank: u128) {
        if self.entries.front().is_some_and(|first| first.0 == rank) {
            self.entries.pop_front();
        } else if let Ok(place) = self.entries.binary_search_by_key(&rank, |entry| entry.0) {
            self.entries.remove(place);
        }
    }

    /// The replica of the lowest rank for which `fits` holds: nearly always the first of all.
    #[inline]
    pub(super) fn find(&self, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let (_, first) = *self.entries.front()?;
        if fits(first) {
            return Some(first);
        }
        self.iter().skip(1).find(|&replica| fits(replica))
    }

    /// The replicas, lowest rank first.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|&(_, replica)| replica)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn replicas_come_in_the_order_of_their_ranks(changes in prop::collection::vec((any::<bool>(), 0_u32..20), 0..100)) {
            let (mut ranking, mut model) = (Ranking::default(), std::collections::BTreeSet::new());
            for (comes, replica) in changes {
                if !comes {
                    ranking.remove(u128::from(replica));
                    model.remove(&replica);
                } else if model.insert(replica) {
                    ranking.insert(u128::from(replica), replica);
                }
                prop_assert!(ranking.iter().eq(model.iter().copied()));
            }
        }
    }
}
