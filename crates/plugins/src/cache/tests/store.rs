//! The entry store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use wire::{NameBuf, Owner, Query, Reply, Rtype, Section};

use super::super::entry::{Details, Entry};
use super::super::store::Store;

fn entry(hash: u64, ttl: u32) -> Arc<Entry> {
    let query = Query::ask(NameBuf::parse(&format!("n{hash}.")).expect("a name").as_name(), Rtype::A);
    let mut reply = Reply::new();
    reply.begin(&query);
    reply.push(Section::Answer, Owner::Question(0), Rtype::A, ttl, &hash.to_be_bytes()[4..]);
    Arc::new(Entry::new(hash, &query, &reply, ttl, Instant::now(), Details::default()))
}

fn ttl(store: &Store, hash: u64) -> Option<u32> {
    store.get(hash).and_then(|found| found.entry().map(|entry| entry.ttl))
}

#[test]
fn insert_replace_evict_remove() {
    let store = Store::new(2560);
    // All in one shard; some in one bucket.
    let hashes: Vec<u64> = (0..10).map(|i| i << 9).collect();
    for &hash in &hashes {
        assert_eq!(ttl(&store, hash), None);
        assert!(!store.insert(entry(hash, 1)));
        assert!(!store.insert(entry(hash, 2)));
    }
    assert_eq!(store.len(), 10);
    assert!(hashes.iter().all(|&hash| ttl(&store, hash) == Some(2)));
    // Full: another insert evicts exactly one.
    assert!(store.insert(entry(10 << 9, 3)));
    assert_eq!((store.len(), ttl(&store, 10 << 9)), (10, Some(3)));
    assert_eq!(hashes.iter().filter(|&&hash| ttl(&store, hash).is_none()).count(), 1);
    store.remove(10 << 9);
    store.remove(10 << 9);
    store.remove(11 << 9);
    assert_eq!((store.len(), ttl(&store, 10 << 9)), (9, None));
    // Another shard has room.
    assert!(!store.insert(entry(1, 4)));
}

#[test]
fn capacity_is_rounded_to_shards() {
    for (capacity, per_shard) in [(-5, 4), (0, 4), (1024, 4), (1279, 4), (1280, 5), (10_000, 39)] {
        let store = Store::new(capacity);
        let evicted = (0..100).filter(|i| store.insert(entry(i << 8, 1))).count();
        assert_eq!((store.len(), evicted), (per_shard, 100 - per_shard), "{capacity}");
    }
}

#[test]
fn compacting_moves_entries_that_are_not_in_use() {
    let store = Store::new(2560);
    let hashes: Vec<u64> = (0..10).map(|i| i << 9).collect();
    for &hash in &hashes {
        store.insert(entry(hash, 7));
    }
    let found = |hash| store.get(hash).and_then(|found| found.entry().cloned()).expect("an entry");
    found(hashes[1]).inherit_hits(Instant::now(), 3);
    let in_use = found(hashes[0]);
    let places: Vec<*const Entry> = hashes.iter().map(|&hash| Arc::as_ptr(&found(hash))).collect();
    store.compact();
    assert_eq!(store.len(), 10);
    for (&hash, place) in hashes.iter().zip(places) {
        let entry = found(hash);
        assert_eq!((entry.hash, entry.ttl), (hash, 7));
        assert_eq!(Arc::as_ptr(&entry) == place, hash == in_use.hash, "only an entry in use stays: {hash}");
    }
    assert_eq!((found(hashes[1]).hits(), found(hashes[2]).hits()), (3, 0));
}

#[test]
fn the_evicted_entry_is_random() {
    let survivors = |_| {
        let store = Store::new(1024);
        for i in 0..5 {
            store.insert(entry(i << 8, 1));
        }
        (0..5).filter(|i| ttl(&store, i << 8).is_some()).collect::<Vec<u64>>()
    };
    let mut seen: Vec<Vec<u64>> = (0..60).map(survivors).collect();
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 1);
}

#[test]
fn readers_never_see_a_torn_entry() {
    let (store, stop) = (Store::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for seed in 0..2u64 {
            let (store, stop) = (&store, &stop);
            scope.spawn(move || {
                let mut i = seed;
                while !stop.load(Ordering::Relaxed) {
                    i = i.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let hash = i >> 50 << 8;
                    if i % 7 == 0 {
                        store.remove(hash);
                    } else {
                        store.insert(entry(hash, hash as u32));
                    }
                }
            });
        }
        let start = Instant::now();
        let mut found = 0;
        while start.elapsed().as_millis() < 300 {
            for hash in (0..1 << 14).map(|i| i << 8) {
                if let Some(ttl) = ttl(&store, hash) {
                    assert_eq!(ttl, hash as u32);
                    found += 1;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(found > 0);
        assert!(store.len() <= 4);
    });
}
