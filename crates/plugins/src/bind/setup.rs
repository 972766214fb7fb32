//! `bind ADDRESS|IFACE... { except ADDRESS|IFACE... }`

use std::net::{IpAddr, SocketAddr};

use corefile::{Diagnostic, Dispenser};
use net::Interface;
use server::Setup;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let interfaces = net::interfaces().unwrap_or_else(|error| {
        let text = format!("failed to get interfaces list, cannot bind by interface name: {error}");
        let warning = s.c.warning(text).in_plugin("bind");
        s.warn(warning);
        Vec::new()
    });
    let hosts = parse(&mut s.c, &interfaces)?;
    s.listen_on(hosts);
    Ok(())
}

/// The addresses of all `bind` lines. `except` applies to its own line only.
pub(super) fn parse(c: &mut Dispenser<'_>, interfaces: &[Interface]) -> Result<Vec<String>, Diagnostic> {
    let mut hosts = Vec::new();
    while c.next() {
        let args = c.remaining_args();
        if args.is_empty() {
            return Err(c.bare_err("at least one address or interface name is expected"));
        }
        let mut except = Vec::new();
        while c.next_block() {
            match c.val() {
                "except" => {
                    except = c.remaining_args();
                    if except.is_empty() {
                        let error = "at least one address or interface must be given to except subdirective";
                        return Err(c.bare_err(error));
                    }
                }
                other => return Err(c.bare_err(format_args!("invalid option {other:?}"))),
            }
        }
        let included = resolve(&args, interfaces).map_err(|error| c.bare_err(error))?;
        let except = resolve(&except, interfaces).map_err(|error| c.bare_err(error))?;
        hosts.extend(included.into_iter().filter(|host| !except.contains(host)));
    }
    Ok(hosts)
}

/// Addresses as in the Corefile, interfaces as their addresses; link-local ones with their scope id, without which they
/// cannot be bound.
pub(super) fn resolve(args: &[&str], interfaces: &[Interface]) -> Result<Vec<String>, String> {
    let mut hosts = Vec::new();
    for arg in args {
        match interfaces.iter().find(|interface| interface.name == *arg) {
            Some(interface) => hosts.extend(interface.addrs.iter().map(host)),
            None if arg.parse::<IpAddr>().is_ok() => hosts.push((*arg).to_owned()),
            None => return Err(format!("not a valid IP address or interface name: {arg:?}")),
        }
    }
    Ok(hosts)
}

fn host(addr: &SocketAddr) -> String {
    match addr {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
        other => other.ip().to_string(),
    }
}
