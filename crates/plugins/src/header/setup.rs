//! `header { query|response set|clear FLAGS... }`

use corefile::{Diagnostic, Dispenser};
use server::Setup;
use wire::Flags;

use super::{FlagChange, Header};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    // Only the first `header` with a rule counts; arguments before its brace are ignored, as in CoreDNS.
    while s.c.next() {
        let mut header = Header { query: FlagChange::default(), response: FlagChange::default() };
        while s.c.next_block() {
            rule(&mut s.c, &mut header)?;
        }
        if !header.query.is_empty() || !header.response.is_empty() {
            s.add(header);
            return Ok(());
        }
    }
    Err(s.c.arg_err())
}

/// Parses one line of the block. As in CoreDNS, its errors have no line number.
fn rule(c: &mut Dispenser<'_>, header: &mut Header) -> Result<(), Diagnostic> {
    let selector = c.val().to_lowercase();
    let change = match selector.as_str() {
        "query" => &mut header.query,
        "response" => &mut header.response,
        _ => return Err(rule_error(c, format!("invalid selector={selector} should be query or response"))),
    };
    let action = if c.next_arg() { c.val().to_lowercase() } else { String::new() };
    if action.is_empty() {
        return Err(rule_error(c, "no flag action provided".into()));
    }
    let flags = c.remaining_args();
    if flags.is_empty() {
        return Err(rule_error(c, "invalid length for flags, at least one should be provided".into()));
    }
    let on = match action.as_str() {
        "set" => true,
        "clear" => false,
        _ => return Err(rule_error(c, format!("unknown flag action={action}, should be set or clear"))),
    };
    for flag in flags {
        let flag = flag.to_lowercase();
        let bit = match flag.as_str() {
            "aa" => Flags::AA,
            "ra" => Flags::RA,
            "rd" => Flags::RD,
            _ => return Err(rule_error(c, format!("unknown/unsupported flag={flag}"))),
        };
        change.add(bit, on);
    }
    Ok(())
}

fn rule_error(c: &Dispenser<'_>, error: String) -> Diagnostic {
    c.bare_err(format_args!("setting up rule: {error}"))
}
