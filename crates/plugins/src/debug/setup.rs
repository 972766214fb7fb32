//! `debug`

use corefile::Diagnostic;
use server::Setup;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    while s.c.next() {
        if s.c.next_arg() {
            return Err(s.c.arg_err());
        }
        s.settings().debug = true;
    }
    Ok(())
}
