//! The index of one hosts file: names to addresses and addresses to names. It is immutable, so queries read it without a
//! lock.
//!
//! ```text
//! index (hash of name) ──→ offsets[i] ──→ wire[offsets[i]..offsets[i+1]]   the name, lower case, wire form
//!                                     ├─→ v4[..], v6[..]                   its addresses, in the file's order
//! reverse (sorted by address) ──→ indexes of names ──→ wire
//! ```
//!
//! Flat arrays, because block lists have millions of names with one address each.

use std::hash::{BuildHasher, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use wire::{Name, NameBuf};

/// The contents of a hosts file.
#[derive(Default)]
pub(super) struct Table {
    exact: Names,
    /// Wildcards, by the name after the asterisk.
    wild: Names,
    reverse4: Reverse<Ipv4Addr>,
    reverse6: Reverse<Ipv6Addr>,
    entries: usize,
}

impl Table {
    /// The IPv4 addresses of a lower-case name. A wildcard applies only if the name has none of this family.
    pub fn v4(&self, name: Name<'_>) -> &[Ipv4Addr] {
        match self.exact.v4(name) {
            [] => covering(name).map_or(&[], |parent| self.wild.v4(parent)),
            found => found,
        }
    }

    pub fn v6(&self, name: Name<'_>) -> &[Ipv6Addr] {
        match self.exact.v6(name) {
            [] => covering(name).map_or(&[], |parent| self.wild.v6(parent)),
            found => found,
        }
    }

    pub fn has(&self, name: Name<'_>) -> bool {
        !self.v4(name).is_empty() || !self.v6(name).is_empty()
    }

    /// The names of an address, in the file's order. The address must not be IPv4-mapped.
    pub fn names(&self, address: IpAddr) -> impl ExactSizeIterator<Item = &[u8]> {
        let numbers = match address {
            IpAddr::V4(ip) => self.reverse4.find(ip),
            IpAddr::V6(ip) => self.reverse6.find(ip),
        };
        numbers.iter().map(|&number| self.exact.wire(number as usize))
    }

    /// Addresses and reverse names together, as the metric counts them.
    pub fn entries(&self) -> usize {
        self.entries
    }
}

/// The name whose wildcard would cover this one. The root has no wildcard here.
fn covering(name: Name<'_>) -> Option<Name<'_>> {
    name.parent().filter(|parent| !parent.is_root())
}

/// Names with their addresses.
#[derive(Default)]
struct Names {
    /// Seeded, since strangers choose the names in queries.
    hasher: RandomState,
    index: HashTable<u32>,
    /// Start of each name's part of the arrays below; the last one is their end.
    offsets: Vec<Offsets>,
    wire: Vec<u8>,
    v4: Vec<Ipv4Addr>,
    v6: Vec<Ipv6Addr>,
}

#[derive(Clone, Copy)]
struct Offsets {
    wire: u32,
    v4: u32,
    v6: u32,
}

impl Names {
    fn find(&self, name: Name<'_>) -> Option<usize> {
        if self.index.is_empty() {
            return None;
        }
        let wire = name.wire();
        let found = self.index.find(hash(&self.hasher, wire), |&number| self.wire(number as usize) == wire);
        found.map(|&number| number as usize)
    }

    fn wire(&self, number: usize) -> &[u8] {
        &self.wire[self.offsets[number].wire as usize..self.offsets[number + 1].wire as usize]
    }

    fn v4(&self, name: Name<'_>) -> &[Ipv4Addr] {
        let Some(number) = self.find(name) else { return &[] };
        &self.v4[self.offsets[number].v4 as usize..self.offsets[number + 1].v4 as usize]
    }

    fn v6(&self, name: Name<'_>) -> &[Ipv6Addr] {
        let Some(number) = self.find(name) else { return &[] };
        &self.v6[self.offsets[number].v6 as usize..self.offsets[number + 1].v6 as usize]
    }
}

fn hash(hasher: &RandomState, bytes: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(bytes);
    state.finish()
}

/// Sorted addresses, each with the numbers of its names.
struct Reverse<A> {
    addresses: Vec<A>,
    /// Start of each address's part of `names`; the last one is their end.
    starts: Vec<u32>,
    names: Vec<u32>,
}

impl<A> Default for Reverse<A> {
    fn default() -> Self {
        Reverse { addresses: Vec::new(), starts: Vec::new(), names: Vec::new() }
    }
}

impl<A: Ord + Copy> Reverse<A> {
    fn new(mut pairs: Vec<(A, u32)>) -> Self {
        pairs.sort_by_key(|(address, _)| *address);
        let mut made = Reverse::default();
        for (at, (address, name)) in pairs.iter().enumerate() {
            if made.addresses.last() != Some(address) {
                made.addresses.push(*address);
                made.starts.push(at as u32);
            }
            made.names.push(*name);
        }
        made.starts.push(pairs.len() as u32);
        made.addresses.shrink_to_fit();
        made.starts.shrink_to_fit();
        made
    }

    fn find(&self, address: A) -> &[u32] {
        match self.addresses.binary_search(&address) {
            Ok(at) => &self.names[self.starts[at] as usize..self.starts[at + 1] as usize],
            Err(_) => &[],
        }
    }
}

/// Builds a [`Table`].
#[derive(Default)]
pub(super) struct Builder {
    exact: NamesBuilder,
    wild: NamesBuilder,
    reverse4: Vec<(Ipv4Addr, u32)>,
    reverse6: Vec<(Ipv6Addr, u32)>,
    entries: usize,
}

impl Builder {
    /// Adds an address to a name. A name that no query can match (`findable` is false) is still answered for PTR.
    pub fn add(&mut self, name: &NameBuf, findable: bool, address: IpAddr, reverse: bool) {
        self.entries += 1;
        let Some(number) = self.exact.add(name.wire(), findable, address) else { return };
        if !reverse {
            return;
        }
        self.entries += 1;
        match address {
            IpAddr::V4(ip) => self.reverse4.push((ip, number)),
            IpAddr::V6(ip) => self.reverse6.push((ip, number)),
        }
    }

    /// Adds an address to all names that the wildcard covers.
    pub fn add_wildcard(&mut self, wildcard: &NameBuf, findable: bool, address: IpAddr) {
        self.entries += 1;
        if let Some(parent) = covering(wildcard.as_name()).filter(|_| findable) {
            self.wild.add(parent.wire(), true, address);
        }
    }

    pub fn finish(self) -> Table {
        Table {
            exact: self.exact.finish(),
            wild: self.wild.finish(),
            reverse4: Reverse::new(self.reverse4),
            reverse6: Reverse::new(self.reverse6),
            entries: self.entries,
        }
    }
}

/// Builds [`Names`]: addresses with the numbers of their names, in the file's order.
#[derive(Default)]
struct NamesBuilder {
    hasher: RandomState,
    index: HashTable<u32>,
    starts: Vec<u32>,
    wire: Vec<u8>,
    v4: Vec<(u32, Ipv4Addr)>,
    v6: Vec<(u32, Ipv6Addr)>,
}

impl NamesBuilder {
    /// The name's number; None beyond 4 GiB of names, the range of the offsets.
    fn add(&mut self, name: &[u8], findable: bool, address: IpAddr) -> Option<u32> {
        let number = self.number(name, findable)?;
        match address {
            IpAddr::V4(ip) => self.v4.push((number, ip)),
            IpAddr::V6(ip) => self.v6.push((number, ip)),
        }
        Some(number)
    }

    fn number(&mut self, name: &[u8], findable: bool) -> Option<u32> {
        let NamesBuilder { hasher, index, starts, wire, .. } = self;
        let at = |number: u32| {
            let number = number as usize;
            let end = starts.get(number + 1).map_or(wire.len(), |&end| end as usize);
            &wire[starts[number] as usize..end]
        };
        let hashed = hash(hasher, name);
        if findable && let Some(&number) = index.find(hashed, |&number| at(number) == name) {
            return Some(number);
        }
        u32::try_from(wire.len() + name.len()).ok()?;
        let number = starts.len() as u32;
        if findable {
            index.insert_unique(hashed, number, |&number| hash(hasher, at(number)));
        }
        starts.push(wire.len() as u32);
        wire.extend_from_slice(name);
        Some(number)
    }

    fn finish(mut self) -> Names {
        // Stable: the addresses of a name stay in the file's order.
        self.v4.sort_by_key(|(number, _)| *number);
        self.v6.sort_by_key(|(number, _)| *number);
        let mut offsets = Vec::with_capacity(self.starts.len() + 1);
        let (mut v4, mut v6) = (0, 0);
        for (number, &wire) in self.starts.iter().enumerate() {
            offsets.push(Offsets { wire, v4: v4 as u32, v6: v6 as u32 });
            let is_of = |owner: u32| owner as usize == number;
            v4 += self.v4[v4..].iter().take_while(|(owner, _)| is_of(*owner)).count();
            v6 += self.v6[v6..].iter().take_while(|(owner, _)| is_of(*owner)).count();
        }
        offsets.push(Offsets { wire: self.wire.len() as u32, v4: v4 as u32, v6: v6 as u32 });
        self.wire.shrink_to_fit();
        Names {
            hasher: self.hasher,
            index: self.index,
            offsets,
            wire: self.wire,
            v4: self.v4.iter().map(|(_, ip)| *ip).collect(),
            v6: self.v6.iter().map(|(_, ip)| *ip).collect(),
        }
    }
}
