//! `metadata [ZONES...]`

use corefile::Diagnostic;
use server::Setup;

use super::Metadata;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    s.c.next();
    let args = s.c.remaining_args();
    let mut zones = s.zones(&args);
    if s.c.next_block() || s.c.next() {
        return Err(s.c.arg_err());
    }
    // Query names are compared in lower case.
    zones.iter_mut().for_each(wire::NameBuf::make_lower);
    s.settings().metadata_zones = Some(zones);
    s.add(Metadata);
    Ok(())
}
