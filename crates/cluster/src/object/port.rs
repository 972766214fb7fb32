use std::sync::Arc;

/// All ports of one object. Most are alike from object to object, and the index keeps like ones once.
pub type Ports = Arc<[Port]>;

/// A port of a Service or of the endpoints behind it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Empty if it has none.
    pub name: Box<str>,
    /// `TCP`, as the API spells it; empty if unknown.
    pub protocol: Box<str>,
    /// None: a port without a number, which has no SRV record.
    pub number: Option<u16>,
}
