//! What a consumer of resources implements.

use supervise::Panic;
use tokio::time::Instant;

use crate::availability::Availability;
use crate::resource::ObjectName;
use crate::version::Version;

/// A consumer of one or more resources. It is called in the delivery task of its cluster only, so it needs no locks, and it
/// must not block.
pub trait Subscriber: Send + 'static {
    /// Called after each batch of events for it, and at the time that the last call returned. Returns when to call it again
    /// even without events.
    fn publish(&mut self, _now: Instant) -> Option<Instant> {
        None
    }
}

/// How a version of an object was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// In a list, which may contain known objects again.
    List,
    /// By an event of a watch.
    Event,
}

/// The events of one resource. A list may begin at any time, also because another consumer subscribed; objects that a
/// complete list did not contain are deleted.
pub trait Consumer<T>: Subscriber {
    /// Known objects stay until the list ends. It may begin again without having ended.
    fn list_begins(&mut self);

    /// Added, modified, or seen again unchanged.
    fn apply(&mut self, object: &T, version: Version, occasion: Occasion);

    fn delete(&mut self, object: &T);

    /// The list is complete.
    fn list_ends(&mut self);

    /// The list will not end; objects that it delivered stay.
    fn list_aborted(&mut self) {}

    fn availability(&mut self, _availability: &Availability) {}

    /// An object whose decoding panicked; it exists, but this version cannot be had.
    fn undecodable(&mut self, _name: &ObjectName, _panic: &Panic) {}
}
