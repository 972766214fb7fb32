//! The identity of an object: kind, namespace and name.

use std::fmt;

use super::{Kind, Object};
use crate::key::Key;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    Namespace(Box<str>),
    Namespaced(Kind, Key),
}

impl Identity {
    /// None if the name is invalid.
    pub(crate) fn new(kind: Kind, namespace: &str, name: &str) -> Option<Self> {
        Some(match kind {
            Kind::Namespace => Identity::Namespace(name.into()),
            kind => Identity::Namespaced(kind, Key::new(namespace, name)?),
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Identity::Namespace(_) => Kind::Namespace,
            Identity::Namespaced(kind, _) => *kind,
        }
    }

    /// The key among the objects of its kind.
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Identity::Namespace(name) => name.as_bytes(),
            Identity::Namespaced(_, key) => key.as_bytes(),
        }
    }
}

impl Object {
    pub(crate) fn identity(&self) -> Identity {
        match self {
            Object::Namespace(it) => Identity::Namespace(it.name.clone()),
            Object::Service(it) => Identity::Namespaced(Kind::Service, it.key.clone()),
            Object::EndpointSlice(it) => Identity::Namespaced(Kind::EndpointSlice, it.key.clone()),
            Object::Pod(it) => Identity::Namespaced(Kind::Pod, it.key.clone()),
            Object::ServiceImport(it) => Identity::Namespaced(Kind::ServiceImport, it.key.clone()),
        }
    }
}

/// `Service shop/web`
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Identity::Namespace(name) => write!(f, "Namespace {name}"),
            Identity::Namespaced(kind, key) => write!(f, "{} {key}", kind.name()),
        }
    }
}
