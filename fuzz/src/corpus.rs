//! The seeds: small files in `corpus/TARGET/`, one input each.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::error::{Context, Error, Result};

/// A seed and the file it is from.
pub struct Seed {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

/// The folder of this package, where its corpus is and its findings go.
pub fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where the seeds of a target are unless told otherwise.
pub fn folder(target: &str) -> PathBuf {
    home().join("corpus").join(target)
}

/// All files of a folder, by name: the order is part of what a seed number means.
pub fn load(folder: &Path) -> Result<Vec<Seed>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).context(folder.display())? {
        let path = entry?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Error::new(format!("{} holds no seeds", folder.display())));
    }
    paths
        .into_iter()
        .map(|path| {
            let bytes = fs::read(&path).context(path.display())?;
            Ok(Seed { path, bytes })
        })
        .collect()
}
