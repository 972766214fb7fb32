//! The echo of `crates/net/examples`. It takes an address and has no configuration.

use std::path::PathBuf;

use testkit::error::{Error, Result};

use super::instance::Instance;

pub fn binary() -> Result<PathBuf> {
    let path = std::env::var_os("RHUMB_ECHO")
        .map(PathBuf::from)
        .ok_or_else(|| Error::new("RHUMB_ECHO is not set (cargo build --release -p net --example echo)"))?;
    if path.is_file() {
        Ok(path)
    } else {
        Err(Error::new(format!("RHUMB_ECHO={} is not a file", path.display())))
    }
}

pub fn arguments(instance: &Instance) -> Vec<String> {
    vec![instance.addr.to_string()]
}
