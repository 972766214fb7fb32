//! The thread's CPUs and the process's limits.

use std::io;

use super::check;

/// One bit per CPU. Linux can be built for at most 8192; libc's `cpu_set_t` holds only 1024, and on a larger machine
/// the kernel refuses to fill it.
pub(crate) type CpuMask = [usize; 8192 / usize::BITS as usize];

/// The CPUs this thread may run on.
pub(crate) fn affinity() -> io::Result<CpuMask> {
    let mut mask: CpuMask = [0; _];
    // SAFETY: the kernel writes at most the given size, and a mask is an array of words to it as well.
    check(unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) })?;
    Ok(mask)
}

/// Binds this thread to these CPUs.
pub(crate) fn set_affinity(mask: &CpuMask) -> io::Result<()> {
    // SAFETY: the kernel reads at most the given size.
    check(unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) }).map(drop)
}

/// Raises the soft limit of open files to the hard one; the limit now.
pub(crate) fn raise_file_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the kernel reads one rlimit.
        check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    }
    Ok(limit.rlim_cur)
}
