//! ```text
//! timeouts {
//!     read DURATION
//!     write DURATION
//!     idle DURATION
//!     maxtcpqueries NUMBER
//! }
//! ```

use std::num::IntErrorKind;
use std::time::Duration;

use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;
use server::Setup;

const MIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    while s.c.next() {
        if !s.c.remaining_args().is_empty() {
            return Err(named_twice(&s.c, s.c.arg_err()));
        }
        let mut options = 0;
        while s.c.next_block() {
            option(s)?;
            options += 1;
        }
        if options == 0 {
            return Err(named_twice(&s.c, s.c.err("timeouts block with no timeouts specified")));
        }
    }
    Ok(())
}

fn option(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let option = s.c.val();
    let [text] = s.c.remaining_args()[..] else { return Err(s.c.arg_err()) };
    if option == "maxtcpqueries" {
        s.settings().max_tcp_queries = Some(max_tcp_queries(&s.c, text)?);
        return Ok(());
    }
    // The value is checked before the option's name, as in CoreDNS.
    let given = timeout(&s.c, text)?;
    match option {
        "read" => s.settings().read_timeout = Some(given),
        "write" => s.settings().write_timeout = Some(given),
        "idle" => s.settings().idle_timeout = Some(given),
        _ => return Err(s.c.err(format_args!("unknown option: '{option}'"))),
    }
    Ok(())
}

/// A duration, or a number of seconds.
fn timeout(c: &Dispenser<'_>, text: &str) -> Result<Duration, Diagnostic> {
    let text = if text.parse::<i64>().is_ok() { format!("{text}s") } else { text.to_owned() };
    let Ok(given) = GoDuration::parse(&text) else {
        return Err(c.err(format_args!("failed to parse duration '{text}'")));
    };
    match given.above_zero() {
        Some(timeout) if (MIN_TIMEOUT..=MAX_TIMEOUT).contains(&timeout) => Ok(timeout),
        _ => Err(c.err(format_args!("timeout provided '{given}' needs to be between 1 second and 24 hours"))),
    }
}

fn max_tcp_queries(c: &Dispenser<'_>, text: &str) -> Result<i64, Diagnostic> {
    let number: i64 = text.parse().map_err(|error: std::num::ParseIntError| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        let quoted = golang::quoted_ascii(text);
        c.err(format_args!("invalid value for maxtcpqueries '{text}': strconv.Atoi: parsing {quoted}: {why}"))
    })?;
    if number == 0 || number < -1 {
        let expected = "needs to be -1 (unlimited) or a positive integer";
        return Err(c.err(format_args!("maxtcpqueries provided '{number}' {expected}")));
    }
    Ok(number)
}

/// CoreDNS names the plugin twice in these two errors; operators may have the line in an alert.
fn named_twice(c: &Dispenser<'_>, error: Diagnostic) -> Diagnostic {
    c.bare_err(format_args!("plugin/timeouts: {error}"))
}
