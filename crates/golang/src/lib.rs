//! The functions of Go's standard library whose results appear in a Corefile, in logs and in error messages: durations,
//! host and port, regular expressions, templates, formats, quoting, system errors.
//!
//! Each file reimplements one function with its quirks, tested against output of Go.

mod duration;
mod format;
mod host_port;
mod number;
mod parse_uint;
mod port;
mod quote;
mod regexp;
mod system_error;
pub mod template;
mod value;

pub use duration::GoDuration;
pub use host_port::split_host_port;
pub use number::{atoi, parse_bool, parse_float};
pub use parse_uint::parse_uint;
pub use port::lookup_port;
pub use quote::{quoted, quoted_ascii};
pub use regexp::{Groups, Regexp};
pub use system_error::system_error;
pub use value::{Data, Field, Value, Width};
