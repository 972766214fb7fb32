//! The index of a cluster: applies changes and makes snapshots. No I/O, no clock.

mod addresses;
mod entry;
mod intern;
mod namespace;
mod pod;
mod service;
mod service_import;
mod slice;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use foldhash::quality::SeedableRandomState;

use self::intern::PortLists;
use self::store::Store;
use crate::object::{EndpointSlice, Identity, Kind, Namespace, Object, Pod, Service, ServiceImport};
use crate::snapshot::{LastModified, Snapshot};

/// A change from a watch or a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Added or modified.
    Apply(Object),
    /// Deleted. Only the identity of the object matters.
    Delete(Object),
    /// A list of the kind begins; existing objects stay until it ends.
    ListBegins(Kind),
    /// The list is complete: objects that it did not contain are deleted.
    ListEnds(Kind),
}

/// The objects of a cluster by kind, and the next snapshot.
pub struct Index {
    next: Snapshot,
    namespaces: Store<Namespace>,
    services: Store<Service>,
    slices: Store<EndpointSlice>,
    pods: Store<Pod>,
    imports: Store<ServiceImport>,
    ports: PortLists,
}

/// A kind of object in the index.
trait Indexed: PartialEq + Sized {
    const KIND: Kind;

    /// Unique among the objects of the kind.
    fn key(&self) -> &[u8];

    fn store(index: &mut Index) -> &mut Store<Self>;

    /// Replaces the key and ports by equal ones that other objects have.
    fn intern(&mut self, tables: &Snapshot, ports: &mut PortLists);

    /// Replaces the object `old` in the tables by `new`; None: no object.
    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>);

    /// Panics on a poisoned object, in tests.
    #[cfg(test)]
    fn panic_if_poisoned(&self) {}

    /// Which serials such a change advances.
    fn modified_parts(old: Option<&Self>, new: Option<&Self>) -> ModifiedParts;
}

/// Which times of [`LastModified`] a change advances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ModifiedParts {
    internal: bool,
    external: bool,
    multicluster: bool,
}

impl Index {
    pub fn new() -> Self {
        Self::with_seed(SeedableRandomState::random())
    }

    /// An index with the same table layout every time, so that the cost of lookups can be compared.
    pub fn with_fixed_seed() -> Self {
        Self::with_seed(SeedableRandomState::fixed())
    }

    fn with_seed(seed: SeedableRandomState) -> Self {
        Self {
            next: Snapshot::new(seed),
            namespaces: Store::new(),
            services: Store::new(),
            slices: Store::new(),
            pods: Store::new(),
            imports: Store::new(),
            ports: PortLists::new(),
        }
    }

    /// An empty index that continues the serials of a lost one.
    pub(crate) fn with_serials_of(lost: &Snapshot) -> Self {
        let mut index = Self::new();
        index.next.modified = lost.modified;
        index
    }

    /// Rebuilds the tables from all indexed objects except the one whose change panicked: that may have left the tables
    /// half changed.
    pub(crate) fn rebuild_without(&mut self, panicked: &Identity, now: u32) {
        let Snapshot { seed, synced, mut modified, .. } = self.next.clone();
        ModifiedParts { internal: true, external: true, multicluster: true }.apply(&mut modified, now);
        self.next = Snapshot { synced, modified, ..Snapshot::new(seed) };
        self.place_all::<Namespace>(panicked);
        self.place_all::<Service>(panicked);
        self.place_all::<EndpointSlice>(panicked);
        self.place_all::<Pod>(panicked);
        self.place_all::<ServiceImport>(panicked);
    }

    /// Keeps an object at the end of the current list, which contains a version of it that cannot be indexed.
    pub(crate) fn mark_listed(&mut self, identity: &Identity) {
        match identity.kind() {
            Kind::Namespace => self.namespaces.mark_listed(identity.key()),
            Kind::Service => self.services.mark_listed(identity.key()),
            Kind::EndpointSlice => self.slices.mark_listed(identity.key()),
            Kind::Pod => self.pods.mark_listed(identity.key()),
            Kind::ServiceImport => self.imports.mark_listed(identity.key()),
        }
    }

    fn place_all<T: Indexed>(&mut self, panicked: &Identity) {
        let store = T::store(self);
        if panicked.kind() == T::KIND {
            drop(store.remove(panicked.key()));
        }
        let objects = store.all();
        objects.iter().for_each(|object| T::place(&mut self.next, None, Some(object)));
        self.next.counts[T::KIND as usize] = objects.len();
    }

    /// Applies a change that arrived at the Unix time `now`. Returns whether the next [`Index::snapshot`] differs.
    pub fn apply(&mut self, change: Change, now: u32) -> bool {
        match change {
            Change::Apply(Object::Namespace(object)) => self.put(object, now),
            Change::Apply(Object::Service(object)) => self.put(object, now),
            Change::Apply(Object::EndpointSlice(object)) => self.put(object, now),
            Change::Apply(Object::Pod(object)) => self.put(object, now),
            Change::Apply(Object::ServiceImport(object)) => self.put(object, now),
            Change::Delete(Object::Namespace(object)) => self.remove(&object, now),
            Change::Delete(Object::Service(object)) => self.remove(&object, now),
            Change::Delete(Object::EndpointSlice(object)) => self.remove(&object, now),
            Change::Delete(Object::Pod(object)) => self.remove(&object, now),
            Change::Delete(Object::ServiceImport(object)) => self.remove(&object, now),
            Change::ListBegins(kind) => self.list_begins(kind),
            Change::ListEnds(Kind::Namespace) => self.list_ends::<Namespace>(now),
            Change::ListEnds(Kind::Service) => self.list_ends::<Service>(now),
            Change::ListEnds(Kind::EndpointSlice) => self.list_ends::<EndpointSlice>(now),
            Change::ListEnds(Kind::Pod) => self.list_ends::<Pod>(now),
            Change::ListEnds(Kind::ServiceImport) => self.list_ends::<ServiceImport>(now),
        }
    }

    /// The current state. Costs nothing but the copies that later changes make.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(self.next.clone())
    }

    /// Whether a kind was listed completely.
    pub(crate) fn has_synced(&self, kind: Kind) -> bool {
        self.next.has_synced(kind)
    }

    /// Number of objects of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.next.count(kind)
    }

    fn put<T: Indexed>(&mut self, mut object: T, now: u32) -> bool {
        object.intern(&self.next, &mut self.ports);
        match T::store(self).put(object) {
            Some((old, new)) => self.replace(old.as_ref(), Some(&new), now),
            None => false,
        }
    }

    fn remove<T: Indexed>(&mut self, object: &T, now: u32) -> bool {
        match T::store(self).remove(object.key()) {
            Some(old) => self.replace(Some(&old), None, now),
            None => false,
        }
    }

    fn list_begins(&mut self, kind: Kind) -> bool {
        match kind {
            Kind::Namespace => self.namespaces.list_begins(),
            Kind::Service => self.services.list_begins(),
            Kind::EndpointSlice => self.slices.list_begins(),
            Kind::Pod => self.pods.list_begins(),
            Kind::ServiceImport => self.imports.list_begins(),
        }
        false
    }

    fn list_ends<T: Indexed>(&mut self, now: u32) -> bool {
        let missing = T::store(self).list_ends();
        for old in &missing {
            self.replace(Some(old), None, now);
        }
        let first = !std::mem::replace(&mut self.next.synced[T::KIND as usize], true);
        first || !missing.is_empty()
    }

    fn replace<T: Indexed>(&mut self, old: Option<&Arc<T>>, new: Option<&Arc<T>>, now: u32) -> bool {
        T::place(&mut self.next, old, new);
        #[cfg(test)]
        new.iter().for_each(|new| new.panic_if_poisoned());
        T::modified_parts(old.map(|old| &**old), new.map(|new| &**new)).apply(&mut self.next.modified, now);
        self.next.counts[T::KIND as usize] = T::store(self).len();
        true
    }
}

impl ModifiedParts {
    /// Serials never decrease, even if the clock does.
    fn apply(self, modified: &mut LastModified, now: u32) {
        for (moves, time) in [
            (self.internal, &mut modified.internal),
            (self.external, &mut modified.external),
            (self.multicluster, &mut modified.multicluster),
        ] {
            if moves {
                *time = now.max(*time);
            }
        }
    }
}

impl Default for Index {
    fn default() -> Self {
        Self::new()
    }
}
