use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::Shards;

/// A pseudo-random hash without a seed, so that failures repeat.
fn hash(n: u32) -> u64 {
    let mut x = u64::from(n).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 32)
}

fn filled(len: u32) -> Shards<Arc<u32>> {
    let mut table = Shards::new();
    for n in 0..len {
        table.insert(hash(n), Arc::new(n), |_| true);
    }
    table
}

/// Number of leaves and of inner nodes that the tables do not share.
fn copied<T>(a: &Shards<T>, b: &Shards<T>) -> (usize, usize) {
    fn differ<C>(a: &[Option<Arc<C>>], b: &[Option<Arc<C>>]) -> usize {
        let same = |(a, b): &(&Option<Arc<C>>, &Option<Arc<C>>)| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        a.iter().zip(b).filter(|pair| !same(pair)).count()
    }
    let nodes = a.root.iter().zip(&*b.root);
    let leaves = nodes.filter_map(|(a, b)| Some(differ(&a.as_ref()?[..], &b.as_ref()?[..]))).sum();
    (leaves, differ(&a.root[..], &b.root[..]))
}

#[test]
fn an_update_among_50_000_copies_one_leaf() {
    let mut table = filled(50_000);
    assert_eq!(table.iter().count(), 50_000);
    let longest = table.leaves().map(|leaf| leaf.rows.len()).max();
    assert!(longest.is_some_and(|longest| longest < 40), "{longest:?} rows in a leaf");

    let before = table.clone();
    *table.find_mut(hash(7), |row| **row == 7).expect("it was inserted") = Arc::new(7);
    assert_eq!(copied(&before, &table), (1, 1));

    let before = table.clone();
    table.remove(hash(8), |row| **row == 8).expect("it was inserted");
    assert_eq!(copied(&before, &table), (1, 1));
    table.insert(hash(8), Arc::new(8), |_| true);
    assert_eq!(copied(&before, &table), (1, 1), "the copy is written to again");

    let before = table.clone();
    assert!(table.remove(hash(50_001), |row| **row == 50_001).is_none());
    assert!(table.find_mut(hash(50_001), |row| **row == 50_001).is_none());
    assert_eq!(copied(&before, &table), (0, 0), "a missing row copies nothing");
}

#[test]
fn nothing_is_copied_for_a_table_that_is_not_shared() {
    let mut table = filled(1_000);
    let leaves = |table: &Shards<Arc<u32>>| table.leaves().map(Arc::as_ptr).collect::<Vec<_>>();
    let before = leaves(&table);
    for n in 0..1_000 {
        *table.find_mut(hash(n), |row| **row == n).expect("it was inserted") = Arc::new(n);
    }
    assert_eq!(leaves(&table), before);
}

#[test]
fn an_empty_table_has_no_nodes() {
    let mut table = filled(1_000);
    for n in 0..1_000 {
        assert_eq!(table.remove(hash(n), |row| **row == n).as_deref(), Some(&n));
    }
    assert!(table.root.iter().all(Option::is_none) && table.iter().next().is_none());
}

#[test]
fn rows_of_one_hash_are_ordered_by_the_caller() {
    let mut table = Shards::new();
    for row in [5, 1, 4, 2, 3] {
        table.insert(77, row, |other| *other < row);
    }
    // Another hash with the same leaf.
    table.insert(78, 0, |_| true);
    assert_eq!(table.run(77), [1, 2, 3, 4, 5]);
    assert_eq!(table.run(78), [0]);
    assert!(table.run(76).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Few keys of few hashes, so that leaves fill, collide and empty.
    #[test]
    fn a_table_is_a_map(steps in prop::collection::vec((0u32..40, any::<Option<u8>>(), any::<bool>()), 0..200)) {
        let few = |key: u32| hash(key % 20) << 4;
        let is = |key: u32| move |row: &(u32, u8)| row.0 == key;
        let mut table = Shards::new();
        let mut model = BTreeMap::new();
        let mut kept = Vec::new();
        for (key, value, keep) in steps {
            match value {
                Some(value) => {
                    match table.find_mut(few(key), is(key)) {
                        Some(row) => *row = (key, value),
                        None => table.insert(few(key), (key, value), |_| true),
                    }
                    model.insert(key, value);
                }
                None => prop_assert_eq!(
                    table.remove(few(key), is(key)),
                    model.remove(&key).map(|value| (key, value))
                ),
            }
            if keep {
                kept.push((table.clone(), model.clone()));
            }
        }
        kept.push((table, model));
        for (table, model) in kept {
            prop_assert_eq!(table.iter().copied().collect::<BTreeMap<_, _>>(), model.clone());
            prop_assert_eq!(table.iter().count(), model.len());
            for key in 0..40 {
                let found = table.find(few(key), is(key)).map(|row| row.1);
                prop_assert_eq!(found, model.get(&key).copied());
            }
        }
    }
}
