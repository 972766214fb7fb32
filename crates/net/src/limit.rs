//! How many files and sockets the process may open.

use std::io;

use crate::sys;

/// Raises the soft limit of open files to the hard limit; returns the limit now. The soft limit is low for the sake
/// of programs that use `select`.
pub fn raise_file_limit() -> io::Result<u64> {
    sys::raise_file_limit()
}
