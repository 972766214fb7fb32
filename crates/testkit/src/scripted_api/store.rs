//! The encoded objects, and the watches on them.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Fault, encode};
use crate::cluster::objects::{Object, Resource};

/// One frame of a watch, shared by all watches.
pub type Frame = Arc<[u8]>;

#[derive(Default)]
pub struct Store {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    version: u64,
    kinds: BTreeMap<Resource, Kind>,
    faults: BTreeMap<Resource, Fault>,
}

#[derive(Default)]
struct Kind {
    /// By namespace and name, as an API server lists them.
    objects: BTreeMap<(String, String), Vec<u8>>,
    /// Version of the last change.
    version: u64,
    watchers: Vec<Sender<Frame>>,
}

/// A watch, as seen by its connection.
pub struct Watch {
    /// The existing objects, if requested.
    pub first: Vec<Frame>,
    pub changes: Receiver<Frame>,
}

impl Store {
    pub fn apply(&self, object: &Object) {
        let mut state = self.lock();
        state.version += 1;
        let version = state.version;
        let encoded = encode::object(object, version);
        let kind = state.kinds.entry(object.resource).or_default();
        let key = (object.namespace.clone(), object.name.clone());
        let known = kind.objects.insert(key, encoded.clone()).is_some();
        kind.version = version;
        if !kind.watchers.is_empty() {
            let change = if known { "MODIFIED" } else { "ADDED" };
            let frame: Frame = encode::event(object.resource, change, encoded).into();
            kind.watchers.retain(|watcher| watcher.send(Arc::clone(&frame)).is_ok());
        }
    }

    /// A page of a list. Unlike a real server's, the pages are not of one version.
    pub fn page(&self, resource: Resource, limit: Option<usize>, from: usize) -> Vec<u8> {
        let mut state = self.lock();
        let version = state.version;
        let kind = state.kinds.entry(resource).or_default();
        let limit = limit.unwrap_or(usize::MAX);
        let items: Vec<Vec<u8>> = kind.objects.values().skip(from).take(limit).cloned().collect();
        let end = from.saturating_add(items.len());
        let next = if end < kind.objects.len() { end.to_string() } else { String::new() };
        encode::page(resource, items, version, next)
    }

    pub fn fault(&self, resource: Resource, fault: Fault) {
        self.lock().faults.insert(resource, fault);
    }

    pub fn fault_of(&self, resource: Resource) -> Option<Fault> {
        self.lock().faults.get(&resource).copied()
    }

    /// A list as a watch.
    pub fn stream(&self, resource: Resource) -> Watch {
        let mut state = self.lock();
        let version = state.version;
        let ends = state.faults.get(&resource) != Some(&Fault::Unfinished);
        let kind = state.kinds.entry(resource).or_default();
        let objects = kind.objects.values();
        let mut first: Vec<Frame> =
            objects.map(|object| encode::event(resource, "ADDED", object.clone()).into()).collect();
        if ends {
            first.push(encode::end_of_list(resource, version).into());
        }
        Watch { first, changes: kind.watch() }
    }

    /// None if something has changed since: there is no history.
    pub fn watch(&self, resource: Resource, version: u64) -> Option<Watch> {
        let mut state = self.lock();
        let kind = state.kinds.entry(resource).or_default();
        (version >= kind.version).then(|| Watch { first: Vec::new(), changes: kind.watch() })
    }

    pub fn watchers(&self, resource: Resource) -> usize {
        self.lock().kinds.get(&resource).map_or(0, |kind| kind.watchers.len())
    }

    /// Ends all watches.
    pub fn close_watches(&self) {
        self.lock().kinds.values_mut().for_each(|kind| kind.watchers.clear());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kind {
    fn watch(&mut self) -> Receiver<Frame> {
        let (watcher, changes) = mpsc::channel();
        self.watchers.push(watcher);
        changes
    }
}
