//! The objects of a test cluster as JSON, and their API paths.

use serde_json::Value;

/// The kinds that a DNS server for Kubernetes reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    Namespace,
    Service,
    EndpointSlice,
    Pod,
    ServiceImport,
}

impl Resource {
    pub const ALL: [Self; 5] =
        [Self::Namespace, Self::Service, Self::EndpointSlice, Self::Pod, Self::ServiceImport];

    /// As in a manifest.
    pub fn kind(self) -> &'static str {
        self.row().0
    }

    pub fn api_version(self) -> &'static str {
        self.row().1
    }

    /// Empty for the core group.
    pub fn group(self) -> &'static str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// As in API paths.
    pub fn plural(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Namespace => ("Namespace", "v1", "namespaces"),
            Self::Service => ("Service", "v1", "services"),
            Self::EndpointSlice => ("EndpointSlice", "discovery.k8s.io/v1", "endpointslices"),
            Self::Pod => ("Pod", "v1", "pods"),
            Self::ServiceImport => ("ServiceImport", "multicluster.x-k8s.io/v1alpha1", "serviceimports"),
        }
    }

    /// The path of all objects, or of those in `namespace` unless it is empty.
    pub fn collection(self, namespace: &str) -> String {
        collection(self.api_version(), self.plural(), namespace)
    }

    /// The path of one object.
    pub fn path(self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
}

/// The path of a collection of any API.
pub fn collection(api_version: &str, plural: &str, namespace: &str) -> String {
    let root = if api_version.contains('/') { "/apis" } else { "/api" };
    let within = if namespace.is_empty() { String::new() } else { format!("namespaces/{namespace}/") };
    format!("{root}/{api_version}/{within}{plural}")
}

/// An object to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub resource: Resource,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    pub name: String,
    pub body: Value,
    /// Written through the status subresource after creation.
    pub status: Option<Value>,
    /// Deleted after creation, but kept as terminating by a finalizer.
    pub terminating: bool,
}

impl Object {
    pub fn new(resource: Resource, namespace: &str, name: &str, body: Value) -> Self {
        Self {
            resource,
            namespace: namespace.into(),
            name: name.into(),
            body,
            status: None,
            terminating: false,
        }
    }

    pub fn path(&self) -> String {
        self.resource.path(&self.namespace, &self.name)
    }
}

/// The text at a JSON pointer; empty if there is none.
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a JSON pointer; empty if there is none.
pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub fn name_of(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub fn namespace_of(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

/// A label of an object; its name may hold slashes.
pub fn label_of<'a>(object: &'a Value, label: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(label)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (resource, namespace, path) in [
            (Resource::Namespace, "", "/api/v1/namespaces"),
            (Resource::Service, "shop", "/api/v1/namespaces/shop/services"),
            (Resource::EndpointSlice, "", "/apis/discovery.k8s.io/v1/endpointslices"),
            (
                Resource::ServiceImport,
                "a",
                "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/a/serviceimports",
            ),
        ] {
            assert_eq!(resource.collection(namespace), path);
        }
    }
}
