//! The files of a folder: which there are, which have changed, and what they said when they last made sense.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::Stamp;

use super::defaults;
use super::document::{self, Contents, Format};
use crate::api::convert;
use crate::api::message::Raw;
use crate::object::{Identity, Kind, Object};
use crate::watch::{Shared, Version};

/// How much a folder may hold; what is beyond it is skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The size of a file in bytes.
    pub file: u64,
    /// The size of all files together, the first ones by name.
    pub total: u64,
    /// How many entries there are, with those of sub-folders.
    pub entries: usize,
}

impl Default for Bounds {
    /// Ten times what a large cluster is as YAML.
    fn default() -> Self {
        Self { file: files::DEFAULT_LIMIT, total: 256 << 20, entries: 65_536 }
    }
}

const TASK: &str = "cluster-manifests-file";

/// The folder and what is known of its files. Cheap to clone: scans that hang keep one of their own.
#[derive(Clone)]
pub(super) struct Folder {
    path: PathBuf,
    shared: Arc<Shared>,
    bounds: Bounds,
    files: Arc<BTreeMap<PathBuf, File>>,
    /// Namespaces that are in no file but mentioned in some.
    mentioned: Arc<[Object]>,
    /// What was logged already of objects in several files.
    doubles: Arc<BTreeSet<String>>,
    /// What cannot be read, and why, as it was logged.
    unreadable: Arc<BTreeMap<PathBuf, String>>,
    scanned: bool,
    /// How many files were read so far.
    readings: u64,
}

/// What a look at the folder found.
pub(super) struct Scan {
    pub changed: bool,
    /// Only those that are new: a mistake is told once, not every second.
    pub problems: Vec<String>,
}

#[derive(Clone)]
struct File {
    stamp: Stamp,
    objects: Vec<Object>,
    version: Version,
}

impl Folder {
    pub(super) fn new(path: PathBuf, shared: Arc<Shared>, bounds: Bounds) -> Self {
        Self {
            path,
            shared,
            bounds,
            files: Arc::default(),
            mentioned: Arc::default(),
            doubles: Arc::default(),
            unreadable: Arc::default(),
            scanned: false,
            readings: 0,
        }
    }

    /// Reads what has changed. Takes and gives itself back, since it runs on a thread that may block.
    pub(super) fn scan(mut self) -> (Self, io::Result<Scan>) {
        let scan = self.look();
        (self, scan)
    }

    /// Everything of one kind.
    pub(super) fn objects(&self, kind: Kind) -> Vec<(Object, Version)> {
        let written = self.files.values().flat_map(|file| file.objects.iter().map(|it| (it, file.version)));
        let mentioned = self.mentioned.iter().map(|it| (it, Version::default()));
        let all = written.chain(mentioned).filter(|(object, _)| object.kind() == kind);
        all.map(|(object, version)| (object.clone(), version)).collect()
    }

    fn look(&mut self) -> io::Result<Scan> {
        let mut found = Found::new(self.bounds.entries);
        found.walk(&self.path)?;
        let mut scan = Scan { changed: !self.scanned, problems: Vec::new() };
        self.scanned = true;
        if self.files.keys().any(|path| found.lacks(path)) {
            Arc::make_mut(&mut self.files).retain(|path, _| !found.lacks(path));
            scan.changed = true;
        }
        let mut total = 0;
        for (path, format) in found.files {
            if let Err(why) = self.read(&path, format, &mut total, &mut scan) {
                found.unreadable.insert(path, why);
            }
        }
        let logged = std::mem::replace(&mut self.unreadable, Arc::new(found.unreadable));
        for (path, why) in self.unreadable.iter().filter(|(path, why)| logged.get(*path) != Some(*why)) {
            scan.problems.push(format!("{}: skipped, {why}", path.display()));
        }
        if scan.changed {
            let doubles = self.doubles();
            scan.problems.extend(doubles.difference(&self.doubles).cloned());
            self.doubles = Arc::new(doubles);
            self.mentioned = self.mentioned().into();
        }
        Ok(scan)
    }

    /// Reads a file if it has changed. An error says why it is not read; then it keeps what it said before.
    fn read(&mut self, path: &Path, format: Format, total: &mut u64, scan: &mut Scan) -> Result<(), String> {
        let is_link = || fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        let is_gone = |e: &io::Error| e.kind() == ErrorKind::NotFound && !is_link();
        // A link is followed, but nothing is opened: opening a FIFO or a device may have consequences.
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            // The next scan will not find it.
            Err(e) if is_gone(&e) => return Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => return Err("it is a link to nothing".to_owned()),
            Err(e) => return Err(e.to_string()),
        };
        if !metadata.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        if metadata.len() > self.bounds.file {
            return Err(format!("it is larger than {}", size(self.bounds.file)));
        }
        *total += metadata.len();
        let stamp = Stamp::of(&metadata);
        let known = self.files.get(path);
        if known.is_some_and(|file| file.stamp == stamp) {
            return Ok(());
        }
        if *total > self.bounds.total {
            return Err(format!("it and those before it are larger than {}", size(self.bounds.total)));
        }
        let bytes = match files::read(path, self.bounds.file) {
            Ok(bytes) => bytes,
            Err(e) if is_gone(&e) => return Ok(()),
            Err(e) => return Err(e.to_string()),
        };
        let contents = supervise::catch(TASK, || parse(bytes, format));
        let contents = contents.unwrap_or_else(|panic| Contents::problem(panic.to_string()));
        let mut problems = contents.problems;
        let objects = self.convert(contents.objects, &mut problems);
        let is_good = problems.is_empty() || known.is_none();
        scan.problems.extend(problems.iter().map(|what| format!("{}: {what}", path.display())));
        scan.changed |= is_good;
        self.readings += 1;
        let version = Version::of_reading(self.readings);
        let files = Arc::make_mut(&mut self.files);
        let file = files.entry(path.to_owned()).or_insert(File { stamp, objects: Vec::new(), version });
        file.stamp = stamp;
        if is_good {
            (file.objects, file.version) = (objects, version);
        }
        Ok(())
    }

    /// An object that makes this panic is a problem and left out.
    fn convert(&self, raw: Vec<Raw>, problems: &mut Vec<String>) -> Vec<Object> {
        let convert = |mut raw: Raw| {
            defaults::fill_in(&mut raw);
            let counts = !convert::has_ended(&raw) && !convert::is_terminating(&raw);
            counts.then(|| convert::object(raw, &self.shared.want)).flatten()
        };
        let mut objects = Vec::new();
        for raw in raw {
            let (kind, name) = (raw.kind().name(), raw.meta().name.clone());
            match supervise::catch(TASK, || convert(raw)) {
                Ok(object) => objects.extend(object),
                Err(panic) => problems.push(format!("{kind} {name}: {panic}")),
            }
        }
        objects
    }

    /// Objects that several files describe. The last file wins, but hardly anybody means that.
    fn doubles(&self) -> BTreeSet<String> {
        let mut seen: BTreeMap<Identity, &Path> = BTreeMap::new();
        let mut problems = BTreeSet::new();
        for (path, file) in &*self.files {
            for object in &file.objects {
                let identity = object.identity();
                if let Some(first) = seen.insert(identity.clone(), path) {
                    let (path, first) = (path.display(), first.display());
                    problems.insert(format!("{path}: {identity} is in {first} too"));
                }
            }
        }
        problems
    }

    fn mentioned(&self) -> Vec<Object> {
        let objects = || self.files.values().flat_map(|file| &file.objects);
        let mut missing: BTreeSet<&str> = objects().filter_map(Object::namespace).collect();
        for object in objects() {
            if let Object::Namespace(namespace) = object {
                missing.remove(&*namespace.name);
            }
        }
        let want = &self.shared.want;
        missing.into_iter().filter_map(|name| convert::object(defaults::mentioned(name), want)).collect()
    }
}

impl Object {
    /// None for namespaces themselves.
    fn namespace(&self) -> Option<&str> {
        Some(match self {
            Object::Namespace(_) => return None,
            Object::Service(it) => it.key.namespace(),
            Object::EndpointSlice(it) => it.key.namespace(),
            Object::Pod(it) => it.key.namespace(),
            Object::ServiceImport(it) => it.key.namespace(),
        })
    }
}

fn size(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{bytes} bytes") } else { format!("{} MiB", bytes >> 20) }
}

fn parse(bytes: Vec<u8>, format: Format) -> Contents {
    match String::from_utf8(bytes) {
        Ok(text) => document::read(&text, format),
        Err(_) => Contents::problem("is not UTF-8 text".to_owned()),
    }
}

/// The manifests in a folder and in its direct sub-folders. ConfigMaps keep their generations in folders that begin
/// with a dot, which are passed over here and reached by the links to them.
struct Found {
    files: BTreeMap<PathBuf, Format>,
    /// Sub-folders and why they were not read; also the folder, if it has too many entries.
    unreadable: BTreeMap<PathBuf, String>,
    /// How many more entries are looked at; None: there were too many.
    entries_left: Option<usize>,
}

impl Found {
    fn new(entries: usize) -> Self {
        Self { files: BTreeMap::new(), unreadable: BTreeMap::new(), entries_left: Some(entries) }
    }

    fn walk(&mut self, folder: &Path) -> io::Result<()> {
        let mut subfolders = Vec::new();
        self.list(folder, Some(&mut subfolders))?;
        for path in subfolders {
            match self.list(&path, None) {
                // One that goes away meanwhile has no manifests.
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    drop(self.unreadable.insert(path, e.to_string()))
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn list(&mut self, folder: &Path, mut subfolders: Option<&mut Vec<PathBuf>>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            self.entries_left = self.entries_left.and_then(|left| left.checked_sub(1));
            if self.entries_left.is_none() {
                let why = "it has too many entries; the rest of it is not looked at";
                self.unreadable.insert(folder.to_owned(), why.to_owned());
                return Ok(());
            }
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            if let Some(subfolders) = &mut subfolders {
                let of_entry = entry.file_type()?;
                if of_entry.is_dir() || of_entry.is_symlink() && path.is_dir() {
                    subfolders.push(path);
                    continue;
                }
            }
            self.files.extend(format(&path).map(|format| (path, format)));
        }
        Ok(())
    }

    /// Whether the file is gone, and not only out of sight.
    fn lacks(&self, path: &Path) -> bool {
        let is_hidden = self.entries_left.is_none()
            || path.parent().is_some_and(|parent| self.unreadable.contains_key(parent));
        !self.files.contains_key(path) && !is_hidden
    }
}

fn format(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()? {
        "yaml" | "yml" => Some(Format::Yaml),
        "json" => Some(Format::Json),
        _ => None,
    }
}
