//! Zone files are read as BIND reads them. `tests/zones/good` are equal in both; each file in `tests/zones/bad` has an
//! error, which its first line names, and BIND refuses it, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wire::{NameBuf, present_data};
use zone::{Contents, Source, ZoneFile, write_zone};

const ORIGIN: &str = "example.org.";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/zones").join(name)
}

fn zone_files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".zone")).collect();
    names.sort();
    assert!(!names.is_empty(), "no zones in {}", folder.display());
    names
}

/// A command of BIND. The test is skipped without it, or fails where all peers are required.
fn bind(command: &str) -> Option<Command> {
    let found = Command::new(command)
        .arg("-h")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .status();
    if found.is_err() {
        let message = format!("{command} is not installed (scripts/tools)");
        assert!(std::env::var_os("RHUMB_PEERS_REQUIRED").is_none(), "{message}");
        println!("skipped: {message}");
        return None;
    }
    Some(Command::new(command))
}

struct Folder(PathBuf);

impl Source for Folder {
    fn read(&mut self, path: &str, _from: &str) -> Result<(String, Vec<u8>), String> {
        let text = fs::read(self.0.join(path)).map_err(|error| error.to_string())?;
        Ok((path.to_owned(), text))
    }
}

fn load(folder: &Path, name: &str, text: &[u8]) -> Contents {
    let origin = NameBuf::parse(ORIGIN).unwrap();
    let loaded = ZoneFile { name, text, origin: &origin }.load(&mut Folder(folder.to_owned()));
    loaded.unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn written(contents: &Contents) -> String {
    let mut text = String::new();
    write_zone(contents, &mut text).unwrap();
    text
}

#[test]
fn good_zones_are_equal() {
    let folder = folder("good");
    for name in zone_files(&folder) {
        let contents = load(&folder, &name, &fs::read(folder.join(&name)).unwrap());
        let Some(mut compile) = bind("named-compilezone") else { return };
        let output = compile
            .current_dir(&folder)
            .args([
                "-q", "-i", "none", "-k", "ignore", "-n", "ignore", "-m", "ignore", "-r", "ignore", "-o", "-",
            ])
            .args([ORIGIN, &name])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {stderr}{}", String::from_utf8_lossy(&output.stdout));
        let theirs = load(&folder, &format!("{name} from BIND"), &output.stdout);
        assert_eq!(written(&contents), written(&theirs), "{name}");
    }
}

/// What Rhumb writes is to BIND the same RDATA.
#[test]
fn written_data_is_equal() {
    let folder = folder("good");
    for name in ["basic.zone", "strings.zone", "types.zone"] {
        let contents = load(&folder, name, &fs::read(folder.join(name)).unwrap());
        let mut records = Vec::new();
        contents.for_each(|record| records.push((record.rtype, record.data.to_vec())));
        for (rtype, data) in records {
            let text = format!("IN {} {}\n", rtype.zone_name(), present_data(rtype, &data));
            let Some(mut check) = bind("named-rrchecker") else { return };
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), &text).unwrap();
            let output = check.arg("-u").stdin(file.reopen().unwrap()).output().unwrap();
            let found = String::from_utf8_lossy(&output.stdout).to_lowercase();
            let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
            let found: Vec<&str> = found.split_whitespace().skip(4).collect();
            assert_eq!(found.concat(), hex, "{text}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn bad_zones_are_refused() {
    let folder = folder("bad");
    let rhumb = testkit::rhumb::binary().unwrap_or_else(|error| panic!("{error}"));
    for name in zone_files(&folder) {
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        let expected = text.lines().next().and_then(|line| line.strip_prefix("; ")).unwrap();
        let separator = if expected.starts_with(|c: char| c.is_ascii_digit()) { ":" } else { ": " };
        let expected = format!("{name}{separator}{expected}");
        let output = Command::new(&rhumb)
            .current_dir(&folder)
            .args(["zone", "check", "--origin", ORIGIN, &name])
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{name}: {stdout}");
        assert!(stdout.lines().any(|line| line == expected), "{name}: expected {expected}\ngot {stdout}");
        let Some(mut check) = bind("named-checkzone") else { continue };
        let output = check.current_dir(&folder).args(["-i", "none", ORIGIN, &name]).output().unwrap();
        assert!(!output.status.success(), "BIND accepts {name}");
    }
}
