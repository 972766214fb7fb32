//! ```text
//! pprof [ADDRESS] {
//!     block [RATE]
//! }
//! ```

use corefile::{Diagnostic, Dispenser};
use golang::atoi;
use server::Setup;

use super::routes;
use crate::options::listen_address;

const DEFAULT_ADDRESS: &str = "localhost:6053";

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut addr = DEFAULT_ADDRESS.to_owned();
    let mut seen = false;
    while s.c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(s.once_error());
        }
        addr = listen_address(&mut s.c, &addr, |c, error| c.err(error))?;
        while s.c.next_block() {
            match s.c.val() {
                "block" => {
                    block(&mut s.c)?;
                    let text = "block is ignored: Rhumb has no block profile, since its workers do not block";
                    s.warn(s.c.warning(text).in_plugin("pprof"));
                }
                _ => return Err(s.c.unknown_property(&["block"])),
            }
        }
    }
    for route in routes(&addr) {
        s.http(route);
    }
    Ok(())
}

/// The rate has no effect, but values that CoreDNS refuses are refused here too.
fn block(c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
    match c.remaining_args()[..] {
        [] => Ok(()),
        [rate] if atoi(rate).is_ok() => Ok(()),
        [rate] => Err(c.err(format_args!("property 'block' invalid integer value '{rate}'"))),
        _ => Err(c.arg_err()),
    }
}
