//! DNS zones: their text, contents, look-up and differences.

mod answer;
mod contents;
mod difference;
mod key;
mod leaf;
mod lookup;
mod record;
mod set;
mod text;
mod tree;

pub use answer::answer;
pub use contents::{Builder, Contents, Editor};
pub use difference::{Difference, History};
pub use record::{RecordList, Refusal, Soa, is_newer};
pub use set::{RecordSet, Sets};
pub use text::{FileError, NoIncludes, Position, Source, ZoneError, ZoneFile, ZoneRecord, write_zone};
pub use wire::message::Record;
