//! Servers from Debian packages.

use std::path::PathBuf;

use testkit::error::{Error, Result};

/// The binary named by the variable, or the package's, which Debian installs in /usr/sbin.
pub fn binary(name: &str, package: &str, variable: &str) -> Result<PathBuf> {
    let path =
        std::env::var_os(variable).map_or_else(|| PathBuf::from("/usr/sbin").join(name), PathBuf::from);
    if path.is_file() {
        Ok(path)
    } else {
        Err(Error::new(format!("{} is not a file (apt-get install {package})", path.display())))
    }
}
