//! The last readable contents of a web configuration's files: one that becomes unreadable keeps its last contents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use server::log::{self, Logger};

use crate::host_files::polled_file::{PolledFile, whole};

const LOG: Logger = log::plugin("prometheus");

#[derive(Default)]
pub(super) struct FileCache(Mutex<BTreeMap<PathBuf, (PolledFile, Vec<u8>)>>);

impl FileCache {
    /// The contents of a file; an error only if no read has ever succeeded.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((file, contents)) = files.get_mut(path) {
            if let Some((new, _)) = file.poll(LOG, whole) {
                *contents = new;
            }
            return Ok(contents.clone());
        }
        let mut file = PolledFile::new(path.to_owned(), files::DEFAULT_LIMIT);
        let read = file.read(whole).map_err(|failure| failure.to_string())?;
        let contents = read.map(|(contents, _)| contents).unwrap_or_default();
        files.insert(path.to_owned(), (file, contents.clone()));
        Ok(contents)
    }
}
