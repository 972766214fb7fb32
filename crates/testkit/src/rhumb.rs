//! Finds the rhumb binary.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// `RHUMB_BIN` if set; else `rhumb` beside the running test (cargo puts tests into `deps/` of the folder
/// the binary goes to); else the newer of the release and the debug build.
///
/// Cargo's own `CARGO_BIN_EXE_rhumb` is only set for tests of the crate `rhumb` itself.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("RHUMB_BIN") {
        let path = PathBuf::from(path);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(Error::new(format!("RHUMB_BIN={} is not a file", path.display())))
        };
    }
    beside_this_test()
        .or_else(newest_built)
        .ok_or_else(|| Error::new("rhumb is not built (run cargo build -p rhumb, or set RHUMB_BIN)"))
}

fn beside_this_test() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let deps = test.parent().filter(|dir| dir.ends_with("deps"))?;
    Some(deps.parent()?.join("rhumb")).filter(|p| p.is_file())
}

fn newest_built() -> Option<PathBuf> {
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
    };
    ["release", "debug"]
        .into_iter()
        .map(|profile| target.join(profile).join("rhumb"))
        .filter(|p| p.is_file())
        .max_by_key(|p| p.metadata().and_then(|m| m.modified()).ok())
}
