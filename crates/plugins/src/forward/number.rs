//! Numbers and durations of options, with Go's error texts.

use std::num::{IntErrorKind, ParseIntError};

use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;

/// The next argument, which is required.
pub(super) fn argument<'a>(c: &mut Dispenser<'a>) -> Result<&'a str, Diagnostic> {
    if c.next_arg() { Ok(c.val()) } else { Err(c.arg_err()) }
}

/// Go's `ParseUint` of 32 bits, which accepts no sign.
pub(super) fn unsigned(c: &mut Dispenser<'_>) -> Result<u32, Diagnostic> {
    let text = argument(c)?;
    let wrong = |why| c.bare_err(format_args!("strconv.ParseUint: parsing {}: {why}", golang::quoted(text)));
    if text.starts_with('+') {
        return Err(wrong("invalid syntax"));
    }
    text.parse().map_err(|error| wrong(go_error(&error)))
}

/// Go's `Atoi`; a negative number is rejected with the option's name.
pub(super) fn not_negative(c: &mut Dispenser<'_>) -> Result<u64, Diagnostic> {
    let option = c.val();
    let text = argument(c)?;
    let number: i64 = text.parse().map_err(|error| {
        let (text, why) = (golang::quoted(text), go_error(&error));
        c.bare_err(format_args!("strconv.Atoi: parsing {text}: {why}"))
    })?;
    u64::try_from(number).map_err(|_| c.bare_err(format_args!("{option} can't be negative: {number}")))
}

fn go_error(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}

pub(super) fn duration(c: &mut Dispenser<'_>) -> Result<GoDuration, Diagnostic> {
    let text = argument(c)?;
    GoDuration::parse(text).map_err(|error| c.bare_err(error))
}
