//! What `k8s_external` answers from: how clients outside a cluster reach its Services.

use std::net::IpAddr;

/// A plugin that knows the external addresses of a cluster's Services. Names are labels in wire format, in lower
/// case, without a zone: `\x03web\x04shop`.
pub(crate) trait ExternalServices: Send + Sync {
    /// Calls `each` for every external address and port of a name. With `endpoints`, a name without external addresses
    /// has those of its endpoints.
    fn find(&self, front: &[u8], endpoints: bool, each: &mut dyn FnMut(ExternalEndpoint<'_>)) -> Existence;

    /// Calls `each` with the names that have an external address. False if the data are incomplete.
    fn names_of(&self, address: IpAddr, each: &mut dyn FnMut(&[u8])) -> bool;

    /// Calls `each` with the external addresses of this server itself.
    fn own_addresses(&self, endpoints: bool, each: &mut dyn FnMut(IpAddr));

    /// The time of the last change, for SOA records.
    fn serial(&self) -> u32;

    /// The TTL of answers about the cluster, in seconds.
    fn ttl(&self) -> u32;

    /// The reason for the result of [`ExternalServices::find`], for explanations.
    fn reason(&self, front: &[u8], endpoints: bool) -> String;

    /// Why the data are incomplete: a line for each kind that was not listed yet; empty once all were.
    fn unknown(&self) -> Vec<String>;
}

/// One external address of a Service, with a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExternalEndpoint<'a> {
    pub target: ExternalTarget<'a>,
    /// Its name in SRV records.
    pub front: &'a [u8],
    /// None if no port is declared; then there is no SRV record.
    pub port: Option<u16>,
}

/// An external address or host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExternalTarget<'a> {
    Address(IpAddr),
    /// A host name, as written in the Service.
    Host(&'a str),
}

/// Whether a name exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existence {
    /// It exists, if only because names below it do.
    Exists,
    Absent,
    /// It is not in the data, but these are incomplete.
    Unknown,
}
