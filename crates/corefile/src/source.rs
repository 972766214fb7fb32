//! Sources of imported files and environment variables: the system, or memory in tests.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Access to files and environment variables for a parse. Paths are text, as in the Corefile.
pub trait Source {
    /// The base of relative paths.
    fn current_directory(&self) -> io::Result<String>;
    /// Whether the path exists, even as a dangling symbolic link.
    fn exists(&self, path: &str) -> bool;
    /// Names in a directory, in any order; `None` if it is no directory or unreadable.
    fn list(&self, directory: &str) -> Option<Vec<String>>;
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;
    /// Value of an environment variable, empty when unset.
    fn variable(&self, name: &str) -> String;
}

/// Why a file could not be read, in CoreDNS's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// Could not be opened: `open PATH: no such file or directory`.
    Open(String),
    Directory,
    /// Opened, but reading it failed.
    Read(String),
}

/// The real file system and environment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Source for Disk {
    fn current_directory(&self) -> io::Result<String> {
        Ok(std::env::current_dir()?.to_string_lossy().into_owned())
    }

    fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    fn list(&self, directory: &str) -> Option<Vec<String>> {
        let entries = fs::read_dir(directory).ok()?;
        Some(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        files::read(Path::new(path), files::DEFAULT_LIMIT).map_err(|error| match error.kind() {
            io::ErrorKind::IsADirectory => ReadError::Directory,
            io::ErrorKind::FileTooLarge => ReadError::Read(format!("read {path}: {error}")),
            _ => ReadError::Open(format!("open {path}: {}", golang::system_error(&error))),
        })
    }

    fn variable(&self, name: &str) -> String {
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Files and variables in memory, for tests and fuzzing. Directories exist by having files in them; the current
/// directory is `/`.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    files: BTreeMap<String, Vec<u8>>,
    variables: BTreeMap<String, String>,
}

impl Memory {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file; `path` is absolute.
    pub fn file(mut self, path: &str, contents: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.to_string(), contents.into());
        self
    }

    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_string(), value.to_string());
        self
    }

    fn paths_under<'a>(&'a self, directory: &str) -> impl Iterator<Item = &'a str> {
        let prefix = format!("{}/", directory.trim_end_matches('/'));
        self.files.keys().filter_map(move |path| path.strip_prefix(&prefix))
    }
}

impl Source for Memory {
    fn current_directory(&self) -> io::Result<String> {
        Ok("/".to_string())
    }

    fn exists(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.paths_under(path).next().is_some()
    }

    fn list(&self, directory: &str) -> Option<Vec<String>> {
        let mut names: Vec<String> = self
            .paths_under(directory)
            .filter_map(|path| path.split('/').next())
            .map(str::to_string)
            .collect();
        names.dedup();
        (!names.is_empty()).then_some(names)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self.files.get(path) {
            Some(contents) => Ok(contents.clone()),
            None if self.exists(path) => Err(ReadError::Directory),
            None => Err(ReadError::Open(format!("open {path}: no such file or directory"))),
        }
    }

    fn variable(&self, name: &str) -> String {
        self.variables.get(name).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_errors_are_those_of_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_string_lossy().into_owned();
        assert_eq!(Disk.read(&path), Err(ReadError::Directory));
        let missing = format!("{path}/missing");
        let expected = format!("open {missing}: no such file or directory");
        assert_eq!(Disk.read(&missing), Err(ReadError::Open(expected)));
        fs::write(&missing, "x").unwrap();
        assert_eq!(Disk.read(&missing), Ok(b"x".to_vec()));
        assert_eq!(Disk.list(&path), Some(vec!["missing".to_string()]));
        assert_eq!(Disk.read("/dev/null"), Ok(Vec::new()));
        let expected = "open /dev/zero: is not a regular file".to_string();
        assert_eq!(Disk.read("/dev/zero"), Err(ReadError::Open(expected)));
        let sparse = format!("{path}/sparse");
        fs::File::create(&sparse).and_then(|file| file.set_len(1 << 30)).unwrap();
        let expected = format!("read {sparse}: is larger than 33554432 bytes");
        assert_eq!(Disk.read(&sparse), Err(ReadError::Read(expected)));
    }
}
