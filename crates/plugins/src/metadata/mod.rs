//! `metadata`: enables metadata, values that plugins offer each other about a query, by label.
//!
//! The server computes a value when a plugin reads it, not beforehand; this plugin only sets the zones. It is in the
//! chain because CoreDNS's is: a block with nothing else answers SERVFAIL instead of REFUSED.

mod setup;
#[cfg(test)]
mod tests;

use server::{Hooks, Plugin};

pub(crate) use setup::setup;

pub(crate) struct Metadata;

impl Plugin for Metadata {
    fn name(&self) -> &'static str {
        "metadata"
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }
}
