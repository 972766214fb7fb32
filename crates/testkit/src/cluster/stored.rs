//! The objects of a cluster as listed by its API server.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Api;
use super::objects::{self, Resource};
use crate::error::Result;

/// All objects by kind, with the API server's defaults.
#[derive(Clone, Debug, Default)]
pub struct StoredObjects {
    pub namespaces: Vec<Value>,
    pub services: Vec<Value>,
    pub slices: Vec<Value>,
    pub pods: Vec<Value>,
    /// Empty where ServiceImports are not installed.
    pub imports: Vec<Value>,
}

impl StoredObjects {
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

    /// The union of two lists, each version of an object once, to query both old and current names.
    pub fn union(mut self, later: &Self) -> Self {
        for resource in Resource::ALL {
            let items = self.of_mut(resource);
            let versions: BTreeSet<String> = items.iter().map(version).collect();
            items.extend(
                later.of(resource).iter().filter(|object| !versions.contains(&version(object))).cloned(),
            );
        }
        self
    }
}

/// Identifies an object and its version.
fn version(object: &Value) -> String {
    let field = |name: &str| objects::text(object, name).to_owned();
    field("/metadata/uid") + "/" + &field("/metadata/resourceVersion")
}

/// Adds kind and API version, which items of a list lack and files need.
fn typed(resource: Resource, mut item: Value) -> Value {
    if let Some(fields) = item.as_object_mut() {
        fields.insert("apiVersion".into(), resource.api_version().into());
        fields.insert("kind".into(), resource.kind().into());
    }
    item
}
