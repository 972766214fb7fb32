//! Restricts a server block to queries that match its expressions.

mod setup;
#[cfg(test)]
mod tests;

use expr::{Program, Value};
use server::{BlockFilter, Client, Hooks, Metadata, MetadataView, Plugin};
use wire::Query;

use crate::messages::expression::QueryVariables;
pub(crate) use setup::setup;

struct View {
    name: String,
    /// All of them must be true; without any, the block accepts every query.
    conditions: Vec<Program>,
}

impl Plugin for View {
    fn name(&self) -> &'static str {
        "view"
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }
}

impl BlockFilter for View {
    fn view_name(&self) -> &str {
        &self.name
    }

    /// An expression that fails, or that yields anything but true, does not accept the query.
    fn accepts(&self, query: &Query, client: &Client, metadata: &dyn Fn(&str) -> Option<String>) -> bool {
        if self.conditions.is_empty() {
            return true;
        }
        let about = QueryVariables::new(query, client, metadata);
        self.conditions.iter().all(|condition| matches!(condition.run(&about), Ok(Value::Bool(true))))
    }
}

impl Metadata for View {
    fn value(&self, label: &str, _: &MetadataView<'_>) -> Option<String> {
        (label == "view/name").then(|| self.name.clone())
    }
}
