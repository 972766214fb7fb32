//! `header { query|response set|clear FLAGS... }`

use corefile::{Diagnostic, Dispenser};
use server::Setup;
use wire::Flags;

use super::{Change, Header};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    // The first `header` that holds a rule counts; words before its brace are passed over, as CoreDNS does.
    while s.c.next() {
        let mut header = Header { query: Change::default(), response: Change::default() };
        while s.c.next_block() {
            rule(&mut s.c, &mut header)?;
        }
        if !header.query.is_nothing() || !header.response.is_nothing() {
            s.add(header);
            return Ok(());
        }
    }
    Err(s.c.arg_err())
}

/// One line of the block. CoreDNS names no place in these errors.
fn rule(c: &mut Dispenser<'_>, header: &mut Header) -> Result<(), Diagnostic> {
    let selector = c.val().to_lowercase();
    let change = match selector.as_str() {
        "query" => &mut header.query,
        "response" => &mut header.response,
        _ => return Err(wrong(c, format!("invalid selector={selector} should be query or response"))),
    };
    let action = if c.next_arg() { c.val().to_lowercase() } else { String::new() };
    if action.is_empty() {
        return Err(wrong(c, "no flag action provided".into()));
    }
    let flags = c.remaining_args();
    if flags.is_empty() {
        return Err(wrong(c, "invalid length for flags, at least one should be provided".into()));
    }
    let on = match action.as_str() {
        "set" => true,
        "clear" => false,
        _ => return Err(wrong(c, format!("unknown flag action={action}, should be set or clear"))),
    };
    for flag in flags {
        let flag = flag.to_lowercase();
        let bit = match flag.as_str() {
            "aa" => Flags::AA,
            "ra" => Flags::RA,
            "rd" => Flags::RD,
            _ => return Err(wrong(c, format!("unknown/unsupported flag={flag}"))),
        };
        change.add(bit, on);
    }
    Ok(())
}

fn wrong(c: &Dispenser<'_>, what: String) -> Diagnostic {
    c.bare_err(format_args!("setting up rule: {what}"))
}
