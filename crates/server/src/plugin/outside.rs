//! What a plugin that knows a cluster tells those that answer for it to the world outside.

use std::net::IpAddr;

/// A plugin that knows how what is inside a cluster is reached from outside. Names are labels as in a packet, in
/// lower case, without a zone: `\x03web\x04shop`.
pub trait Outside {
    /// Tells `each` where a name leads, once for every address and port. With `endpoints`, names without addresses
    /// outside lead to the endpoints behind them.
    fn find(&self, front: &[u8], endpoints: bool, each: &mut dyn FnMut(Reached<'_>)) -> Existence;

    /// Tells `each` the names that have an address outside. False if there may be more that are not known yet.
    fn names_of(&self, address: IpAddr, each: &mut dyn FnMut(&[u8])) -> bool;

    /// Tells `each` the addresses under which this server itself is reached from outside.
    fn own_addresses(&self, endpoints: bool, each: &mut dyn FnMut(IpAddr));

    /// The time of the last change, for SOA records.
    fn serial(&self) -> u32;

    /// How long an answer about the cluster may be remembered.
    fn ttl(&self) -> u32;

    /// Why [`Outside::find`] says what it says, for explanations.
    fn reason(&self, front: &[u8], endpoints: bool) -> String;

    /// Why the cluster is not known completely, a line for each kind that was not listed; empty once all were.
    fn unknown(&self) -> Vec<String>;
}

/// One way in from outside.
#[derive(Clone, Copy, Debug)]
pub struct Reached<'a> {
    pub at: Place<'a>,
    /// The name that stands for it in SRV records.
    pub front: &'a [u8],
    /// None: no port is declared, and there is no SRV record.
    pub port: Option<u16>,
}

/// Where something is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    Address(IpAddr),
    /// A name of somebody else, as it was written there.
    Host(&'a str),
}

/// Whether a name is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It is, perhaps for the sake of others below it.
    Exists,
    Nowhere,
    /// Not that we know of, but not everything is known yet.
    Unknown,
}
