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
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Puts a replica in its place.
    #[inline]
    pub(super) fn insert(&mut self, rank: u128, replica: u32) {
        if self.entries.front().is_none_or(|first| first.0 > rank) {
            self.entries.push_front((rank, replica));
        } else {
            self.insert_behind(rank, replica);
        }
    }

    /// Puts a replica in its place, which is not the first.
    #[inline(never)]
    fn insert_behind(&mut self, rank: u128, replica: u32) {
        let entry = (rank, replica);
        if self.entries.back().is_some_and(|last| last.0 < rank) {
            self.entries.push_back(entry);
        } else {
            let place = self.entries.partition_point(|other| other.0 < rank);
            self.entries.insert(place, entry);
        }
    }

    /// Gives a replica another rank, or takes it in or out.
    #[inline(always)]
    pub(super) fn relist(&mut self, old: Option<u128>, new: Option<u128>, replica: u32) {
        match (old, new) {
            (Some(old), Some(new)) => self.change(old, new),
            (Some(old), None) => self.remove(old),
            (None, Some(new)) => self.insert(new, replica),
            (None, None) => {}
        }
    }

    /// Takes the replica of this rank out, if it is there.
    #[inline]
    pub(super) fn remove(&mut self, rank: u128) {
        if self.entries.front().is_some_and(|first| first.0 == rank) {
            self.entries.pop_front();
        } else {
            self.remove_behind(rank);
        }
    }

    /// Takes the replica of this rank out, if it is there and not the first.
    #[inline(never)]
    fn remove_behind(&mut self, rank: u128) {
        if let Ok(place) = self.search(rank) {
            self.entries.remove(place);
        }
    }

    /// Gives the replica of rank `old` the rank `new`, if it is there; only those between the two move.
    #[inline(never)]
    pub(super) fn change(&mut self, old: u128, new: u128) {
        let Some(mut place) = self.place_of(old) else {
            return;
        };
        let entries = self.entries.make_contiguous();
        let replica = entries[place].1;
        while let Some(next) = entries.get(place + 1)
            && next.0 < new
        {
            entries[place] = *next;
            place += 1;
        }
        while place > 0 && entries[place - 1].0 > new {
            entries[place] = entries[place - 1];
            place -= 1;
        }
        entries[place] = (new, replica);
    }

    #[inline]
    fn place_of(&self, rank: u128) -> Option<usize> {
        if self.entries.front().is_some_and(|first| first.0 == rank) {
            return Some(0);
        }
        self.search(rank).ok()
    }

    fn search(&self, rank: u128) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&rank, |entry| entry.0)
    }

    /// The replica of the lowest rank.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        self.entries.front().map(|&(_, replica)| replica)
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
        fn replicas_come_in_the_order_of_their_ranks(changes in prop::collection::vec((0..3, 0_u128..20, 0_u128..20), 0..100)) {
            let (mut ranking, mut model) = (Ranking::default(), std::collections::BTreeMap::new());
            for (replica, (change, rank, other)) in (0_u32..).zip(changes) {
                match change {
                    0 => {
                        ranking.remove(rank);
                        model.remove(&rank);
                    }
                    1 if rank == other || !model.contains_key(&other) => {
                        ranking.change(rank, other);
                        if let Some(replica) = model.remove(&rank) {
                            model.insert(other, replica);
                        }
                    }
                    2 if !model.contains_key(&rank) => {
                        ranking.insert(rank, replica);
                        model.insert(rank, replica);
                    }
                    _ => {}
                }
                prop_assert!(ranking.iter().eq(model.values().copied()));
            }
        }
    }
}
