//! A 4-ary heap of events by their keys.

use super::Key;

/// An event under its key.
pub(super) type Entry<E> = (Key, E);

/// Children of a node.
const ARITY: usize = 4;

/// A key behind all others.
const NEVER: Key = Key {
    at: u64::MAX,
    order: u64::MAX,
};

/// Events, the one of the least key at the root.
#[derive(Clone, Debug)]
pub(super) struct Heap<E> {
    /// The root and families of [`ARITY`] siblings, of which the last is filled up with places that are never due: so no
    /// family needs a case of its own, and a missing child none either.
    entries: Vec<Entry<E>>,
    len: usize,
    /// Whether the event at the root has been taken. The next one pushed takes its place, so that an event that schedules
    /// its successor costs one pass through the heap instead of two.
    is_root_taken: bool,
}

impl<E: Copy> Heap<E> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            len: 0,
            is_root_taken: false,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len - usize::from(self.is_root_taken)
    }

    /// The least key.
    #[inline]
    pub(super) fn least(&self) -> Option<Key> {
        if self.len() == 0 {
            return None;
        }
        // Below a root that has been taken, the next one is among its children.
        let least = if self.is_root_taken {
            least_child(&self.entries, 0)?
        } else {
            0
        };
        Some(self.entries[least].0)
    }

    /// Adds an event; how many there are then, if more places are in use than before.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry<E>) -> Option<usize> {
        if self.is_root_taken {
            self.is_root_taken = false;
            self.sift_down(entry.0, entry.1);
            return None;
        }
        if self.len == self.entries.len() {
            let family = if self.len == 0 { 1 } else { ARITY };
            self.entries.resize(self.len + family, (NEVER, entry.1));
        }
        self.len += 1;
        self.sift_up(entry.0, entry.1);
        Some(self.len)
    }

    /// The event of the least key, which stays until [`Heap::take_first`].
    #[inline]
    pub(super) fn first(&mut self) -> Option<Entry<E>> {
        if self.is_root_taken {
            self.is_root_taken = false;
            self.remove_root();
        }
        self.peek()
    }

    /// The event of the least key, where none has just been taken.
    #[inline]
    pub(super) fn peek(&self) -> Option<Entry<E>> {
        if self.len == 0 {
            return None;
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
        let len = std::mem::take(&mut self.len);
        self.entries.drain(..).take(len).skip(skipped)
    }

    #[inline(always)]
    fn remove_root(&mut self) {
        self.len -= 1;
        let (key, event) = self.entries[self.len];
        self.entries[self.len].0 = NEVER;
        if self.len > 0 {
            self.sift_down(key, event);
        }
    }

    /// Puts an entry where it belongs on the way from the last place up: the others make room, each moved once. Its parts
    /// come apart, so that the key stays in registers.
    #[inline]
    fn sift_up(&mut self, key: Key, event: E) {
        let mut hole = self.len - 1;
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.entries[parent].0 <= key {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = (key, event);
    }

    /// Puts an entry where it belongs on the way from the root down.
    #[inline(always)]
    fn sift_down(&mut self, key: Key, event: E) {
        let entries = self.entries.as_mut_slice();
        let mut hole = 0;
        while let Some(child) = least_child(entries, hole)
            && entries[child].0 < key
        {
            entries[hole] = entries[child];
            hole = child;
        }
        entries[hole] = (key, event);
    }
}

/// The child of a node with the least key, if it has room for children.
#[inline]
fn least_child<E: Copy>(entries: &[Entry<E>], node: usize) -> Option<usize> {
    let first = node * ARITY + 1;
    let [a, b, c, d] = entries.get(first..first + ARITY)? else {
        return None;
    };
    // A tournament: two of its three comparisons do not wait for each other.
    let (left, left_key) = if b.0 < a.0 { (1, b.0) } else { (0, a.0) };
    let (right, right_key) = if d.0 < c.0 { (3, d.0) } else { (2, c.0) };
    Some(first + if right_key < left_key { right } else { left })
}
