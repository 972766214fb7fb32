//! The table of the index: a hash table in two levels of shards, of which an update copies one leaf and one
//! inner node.
//!
//! ```text
//! root ─64→ inner nodes ─64→ leaves: the hashes, ascending, and beside them the rows
//! ```
//!
//! The nodes are few and stay in the processor's cache; an access behind them is a cache miss. So the few rows of a usual
//! leaf are stored inline.
//!
//! An update copies only nodes that another table still shares, so many changes in a row copy each node once at most.
//! Rows with equal keys are adjacent.

use std::sync::Arc;

use smallvec::SmallVec;

const FANOUT: usize = 64;

/// Children of one node; an empty child takes no memory.
type Node<C> = [Option<Arc<C>>; FANOUT];

#[derive(Clone)]
pub(crate) struct Shards<T> {
    root: Arc<Node<Node<Leaf<T>>>>,
}

/// Number of rows that a leaf stores inline; more are in one heap allocation of exact size.
const INLINE_ROWS: usize = 4;

#[derive(Clone)]
struct Leaf<T> {
    hashes: SmallVec<[u32; INLINE_ROWS]>,
    rows: SmallVec<[T; INLINE_ROWS]>,
}

impl<T> Shards<T> {
    pub fn new() -> Self {
        Self { root: Arc::new(empty()) }
    }

    /// The run of rows with this hash: those of one key, and rarely of another.
    pub fn run(&self, hash: u64) -> &[T] {
        let path = LeafPath::of(hash);
        match self.root[path.root].as_deref().and_then(|inner| inner[path.inner].as_deref()) {
            Some(leaf) => leaf.run(path.leaf),
            None => &[],
        }
    }

    /// Reads the leaf of a hash to bring it into the processor's cache.
    pub fn touch_leaf(&self, hash: u64) -> usize {
        let path = LeafPath::of(hash);
        let leaf = self.root[path.root].as_deref().and_then(|inner| inner[path.inner].as_deref());
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
        // A lookup first, since `leaf_mut` copies.
        self.find(hash, &is)?;
        let path = LeafPath::of(hash);
        self.leaf_mut(&path).run_mut(path.leaf).iter_mut().find(|row| is(row))
    }

    /// Adds a row after those of its hash for which `follows` is true.
    pub fn insert(&mut self, hash: u64, row: T, follows: impl Fn(&T) -> bool) {
        let path = LeafPath::of(hash);
        self.leaf_mut(&path).insert(path.leaf, row, follows);
    }

    pub fn remove(&mut self, hash: u64, is: impl Fn(&T) -> bool) -> Option<T> {
        let within = self.run(hash).iter().position(is)?;
        let path = LeafPath::of(hash);
        let leaf = self.leaf_mut(&path);
        let row = leaf.remove(leaf.start(path.leaf) + within);
        if leaf.rows.is_empty() {
            self.prune(&path);
        }
        Some(row)
    }

    fn leaf_mut(&mut self, path: &LeafPath) -> &mut Leaf<T> {
        let inner = Arc::make_mut(&mut self.root)[path.root].get_or_insert_with(|| Arc::new(empty()));
        Arc::make_mut(Arc::make_mut(inner)[path.inner].get_or_insert_with(|| Arc::new(Leaf::new())))
    }

    /// Drops an empty leaf, and its node if it was the last one.
    fn prune(&mut self, path: &LeafPath) {
        let root = Arc::make_mut(&mut self.root);
        if let Some(inner) = &mut root[path.root] {
            let inner = Arc::make_mut(inner);
            inner[path.inner] = None;
            if inner.iter().all(Option::is_none) {
                root[path.root] = None;
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

/// Leaves are many and rarely written, so none keeps spare capacity.
fn insert<T>(all: &mut SmallVec<[T; INLINE_ROWS]>, at: usize, one: T) {
    all.reserve_exact(1);
    all.insert(at, one);
}

fn remove<T>(all: &mut SmallVec<[T; INLINE_ROWS]>, at: usize) -> T {
    let removed = all.remove(at);
    all.shrink_to_fit();
    removed
}

/// Edits a boxed slice as a vector.
pub(crate) fn edit<T, R>(boxed: &mut Box<[T]>, edit: impl FnOnce(&mut Vec<T>) -> R) -> R {
    let mut all = std::mem::take(boxed).into_vec();
    let result = edit(&mut all);
    *boxed = all.into_boxed_slice();
    result
}

fn empty<C>() -> Node<C> {
    [const { None }; FANOUT]
}

/// The path of a hash: six bits, six bits, and 32 bits that are compared in the leaf.
struct LeafPath {
    root: usize,
    inner: usize,
    leaf: u32,
}

impl LeafPath {
    fn of(hash: u64) -> Self {
        Self { root: (hash >> 58) as usize, inner: (hash >> 52) as usize % FANOUT, leaf: hash as u32 }
    }
}

#[cfg(test)]
mod tests;
