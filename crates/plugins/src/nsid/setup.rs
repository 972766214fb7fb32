//! `nsid [DATA...]`

use corefile::Diagnostic;
use server::Setup;

use super::Nsid;
use crate::host_files::hostname::hostname;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    s.c.next();
    let args = s.c.remaining_args();
    let data = if args.is_empty() { hostname() } else { args.join(" ") };
    // CoreDNS has the same error for a block and for a second `nsid`.
    if s.c.next() {
        return Err(s.once_error());
    }
    s.add(Nsid { data: data.into_bytes() });
    Ok(())
}
