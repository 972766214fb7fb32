//! Words of Corefile options that many plugins share: `fallthrough`, zones, an address to listen on.

use corefile::{Diagnostic, Dispenser};
use golang::split_host_port;
use wire::{Name, NameBuf};

/// Where misses go on to the next plugin: nowhere, everywhere, or under some zones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fallthrough {
    zones: Vec<NameBuf>,
}

impl Fallthrough {
    /// From the arguments of `fallthrough`; without any it is everywhere.
    pub fn from_args(args: &[&str]) -> Fallthrough {
        let zones = if args.is_empty() {
            vec![NameBuf::root()]
        } else {
            args.iter()
                .flat_map(|arg| corefile::normalize_exact(arg))
                .filter_map(|zone| NameBuf::parse(&zone).ok())
                .collect()
        };
        Fallthrough { zones }
    }

    pub fn through(&self, name: Name<'_>) -> bool {
        is_under_any(name, &self.zones)
    }

    /// Whether `fallthrough` was written at all.
    pub fn is_set(&self) -> bool {
        !self.zones.is_empty()
    }
}

/// The address to listen on, `[HOST]:PORT`, if the directive's line names one.
pub fn listen_address<'a>(c: &mut Dispenser<'a>, default: &'a str) -> Result<&'a str, Diagnostic> {
    match c.remaining_args()[..] {
        [] => Ok(default),
        [given] => split_host_port(given).map(|_| given).map_err(|error| c.bare_err(error)),
        _ => Err(c.arg_err()),
    }
}

/// Whether the name is at or under one of the zones.
pub fn is_under_any(name: Name<'_>, zones: &[NameBuf]) -> bool {
    zones.iter().any(|zone| name.is_under(zone.as_name()))
}
