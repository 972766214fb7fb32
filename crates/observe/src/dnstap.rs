//! dnstap: protobuf messages about queries and replies, over Frame Streams.
//!
//! ```text
//! Record ─encode─→ Output (queue) ─→ dial:   one connection to a reader, reconnected when it breaks
//!                                 └→ listen: accepts readers, each receives every message
//! ```

mod connection;
mod dial;
mod frames;
mod listen;
mod output;
mod record;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;

pub use connection::Endpoint;
pub use dial::Dial;
pub use listen::{Listen, TlsFiles};
pub use output::{ConnectMode, Output, QUEUE_UNIT};
pub use record::{Kind, Protocol, Record, head};
