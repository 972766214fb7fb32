//! Leases (coordination.k8s.io/v1): one of several candidates holds it, and knows its term and when it has lost it.
//!
//! ```text
//!            acquire: free or expired            renew: the deadline passed, or somebody else holds it
//! candidate ─────────────────────────→ holder ──────────────────────────────────────────────────────→ candidate
//!                                        │ release
//!                                        └─────────→ candidate, and the lease is free at once
//! ```
//!
//! Clocks are never compared between machines. A candidate takes a lease whose record has not changed for its duration, by
//! the candidate's own clock; a holder considers itself lost when it could not renew within a deadline that is shorter.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::decode::{Encoding, RawObject};
use crate::message::{ObjectMeta, PartialObject};
use crate::resource::{ObjectName, Resource};
use crate::write::{WriteError, Writer};

/// A Lease; its other fields are read as JSON.
struct LeaseObject(PartialObject);

impl Resource for LeaseObject {
    const GROUP: &'static str = "coordination.k8s.io";
    const VERSIONS: &'static [&'static str] = &["v1"];
    const KIND: &'static str = "Lease";
    const PLURAL: &'static str = "leases";
    const ENCODING: Encoding = Encoding::Protobuf;

    fn decode(object: &RawObject) -> Result<Self, String> {
        object.message().map(Self)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }
}

/// How a lease is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    pub name: ObjectName,
    /// Unique among the candidates.
    pub identity: String,
    /// Others take the lease if it was not renewed for this long.
    pub duration: Duration,
    /// The holder considers itself lost if it could not renew for this long; shorter than `duration`.
    pub renew_deadline: Duration,
}

/// A candidate for a lease.
pub struct Lease {
    writer: Writer,
    settings: LeaseSettings,
    /// The record of the other holder, and since when it is unchanged.
    observed: Option<(String, Instant)>,
    held: Option<Held>,
}

struct Held {
    object: Value,
    term: u64,
    renewed: Instant,
}

/// Proof of holding a lease, for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Increases whenever the lease changes hands (`leaseTransitions`).
    pub term: u64,
    /// From then on the holder must consider itself lost, unless it renewed.
    pub until: Instant,
}

impl Lease {
    /// A candidate; nothing is requested yet.
    pub fn new(writer: Writer, settings: LeaseSettings) -> Self {
        Self { writer, settings, observed: None, held: None }
    }

    /// The current holding, by this process's own clock. Needs no request.
    pub fn holding(&self) -> Option<Holding> {
        let held = self.held.as_ref()?;
        let until = held.renewed + self.settings.renew_deadline;
        (Instant::now() < until).then_some(Holding { term: held.term, until })
    }

    /// Acquires the lease or renews it. None if another candidate holds it. An error leaves the holding as it was, until
    /// its deadline. To be called a few times per renew deadline.
    pub async fn acquire(&mut self) -> Result<Option<Holding>, WriteError> {
        // The time before the request: the server's record is at least as new.
        let now = Instant::now();
        let current = match self.held.take().filter(|held| now < held.renewed + self.settings.renew_deadline)
        {
            Some(held) => {
                let object = held.object.clone();
                self.held = Some(held);
                object
            }
            None => match self.writer.get::<LeaseObject>(&self.settings.name).await {
                Ok(object) => object,
                Err(WriteError::NotFound { .. }) => return self.create(now).await,
                Err(e) => return Err(e),
            },
        };
        if self.held.is_none() && !self.is_free(&current, now) {
            return Ok(None);
        }
        let is_mine = holder(&current) == self.settings.identity;
        let transitions = number(&current, "/spec/leaseTransitions");
        let term = if is_mine { transitions } else { transitions + 1 };
        let mut object = current;
        let acquired = object.pointer("/spec/acquireTime").cloned().filter(|_| is_mine);
        let mut spec = self.spec(term);
        if let Some(acquired) = acquired {
            spec["acquireTime"] = acquired;
        }
        object["spec"] = spec;
        match self.writer.update::<LeaseObject>(&self.settings.name, object).await {
            Ok(object) => Ok(self.hold(object, now)),
            // Another candidate was faster, or has taken the lease from us.
            Err(WriteError::Conflict(_) | WriteError::NotFound { .. }) => {
                self.held = None;
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Gives the lease up, so that another candidate need not wait for its end.
    pub async fn release(&mut self) -> Result<(), WriteError> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let mut object = held.object;
        object["spec"]["holderIdentity"] = json!("");
        object["spec"]["leaseDurationSeconds"] = json!(1);
        match self.writer.update::<LeaseObject>(&self.settings.name, object).await {
            // Lost already.
            Ok(_) | Err(WriteError::Conflict(_) | WriteError::NotFound { .. }) => Ok(()),
            Err(e) => Err(e),
        }
    }

    async fn create(&mut self, now: Instant) -> Result<Option<Holding>, WriteError> {
        let ObjectName { namespace, name } = &self.settings.name;
        let object = json!({"metadata": {"name": name, "namespace": namespace}, "spec": self.spec(0)});
        match self.writer.create::<LeaseObject>(namespace, object).await {
            Ok(object) => Ok(self.hold(object, now)),
            Err(WriteError::AlreadyExists { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn hold(&mut self, object: Value, renewed: Instant) -> Option<Holding> {
        let term = number(&object, "/spec/leaseTransitions");
        self.observed = None;
        self.held = Some(Held { object, term, renewed });
        self.holding()
    }

    /// Whether nobody else holds the lease, as far as this process could observe.
    fn is_free(&mut self, object: &Value, now: Instant) -> bool {
        let holder = holder(object);
        if holder.is_empty() || holder == self.settings.identity {
            return true;
        }
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let duration = Duration::from_secs(number(object, "/spec/leaseDurationSeconds"));
        match &self.observed {
            Some((observed, since)) if observed == version => now.duration_since(*since) >= duration,
            _ => {
                self.observed = Some((version.to_owned(), now));
                false
            }
        }
    }

    fn spec(&self, term: u64) -> Value {
        let now = micro_time(Timestamp::now());
        json!({
            "holderIdentity": self.settings.identity,
            "leaseDurationSeconds": self.settings.duration.as_secs().max(1),
            "leaseTransitions": term,
            "acquireTime": now,
            "renewTime": now,
        })
    }
}

fn holder(object: &Value) -> &str {
    object.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default()
}

fn number(object: &Value, pointer: &str) -> u64 {
    object.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// The API's MicroTime: `2026-11-15T12:00:00.500000Z`.
pub(crate) fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits() {
        let time: Timestamp = "2026-11-15T12:00:00.5Z".parse().unwrap();
        assert_eq!(micro_time(time), "2026-11-15T12:00:00.500000Z");
    }
}
