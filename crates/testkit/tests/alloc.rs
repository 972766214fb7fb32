//! The counting allocator. A test binary of its own, since an allocator is global.

use testkit::alloc::{self, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn counts_what_this_thread_allocates() {
    let (v, count) = alloc::counted(|| Vec::<u8>::with_capacity(100));
    assert_eq!((count.allocations, count.bytes), (1, 100));
    let (_, count) = alloc::counted(|| drop(v));
    assert_eq!(count.allocations, 0, "freeing is free");
    let before = alloc::process_total();
    std::thread::spawn(|| drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 20)))).join().unwrap();
    assert!(alloc::process_total().bytes - before.bytes >= 1 << 20);
    assert!(alloc::thread_total().bytes < 1 << 20);
}

#[test]
fn passes_without_allocations() {
    let mut buffer = [0u8; 512];
    let sum: u32 = alloc::assert_no_alloc(|| {
        buffer.fill(3);
        buffer.iter().map(|b| u32::from(*b)).sum()
    });
    assert_eq!(sum, 1536);
}

#[test]
#[should_panic(expected = "1 allocations of 7 bytes")]
fn a_hidden_allocation_is_found() {
    alloc::assert_no_alloc(|| std::hint::black_box(String::from("caught!")).len());
}

#[test]
#[should_panic(expected = "where none is allowed")]
fn realloc_counts_as_an_allocation() {
    let mut v = Vec::with_capacity(1);
    v.push(1u64);
    alloc::assert_no_alloc(|| v.extend([2, 3, 4]));
}
