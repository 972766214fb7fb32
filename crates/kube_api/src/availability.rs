//! Whether a watched resource can be had at a server, and why not.

use std::time::Instant;

/// The state of one watch, as its consumers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// The server does not serve the resource, at least not in a known version. It may appear at any time.
    Absent { why: String },
    /// The server refuses to list or watch it (403).
    Forbidden { why: String },
    /// Listed completely, and the watch is connected.
    Synced,
    /// The data may be outdated.
    Stale { since: Instant, why: String },
}

impl Availability {
    /// `absent`, `forbidden`, `synced` or `stale`
    pub fn name(&self) -> &'static str {
        match self {
            Availability::Absent { .. } => "absent",
            Availability::Forbidden { .. } => "forbidden",
            Availability::Synced => "synced",
            Availability::Stale { .. } => "stale",
        }
    }

    pub(crate) fn is_same_state(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}
