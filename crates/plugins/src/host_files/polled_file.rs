//! A file that a plugin polls: reads it again when it changes, and logs when it cannot be read.
//!
//! ```text
//! good ──unreadable──→ one log line, last good data stay in use ──another cause──→ one log line ──readable──→ one log line
//! ```

use std::fmt::Display;
use std::fs::{File, Metadata};
use std::io::{self, Read, Take};
use std::path::{Path, PathBuf};

use files::Stamp;
use server::log::Logger;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolledFile {
    path: PathBuf,
    /// Maximum size in bytes; larger files are not read.
    limit: u64,
    /// The version that was read last.
    last_read: Option<Stamp>,
    /// Why the last read failed.
    failure: Option<String>,
}

/// Why a file could not be read.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The file cannot be opened, or is a FIFO, a device, a folder or too large; the last has no errno.
    Open(io::Error),
    /// The contents are invalid.
    Contents(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Open(error) => f.write_str(&golang::system_error(error)),
            Failure::Contents(why) => f.write_str(why),
        }
    }
}

impl PolledFile {
    pub fn new(path: PathBuf, limit: u64) -> PolledFile {
        PolledFile { path, limit, last_read: None, failure: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file with `load` if it changed. Logs a failure unless it repeats the last one, and the first success
    /// after failures.
    pub fn poll<T>(
        &mut self,
        log: Logger,
        load: impl FnOnce(&mut Take<File>) -> Result<T, String>,
    ) -> Option<(T, Metadata)> {
        let before = self.failure.clone();
        let outcome = self.read(load);
        if self.failure != before {
            self.report(log);
        }
        outcome.ok().flatten()
    }

    fn report(&self, log: Logger) {
        let path = self.path.display();
        match (&self.failure, self.last_read) {
            (Some(why), Some(_)) => {
                log.error(format_args!("{path}: {why}; the last good version stays in use"));
            }
            (Some(why), None) => log.error(format_args!("{path}: {why}; no version has been read yet")),
            (None, _) => log.info(format_args!("{path}: readable again")),
        }
    }

    /// Reads the file with `load`, unless this version was read last. Logs nothing: setup reports failures itself.
    pub fn read<T>(
        &mut self,
        load: impl FnOnce(&mut Take<File>) -> Result<T, String>,
    ) -> Result<Option<(T, Metadata)>, Failure> {
        let outcome = self.load(load);
        self.failure = outcome.as_ref().err().map(ToString::to_string);
        outcome
    }

    fn load<T>(
        &mut self,
        load: impl FnOnce(&mut Take<File>) -> Result<T, String>,
    ) -> Result<Option<(T, Metadata)>, Failure> {
        let (file, metadata) = files::open(&self.path).map_err(Failure::Open)?;
        let stamp = Some(Stamp::of(&metadata));
        // After a failure the same version is read again: the cause may disappear without a change of the file.
        if self.last_read == stamp && self.failure.is_none() {
            return Ok(None);
        }
        let too_large = || {
            let text = format!("is larger than {} bytes", self.limit);
            Failure::Open(io::Error::new(io::ErrorKind::FileTooLarge, text))
        };
        if metadata.len() > self.limit {
            return Err(too_large());
        }
        let mut reader = file.take(self.limit + 1);
        let loaded = load(&mut reader).map_err(Failure::Contents)?;
        // The file grew during the read.
        if reader.limit() == 0 {
            return Err(too_large());
        }
        self.last_read = stamp;
        Ok(Some((loaded, metadata)))
    }
}

/// Reads the whole file, for [`PolledFile::read`].
pub(crate) fn whole(file: &mut Take<File>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| golang::system_error(&error))?;
    Ok(bytes)
}
