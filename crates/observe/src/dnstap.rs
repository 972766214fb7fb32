//! dnstap: protobuf messages about queries and replies, over Frame Streams.
//!
//! ```text
//! Record ─encode─→ Output (queue) ─→ dial:   one connection to a reader, made again when it breaks
//!                                 └→ listen: readers that connect to us, each gets everything
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
pub use listen::{Identity, Listen};
pub use output::{MESSAGES, Output, Way};
pub use record::{Kind, Protocol, Record, head};
