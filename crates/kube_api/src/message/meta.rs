//! Metadata, which every object has.

use std::fmt;

use prost::Message;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Annotations are not here: Services and Pods carry kilobytes of them. See [`AnnotatedObject`].
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectMeta {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
    #[prost(string, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub resource_version: String,
    #[prost(message, optional, tag = "9")]
    pub deletion_timestamp: Option<Timestamp>,
    // A map is a repeated pair on the wire; lookups are too rare to be worth hashing.
    #[prost(message, repeated, tag = "11")]
    #[serde(deserialize_with = "pairs")]
    pub labels: Vec<Pair>,
}

impl ObjectMeta {
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.labels.iter().map(|pair| (&*pair.key, &*pair.value))
    }

    /// None if missing or empty.
    pub fn label(&self, key: &str) -> Option<&str> {
        find(&self.labels, key)
    }
}

/// Any object, decoded for its metadata only.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct PartialObject {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
}

/// Any object, decoded for its annotations only.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct AnnotatedObject {
    #[prost(message, required, tag = "1")]
    metadata: Annotations,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Annotations {
    #[prost(string, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    resource_version: String,
    #[prost(message, repeated, tag = "12")]
    #[serde(deserialize_with = "pairs")]
    annotations: Vec<Pair>,
}

impl AnnotatedObject {
    #[cfg(feature = "encode")]
    pub fn new(version: &str, annotations: &[(&str, &str)]) -> Self {
        let annotations = annotations.iter().map(|(key, value)| Pair::new(key, value)).collect();
        Self { metadata: Annotations { resource_version: version.to_owned(), annotations } }
    }

    pub fn annotation(&self, key: &str) -> Option<&str> {
        find(&self.metadata.annotations, key)
    }

    pub fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct Pair {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

impl Pair {
    pub fn new(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_owned() }
    }
}

fn find<'p>(pairs: &'p [Pair], key: &str) -> Option<&'p str> {
    pairs.iter().find(|pair| pair.key == key).map(|pair| &*pair.value).filter(|value| !value.is_empty())
}

/// A time whose presence alone matters.
#[derive(Clone, PartialEq, Message)]
pub struct Timestamp {}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self {})
    }
}

/// `null` counts as absent, as for the API server: `ports:` with all its entries commented out.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Pair>, D::Error> {
    struct Map;
    impl<'de> Visitor<'de> for Map {
        type Value = Vec<Pair>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map of strings")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Pair>, A::Error> {
            let mut pairs = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, Option<String>>()? {
                pairs.push(Pair { key, value: value.unwrap_or_default() });
            }
            Ok(pairs)
        }

        fn visit_unit<E>(self) -> Result<Vec<Pair>, E> {
            Ok(Vec::new())
        }

        fn visit_none<E>(self) -> Result<Vec<Pair>, E> {
            Ok(Vec::new())
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Pair>, D::Error> {
            deserializer.deserialize_map(self)
        }
    }
    deserializer.deserialize_option(Map)
}
