//! `whoami`

use corefile::Diagnostic;
use server::Setup;

use super::Whoami;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    s.c.next();
    // Only the first line is parsed, as in CoreDNS.
    if s.c.next_arg() {
        return Err(s.c.arg_err());
    }
    s.add(Whoami);
    Ok(())
}
