//! The heap of the C library.

/// Returns free pages to the system. By itself glibc does that only at the end of its heap. Other C libraries have no such
/// call, and retain less.
pub(crate) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number, touches only free memory, and locks malloc's own locks; any thread may call it.
    unsafe {
        libc::malloc_trim(0);
    }
}
