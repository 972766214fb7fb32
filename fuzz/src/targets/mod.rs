//! The things that are fuzzed, one file each.

mod configuration;
mod packet;
mod proxy;
mod reply;

use crate::target::Target;

pub use configuration::Configuration;
pub use packet::Packet;
pub use proxy::Proxy;

/// What `--target` takes.
pub const NAMES: [&str; 3] = ["packet", "corefile", "proxy"];

/// The target of that name.
pub fn by_name(name: &str) -> Result<Box<dyn Target>, String> {
    match name {
        "packet" => Ok(Box::new(Packet::new()?)),
        "corefile" => Ok(Box::new(Configuration::new()?)),
        "proxy" => Ok(Box::new(Proxy)),
        _ => Err(format!("no target '{name}'; there are {}", NAMES.join(", "))),
    }
}
