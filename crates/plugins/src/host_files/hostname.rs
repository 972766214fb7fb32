//! The name of this host.

/// Reads a file: for setup, never for a query.
pub(crate) fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim_end() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}
