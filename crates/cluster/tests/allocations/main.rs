//! Tests that count allocations and bytes. In a test binary of its own, since the allocator is global to the process.

mod memory;
mod update_cost;

use std::sync::Mutex;

use testkit::alloc::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Serializes the tests: the counts are global to the process.
static ALONE: Mutex<()> = Mutex::new(());
