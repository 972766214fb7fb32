//! ```text
//! health [ADDRESS] {
//!     lameduck DURATION
//! }
//! ```

use std::time::Duration;

use corefile::Diagnostic;
use golang::GoDuration;
use server::Setup;
use server::http::Route;

use super::{PATH, answer, probe_self, register_metrics};
use crate::options::listen_address;

const DEFAULT_ADDRESS: &str = ":8080";
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut addr = DEFAULT_ADDRESS.to_owned();
    let mut lameduck = None;
    while s.c.next() {
        addr = listen_address(&mut s.c, &addr, |c, error| c.bare_err(error))?;
        while s.c.next_block() {
            match s.c.val() {
                "lameduck" => lameduck = Some(parse_lameduck(s)?),
                _ => return Err(s.c.unknown_property(&["lameduck"])),
            }
        }
    }
    register_metrics().map_err(|error| s.c.bare_err(error))?;
    // Zero and less mean none.
    if let Some(duration) = lameduck.and_then(GoDuration::above_zero) {
        s.lameduck("health", duration);
    }
    s.http(Route::new(addr.clone(), PATH, answer));
    s.every(format!("health: {addr}"), PROBE_INTERVAL, move || probe_self(&addr));
    Ok(())
}

fn parse_lameduck(s: &mut Setup<'_>) -> Result<GoDuration, Diagnostic> {
    let [text] = s.c.remaining_args()[..] else { return Err(s.c.arg_err()) };
    GoDuration::parse(text).map_err(|error| {
        s.c.bare_err(format_args!("unable to parse lameduck duration value: '{text}' : {error}"))
    })
}
