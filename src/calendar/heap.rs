//! A 4-ary heap of events by their keys.

use super::Key;

/// An event under its key.
pub(super) type Entry<E> = (Key, E);

/// Children of a node.
const ARITY: usize = 4;

/// Events, the one of the least key at the root.
#[derive(Clone, Debug)]
pub(super) struct Heap<E> {
    entries: Vec<Entry<E>>,
    /// Whether the event at the root has been taken. The next one pushed takes its place, so that an event that schedules
    /// its successor costs one pass through the heap instead of two.
    is_root_taken: bool,
}

impl<E: Copy> Heap<E> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            is_root_taken: false,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len() - usize::from(self.is_root_taken)
    }

    /// The least key.
    #[inline]
    pub(super) fn least(&self) -> Option<Key> {
        // Below a root that has been taken, the next one is among its children.
        let (from, until) = if self.is_root_taken {
            (1, ARITY + 1)
        } else {
            (0, 1)
        };
        let until = until.min(self.entries.len());
        let leading = self.entries.get(from..until).unwrap_or_default();
        leading.iter().map(|(key, _)| *key).min()
    }

    /// Adds an event; how many there are then, if more places are in use than before.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<E>) -> Option<usize> {
        if self.is_root_taken {
            self.is_root_taken = false;
            self.sift_down(entry);
            None
        } else {
            self.entries.push(entry);
            self.sift_up(entry);
            Some(self.entries.len())
        }
    }

    /// The event of the least key, which stays until [`Heap::take_first`].
    #[inline]
    pub(super) fn first(&mut self) -> Option<Entry<E>> {
        if self.is_root_taken {
            self.is_root_taken = false;
            self.remove_root();
        }
        self.entries.first().copied()
    }

    /// Takes what [`Heap::first`] has just returned.
    #[inline]
    pub(super) fn take_first(&mut self) {
        self.is_root_taken = true;
    }

    /// Takes everything, in no order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Entry<E>> {
        let skipped = usize::from(std::mem::take(&mut self.is_root_taken));
        self.entries.drain(..).skip(skipped)
    }

    fn remove_root(&mut self) {
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Puts an entry where it belongs on the way from the last place up: the others make room, each moved once.
    fn sift_up(&mut self, entry: Entry<E>) {
        let mut hole = self.entries.len() - 1;
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.entries[parent].0 <= entry.0 {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = entry;
    }

    /// Puts an entry where it belongs on the way from the root down.
    fn sift_down(&mut self, entry: Entry<E>) {
        let entries = self.entries.as_mut_slice();
        let mut hole = 0;
        while let Some(child) = least_child(entries, hole)
            && entries[child].0 < entry.0
        {
            entries[hole] = entries[child];
            hole = child;
        }
        entries[hole] = entry;
    }
}

/// The child of a node with the least key.
#[inline]
fn least_child<E: Copy>(entries: &[Entry<E>], node: usize) -> Option<usize> {
    let first = node * ARITY + 1;
    if let Some([a, b, c, d]) = entries.get(first..first + ARITY) {
        // A tournament: two of its three comparisons do not wait for each other.
        let (left, left_key) = if b.0 < a.0 { (1, b.0) } else { (0, a.0) };
        let (right, right_key) = if d.0 < c.0 { (3, d.0) } else { (2, c.0) };
        return Some(first + if right_key < left_key { right } else { left });
    }
    (first..entries.len()).min_by_key(|&child| entries[child].0)
}
