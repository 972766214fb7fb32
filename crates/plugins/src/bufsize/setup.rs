//! `bufsize [SIZE]`

use corefile::Diagnostic;
use server::Setup;

use super::Bufsize;

/// Avoids fragmentation on nearly every path; agreed on DNS flag day 2020.
const DEFAULT: u16 = 1232;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let c = &mut s.c;
    c.next();
    // Everything after the first line, further `bufsize` lines included, is ignored, as in CoreDNS.
    let size = match c.remaining_args()[..] {
        [] => DEFAULT,
        [text] => text.parse().ok().filter(|size| (512..=4096).contains(size)).ok_or_else(|| c.arg_err())?,
        _ => return Err(c.arg_err()),
    };
    s.add(Bufsize { size });
    Ok(())
}
