//! `metadata`: lets plugins ask each other for what they know of a query, by label.
//!
//! The values are found by the server when somebody asks, not collected beforehand; this plugin only says for
//! which zones. It is in the chain because CoreDNS's is: a block with nothing else fails instead of refusing.

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
