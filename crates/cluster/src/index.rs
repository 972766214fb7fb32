//! The one writer of a cluster's data: changes in, snapshots out. No I/O, no clock.

mod addresses;
mod entry;
mod known;
mod namespace;
mod pod;
mod service;
mod service_import;
mod shared;
mod slice;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use foldhash::quality::SeedableRandomState;

use self::known::Known;
use self::shared::PortLists;
use crate::object::{EndpointSlice, Identity, Kind, Namespace, Object, Pod, Service, ServiceImport};
use crate::snapshot::{Modified, Snapshot};

/// Something that happened in the cluster, as watches tell it.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// New, or changed.
    Apply(Object),
    /// Gone. Only what identifies the object matters.
    Delete(Object),
    /// A kind is about to be listed whole; what was there stays until the end of the list.
    ListBegins(Kind),
    /// The list is complete: what was there before and did not come again is gone.
    ListEnds(Kind),
}

impl Change {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Change::Apply(object) | Change::Delete(object) => object.kind(),
            Change::ListBegins(kind) | Change::ListEnds(kind) => *kind,
        }
    }
}

/// The index and its next snapshot.
pub struct Index {
    next: Snapshot,
    namespaces: Known<Namespace>,
    services: Known<Service>,
    slices: Known<EndpointSlice>,
    pods: Known<Pod>,
    imports: Known<ServiceImport>,
    ports: PortLists,
}

/// A kind of object, as the index deals with it.
trait Indexed: PartialEq + Sized {
    const KIND: Kind;

    /// What is unique among the objects of the kind.
    fn key(&self) -> &[u8];

    fn known(index: &mut Index) -> &mut Known<Self>;

    /// Replaces what others have too by theirs.
    fn share(&mut self, tables: &Snapshot, ports: &mut PortLists);

    /// Puts an object into the tables, in the place of what was there under its key; None: no object.
    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>);

    /// Panics if tests want it to.
    #[cfg(test)]
    fn strike(&self) {}

    /// Which serials move with such a change.
    fn moves(old: Option<&Self>, new: Option<&Self>) -> Moves;
}

/// Which of the times of [`Modified`] a change moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Moves {
    internal: bool,
    external: bool,
    multicluster: bool,
}

impl Index {
    pub fn new() -> Self {
        Self::with_seed(SeedableRandomState::random())
    }

    /// An index whose tables lie the same way every time, so that what reading them costs can be compared.
    pub fn fixed() -> Self {
        Self::with_seed(SeedableRandomState::fixed())
    }

    fn with_seed(seed: SeedableRandomState) -> Self {
        Self {
            next: Snapshot::new(seed),
            namespaces: Known::new(),
            services: Known::new(),
            slices: Known::new(),
            pods: Known::new(),
            imports: Known::new(),
            ports: PortLists::new(),
        }
    }

    /// An empty index that follows a lost one: serials go on from there.
    pub(crate) fn after(lost: &Snapshot) -> Self {
        let mut index = Self::new();
        index.next.modified = lost.modified;
        index
    }

    /// Rebuilds the tables from all indexed objects but one: the one whose change panicked and may have left the tables
    /// half changed.
    pub(crate) fn rebuild_without(&mut self, culprit: &Identity, now: u32) {
        let Snapshot { seed, synced, mut modified, .. } = self.next.clone();
        Moves { internal: true, external: true, multicluster: true }.apply(&mut modified, now);
        self.next = Snapshot { synced, modified, ..Snapshot::new(seed) };
        self.place_all::<Namespace>(culprit);
        self.place_all::<Service>(culprit);
        self.place_all::<EndpointSlice>(culprit);
        self.place_all::<Pod>(culprit);
        self.place_all::<ServiceImport>(culprit);
    }

    /// Takes an object for one that the current list has, though that has a version of it which cannot be used.
    pub(crate) fn keep(&mut self, identity: &Identity) {
        match identity.kind() {
            Kind::Namespace => self.namespaces.keep(identity.key()),
            Kind::Service => self.services.keep(identity.key()),
            Kind::EndpointSlice => self.slices.keep(identity.key()),
            Kind::Pod => self.pods.keep(identity.key()),
            Kind::ServiceImport => self.imports.keep(identity.key()),
        }
    }

    fn place_all<T: Indexed>(&mut self, culprit: &Identity) {
        let known = T::known(self);
        if culprit.kind() == T::KIND {
            drop(known.take(culprit.key()));
        }
        let objects = known.all();
        objects.iter().for_each(|object| T::place(&mut self.next, None, Some(object)));
        self.next.counts[T::KIND as usize] = objects.len();
    }

    /// Takes a change in; `now` is the Unix time it came. Tells whether a later [`Index::snapshot`] differs.
    pub fn apply(&mut self, change: Change, now: u32) -> bool {
        match change {
            Change::Apply(Object::Namespace(object)) => self.put(object, now),
            Change::Apply(Object::Service(object)) => self.put(object, now),
            Change::Apply(Object::EndpointSlice(object)) => self.put(object, now),
            Change::Apply(Object::Pod(object)) => self.put(object, now),
            Change::Apply(Object::ServiceImport(object)) => self.put(object, now),
            Change::Delete(Object::Namespace(object)) => self.take(&object, now),
            Change::Delete(Object::Service(object)) => self.take(&object, now),
            Change::Delete(Object::EndpointSlice(object)) => self.take(&object, now),
            Change::Delete(Object::Pod(object)) => self.take(&object, now),
            Change::Delete(Object::ServiceImport(object)) => self.take(&object, now),
            Change::ListBegins(kind) => self.list_begins(kind),
            Change::ListEnds(Kind::Namespace) => self.list_ends::<Namespace>(now),
            Change::ListEnds(Kind::Service) => self.list_ends::<Service>(now),
            Change::ListEnds(Kind::EndpointSlice) => self.list_ends::<EndpointSlice>(now),
            Change::ListEnds(Kind::Pod) => self.list_ends::<Pod>(now),
            Change::ListEnds(Kind::ServiceImport) => self.list_ends::<ServiceImport>(now),
        }
    }

    /// Everything taken in so far. Costs nothing but the copies that the next changes will make.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(self.next.clone())
    }

    /// Whether a kind was listed whole.
    pub(crate) fn has_synced(&self, kind: Kind) -> bool {
        self.next.has_synced(kind)
    }

    /// How many objects of a kind there are.
    pub fn count(&self, kind: Kind) -> usize {
        self.next.count(kind)
    }

    fn put<T: Indexed>(&mut self, mut object: T, now: u32) -> bool {
        object.share(&self.next, &mut self.ports);
        match T::known(self).put(object) {
            Some((old, new)) => self.replace(old.as_ref(), Some(&new), now),
            None => false,
        }
    }

    fn take<T: Indexed>(&mut self, object: &T, now: u32) -> bool {
        match T::known(self).take(object.key()) {
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
        let missing = T::known(self).list_ends();
        for old in &missing {
            self.replace(Some(old), None, now);
        }
        let first = !std::mem::replace(&mut self.next.synced[T::KIND as usize], true);
        first || !missing.is_empty()
    }

    fn replace<T: Indexed>(&mut self, old: Option<&Arc<T>>, new: Option<&Arc<T>>, now: u32) -> bool {
        T::place(&mut self.next, old, new);
        #[cfg(test)]
        new.iter().for_each(|new| new.strike());
        T::moves(old.map(|old| &**old), new.map(|new| &**new)).apply(&mut self.next.modified, now);
        self.next.counts[T::KIND as usize] = T::known(self).len();
        true
    }
}

impl Moves {
    /// Serials never go back, even if the clock does.
    fn apply(self, modified: &mut Modified, now: u32) {
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
