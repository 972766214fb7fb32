//! A kind of object in the API, as a type.

use std::fmt;

use crate::decode::{Encoding, RawObject};
use crate::message::ObjectMeta;

/// A kind of object: where the API has it, and how its slim form is decoded. A slim form has the union of the fields that
/// the consumers read.
pub trait Resource: Send + Sync + Sized + 'static {
    /// Empty for the core group.
    const GROUP: &'static str;
    /// The versions that [`Resource::decode`] understands, preferred first.
    const VERSIONS: &'static [&'static str];
    /// `Service`
    const KIND: &'static str;
    /// `services`
    const PLURAL: &'static str;
    /// The encoding to request. Custom resources have JSON only.
    const ENCODING: Encoding;

    /// Decodes the slim form, usually by [`RawObject::message`] or [`RawObject::json`].
    fn decode(object: &RawObject) -> Result<Self, String>;

    fn meta(&self) -> &ObjectMeta;
}

/// Whether the server is sure to serve the one known version, so that no discovery is needed.
pub(crate) fn is_built_in<R: Resource>() -> bool {
    R::ENCODING == Encoding::Protobuf && R::VERSIONS.len() == 1
}

/// `/api/v1` or `/apis/GROUP/VERSION`
pub(crate) fn group_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// The path of a collection; all namespaces, or an object without one: `""`.
pub(crate) fn collection_path<R: Resource>(version: &str, namespace: &str) -> String {
    let group = group_path(R::GROUP, version);
    match namespace.is_empty() {
        true => format!("{group}/{}", R::PLURAL),
        false => format!("{group}/namespaces/{namespace}/{}", R::PLURAL),
    }
}

/// The namespace and name of an object; cluster-scoped objects have no namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    pub namespace: String,
    pub name: String,
}

impl ObjectName {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// `shop/web`
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.is_empty() {
            true => f.write_str(&self.name),
            false => write!(f, "{}/{}", self.namespace, self.name),
        }
    }
}
