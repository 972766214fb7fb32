//! DNS as bytes: names, queries, replies, EDNS.
//!
//! [`Query::parse`] reads a packet in one pass; plugins add flat records to a [`Reply`]; [`Reply::encode`] writes the
//! final bytes. All three reuse their buffers for the next packet, so that a warm worker answers without allocating. The
//! crate does no I/O and uses no clock and no randomness.
//!
//! ```text
//! packet ──parse──→ Query (question, flags, OPT)
//! Reply (records in one arena) ──encode──→ packet, truncated to the client's limit
//! ```
//!
//! [`message`] reads and writes everything else: transfers, updates, NOTIFY.

mod code;
mod compress;
mod edns;
pub mod form;
pub mod layout;
pub mod message;
mod name;
pub mod octets;
mod present;
mod query;
pub mod radix;
mod record;
mod reply;

pub use code::{Class, Opcode, Rcode, Rtype};
pub use edns::{Edns, EdnsOption, option};
pub use name::{Name, NameBuf, NameError};
pub use present::present_data;
pub use query::{Flags, HEADER_LEN, ParseOutcome, Query, Question};
pub use record::{Owner, Rdata, Record, Section};
pub use reply::{Encoded, Opt, Reply};
