//! `multisocket [NUM_SOCKETS]`

use corefile::{Diagnostic, Dispenser};
use golang::atoi;
use server::Setup;

const MAX_SOCKETS: i64 = 1024;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    s.c.next();
    let args = s.c.remaining_args();
    // Neither a second line nor a block may follow.
    if args.len() > 1 || s.c.next() {
        return Err(s.c.arg_err());
    }
    let sockets = match args.first() {
        None => net::cpu::available(),
        Some(text) => number(&s.c, text)?,
    };
    s.settings().sockets = Some(sockets);
    Ok(())
}

fn number(c: &Dispenser<'_>, text: &str) -> Result<usize, Diagnostic> {
    let number = atoi(text).map_err(|error| c.bare_err(format_args!("invalid num sockets: {error}")))?;
    match usize::try_from(number) {
        Ok(sockets @ 1..) if number <= MAX_SOCKETS => Ok(sockets),
        Ok(1..) => Err(c.bare_err(format_args!("num sockets exceeds maximum ({MAX_SOCKETS}): {number}"))),
        _ => Err(c.bare_err(format_args!("num sockets can not be zero or negative: {number}"))),
    }
}
