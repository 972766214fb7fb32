//! What is counted in allocations and bytes. In a test binary of its own, since the allocator is the whole program's.

mod memory;
mod update_cost;

use std::sync::Mutex;

use testkit::alloc::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is counted is the whole process's.
static ALONE: Mutex<()> = Mutex::new(());
