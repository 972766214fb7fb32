//! DNS as bytes: names, queries, replies, EDNS.
//!
//! A packet becomes a [`Query`] in one pass; plugins gather a [`Reply`] as flat records; [`Reply::encode`]
//! writes the final bytes. All three keep their buffers from one packet to the next, so that a warm worker
//! answers without touching the heap. There is no I/O, no clock and no randomness here.
//!
//! ```text
//! packet ──parse──→ Query (question, flags, OPT)
//! Reply (records in one arena) ──encode──→ packet, truncated to what the client can take
//! ```

mod code;
mod compress;
mod edns;
mod name;
pub mod octets;
mod present;
mod query;
mod record;
mod reply;
mod zone;

pub use code::{Class, Opcode, Rcode, Rtype};
pub use edns::{Edns, EdnsOption, option};
pub use name::{Name, NameBuf, NameError};
pub use query::{Arrival, Flags, HEADER_LEN, Query, Question};
pub use record::{Owner, Rdata, Record, Section};
pub use reply::{Encoded, Opt, Reply};
pub use zone::{Refused, ZoneReader, ZoneRecord};
