//! The limit of open files and sockets.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open files to the hard limit and returns it. The default soft limit is low only for programs
/// that use `select`.
pub fn raise_file_limit() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    }
    Ok(limit.maximum.unwrap_or(u64::MAX))
}
