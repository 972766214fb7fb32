//! The things that are fuzzed, one file each.

mod configuration;
mod packet;
mod reply;

use crate::target::Target;

pub use configuration::Configuration;
pub use packet::Packet;

/// What `--target` takes.
pub const NAMES: [&str; 2] = ["packet", "corefile"];

/// The target of that name.
pub fn by_name(name: &str) -> Result<Box<dyn Target>, String> {
    match name {
        "packet" => Ok(Box::new(Packet::new()?)),
        "corefile" => Ok(Box::new(Configuration::new()?)),
        _ => Err(format!("no target '{name}'; there are {}", NAMES.join(" and "))),
    }
}
