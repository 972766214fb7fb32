use std::sync::Arc;

/// All ports of one object. Many objects have equal ports, which the index interns.
pub type Ports = Arc<[Port]>;

/// A port of a Service or of the endpoints behind it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Empty if it has none.
    pub name: Box<str>,
    /// `TCP`, as the API spells it; empty if unknown.
    pub protocol: Box<str>,
    /// None for a port without a number, which has no SRV record.
    pub number: Option<u16>,
}
