//! The immutable state of a cluster that queries read.

mod address;

use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;

pub(crate) use self::address::Owner;
use crate::key::Key;
use crate::object::{EndpointSlice, Identity, Kind, Namespace, Object, Pod, Service, ServiceImport};
use crate::shards::Shards;
use crate::want::SelectorSet;

/// The cluster at one moment. Cheap to clone; two snapshots share all unchanged parts.
#[derive(Clone)]
pub struct Snapshot {
    /// Random, since clients choose the names.
    pub(crate) seed: SeedableRandomState,
    pub(crate) entries: Shards<Arc<Entry>>,
    pub(crate) namespaces: Shards<Arc<Namespace>>,
    /// Owners of cluster-internal addresses, except pods. Rows are found by the address's hash and do not repeat the
    /// address, which the owner has.
    pub(crate) addresses: Shards<Arc<Owner>>,
    /// Services by external address.
    pub(crate) external: Shards<Arc<Owner>>,
    pub(crate) pods: Shards<(IpAddr, Arc<Pod>)>,
    pub(crate) synced: [bool; Kind::ALL.len()],
    pub(crate) counts: [usize; Kind::ALL.len()],
    pub(crate) modified: LastModified,
}

/// All objects under one namespace and name.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: Key,
    pub service: Option<Arc<Service>>,
    /// The slices of the Service, ordered by key. They may exist before and after it.
    pub slices: Box<[Arc<EndpointSlice>]>,
    pub import: Option<Arc<ServiceImport>>,
    /// The slices of the ServiceImport, ordered by key.
    pub imported: Box<[Arc<EndpointSlice>]>,
}

/// An object that has an address.
#[derive(Clone, Copy, Debug)]
pub enum Holder<'s> {
    Service(&'s Arc<Service>),
    /// At least one ready endpoint has the address.
    Slice(&'s Arc<EndpointSlice>),
    Import(&'s Arc<ServiceImport>),
    Pod(&'s Arc<Pod>),
}

impl Snapshot {
    pub(crate) fn new(seed: SeedableRandomState) -> Self {
        Self {
            seed,
            entries: Shards::new(),
            namespaces: Shards::new(),
            addresses: Shards::new(),
            external: Shards::new(),
            pods: Shards::new(),
            synced: Default::default(),
            counts: Default::default(),
            modified: LastModified::default(),
        }
    }

    /// The entry of the two labels `name.namespace`, in wire format and lower case.
    pub fn entry(&self, labels: &[u8]) -> Option<&Entry> {
        self.entries.find(self.hash(labels), |entry| entry.key.as_bytes() == labels).map(|entry| &**entry)
    }

    /// Every entry, in no order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|entry| &**entry)
    }

    /// The selectors that match a namespace; None if it does not exist.
    pub fn namespace(&self, name: &[u8]) -> Option<SelectorSet> {
        let namespace = self.namespaces.find(self.hash(name), |other| other.name.as_bytes() == name)?;
        Some(namespace.selected)
    }

    /// Every namespace, in no order.
    pub fn namespaces(&self) -> impl Iterator<Item = (&str, SelectorSet)> {
        self.namespaces.iter().map(|namespace| (&*namespace.name, namespace.selected))
    }

    /// The objects that have the address: Services by cluster IP, then slices, ServiceImports, pods.
    pub fn holders(&self, address: IpAddr) -> impl Iterator<Item = Holder<'_>> {
        let hash = self.hash_address(address);
        let owners = distinct(self.addresses.run(hash)).filter_map(|owner| self.find(owner));
        let holders = owners.filter(move |holder| holder.has(address));
        // Lazy, since most callers stop before the pods.
        let pods = std::iter::once_with(move || self.pods.run(hash)).flatten();
        let pods = pods.filter(move |(held, _)| *held == address).map(|(_, pod)| Holder::Pod(pod));
        holders.chain(pods)
    }

    /// The Services with this external address.
    pub fn external_holders(&self, address: IpAddr) -> impl Iterator<Item = &Arc<Service>> {
        distinct(self.external.run(self.hash_address(address))).filter_map(move |owner| {
            match self.find(owner)? {
                Holder::Service(service) => {
                    Some(service).filter(|service| service.has_external_address(address))
                }
                _ => None,
            }
        })
    }

    /// Whether a kind was listed completely. Before that, a missing object may still exist.
    pub fn has_synced(&self, kind: Kind) -> bool {
        self.synced[kind as usize]
    }

    /// Number of objects of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.counts[kind as usize]
    }

    /// Times of the last changes that affect answers: the serials of zones.
    pub fn modified(&self) -> LastModified {
        self.modified
    }

    /// The object of an identity; a linear search for namespaces, slices and pods.
    pub(crate) fn object(&self, identity: &Identity) -> Option<Object> {
        let (kind, key) = match identity {
            Identity::Namespace(name) => {
                let mut all = self.namespaces.iter();
                return all.find(|it| it.name == *name).map(|it| Object::Namespace((**it).clone()));
            }
            Identity::Namespaced(kind, key) => (kind, key),
        };
        let entry = || self.entry(key.as_bytes());
        match kind {
            Kind::Namespace => None,
            Kind::Service => entry()?.service.as_deref().cloned().map(Object::Service),
            Kind::ServiceImport => entry()?.import.as_deref().cloned().map(Object::ServiceImport),
            Kind::EndpointSlice => {
                let mut all = self.entries().flat_map(|entry| entry.slices.iter().chain(&entry.imported));
                all.find(|it| it.key == *key).map(|it| Object::EndpointSlice((**it).clone()))
            }
            Kind::Pod => {
                let mut all = self.pods.iter();
                all.find(|(_, it)| it.key == *key).map(|(_, it)| Object::Pod((**it).clone()))
            }
        }
    }

    fn find(&self, owner: &Owner) -> Option<Holder<'_>> {
        match owner {
            Owner::Service(key) => self.entry(key.as_bytes())?.service.as_ref().map(Holder::Service),
            Owner::Slice { entry, slice } => find_slice(&self.entry(entry.as_bytes())?.slices, slice),
            Owner::ImportedSlice { entry, slice } => {
                find_slice(&self.entry(entry.as_bytes())?.imported, slice)
            }
            Owner::Import(key) => self.entry(key.as_bytes())?.import.as_ref().map(Holder::Import),
        }
    }

    /// Prefetches the memory that [`Snapshot::entry`] will read for labels with these hashes. Each step covers all hashes
    /// before the next one, so that the processor waits for their cache misses at once and not one by one.
    pub fn prefetch(&self, hashes: &[u64]) {
        let mut read = 0;
        for hash in hashes {
            read ^= self.entries.touch_leaf(*hash);
        }
        let entries = || hashes.iter().flat_map(|hash| self.entries.run(*hash));
        for entry in entries() {
            read ^= entry.slices.len();
        }
        for entry in entries() {
            read ^= usize::from(entry.key.as_bytes()[0]);
            read ^= entry.service.as_ref().map_or(0, |service| service.ports.len());
        }
        black_box(read);
    }

    /// The hash of labels in wire format and lower case.
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = self.seed.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    }

    fn hash_address(&self, address: IpAddr) -> u64 {
        hash_address(&self.seed, address)
    }

    /// Does not borrow the snapshot, so that its tables can be changed meanwhile.
    pub(crate) fn address_hasher(&self) -> impl Fn(IpAddr) -> u64 + use<> {
        let seed = self.seed.clone();
        move |address| hash_address(&seed, address)
    }
}

impl Holder<'_> {
    fn has(self, address: IpAddr) -> bool {
        match self {
            Holder::Service(service) => service.cluster_ips().contains(&address),
            Holder::Slice(slice) => slice.endpoints.has(address),
            Holder::Import(import) => import.ips.contains(&address),
            Holder::Pod(pod) => pod.ips.contains(&address),
        }
    }
}

/// Removes adjacent duplicates: two addresses of one owner may have the same hash.
fn distinct(owners: &[Arc<Owner>]) -> impl Iterator<Item = &Owner> {
    owners.chunk_by(|a, b| a == b).filter_map(|alike| alike.first()).map(|owner| &**owner)
}

fn hash_address(seed: &SeedableRandomState, address: IpAddr) -> u64 {
    let mut hasher = seed.build_hasher();
    match address {
        IpAddr::V4(address) => hasher.write_u32(address.to_bits()),
        IpAddr::V6(address) => hasher.write_u128(address.to_bits()),
    }
    hasher.finish()
}

fn find_slice<'s>(slices: &'s [Arc<EndpointSlice>], key: &Key) -> Option<Holder<'s>> {
    let at = slices.binary_search_by(|slice| slice.key.cmp(key)).ok()?;
    slices.get(at).map(Holder::Slice)
}

/// Unix times of the last changes that affect answers; 0 if there were none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastModified {
    /// Services, endpoints and pods.
    pub internal: u32,
    /// External addresses of Services.
    pub external: u32,
    /// ServiceImports and their endpoints.
    pub multicluster: u32,
}
