//! `cancel [TIMEOUT]`

use std::time::Duration;

use corefile::Diagnostic;
use golang::GoDuration;
use server::Setup;

use super::Cancel;

/// A millisecond more than the usual timeout of clients, so that the client gives up first.
const DEFAULT_TIMEOUT: Duration = Duration::from_millis(5001);

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut timeout = DEFAULT_TIMEOUT;
    while s.c.next() {
        timeout = match s.c.remaining_args()[..] {
            [] => DEFAULT_TIMEOUT,
            [text] => {
                let given = GoDuration::parse(text).map_err(|_| {
                    s.c.bare_err(format_args!("invalid duration: {}", golang::quoted_ascii(text)))
                })?;
                given.above_zero().ok_or_else(|| {
                    s.c.bare_err(format_args!("invalid negative duration: {}", golang::quoted_ascii(text)))
                })?
            }
            _ => return Err(s.c.arg_err()),
        };
    }
    s.add(Cancel { timeout });
    Ok(())
}
