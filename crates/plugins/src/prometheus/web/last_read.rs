//! The files of a web configuration as they were when they could be read last: a file that becomes unreadable under way
//! neither opens nor closes the door.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use server::log::{self, Logger};

use crate::followed::{Followed, whole};

const LOG: Logger = log::plugin("prometheus");

#[derive(Default)]
pub(super) struct LastRead(Mutex<BTreeMap<PathBuf, (Followed, Vec<u8>)>>);

impl LastRead {
    /// The contents of a file; an error only if it could never be read.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((file, contents)) = files.get_mut(path) {
            if let Some((new, _)) = file.follow(LOG, whole) {
                *contents = new;
            }
            return Ok(contents.clone());
        }
        let mut file = Followed::new(path.to_owned(), files::DEFAULT_LIMIT);
        let read = file.read(whole).map_err(|failure| failure.to_string())?;
        let contents = read.map(|(contents, _)| contents).unwrap_or_default();
        files.insert(path.to_owned(), (file, contents.clone()));
        Ok(contents)
    }
}
