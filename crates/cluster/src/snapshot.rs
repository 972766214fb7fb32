//! What queries read: the cluster at one moment.

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
use crate::want::Selected;

/// The cluster at one moment. Cheap to clone; two snapshots share all that did not change between them.
#[derive(Clone)]
pub struct Snapshot {
    /// Random, since names are chosen by strangers.
    pub(crate) seed: SeedableRandomState,
    pub(crate) entries: Shards<Arc<Entry>>,
    pub(crate) namespaces: Shards<Arc<Namespace>>,
    /// Who has an address inside, but for pods. A row is found by the address's hash and is nothing but its owner,
    /// who knows the address.
    pub(crate) addresses: Shards<Arc<Owner>>,
    /// Which Services have an address outside.
    pub(crate) external: Shards<Arc<Owner>>,
    pub(crate) pods: Shards<(IpAddr, Arc<Pod>)>,
    pub(crate) synced: [bool; Kind::ALL.len()],
    pub(crate) counts: [usize; Kind::ALL.len()],
    pub(crate) modified: Modified,
}

/// All that is known under one namespace and name.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: Key,
    pub service: Option<Arc<Service>>,
    /// The slices of the Service, which may be here before it and after it; in the order of their keys.
    pub slices: Box<[Arc<EndpointSlice>]>,
    pub import: Option<Arc<ServiceImport>>,
    /// The slices of the ServiceImport, in the order of their keys.
    pub imported: Box<[Arc<EndpointSlice>]>,
}

/// Something that has an address.
#[derive(Clone, Copy, Debug)]
pub enum Holder<'s> {
    Service(&'s Arc<Service>),
    /// One ready endpoint at least has the address.
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
            modified: Modified::default(),
        }
    }

    /// What is known under the two labels `name.namespace`, given as in a packet and in lower case.
    pub fn entry(&self, labels: &[u8]) -> Option<&Entry> {
        self.entries.find(self.hash(labels), |entry| entry.key.as_bytes() == labels).map(|entry| &**entry)
    }

    /// Every entry, in no order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|entry| &**entry)
    }

    /// Which selectors a namespace fits, if it exists.
    pub fn namespace(&self, name: &[u8]) -> Option<Selected> {
        let namespace = self.namespaces.find(self.hash(name), |other| other.name.as_bytes() == name)?;
        Some(namespace.selected)
    }

    /// Every namespace, in no order.
    pub fn namespaces(&self) -> impl Iterator<Item = (&str, Selected)> {
        self.namespaces.iter().map(|namespace| (&*namespace.name, namespace.selected))
    }

    /// Who has the address: Services by their cluster IPs, then slices, ServiceImports, pods.
    pub fn holders(&self, address: IpAddr) -> impl Iterator<Item = Holder<'_>> {
        let hash = self.hash_address(address);
        let owners = distinct(self.addresses.run(hash)).filter_map(|owner| self.find(owner));
        let holders = owners.filter(move |holder| holder.has(address));
        // Behind a closure, since most callers stop before the pods.
        let pods = std::iter::once_with(move || self.pods.run(hash)).flatten();
        let pods = pods.filter(move |(held, _)| *held == address).map(|(_, pod)| Holder::Pod(pod));
        holders.chain(pods)
    }

    /// The Services that have the address outside.
    pub fn external_holders(&self, address: IpAddr) -> impl Iterator<Item = &Arc<Service>> {
        distinct(self.external.run(self.hash_address(address))).filter_map(move |owner| {
            match self.find(owner)? {
                Holder::Service(service) => Some(service).filter(|service| service.has_outside(address)),
                _ => None,
            }
        })
    }

    /// Whether a kind was listed whole once. Before that, what is missing may only be late.
    pub fn has_synced(&self, kind: Kind) -> bool {
        self.synced[kind as usize]
    }

    /// How many objects of a kind there are.
    pub fn count(&self, kind: Kind) -> usize {
        self.counts[kind as usize]
    }

    /// Unix times of the last changes that matter to answers: the serials of zones.
    pub fn modified(&self) -> Modified {
        self.modified
    }

    /// An object by its name; looks through everything if it must.
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

    /// Reads a little of everything that [`Snapshot::entry`] will read for labels with these hashes. All of them are taken
    /// one step further before the next: the processor waits for their memory at once, and not for each in turn.
    pub fn fetch(&self, hashes: &[u64]) {
        let mut read = 0;
        for hash in hashes {
            read ^= self.entries.read_leaf(*hash);
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

    /// Where labels are found, given as in a packet and in lower case.
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = self.seed.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    }

    fn hash_address(&self, address: IpAddr) -> u64 {
        hash_address(&self.seed, address)
    }

    /// Apart from the snapshot, so that its tables can be written to meanwhile.
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

/// Two addresses of one owner may have one hash.
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

/// Unix times of last changes, 0 if there were none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modified {
    /// Services, endpoints and pods inside.
    pub internal: u32,
    /// External addresses of Services.
    pub external: u32,
    /// ServiceImports and their endpoints.
    pub multicluster: u32,
}
