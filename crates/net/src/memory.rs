//! The memory of the process.

/// Gives memory that was freed back to the system: for whoever has freed a lot of it. Takes milliseconds, in which
/// threads that allocate may wait.
pub fn give_back_memory() {
    crate::sys::trim_heap();
}
