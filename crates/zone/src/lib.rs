//! DNS zones. Here is their text so far; contents, look-up and differences follow.

mod text;

pub use text::{ZoneError, ZoneReader, ZoneRecord};
