//! `siit { ipv6_prefix PREFIX; eam IPV4 IPV6 }`

use std::net::IpAddr;
use std::sync::Arc;

use corefile::reverse::Prefix;
use corefile::{Diagnostic, Dispenser};
use golang::quoted;
use server::Setup;

use super::mapping::Mapping;
use super::{NAME, Siit, Translator};
use crate::messages::translation::{Pref64, network_text};
use crate::server_counter::ServerCounter;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut prefix = Pref64::WELL_KNOWN;
    let mut explicit = Vec::new();
    while s.c.next() {
        if !s.c.remaining_args().is_empty() {
            return Err(s.c.arg_err());
        }
        while s.c.next_block() {
            match s.c.val() {
                "ipv6_prefix" => {
                    if !s.c.next_arg() {
                        return Err(s.c.arg_err());
                    }
                    prefix = parse(&s.c, s.c.val())?;
                }
                "eam" => explicit.push(explicit_mapping(&mut s.c)?),
                _ => return Err(s.c.unknown_property(&["ipv6_prefix", "eam"])),
            }
        }
    }
    let mapping = Mapping::new(prefix, explicit);
    s.add_linked(NAME, move |link| {
        let help = "Counter of DNS requests translated by siit.";
        let translated = ServerCounter::new("coredns_siit_requests_translated_total", help, link);
        Ok(Arc::new(Siit { translator: Arc::new(Translator { mapping, translated }) }))
    });
    Ok(())
}

fn parse(c: &Dispenser<'_>, text: &str) -> Result<Pref64, Diagnostic> {
    let Some(prefix) = Prefix::parse(text) else {
        return Err(c.bare_err(format_args!("invalid CIDR address: {text}")));
    };
    let network = quoted(&network_text(&prefix));
    if prefix.address.is_ipv4() {
        return Err(c.err(format_args!("invalid netmask 32 IPv6 address: {network}")));
    }
    let Some(parsed) = Pref64::new(&prefix) else {
        let lengths = "must be one of /32, /40, /48, /56, /64, /96";
        return Err(c.err(format_args!("invalid prefix length {network}: {lengths}")));
    };
    if !parsed.is_reserved_octet_zero() {
        return Err(c.err(format_args!("invalid prefix {network}: reserved octet (byte 8) must be zero")));
    }
    Ok(parsed)
}

/// Parses `eam IPV4 IPV6`. An IPv4-mapped address counts as IPv4.
fn explicit_mapping(c: &mut Dispenser<'_>) -> Result<([u8; 16], [u8; 4]), Diagnostic> {
    let [ipv4, ipv6] = c.remaining_args()[..] else { return Err(c.arg_err()) };
    let address = |text: &str| {
        let parsed = text.parse::<IpAddr>().map(|address| address.to_canonical());
        parsed.map_err(|_| c.err("invalid IP address: \"<nil>\""))
    };
    let ipv4 = match address(ipv4)? {
        IpAddr::V4(ipv4) => ipv4.octets(),
        IpAddr::V6(other) => return Err(c.err(format_args!("invalid IPv4 address: \"{other}\""))),
    };
    match address(ipv6)? {
        IpAddr::V6(ipv6) => Ok((ipv6.octets(), ipv4)),
        IpAddr::V4(other) => Err(c.err(format_args!("invalid IPv6 address: \"{other}\""))),
    }
}
