/// A port of a Service or of the endpoints behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Empty if it has none.
    pub name: Box<str>,
    /// `TCP`, as the API spells it; empty if unknown.
    pub protocol: Box<str>,
    /// None: a port without a number, which has no SRV record.
    pub number: Option<u16>,
}
