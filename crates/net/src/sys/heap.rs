//! The heap of the C library.

/// Gives pages that hold nothing but freed memory back to the system. The C library by itself does that only at the end
/// of its heap. Others than glibc have no such call, and keep less.
pub(crate) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number, touches only memory that is free, and takes malloc's own locks; any thread may call it.
    unsafe {
        libc::malloc_trim(0);
    }
}
