//! A file that a plugin follows: read again when it changes, reported when it cannot be read.
//!
//! ```text
//! good ──unreadable──→ one line, the last good data stay ──another reason──→ one more line ──readable──→ one line
//! ```

use std::fmt::Display;
use std::fs::{File, Metadata};
use std::io::{self, Read, Take};
use std::path::{Path, PathBuf};

use files::Stamp;
use server::log::Logger;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Followed {
    path: PathBuf,
    /// Larger files are not read.
    limit: u64,
    /// The version that was read last.
    read: Option<Stamp>,
    /// Why it cannot be read now.
    trouble: Option<String>,
}

/// Why there is nothing new from a file.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It could not be opened, or is no file to be read: a FIFO, a device, a folder, too large. The system has no number for
    /// the latter.
    Open(io::Error),
    /// Its contents could not be used.
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

impl Followed {
    pub fn new(path: PathBuf, limit: u64) -> Followed {
        Followed { path, limit, read: None, trouble: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Has `load` read the file if it changed, and logs what is new about that: a failure unless it is the last one again,
    /// and the end of failures.
    pub fn follow<T>(
        &mut self,
        log: Logger,
        load: impl FnOnce(&mut Take<File>) -> Result<T, String>,
    ) -> Option<(T, Metadata)> {
        let before = self.trouble.clone();
        let outcome = self.read(load);
        if self.trouble != before {
            self.report(log);
        }
        outcome.ok().flatten()
    }

    fn report(&self, log: Logger) {
        let path = self.path.display();
        match (&self.trouble, self.read) {
            (Some(why), Some(_)) => {
                log.error(format_args!("{path}: {why}; what was read before stays in use"));
            }
            (Some(why), None) => log.error(format_args!("{path}: {why}; nothing was read from it yet")),
            (None, _) => log.info(format_args!("{path}: readable again")),
        }
    }

    /// Has `load` read the file, unless it is the version that was read last. Logs nothing: for setup, which has its own
    /// words.
    pub fn read<T>(
        &mut self,
        load: impl FnOnce(&mut Take<File>) -> Result<T, String>,
    ) -> Result<Option<(T, Metadata)>, Failure> {
        let outcome = self.load(load);
        self.trouble = outcome.as_ref().err().map(ToString::to_string);
        outcome
    }

    fn load<T>(
        &mut self,
        load: impl FnOnce(&mut Take<File>) -> Result<T, String>,
    ) -> Result<Option<(T, Metadata)>, Failure> {
        let (file, metadata) = files::open(&self.path).map_err(Failure::Open)?;
        let stamp = Some(Stamp::of(&metadata));
        // After a failure the same version is read again: the cause may be gone without a trace in the file.
        if self.read == stamp && self.trouble.is_none() {
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
        // It grew meanwhile.
        if reader.limit() == 0 {
            return Err(too_large());
        }
        self.read = stamp;
        Ok(Some((loaded, metadata)))
    }
}

/// All of a file, for [`Followed::read`].
pub(crate) fn whole(file: &mut Take<File>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| golang::system_error(&error))?;
    Ok(bytes)
}
