//! Target names of records: the Service's part in lower case, the zone in the client's case.

use cluster::Key;
use wire::{Name, Owner, Question, Reply};

use super::endpoint_name::EndpointName;
use super::service_match::Hit;

const MAX_LEN: usize = 255;

/// Buffer for target names, reused because zeroing it costs as much as writing a name.
pub(super) struct Target {
    bytes: [u8; MAX_LEN],
    len: usize,
}

/// The parts of a hit that make its target name: equal keys have equal names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TargetKey<'s> {
    /// First, because it differs most often in comparisons.
    endpoint: Option<EndpointName<'s>>,
    key: &'s [u8],
    cluster: &'s str,
}

impl<'s> TargetKey<'s> {
    pub fn of(hit: &Hit<'s>, pod_names: bool) -> Self {
        let endpoint = hit.endpoint.map(|endpoint| EndpointName::of(endpoint, pod_names));
        Self { key: hit.key.as_bytes(), cluster: hit.cluster, endpoint }
    }

    pub fn service(key: &'s Key) -> Self {
        Self { key: key.as_bytes(), cluster: "", endpoint: None }
    }

    /// Writes the name under `zone`, which is in wire format. None if it is too long.
    pub fn name_in<'t>(&self, target: &'t mut Target, zone: &[u8]) -> Option<Name<'t>> {
        self.front_in(target)?.octets(b"\x03svc")?.octets(zone)?;
        target.name()
    }

    /// Writes the labels up to the namespace.
    pub fn front_in<'t>(&self, target: &'t mut Target) -> Option<&'t mut Target> {
        target.clear();
        match self.endpoint {
            // A pod's name with dots becomes several labels; queries for that name do not match.
            Some(EndpointName::Text(text)) => {
                for label in text.as_bytes().split(|byte| *byte == b'.') {
                    target.label(label)?;
                }
            }
            Some(endpoint) => {
                target.label(endpoint.label()?.as_bytes())?;
            }
            None => {}
        }
        if !self.cluster.is_empty() {
            target.label(self.cluster.as_bytes())?;
        }
        target.octets(self.key)
    }
}

impl Target {
    pub fn new() -> Self {
        Self { bytes: [0; MAX_LEN], len: 0 }
    }

    pub fn clear(&mut self) -> &mut Self {
        self.len = 0;
        self
    }

    pub fn label(&mut self, label: &[u8]) -> Option<&mut Self> {
        let len = u8::try_from(label.len()).ok().filter(|len| (1..64).contains(len))?;
        self.octets(&[len])?.octets(label)
    }

    /// Appends labels in wire format.
    pub fn octets(&mut self, octets: &[u8]) -> Option<&mut Self> {
        self.bytes.get_mut(self.len..self.len + octets.len())?.copy_from_slice(octets);
        self.len += octets.len();
        Some(self)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// None if the octets are not a valid name.
    pub fn name(&self) -> Option<Name<'_>> {
        Name::from_wire(self.as_bytes())
    }
}

/// A name as an owner: a reference into the question if that ends with it, case included.
pub(super) fn owner(reply: &mut Reply, question: &Question, name: Name<'_>) -> Owner {
    end_of_question(question, name.wire()).unwrap_or_else(|| reply.store(name))
}

/// The same for a name that the reply already stores.
pub(super) fn in_question_or(reply: &Reply, question: &Question, stored: Owner) -> Owner {
    end_of_question(question, reply.owner_octets(stored, question.name())).unwrap_or(stored)
}

fn end_of_question(question: &Question, name: &[u8]) -> Option<Owner> {
    let asked = question.name().wire();
    let at = asked.len().checked_sub(name.len())?;
    asked.ends_with(name).then_some(Owner::Question(at as u8))
}
