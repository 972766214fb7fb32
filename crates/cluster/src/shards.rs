//! The table of the index: a hash table in two levels of shards, of which an update copies one leaf and one
//! inner node.
//!
//! ```text
//! root ─64→ inner nodes ─64→ leaves: the hashes, ascending, and beside them the rows
//! ```
//!
//! The nodes are few and stay in the processor's cache; everything behind them is waited for. So the few rows of a usual
//! leaf stand in the leaf itself.
//!
//! A copy is made only of what another table still shares, so many changes in a row copy each part once at most.
//! Rows may have equal keys; they stand next to each other then.

use std::sync::Arc;

use smallvec::SmallVec;

const FAN: usize = 64;

/// Children of one node; an empty child takes no memory.
type Node<C> = [Option<Arc<C>>; FAN];

#[derive(Clone)]
pub(crate) struct Shards<T> {
    root: Arc<Node<Node<Leaf<T>>>>,
}

/// Rows that a leaf has room for; more are elsewhere, in as much memory as they need.
const FEW: usize = 4;

#[derive(Clone)]
struct Leaf<T> {
    hashes: SmallVec<[u32; FEW]>,
    rows: SmallVec<[T; FEW]>,
}

impl<T> Shards<T> {
    pub fn new() -> Self {
        Self { root: Arc::new(empty()) }
    }

    /// The rows with this hash: those of one key, and rarely of another.
    pub fn run(&self, hash: u64) -> &[T] {
        let place = Place::of(hash);
        match self.root[place.root].as_deref().and_then(|inner| inner[place.inner].as_deref()) {
            Some(leaf) => leaf.run(place.leaf),
            None => &[],
        }
    }

    /// Reads the leaf of a hash, for nothing but to have it read.
    pub fn read_leaf(&self, hash: u64) -> usize {
        let place = Place::of(hash);
        let leaf = self.root[place.root].as_deref().and_then(|inner| inner[place.inner].as_deref());
        leaf.map_or(0, |leaf| leaf.hashes.len() ^ leaf.rows.len())
    }

    pub fn find(&self, hash: u64, is: impl Fn(&T) -> bool) -> Option<&T> {
        self.run(hash).iter().find(|row| is(row))
    }

    /// Every row, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.leaves().flat_map(|leaf| &leaf.rows)
    }

    fn leaves(&self) -> impl Iterator<Item = &Arc<Leaf<T>>> {
        self.root.iter().flatten().flat_map(|inner| inner.iter().flatten())
    }
}

impl<T: Clone> Shards<T> {
    pub fn find_mut(&mut self, hash: u64, is: impl Fn(&T) -> bool) -> Option<&mut T> {
        // Looking first, since writing copies.
        self.find(hash, &is)?;
        let place = Place::of(hash);
        self.leaf_mut(&place).run_mut(place.leaf).iter_mut().find(|row| is(row))
    }

    /// Adds a row, behind those of its hash for which `follows` is true.
    pub fn insert(&mut self, hash: u64, row: T, follows: impl Fn(&T) -> bool) {
        let place = Place::of(hash);
        self.leaf_mut(&place).insert(place.leaf, row, follows);
    }

    pub fn remove(&mut self, hash: u64, is: impl Fn(&T) -> bool) -> Option<T> {
        let within = self.run(hash).iter().position(is)?;
        let place = Place::of(hash);
        let leaf = self.leaf_mut(&place);
        let row = leaf.remove(leaf.start(place.leaf) + within);
        if leaf.rows.is_empty() {
            self.prune(&place);
        }
        Some(row)
    }

    fn leaf_mut(&mut self, place: &Place) -> &mut Leaf<T> {
        let inner = Arc::make_mut(&mut self.root)[place.root].get_or_insert_with(|| Arc::new(empty()));
        Arc::make_mut(Arc::make_mut(inner)[place.inner].get_or_insert_with(|| Arc::new(Leaf::new())))
    }

    /// Drops the empty leaf at a place, and its node if that was the last one.
    fn prune(&mut self, place: &Place) {
        let root = Arc::make_mut(&mut self.root);
        if let Some(inner) = &mut root[place.root] {
            let inner = Arc::make_mut(inner);
            inner[place.inner] = None;
            if inner.iter().all(Option::is_none) {
                root[place.root] = None;
            }
        }
    }
}

impl<T> Leaf<T> {
    fn new() -> Self {
        Self { hashes: SmallVec::new(), rows: SmallVec::new() }
    }

    fn start(&self, hash: u32) -> usize {
        self.hashes.partition_point(|&other| other < hash)
    }

    fn range(&self, hash: u32) -> std::ops::Range<usize> {
        let start = self.start(hash);
        let len = self.hashes[start..].iter().take_while(|&&other| other == hash).count();
        start..start + len
    }

    fn run(&self, hash: u32) -> &[T] {
        &self.rows[self.range(hash)]
    }

    fn run_mut(&mut self, hash: u32) -> &mut [T] {
        let range = self.range(hash);
        &mut self.rows[range]
    }

    fn insert(&mut self, hash: u32, row: T, follows: impl Fn(&T) -> bool) {
        let range = self.range(hash);
        let at = range.start + self.rows[range].partition_point(follows);
        insert(&mut self.hashes, at, hash);
        insert(&mut self.rows, at, row);
    }

    fn remove(&mut self, at: usize) -> T {
        remove(&mut self.hashes, at);
        remove(&mut self.rows, at)
    }
}

/// Leaves are many and seldom written: none has more memory than it needs.
fn insert<T>(all: &mut SmallVec<[T; FEW]>, at: usize, one: T) {
    all.reserve_exact(1);
    all.insert(at, one);
}

fn remove<T>(all: &mut SmallVec<[T; FEW]>, at: usize) -> T {
    let removed = all.remove(at);
    all.shrink_to_fit();
    removed
}

/// Edits a box as the vector it can be for a moment.
pub(crate) fn edit<T, R>(boxed: &mut Box<[T]>, edit: impl FnOnce(&mut Vec<T>) -> R) -> R {
    let mut all = std::mem::take(boxed).into_vec();
    let result = edit(&mut all);
    *boxed = all.into_boxed_slice();
    result
}

fn empty<C>() -> Node<C> {
    [const { None }; FAN]
}

/// Where a hash leads: six bits, six bits, and what is compared in the leaf.
struct Place {
    root: usize,
    inner: usize,
    leaf: u32,
}

impl Place {
    fn of(hash: u64) -> Self {
        Self { root: (hash >> 58) as usize, inner: (hash >> 52) as usize % FAN, leaf: hash as u32 }
    }
}

#[cfg(test)]
mod tests;
