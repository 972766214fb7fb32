//! Servers that come as Debian packages.

use std::path::PathBuf;

use testkit::error::{Error, Result};

/// What the variable names, or the package's binary: Debian puts it where only root's PATH leads.
pub fn binary(name: &str, package: &str, variable: &str) -> Result<PathBuf> {
    let path =
        std::env::var_os(variable).map_or_else(|| PathBuf::from("/usr/sbin").join(name), PathBuf::from);
    if path.is_file() {
        Ok(path)
    } else {
        Err(Error::new(format!("{} is not a file (apt-get install {package})", path.display())))
    }
}
