//! Tests that break a polled file in every way and repair it, shared by all plugins that read one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::log::capture::Capture;
use crate::testing::harness::configure;

type Break = fn(&Path) -> io::Result<()>;

/// States of a broken file, and the logged cause. There is no unreadable mode among them, since root can read any file.
const STATES: [(&str, Break, &str); 6] = [
    ("vanished", |_| Ok(()), "no such file or directory"),
    ("unreadable", |path| symlink(path, path), "too many levels of symbolic links"),
    ("folder", |path| fs::create_dir(path), "is a directory"),
    ("FIFO", fifo, "is not a regular file"),
    ("device", |path| symlink("/dev/zero", path), "is not a regular file"),
    ("sparse", |path| File::create(path)?.set_len(1 << 30), "is larger than "),
];

fn fifo(path: &Path) -> io::Result<()> {
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?)
}

/// Checks that the last good version stays in use in every state, that one log line has the cause, and that the next good
/// version is read. `contents` makes a version, `refresh` polls the file, `in_use` returns the version in use.
pub(crate) fn check(
    path: &Path,
    contents: impl Fn(u8) -> String,
    refresh: impl Fn(),
    in_use: impl Fn() -> Option<u8>,
) {
    let log = Capture::take();
    let about = format!(" {}: ", path.display());
    let mut version = 1;
    replace(path, contents(version));
    refresh();
    assert_eq!(in_use(), Some(version), "{}", path.display());
    for (state, break_file, why) in STATES {
        log.lines(&about);
        clear(path);
        break_file(path).unwrap_or_else(|error| panic!("{state}: {error}"));
        for _ in 0..3 {
            refresh();
            assert_eq!(in_use(), Some(version), "{state}");
        }
        let lines = log.lines(&about);
        assert!(matches!(&lines[..], [line] if line.contains(why)), "{state}: {lines:?}");
        assert!(lines[0].ends_with("the last good version stays in use"), "{state}: {lines:?}");
        version += 1;
        replace(path, contents(version));
        refresh();
        assert_eq!(in_use(), Some(version), "after {state}");
        let lines = log.lines(&about);
        assert!(lines.iter().any(|line| line.ends_with(": readable again")), "after {state}: {lines:?}");
    }
    // A file of the same size and modification time.
    let modified = fs::metadata(path).and_then(|about| about.modified()).expect("a time");
    replace(path, contents(version + 1));
    File::options().write(true).open(path).and_then(|file| file.set_modified(modified)).expect("set");
    refresh();
    assert_eq!(in_use(), Some(version + 1), "replaced by a file of the same size and time");
}

/// For a file that is read at setup only: in every state setup fails with the file's name, and succeeds after the repair.
pub(crate) fn check_at_setup(path: &Path, set_up: impl Fn() -> Result<(), String>) {
    let good = fs::read(path).expect("a good file");
    for (state, break_file, why) in STATES {
        clear(path);
        break_file(path).unwrap_or_else(|error| panic!("{state}: {error}"));
        let error = set_up().expect_err(state);
        assert!(error.contains(why) && error.contains(&path.display().to_string()), "{state}: {error}");
        replace(path, &good);
        assert_eq!(set_up(), Ok(()), "after {state}");
    }
}

#[test]
fn certificates_for_upstreams() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    fs::write(&certificate, made.cert.pem()).expect("written");
    fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    let files = format!("{0} {1} {0}", certificate.display(), key.display());
    let corefile = format!(". {{\n forward . tls://127.0.0.1 {{\n tls {files}\n }}\n}}");
    for path in [&certificate, &key] {
        check_at_setup(path, || configure(&corefile).map(drop));
    }
}

fn clear(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
}

/// Replaces the file by a rename, as an editor or the kubelet does.
fn replace(path: &Path, contents: impl AsRef<[u8]>) {
    let new = path.with_extension("new");
    fs::write(&new, contents).expect("written");
    if path.is_dir() {
        clear(path);
    }
    fs::rename(&new, path).expect("renamed");
}
