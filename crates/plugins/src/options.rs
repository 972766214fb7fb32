//! Corefile options that several plugins share: `fallthrough`, zones, a listen address.

use corefile::{Diagnostic, Dispenser};
use golang::{lookup_port, split_host_port};
use wire::{Name, NameBuf};

/// The zones in which a missing name goes to the next plugin: none, all, or some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fallthrough {
    zones: Vec<NameBuf>,
}

impl Fallthrough {
    /// From the arguments of `fallthrough`; without arguments it applies to all zones.
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

    /// Whether the Corefile has `fallthrough`.
    pub fn is_set(&self) -> bool {
        !self.zones.is_empty()
    }
}

/// The HTTP listen address in the directive's arguments, or the default. `missing` makes the error for an address
/// without a port, in Go's sense.
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
    // CoreDNS reports this when it starts to listen.
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
    use crate::testing::harness::{configure, refused};

    #[test]
    fn http_listen_addresses() {
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
