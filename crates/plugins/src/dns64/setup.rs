//! `dns64 [PREFIX] { prefix PREFIX; translate_all; allow_ipv4 }`

use std::sync::Arc;

use corefile::reverse::Prefix;
use corefile::{Diagnostic, Dispenser};
use golang::quoted;
use server::Setup;

use super::{Dns64, NAME, Translator};
use crate::messages::translation::{Pref64, network_text};
use crate::server_counter::ServerCounter;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let (mut prefix, mut translate_all, mut allow_ipv4) = (Pref64::WELL_KNOWN, false, false);
    while s.c.next() {
        if s.c.val() == "{" {
            // After a PREFIX CoreDNS expects no block and takes its words for further directives.
            let text = "options after a PREFIX are ignored; use the option `prefix` instead";
            let warning = s.c.warning(text).in_plugin("dns64");
            s.warn(warning);
        }
        match s.c.remaining_args()[..] {
            [] => {}
            [text] => {
                prefix = parse(&s.c, text)?;
                continue;
            }
            _ => return Err(s.c.arg_err()),
        }
        while s.c.next_block() {
            match s.c.val() {
                "prefix" => {
                    if !s.c.next_arg() {
                        return Err(s.c.arg_err());
                    }
                    prefix = parse(&s.c, s.c.val())?;
                }
                "translate_all" => translate_all = true,
                "allow_ipv4" => allow_ipv4 = true,
                _ => return Err(s.c.unknown_property(&["prefix", "translate_all", "allow_ipv4"])),
            }
        }
    }
    s.add_linked(NAME, move |link| {
        let help = "Counter of DNS requests translated by dns64.";
        let translated = ServerCounter::new("coredns_dns64_requests_translated_total", help, link);
        let translator = Arc::new(Translator { prefix, translated });
        Ok(Arc::new(Dns64 { allow_ipv4, translate_all, translator }))
    });
    Ok(())
}

fn parse(c: &Dispenser<'_>, text: &str) -> Result<Pref64, Diagnostic> {
    let Some(prefix) = Prefix::parse(text) else {
        return Err(c.bare_err(format_args!("invalid CIDR address: {text}")));
    };
    if prefix.address.is_ipv4() {
        let network = quoted(&network_text(&prefix));
        return Err(c.err(format_args!("invalid netmask 32 IPv6 address: {network}")));
    }
    let error = || c.err(format_args!("invalid prefix length {}", quoted(&network_text(&prefix))));
    Pref64::new(&prefix).ok_or_else(error)
}
