//! Counts allocations, for tests that the answer path allocates nothing.
//!
//! A test binary installs it once, at its top:
//!
//! ```ignore
//! #[global_allocator]
//! static ALLOCATOR: testkit::alloc::Counting = testkit::alloc::Counting;
//! ```
// The only unsafe code of this crate: a global allocator needs it.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// The system allocator, counting allocations.
pub struct Counting;

/// Allocations and their bytes. A realloc counts as an allocation of the new size, since it may move.
/// Frees are not counted; see [`live`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub allocations: u64,
    pub bytes: u64,
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);
static FREED_BYTES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    // Constant and without a destructor: reading it cannot allocate, nor fail at thread exit.
    static THREAD: Cell<Count> = const { Cell::new(Count { allocations: 0, bytes: 0 }) };
}

fn count(size: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(size as u64, Ordering::Relaxed);
    let _ = THREAD.try_with(|total| {
        let Count { allocations, bytes } = total.get();
        total.set(Count { allocations: allocations + 1, bytes: bytes + size as u64 });
    });
}

fn uncount(size: usize) {
    FREED.fetch_add(1, Ordering::Relaxed);
    FREED_BYTES.fetch_add(size as u64, Ordering::Relaxed);
}

// SAFETY: every method passes its arguments unchanged to `System`, which is a `GlobalAlloc`, and returns
// its result unchanged; the caller's obligations are thereby those towards `System`. `count` and `uncount` only add numbers:
// they neither allocate (which would recurse) nor unwind, and touch no allocated memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        uncount(layout.size());
        count(new_size);
        // SAFETY: `ptr` came from one of these methods, so from `System`, with this `layout`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        uncount(layout.size());
        // SAFETY: `ptr` came from one of these methods, so from `System`, with this `layout`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Allocations of this thread since it started.
pub fn thread_total() -> Count {
    THREAD.with(Cell::get)
}

/// Allocations of the whole process since it started.
pub fn process_total() -> Count {
    Count { allocations: ALLOCATIONS.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
}

/// Live allocations of the whole process. They include those of concurrent threads, so a test that uses this is
/// alone in its binary.
pub fn live() -> Count {
    let Count { allocations, bytes } = process_total();
    let (freed, freed_bytes) = (FREED.load(Ordering::Relaxed), FREED_BYTES.load(Ordering::Relaxed));
    Count { allocations: allocations.saturating_sub(freed), bytes: bytes.saturating_sub(freed_bytes) }
}

/// Runs `run` and counts its allocations on this thread.
///
/// # Panics
/// When [`Counting`] is not this program's allocator: the count would always be zero.
pub fn counted<T>(run: impl FnOnce() -> T) -> (T, Count) {
    let before = thread_total();
    drop(black_box(Box::new(black_box(1u8))));
    let start = thread_total();
    assert!(start != before, "testkit::alloc::Counting is not the global allocator of this program");
    let result = run();
    let end = thread_total();
    let count = Count { allocations: end.allocations - start.allocations, bytes: end.bytes - start.bytes };
    (result, count)
}

/// Runs `run` and fails if it allocated on this thread.
///
/// # Panics
/// When it did, or when [`Counting`] is not this program's allocator.
#[track_caller]
pub fn assert_no_alloc<T>(run: impl FnOnce() -> T) -> T {
    let (result, count) = counted(run);
    assert!(
        count.allocations == 0,
        "{} allocations of {} bytes together where none is allowed",
        count.allocations,
        count.bytes
    );
    result
}
