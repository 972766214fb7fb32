//! A cluster as its API server tells it: every object a DNS server may read, listed back.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Api;
use super::objects::{self, Resource};
use crate::error::Result;

/// All objects by kind, with what the API server has added to them.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    pub namespaces: Vec<Value>,
    pub services: Vec<Value>,
    pub slices: Vec<Value>,
    pub pods: Vec<Value>,
    /// None where ServiceImports are not installed.
    pub imports: Vec<Value>,
}

impl Stored {
    pub fn read(api: &Api) -> Result<Self> {
        let mut stored = Self::default();
        for resource in Resource::ALL {
            let path = resource.collection("");
            let items = match api.get(&path) {
                Ok(list) => objects::list(&list, "/items").to_vec(),
                Err(e) if resource == Resource::ServiceImport && e.to_string().contains("404") => Vec::new(),
                Err(e) => return Err(e),
            };
            *stored.of_mut(resource) = items.into_iter().map(|item| typed(resource, item)).collect();
        }
        Ok(stored)
    }

    pub fn of(&self, resource: Resource) -> &[Value] {
        match resource {
            Resource::Namespace => &self.namespaces,
            Resource::Service => &self.services,
            Resource::EndpointSlice => &self.slices,
            Resource::Pod => &self.pods,
            Resource::ServiceImport => &self.imports,
        }
    }

    fn of_mut(&mut self, resource: Resource) -> &mut Vec<Value> {
        match resource {
            Resource::Namespace => &mut self.namespaces,
            Resource::Service => &mut self.services,
            Resource::EndpointSlice => &mut self.slices,
            Resource::Pod => &mut self.pods,
            Resource::ServiceImport => &mut self.imports,
        }
    }

    /// What either of two moments holds, each version of an object once: names to ask for that were there or are.
    pub fn and(mut self, later: &Self) -> Self {
        for resource in Resource::ALL {
            let mine = self.of_mut(resource);
            let known: BTreeSet<String> = mine.iter().map(version).collect();
            mine.extend(
                later.of(resource).iter().filter(|object| !known.contains(&version(object))).cloned(),
            );
        }
        self
    }
}

/// Which object it is, and at which time.
fn version(object: &Value) -> String {
    let field = |name: &str| objects::text(object, name).to_owned();
    field("/metadata/uid") + "/" + &field("/metadata/resourceVersion")
}

/// Items of a list do not say what they are; files must.
fn typed(resource: Resource, mut item: Value) -> Value {
    if let Some(fields) = item.as_object_mut() {
        fields.insert("apiVersion".into(), resource.api_version().into());
        fields.insert("kind".into(), resource.kind().into());
    }
    item
}
