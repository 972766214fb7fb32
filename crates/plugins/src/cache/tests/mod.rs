//! The cache before a source that does as it is told, and with a clock that can be turned.

mod bypassed;
mod coalesced;
mod forms;
mod judged;
mod kept;
mod metrics;
mod refreshed;
mod reloaded;
mod source;
mod staled;
mod stored;
