//! The heap of the process.

/// Returns freed memory to the system; call it after freeing a lot. It takes milliseconds, during which threads that
/// allocate may block.
pub fn trim_heap() {
    crate::sys::trim_heap();
}
