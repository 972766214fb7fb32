//! The files of a folder: which there are, which have changed, and what they said when they last made sense.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::defaults;
use super::document::{self, Format};
use crate::api::convert;
use crate::key::Key;
use crate::object::{Kind, Object};
use crate::watch::Shared;

/// The folder and what is known of its files.
pub(super) struct Folder {
    path: PathBuf,
    shared: Arc<Shared>,
    files: BTreeMap<PathBuf, File>,
    /// Namespaces that are in no file but mentioned in some.
    mentioned: Vec<Object>,
    /// What was said already of objects in several files.
    doubles: BTreeSet<String>,
    scanned: bool,
}

/// What a look at the folder found.
pub(super) struct Scan {
    pub changed: bool,
    /// Only those that are new: a mistake is told once, not every second.
    pub problems: Vec<String>,
}

struct File {
    stamp: Option<Stamp>,
    objects: Vec<Object>,
}

/// A file that was written or replaced has another one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
    size: u64,
}

impl Folder {
    pub(super) fn new(path: PathBuf, shared: Arc<Shared>) -> Self {
        let (files, doubles) = (BTreeMap::new(), BTreeSet::new());
        Self { path, shared, files, mentioned: Vec::new(), doubles, scanned: false }
    }

    /// Reads what has changed. Takes and gives itself back, since it runs on a thread that may block.
    pub(super) fn scan(mut self) -> (Self, io::Result<Scan>) {
        let scan = self.look();
        (self, scan)
    }

    /// Everything of one kind.
    pub(super) fn objects(&self, kind: Kind) -> Vec<Object> {
        let written = self.files.values().flat_map(|file| &file.objects);
        written.chain(&self.mentioned).filter(|object| object.kind() == kind).cloned().collect()
    }

    fn look(&mut self) -> io::Result<Scan> {
        let found = manifests(&self.path)?;
        let mut scan = Scan { changed: !self.scanned, problems: Vec::new() };
        self.scanned = true;
        let before = self.files.len();
        self.files.retain(|path, _| found.contains_key(path));
        scan.changed |= self.files.len() != before;
        for (path, format) in found {
            self.read(path, format, &mut scan);
        }
        if scan.changed {
            let doubles = self.doubles();
            scan.problems.extend(doubles.difference(&self.doubles).cloned());
            self.doubles = doubles;
            self.mentioned = self.mentioned();
        }
        Ok(scan)
    }

    fn read(&mut self, path: PathBuf, format: Format, scan: &mut Scan) {
        let stamp = std::fs::metadata(&path).ok().map(|metadata| Stamp::of(&metadata));
        let known = self.files.get(&path);
        if known.is_some_and(|file| file.stamp == stamp) {
            return;
        }
        let mut problem = |what: &str| scan.problems.push(format!("{}: {what}", path.display()));
        let mut objects = None;
        match std::fs::read(&path).map(String::from_utf8) {
            Err(e) => problem(&e.to_string()),
            Ok(Err(_)) => problem("is no UTF-8 text"),
            Ok(Ok(text)) => {
                let contents = document::read(&text, format);
                contents.problems.iter().for_each(|what| problem(what));
                if contents.problems.is_empty() || known.is_none() {
                    let shared = &self.shared;
                    let converted = contents.objects.into_iter().filter_map(|mut raw| {
                        defaults::fill_in(&mut raw);
                        let counts = !convert::has_ended(&raw) && !convert::is_terminating(&raw);
                        counts.then(|| convert::object(raw, &shared.want)).flatten()
                    });
                    objects = Some(converted.collect());
                }
            }
        }
        scan.changed |= objects.is_some();
        let file = self.files.entry(path).or_insert_with(|| File { stamp, objects: Vec::new() });
        file.stamp = stamp;
        if let Some(objects) = objects {
            file.objects = objects;
        }
    }

    /// Objects that several files describe. The last file wins, but hardly anybody means that.
    fn doubles(&self) -> BTreeSet<String> {
        let mut seen: BTreeMap<(Kind, String), &Path> = BTreeMap::new();
        let mut problems = BTreeSet::new();
        for (path, file) in &self.files {
            for object in &file.objects {
                let name = (object.kind(), name(object));
                if let Some(first) = seen.insert(name.clone(), path) {
                    let (path, first) = (path.display(), first.display());
                    problems.insert(format!("{path}: {} {} is in {first} too", name.0.name(), name.1));
                }
            }
        }
        problems
    }

    fn mentioned(&self) -> Vec<Object> {
        let objects = || self.files.values().flat_map(|file| &file.objects);
        let mut missing: BTreeSet<&str> = objects().filter_map(key).map(Key::namespace).collect();
        for object in objects() {
            if let Object::Namespace(namespace) = object {
                missing.remove(&*namespace.name);
            }
        }
        let want = &self.shared.want;
        missing.into_iter().filter_map(|name| convert::object(defaults::mentioned(name), want)).collect()
    }
}

fn key(object: &Object) -> Option<&Key> {
    match object {
        Object::Namespace(_) => None,
        Object::Service(it) => Some(&it.key),
        Object::EndpointSlice(it) => Some(&it.key),
        Object::Pod(it) => Some(&it.key),
        Object::ServiceImport(it) => Some(&it.key),
    }
}

fn name(object: &Object) -> String {
    match object {
        Object::Namespace(it) => it.name.to_string(),
        _ => key(object).map(Key::to_string).unwrap_or_default(),
    }
}

impl Stamp {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            inode: (metadata.dev(), metadata.ino()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.size(),
        }
    }
}

/// The manifests in a folder and in its direct sub-folders. ConfigMaps keep their generations in folders that begin
/// with a dot, which are passed over here and reached by the links to them.
fn manifests(folder: &Path) -> io::Result<BTreeMap<PathBuf, Format>> {
    let mut found = BTreeMap::new();
    for path in visible(folder)? {
        if path.is_dir() {
            // One that goes away meanwhile has no manifests.
            for path in visible(&path).unwrap_or_default() {
                found.extend(format(&path).map(|format| (path, format)));
            }
        } else {
            found.extend(format(&path).map(|format| (path, format)));
        }
    }
    Ok(found)
}

fn visible(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

fn format(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()? {
        "yaml" | "yml" => Some(Format::Yaml),
        "json" => Some(Format::Json),
        _ => None,
    }
}
