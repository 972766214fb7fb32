//! `cancel [TIMEOUT]`

use std::time::Duration;

use corefile::Diagnostic;
use golang::GoDuration;
use server::Setup;

use super::Cancel;

/// A millisecond more than the usual patience of a client, so that it is the client who gives up first.
const DEFAULT: Duration = Duration::from_millis(5001);

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut limit = DEFAULT;
    while s.c.next() {
        limit = match s.c.remaining_args()[..] {
            [] => DEFAULT,
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
    s.add(Cancel { limit });
    Ok(())
}
