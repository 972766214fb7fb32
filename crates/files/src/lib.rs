//! Reads files that may be replaced at any time: regular files only, up to a size, never blocking.
//!
//! A path in a configuration is hostile input. It may name a FIFO without a writer, an endless device, a directory, or a
//! file larger than memory; none of these may block the reader or exhaust its memory.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, makedev};

/// Default size limit: configuration written by people is far smaller.
pub const DEFAULT_LIMIT: u64 = 32 << 20;

/// Reads a regular file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, metadata) = open(path)?;
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("is larger than {limit} bytes"));
    if metadata.len() > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    // The file may grow while it is read, and files in /proc have length 0.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(bytes)
}

/// [`read`] with the default limit, as text.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path, DEFAULT_LIMIT)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "is not UTF-8 text"))
}

/// Opens a regular file or `/dev/null`, which operators use as an empty file. Anything else fails at once.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // Without NONBLOCK, opening a FIFO blocks until it has a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let is_null = metadata.file_type().is_char_device() && metadata.rdev() == makedev(1, 3);
    if !metadata.is_file() && !is_null {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    Ok((file, metadata))
}

/// Identifies a version of a file: it differs after a write or a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: (u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
    size: u64,
}

impl Stamp {
    pub fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            inode: (metadata.dev(), metadata.ino()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.size(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_up_to_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("small"), "text").expect("written");
        std::fs::write(at("empty"), "").expect("written");
        std::fs::write(at("full"), [0; 16]).expect("written");
        std::fs::write(at("large"), [0; 17]).expect("written");
        File::create(at("sparse")).expect("made").set_len(1 << 40).expect("sized");
        std::fs::create_dir(at("folder")).expect("made");
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        symlink("/dev/zero", at("zero")).expect("linked");
        symlink("/dev/null", at("null")).expect("linked");
        symlink("/proc/self/status", at("proc")).expect("linked");
        symlink("small", at("link")).expect("linked");
        let cases: [(&str, Result<usize, &str>); 12] = [
            ("small", Ok(4)),
            ("empty", Ok(0)),
            ("full", Ok(16)),
            ("link", Ok(4)),
            ("null", Ok(0)),
            ("large", Err("is larger than 16 bytes")),
            ("sparse", Err("is larger than 16 bytes")),
            ("proc", Err("is larger than 16 bytes")),
            ("folder", Err("is a directory")),
            ("fifo", Err("is not a regular file")),
            ("zero", Err("is not a regular file")),
            ("missing", Err("No such file or directory (os error 2)")),
        ];
        for (name, expected) in cases {
            let read = read(&at(name), 16).map(|bytes| bytes.len()).map_err(|error| error.to_string());
            assert_eq!(read, expected.map_err(str::to_owned), "{name}");
        }
    }
}
