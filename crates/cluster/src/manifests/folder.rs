//! Scans a folder for changed files and keeps the objects of each file's last valid version.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::Stamp;
use kube_api::Version;

use super::defaults;
use super::document::{self, Contents, Format};
use crate::convert;
use crate::message::ApiObject;
use crate::object::{Identity, Kind, Object};
use crate::watch::SharedState;

/// Size limits of a folder; files beyond them are skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Maximum size of a file in bytes.
    pub file: u64,
    /// Maximum size of all files together, in the order of their names.
    pub total: u64,
    /// Maximum number of entries, including those of sub-folders.
    pub entries: usize,
}

impl Default for Bounds {
    /// Ten times the size of a large cluster as YAML.
    fn default() -> Self {
        Self { file: files::DEFAULT_LIMIT, total: 256 << 20, entries: 65_536 }
    }
}

const TASK: &str = "cluster-manifests-file";

/// The folder and the objects of its files. Cheap to clone: each scan works on a clone, which a hung scan keeps.
#[derive(Clone)]
pub(super) struct Folder {
    path: PathBuf,
    shared: Arc<SharedState>,
    bounds: Bounds,
    files: Arc<BTreeMap<PathBuf, File>>,
    /// Namespaces that objects are in, but that have no manifest.
    implied_namespaces: Arc<[Object]>,
    /// Problems already logged about objects in several files.
    duplicates: Arc<BTreeSet<String>>,
    /// Paths that cannot be read, and why, as already logged.
    unreadable: Arc<BTreeMap<PathBuf, String>>,
    scanned: bool,
    /// Number of files read so far.
    reads: u64,
}

/// The result of a scan.
pub(super) struct Scan {
    pub changed: bool,
    /// New ones only, so that a problem is logged once and not every second.
    pub problems: Vec<String>,
}

#[derive(Clone)]
struct File {
    stamp: Stamp,
    objects: Vec<Object>,
    version: Version,
}

impl Folder {
    pub(super) fn new(path: PathBuf, shared: Arc<SharedState>, bounds: Bounds) -> Self {
        Self {
            path,
            shared,
            bounds,
            files: Arc::default(),
            implied_namespaces: Arc::default(),
            duplicates: Arc::default(),
            unreadable: Arc::default(),
            scanned: false,
            reads: 0,
        }
    }

    /// Reads changed files. Takes and returns the folder, since it runs on a thread that may block.
    pub(super) fn scan(mut self) -> (Self, io::Result<Scan>) {
        let scan = self.rescan();
        (self, scan)
    }

    /// All objects of one kind.
    pub(super) fn objects(&self, kind: Kind) -> Vec<(Object, Version)> {
        let parsed = self.files.values().flat_map(|file| file.objects.iter().map(|it| (it, file.version)));
        let implied_namespaces = self.implied_namespaces.iter().map(|it| (it, Version::default()));
        let all = parsed.chain(implied_namespaces).filter(|(object, _)| object.kind() == kind);
        all.map(|(object, version)| (object.clone(), version)).collect()
    }

    fn rescan(&mut self) -> io::Result<Scan> {
        let mut listing = FolderListing::new(self.bounds.entries);
        listing.walk(&self.path)?;
        let mut scan = Scan { changed: !self.scanned, problems: Vec::new() };
        self.scanned = true;
        if self.files.keys().any(|path| listing.is_removed(path)) {
            Arc::make_mut(&mut self.files).retain(|path, _| !listing.is_removed(path));
            scan.changed = true;
        }
        let mut total = 0;
        for (path, format) in listing.files {
            if let Err(why) = self.read(&path, format, &mut total, &mut scan) {
                listing.unreadable.insert(path, why);
            }
        }
        let logged = std::mem::replace(&mut self.unreadable, Arc::new(listing.unreadable));
        for (path, why) in self.unreadable.iter().filter(|(path, why)| logged.get(*path) != Some(*why)) {
            scan.problems.push(format!("{}: skipped: {why}", path.display()));
        }
        if scan.changed {
            let duplicates = self.duplicates();
            scan.problems.extend(duplicates.difference(&self.duplicates).cloned());
            self.duplicates = Arc::new(duplicates);
            self.implied_namespaces = self.implied_namespaces().into();
        }
        Ok(scan)
    }

    /// Reads a file if it has changed. On an error, the reason why it is skipped, it keeps its previous objects.
    fn read(&mut self, path: &Path, format: Format, total: &mut u64, scan: &mut Scan) -> Result<(), String> {
        let is_link = || fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        let is_gone = |e: &io::Error| e.kind() == ErrorKind::NotFound && !is_link();
        // Follows links without opening anything: opening a FIFO or a device may have side effects.
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            // The next scan will not find it.
            Err(e) if is_gone(&e) => return Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => return Err("dangling symbolic link".to_owned()),
            Err(e) => return Err(e.to_string()),
        };
        if !metadata.is_file() {
            return Err("not a regular file".to_owned());
        }
        if metadata.len() > self.bounds.file {
            return Err(format!("larger than {}", size(self.bounds.file)));
        }
        *total += metadata.len();
        let stamp = Stamp::of(&metadata);
        let known = self.files.get(path);
        if known.is_some_and(|file| file.stamp == stamp) {
            return Ok(());
        }
        if *total > self.bounds.total {
            return Err(format!(
                "this and the files before it are larger than {} together",
                size(self.bounds.total)
            ));
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
        self.reads += 1;
        let version = Version::numbered(self.reads);
        let files = Arc::make_mut(&mut self.files);
        let file = files.entry(path.to_owned()).or_insert(File { stamp, objects: Vec::new(), version });
        file.stamp = stamp;
        if is_good {
            (file.objects, file.version) = (objects, version);
        }
        Ok(())
    }

    /// An object whose conversion panics is reported as a problem and skipped.
    fn convert(&self, raw: Vec<ApiObject>, problems: &mut Vec<String>) -> Vec<Object> {
        let convert = |mut raw: ApiObject| {
            defaults::apply_defaults(&mut raw);
            let counts = !convert::has_ended(&raw) && !convert::is_terminating(&raw);
            counts.then(|| convert::object(&raw, &self.shared.want)).flatten()
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

    /// Objects that several files contain. The last file wins, which is hardly ever intended.
    fn duplicates(&self) -> BTreeSet<String> {
        let mut seen: BTreeMap<Identity, &Path> = BTreeMap::new();
        let mut problems = BTreeSet::new();
        for (path, file) in &*self.files {
            for object in &file.objects {
                let identity = object.identity();
                if let Some(first) = seen.insert(identity.clone(), path) {
                    let (path, first) = (path.display(), first.display());
                    problems.insert(format!("{path}: {identity} is also in {first}; the last file is used"));
                }
            }
        }
        problems
    }

    fn implied_namespaces(&self) -> Vec<Object> {
        let objects = || self.files.values().flat_map(|file| &file.objects);
        let mut missing: BTreeSet<&str> = objects().filter_map(Object::namespace).collect();
        for object in objects() {
            if let Object::Namespace(namespace) = object {
                missing.remove(&*namespace.name);
            }
        }
        let want = &self.shared.want;
        missing
            .into_iter()
            .filter_map(|name| convert::object(&defaults::implied_namespace(name), want))
            .collect()
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
        Err(_) => Contents::problem("not UTF-8 text".to_owned()),
    }
}

/// The manifests in a folder and in its direct sub-folders. ConfigMap volumes keep their versions in folders that begin
/// with a dot; these are skipped here and reached through the links to their files.
struct FolderListing {
    files: BTreeMap<PathBuf, Format>,
    /// Sub-folders that were not read, and why; also the folder itself, if it has too many entries.
    unreadable: BTreeMap<PathBuf, String>,
    /// Number of entries until the limit; None: beyond it.
    entries_left: Option<usize>,
}

impl FolderListing {
    fn new(entries: usize) -> Self {
        Self { files: BTreeMap::new(), unreadable: BTreeMap::new(), entries_left: Some(entries) }
    }

    fn walk(&mut self, folder: &Path) -> io::Result<()> {
        let mut subfolders = Vec::new();
        self.list(folder, Some(&mut subfolders))?;
        for path in subfolders {
            match self.list(&path, None) {
                // A sub-folder that was removed meanwhile has no manifests.
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
                let why = "too many entries, the rest is ignored";
                self.unreadable.insert(folder.to_owned(), why.to_owned());
                return Ok(());
            }
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            if let Some(subfolders) = &mut subfolders {
                let file_type = entry.file_type()?;
                if file_type.is_dir() || file_type.is_symlink() && path.is_dir() {
                    subfolders.push(path);
                    continue;
                }
            }
            self.files.extend(format(&path).map(|format| (path, format)));
        }
        Ok(())
    }

    /// Whether the file was removed, and not only hidden by a limit or an unreadable sub-folder.
    fn is_removed(&self, path: &Path) -> bool {
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
