//! Words of Corefile options that many plugins share: `fallthrough`, zones, an address to listen on.

use corefile::{Diagnostic, Dispenser};
use golang::{lookup_port, split_host_port};
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

/// The address HTTP is served on, if the directive's line names one. An address without a port, in Go's sense, is
/// refused in the words of `missing`.
pub fn listen_address(
    c: &mut Dispenser<'_>,
    default: &str,
    missing: fn(&Dispenser<'_>, String) -> Diagnostic,
) -> Result<String, Diagnostic> {
    let given = match c.remaining_args()[..] {
        [] => default,
        [given] => given,
        _ => return Err(c.arg_err()),
    };
    let (host, port) = split_host_port(given).map_err(|error| missing(c, error))?;
    // CoreDNS finds this out when it listens.
    let port =
        lookup_port(port).map_err(|error| c.bare_err(format_args!("listen tcp: {error}")).unnamed())?;
    Ok(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

/// Whether the name is at or under one of the zones.
pub fn is_under_any(name: Name<'_>, zones: &[NameBuf]) -> bool {
    zones.iter().any(|zone| name.is_under(zone.as_name()))
}

#[cfg(test)]
mod tests {
    use crate::harness::{configure, refused};

    #[test]
    fn addresses_for_http() {
        for plugin in ["health", "ready", "pprof", "prometheus"] {
            let corefile = |addr: &str| format!(". {{\n{plugin} {addr}\n}}\n");
            for (given, listens) in [
                ("localhost:", "localhost:0"),
                ("localhost:+1", "localhost:1"),
                ("localhost:http", "localhost:80"),
                (":", ":0"),
                ("[]:8080", ":8080"),
                ("[::1]:", "[::1]:0"),
            ] {
                let config = configure(&corefile(given)).unwrap_or_else(|error| panic!("{error}"));
                assert!(!config.routes().is_empty(), "{plugin}");
                assert!(config.routes().iter().all(|route| route.addr == listens), "{plugin} {given}");
            }
            for (given, error) in [
                ("localhost:65536", "listen tcp: address 65536: invalid port"),
                (":no-such-port", "listen tcp: lookup tcp/no-such-port: unknown port"),
            ] {
                assert_eq!(refused(&corefile(given)), error, "{plugin} {given}");
            }
        }
    }
}
