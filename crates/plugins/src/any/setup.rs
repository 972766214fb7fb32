//! `any`

use corefile::Diagnostic;
use server::Setup;

use super::Any;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    s.c.next();
    // An opening brace is rejected as an argument.
    if s.c.next_arg() {
        return Err(s.c.arg_err());
    }
    s.add(Any);
    Ok(())
}
