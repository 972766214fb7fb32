//! The owners of a zone in canonical order: an ordered tree whose nodes are shared between versions. A change copies the
//! leaf and the inner nodes above it; within one series of changes a node is copied once.

use std::sync::Arc;

use crate::leaf::{self, Entry, Leaf, MIN_OWNERS};
use crate::set::Sets;

/// Children of an inner node; more split it.
const MAX_CHILDREN: usize = 64;
/// Fewer children are joined with a neighbour's.
const MIN_CHILDREN: usize = 16;
/// Levels of inner nodes that a cursor can descend: more than any number of owners in memory needs.
const MAX_DEPTH: usize = 12;

#[derive(Clone, Debug)]
pub(crate) struct Tree {
    root: Arc<Inner>,
    owners: usize,
}

#[derive(Clone, Debug)]
struct Inner {
    /// The first key of each child, except that searches below the first one lead to it too.
    keys: Vec<Box<[u8]>>,
    children: Children,
}

#[derive(Clone, Debug)]
enum Children {
    Leaves(Vec<Leaf>),
    Inners(Vec<Arc<Inner>>),
}

impl Default for Tree {
    fn default() -> Tree {
        let root = Inner { keys: Vec::new(), children: Children::Leaves(Vec::new()) };
        Tree { root: Arc::new(root), owners: 0 }
    }
}

impl Tree {
    /// Builds a tree from keys in ascending order, each with its packed record sets.
    pub fn from_sorted<'e>(entries: impl Iterator<Item = (&'e [u8], Vec<u8>)>) -> Tree {
        let mut owners = 0;
        let mut leaves = Vec::new();
        let mut chunk: Vec<(&[u8], Vec<u8>)> = Vec::with_capacity(leaf::MAX_OWNERS);
        let pack =
            |chunk: &[(&[u8], Vec<u8>)]| leaf::split(chunk.iter().map(|(key, sets)| (*key, &sets[..])));
        for entry in entries {
            owners += 1;
            chunk.push(entry);
            if chunk.len() == leaf::MAX_OWNERS {
                leaves.append(&mut pack(&chunk));
                chunk.clear();
            }
        }
        leaves.append(&mut pack(&chunk));
        let mut level: Vec<Arc<Inner>> =
            chunks_of(leaves).map(|leaves| Arc::new(Inner::of_leaves(leaves))).collect();
        while level.len() > 1 {
            level = chunks_of(level).map(|inners| Arc::new(Inner::of_inners(inners))).collect();
        }
        level.pop().map_or_else(Tree::default, |root| Tree { root, owners })
    }

    pub fn len(&self) -> usize {
        self.owners
    }

    pub fn get(&self, key: &[u8]) -> Option<Sets<'_>> {
        let mut inner = &*self.root;
        loop {
            let at = inner.child_for(key)?;
            match &inner.children {
                Children::Inners(inners) => inner = &inners[at],
                Children::Leaves(leaves) => {
                    let leaf = &leaves[at];
                    return leaf.search(key).ok().map(|position| leaf.entry(position).sets);
                }
            }
        }
    }

    /// A cursor at a key, or between its neighbours if it is missing.
    pub fn seek(&self, key: &[u8]) -> Cursor<'_> {
        let mut cursor =
            Cursor { root: &self.root, path: [0; MAX_DEPTH], depth: 0, leaf: None, position: Err(0) };
        let mut inner = &*self.root;
        loop {
            let Some(at) = inner.child_for(key) else { return cursor };
            cursor.path[cursor.depth] = at as u16;
            cursor.depth += 1;
            match &inner.children {
                Children::Inners(inners) => inner = &inners[at],
                Children::Leaves(leaves) => {
                    cursor.leaf = Some(&leaves[at]);
                    cursor.position = leaves[at].search(key);
                    return cursor;
                }
            }
        }
    }

    /// All entries in canonical order.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_from(&[])
    }

    /// The entries from a key on.
    pub fn iter_from(&self, key: &[u8]) -> Iter<'_> {
        Iter { cursor: self.seek(key), started: false }
    }

    /// Replaces the record sets of an owner; none removes it.
    pub fn set(&mut self, key: &[u8], sets: &[u8]) {
        let known = self.get(key).is_some();
        if sets.is_empty() && !known {
            return;
        }
        let root = Arc::make_mut(&mut self.root);
        let above = root.set(key, sets);
        if let Some(sibling) = above {
            let old =
                std::mem::replace(root, Inner { keys: Vec::new(), children: Children::Inners(Vec::new()) });
            *root = Inner::of_inners(vec![Arc::new(old), Arc::new(sibling)]);
        }
        if let Children::Inners(inners) = &mut root.children
            && inners.len() == 1
            && let Some(only) = inners.pop()
        {
            self.root = only;
        }
        self.owners = self.owners + usize::from(!sets.is_empty()) - usize::from(known);
    }

    /// Octets of all leaves.
    pub fn octets(&self) -> usize {
        self.root.octets()
    }
}

fn chunks_of<T>(items: Vec<T>) -> impl Iterator<Item = Vec<T>> {
    let (count, mut items) = (items.len(), items.into_iter());
    let chunks = count.div_ceil(MAX_CHILDREN);
    (0..chunks).map(move |number| {
        let size = count * (number + 1) / chunks - count * number / chunks;
        items.by_ref().take(size).collect()
    })
}

impl Inner {
    fn of_leaves(leaves: Vec<Leaf>) -> Inner {
        let keys = leaves.iter().map(first_key).collect();
        Inner { keys, children: Children::Leaves(leaves) }
    }

    fn of_inners(inners: Vec<Arc<Inner>>) -> Inner {
        let keys = inners.iter().map(|inner| inner.keys.first().cloned().unwrap_or_default()).collect();
        Inner { keys, children: Children::Inners(inners) }
    }

    fn len(&self) -> usize {
        self.keys.len()
    }

    /// The child that has a key or would have it; None if there are no children.
    fn child_for(&self, key: &[u8]) -> Option<usize> {
        let after = self.keys.partition_point(|first| **first <= *key);
        (!self.keys.is_empty()).then(|| after.saturating_sub(1))
    }

    /// Replaces the record sets of an owner below. Returns a second node if this one became too large.
    fn set(&mut self, key: &[u8], sets: &[u8]) -> Option<Inner> {
        let at = self.child_for(key);
        match (&mut self.children, at) {
            (Children::Leaves(leaves), None) => {
                leaves.push(Leaf::pack(std::iter::once((key, sets))));
                self.keys.push(key.into());
            }
            (Children::Leaves(leaves), Some(at)) => {
                let mut new = leaves[at].with(key, sets);
                let mut replaced = at..at + 1;
                if new.len() == 1 && new[0].len() < MIN_OWNERS {
                    if let Some(next) = leaves.get(at + 1) {
                        new = new[0].join(next);
                        replaced.end += 1;
                    } else if let Some(before) = at.checked_sub(1) {
                        new = leaves[before].join(&new[0]);
                        replaced.start = before;
                    }
                }
                let keys: Vec<_> = new.iter().map(first_key).collect();
                leaves.splice(replaced.clone(), new);
                self.keys.splice(replaced, keys);
            }
            (Children::Inners(inners), Some(at)) => {
                let child = Arc::make_mut(&mut inners[at]);
                let sibling = child.set(key, sets);
                if let Some(first) = child.keys.first() {
                    self.keys[at] = first.clone();
                }
                if let Some(sibling) = sibling {
                    self.keys.insert(at + 1, sibling.keys.first().cloned().unwrap_or_default());
                    inners.insert(at + 1, Arc::new(sibling));
                } else if child.len() < MIN_CHILDREN {
                    join_inners(inners, &mut self.keys, at);
                }
            }
            (Children::Inners(_), None) => {}
        }
        (self.len() > MAX_CHILDREN).then(|| self.split())
    }

    /// Removes the second half of the children and returns it as a node.
    fn split(&mut self) -> Inner {
        let middle = self.len() / 2;
        let keys = self.keys.split_off(middle);
        let children = match &mut self.children {
            Children::Leaves(leaves) => Children::Leaves(leaves.split_off(middle)),
            Children::Inners(inners) => Children::Inners(inners.split_off(middle)),
        };
        Inner { keys, children }
    }

    fn octets(&self) -> usize {
        match &self.children {
            Children::Leaves(leaves) => leaves.iter().map(Leaf::octets).sum(),
            Children::Inners(inners) => inners.iter().map(|inner| inner.octets()).sum(),
        }
    }
}

/// Joins a small node with a neighbour, if both together are not too large. An empty one is removed.
fn join_inners(inners: &mut Vec<Arc<Inner>>, keys: &mut Vec<Box<[u8]>>, at: usize) {
    if inners[at].len() == 0 {
        inners.remove(at);
        keys.remove(at);
        return;
    }
    let left = if at + 1 < inners.len() { at } else { at.saturating_sub(1) };
    let Some(right) = inners.get(left + 1) else { return };
    if inners[left].len() + right.len() > MAX_CHILDREN {
        return;
    }
    let right = inners.remove(left + 1);
    keys.remove(left + 1);
    let node = Arc::make_mut(&mut inners[left]);
    node.keys.extend(right.keys.iter().cloned());
    match (&mut node.children, &right.children) {
        (Children::Leaves(leaves), Children::Leaves(more)) => leaves.extend_from_slice(more),
        (Children::Inners(inners), Children::Inners(more)) => inners.extend_from_slice(more),
        // All leaves are at the same depth.
        _ => {}
    }
}

fn first_key(leaf: &Leaf) -> Box<[u8]> {
    leaf.entry(0).key.into()
}

/// A place in the tree: at an entry or between two.
#[derive(Clone)]
pub(crate) struct Cursor<'t> {
    root: &'t Inner,
    /// The child taken at each level.
    path: [u16; MAX_DEPTH],
    depth: usize,
    leaf: Option<&'t Leaf>,
    /// The position in the leaf, or where the missing key would be.
    position: Result<usize, usize>,
}

impl<'t> Cursor<'t> {
    /// The entry at the cursor, if it is at one.
    pub fn entry(&self) -> Option<Entry<'t>> {
        Some(self.leaf?.entry(self.position.ok()?))
    }

    /// Moves to the entry before the cursor; false at the beginning, where the cursor stays.
    pub fn back(&mut self) -> bool {
        let Some(leaf) = self.leaf else { return false };
        let (Ok(at) | Err(at)) = self.position;
        if let Some(before) = at.checked_sub(1) {
            self.position = Ok(before);
            debug_assert!(before < leaf.len());
            return true;
        }
        if !self.step_leaf(|at, _| at.checked_sub(1)) {
            return false;
        }
        self.position = Ok(self.leaf.map_or(0, |leaf| leaf.len() - 1));
        true
    }

    /// Moves to the entry after the cursor; false at the end, where the cursor stays.
    pub fn forward(&mut self) -> bool {
        let Some(leaf) = self.leaf else { return false };
        let next = match self.position {
            Ok(at) => at + 1,
            Err(at) => at,
        };
        if next < leaf.len() {
            self.position = Ok(next);
            return true;
        }
        if !self.step_leaf(|at, len| Some(at + 1).filter(|next| *next < len)) {
            return false;
        }
        self.position = Ok(0);
        true
    }

    /// Moves to the neighbouring leaf that `step` leads to: from a child's number and their count to the next number.
    fn step_leaf(&mut self, step: impl Fn(usize, usize) -> Option<usize>) -> bool {
        let mut level = self.depth;
        while let Some(above) = level.checked_sub(1) {
            level = above;
            let inner = self.node(level);
            if let Some(next) = step(usize::from(self.path[level]), inner.len()) {
                self.path[level] = next as u16;
                self.descend(level, inner, &step);
                return true;
            }
        }
        false
    }

    /// The node at a level of the path.
    fn node(&self, level: usize) -> &'t Inner {
        let mut inner = self.root;
        for at in &self.path[..level] {
            match &inner.children {
                Children::Inners(inners) => inner = &inners[usize::from(*at)],
                Children::Leaves(_) => break,
            }
        }
        inner
    }

    /// Completes the path below a level on the side that the step came from.
    fn descend(&mut self, level: usize, mut inner: &'t Inner, step: &impl Fn(usize, usize) -> Option<usize>) {
        let forward = step(0, 2).is_some();
        for level in level.. {
            let at = usize::from(self.path[level]);
            match &inner.children {
                Children::Leaves(leaves) => {
                    self.leaf = leaves.get(at);
                    return;
                }
                Children::Inners(inners) => {
                    inner = &inners[at];
                    self.path[level + 1] = if forward { 0 } else { inner.len() as u16 - 1 };
                }
            }
        }
    }
}

/// The entries of a tree in canonical order.
pub(crate) struct Iter<'t> {
    cursor: Cursor<'t>,
    started: bool,
}

impl<'t> Iterator for Iter<'t> {
    type Item = Entry<'t>;

    fn next(&mut self) -> Option<Entry<'t>> {
        let first = !std::mem::replace(&mut self.started, true);
        if first && let Some(entry) = self.cursor.entry() {
            return Some(entry);
        }
        if self.cursor.forward() { self.cursor.entry() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn check(tree: &Tree, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
        assert_eq!(tree.len(), model.len());
        let found: Vec<_> = tree.iter().map(|entry| (entry.key.to_vec(), entry.sets.0.to_vec())).collect();
        let expected: Vec<_> = model.iter().map(|(key, sets)| (key.clone(), sets.clone())).collect();
        assert_eq!(found, expected);
        let mut backwards = Vec::new();
        let mut cursor = tree.seek(&[255, 255]);
        while cursor.back() {
            backwards.extend(cursor.entry().map(|entry| entry.key.to_vec()));
        }
        backwards.reverse();
        assert_eq!(backwards, model.keys().cloned().collect::<Vec<_>>());
    }

    fn key(number: u32) -> Vec<u8> {
        number.to_be_bytes()[1..].to_vec()
    }

    #[test]
    fn many_owners() {
        let mut model = BTreeMap::new();
        let mut tree = Tree::default();
        check(&tree, &model);
        for i in 0..20_000u32 {
            let number = i.wrapping_mul(2_654_435_761) >> 12;
            tree.set(&key(number), &[1, 2, 3]);
            model.insert(key(number), vec![1, 2, 3]);
        }
        check(&tree, &model);
        let sorted = Tree::from_sorted(model.iter().map(|(key, sets)| (&key[..], sets.clone())));
        check(&sorted, &model);
        let before = tree.clone();
        let all: Vec<Vec<u8>> = model.keys().cloned().collect();
        for gone in all.iter().filter(|key| key[2] % 7 != 0) {
            tree.set(gone, &[]);
            model.remove(gone);
        }
        check(&tree, &model);
        assert_eq!(before.len(), all.len());
        for gone in all {
            tree.set(&gone, &[]);
        }
        check(&tree, &BTreeMap::new());
        tree.set(b"a", b"again");
        assert_eq!(tree.get(b"a").map(|sets| sets.0), Some(&b"again"[..]));
    }

    /// A large owner does not share its leaf with so many that each of their changes copies it.
    #[test]
    fn large_owners_split_leaves() {
        let mut tree = Tree::default();
        for number in 0..20 {
            tree.set(&key(number), &[7; 5000]);
        }
        assert!(tree.root.len() >= 10, "{}", tree.root.len());
    }

    #[test]
    fn a_change_shares_all_other_leaves() {
        let entries: Vec<Vec<u8>> = (0..100_000).map(key).collect();
        let tree = Tree::from_sorted(entries.iter().map(|key| (&key[..], b"x".to_vec())));
        let mut changed = tree.clone();
        changed.set(&entries[5000], b"y");
        let leaves = |tree: &Tree| {
            let mut found = Vec::new();
            collect(&tree.root, &mut found);
            found
        };
        let (old, new) = (leaves(&tree), leaves(&changed));
        assert_eq!(old.iter().zip(&new).filter(|(a, b)| !a.same_as(b)).count(), 1);
    }

    fn collect(inner: &Inner, found: &mut Vec<Leaf>) {
        match &inner.children {
            Children::Leaves(leaves) => found.extend_from_slice(leaves),
            Children::Inners(inners) => inners.iter().for_each(|inner| collect(inner, found)),
        }
    }

    proptest! {
        #[test]
        fn equals_a_map(changes in proptest::collection::vec((0u32..400, 0usize..3), 0..1500)) {
            let mut model = BTreeMap::new();
            let mut tree = Tree::default();
            for (number, size) in changes {
                let sets = vec![9; size];
                tree.set(&key(number), &sets);
                if size == 0 { model.remove(&key(number)); } else { model.insert(key(number), sets); }
            }
            check(&tree, &model);
            for number in 0..400 {
                let mut cursor = tree.seek(&key(number));
                prop_assert_eq!(cursor.entry().is_some(), model.contains_key(&key(number)));
                let next = model.range(key(number)..).find(|(known, _)| **known != key(number));
                prop_assert_eq!(cursor.forward(), next.is_some());
                if let Some((next, _)) = next {
                    prop_assert_eq!(cursor.entry().map(|entry| entry.key), Some(&next[..]));
                }
            }
        }
    }
}
