//! Counts allocations, so that "the answer path allocates nothing" is a test and not a hope.
//!
//! A test binary that wants it says so once, at its top:
//!
//! ```ignore
//! #[global_allocator]
//! static ALLOCATOR: testkit::alloc::Counting = testkit::alloc::Counting;
//! ```
// The one place of this crate with unsafe code: a global allocator cannot be had without.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, with a count of what is asked of it.
pub struct Counting;

/// How much was asked for. Growing in place counts as an allocation of the new size: it may move, and on
/// the answer path neither is wanted. Freeing is not counted; [`live`] does that.
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
    // Constant and without a destructor: reading it can neither allocate nor come too late.
    static HERE: Cell<Count> = const { Cell::new(Count { allocations: 0, bytes: 0 }) };
}

fn count(size: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(size as u64, Ordering::Relaxed);
    let _ = HERE.try_with(|here| {
        let Count { allocations, bytes } = here.get();
        here.set(Count { allocations: allocations + 1, bytes: bytes + size as u64 });
    });
}

fn uncount(size: usize) {
    FREED.fetch_add(1, Ordering::Relaxed);
    FREED_BYTES.fetch_add(size as u64, Ordering::Relaxed);
}

// SAFETY: every method hands its arguments unchanged to `System`, which is a `GlobalAlloc`, and gives back
// its result unchanged; whatever the caller owes us it thereby owes `System`. `count` and `uncount` only add numbers:
// they neither allocate (which would come back here without end) nor unwind, and touch no allocated memory.
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

/// What this thread has allocated since it began.
pub fn here() -> Count {
    HERE.with(Cell::get)
}

/// What the whole process has allocated since it began.
pub fn everywhere() -> Count {
    Count { allocations: ALLOCATIONS.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
}

/// What the whole process has allocated and not freed: what it holds now. Whatever else runs in the program meanwhile
/// is in it, so a test that asks is alone in its binary.
pub fn live() -> Count {
    let Count { allocations, bytes } = everywhere();
    let (freed, freed_bytes) = (FREED.load(Ordering::Relaxed), FREED_BYTES.load(Ordering::Relaxed));
    Count { allocations: allocations.saturating_sub(freed), bytes: bytes.saturating_sub(freed_bytes) }
}

/// What `run` allocates on this thread.
///
/// # Panics
/// When [`Counting`] is not this program's allocator: a count of nothing would always please.
pub fn counted<T>(run: impl FnOnce() -> T) -> (T, Count) {
    let before = here();
    drop(black_box(Box::new(black_box(1u8))));
    let start = here();
    assert!(start != before, "testkit::alloc::Counting is not the global allocator of this program");
    let result = run();
    let end = here();
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
