//! `local { localhost_prefix on|off }`

use corefile::Diagnostic;
use server::Setup;
use wire::NameBuf;

use super::{Local, register_metrics};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut prefix = true;
    let c = &mut s.c;
    while c.next() {
        if !c.remaining_args().is_empty() {
            return Err(c.arg_err());
        }
        while c.next_block() {
            match c.val() {
                "localhost_prefix" => {
                    prefix = match c.remaining_args()[..] {
                        ["on"] => true,
                        ["off"] => false,
                        [other] => {
                            let error = format!("localhost_prefix expects 'on' or 'off', got {other:?}");
                            return Err(c.err(error));
                        }
                        _ => return Err(c.arg_err()),
                    };
                }
                _ => return Err(c.unknown_property(&["localhost_prefix"])),
            }
        }
    }
    register_metrics().map_err(|error| s.c.bare_err(error))?;
    let zones = ["localhost.", "0.in-addr.arpa.", "127.in-addr.arpa.", "255.in-addr.arpa."];
    let zones = zones.map(|zone| NameBuf::parse(zone).unwrap_or(NameBuf::root()));
    s.add(Local { zones, prefix });
    Ok(())
}
