//! ```text
//! errors [stdout] {
//!     stacktrace
//!     consolidate DURATION REGEXP [LEVEL] [show_first]
//! }
//! ```

use std::sync::Arc;

use corefile::{Diagnostic, Dispenser};
use golang::{GoDuration, Regexp};
use server::{Lifecycle, Setup};

use super::Errors;
use super::consolidate::{Consolidate, Level};

/// In octets.
const MAX_REGEXP_LEN: usize = 10_000;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut consolidate = Vec::new();
    let mut seen = false;
    while s.c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(s.once_error());
        }
        match s.c.remaining_args()[..] {
            [] | ["stdout"] => {}
            [file] => return Err(s.c.err(format_args!("invalid log file: {file}"))),
            _ => return Err(s.c.arg_err()),
        }
        while s.c.next_block() {
            match s.c.val() {
                "stacktrace" => s.settings().stacktrace = true,
                "consolidate" => consolidate.push(Arc::new(parse_consolidate(&mut s.c)?)),
                unknown => return Err(s.c.syntax_err(&format!("Unknown field {unknown}"))),
            }
        }
    }
    let errors = s.add(Errors { consolidate });
    s.offer::<dyn Lifecycle>(errors);
    Ok(())
}

fn parse_consolidate(c: &mut Dispenser<'_>) -> Result<Consolidate, Diagnostic> {
    let args = c.remaining_args();
    let (&[period, regexp], options @ ([] | [_] | [_, _])) = (match args.split_first_chunk::<2>() {
        Some(split) => split,
        None => return Err(c.arg_err()),
    }) else {
        return Err(c.arg_err());
    };
    let period = GoDuration::parse(period).map_err(|error| c.err(error))?;
    if regexp.len() > MAX_REGEXP_LEN {
        return Err(c.err(format_args!("regex pattern too long: {} > {MAX_REGEXP_LEN}", regexp.len())));
    }
    let pattern = Regexp::compile(regexp).map_err(|error| c.err(error))?;
    let (level, show_first) = parse_options(c, options)?;
    Ok(Consolidate::new(period, pattern, level, show_first))
}

/// An optional level, then an optional `show_first`.
fn parse_options(c: &Dispenser<'_>, options: &[&str]) -> Result<(Level, bool), Diagnostic> {
    let (mut level, mut show_first) = (None, false);
    for &option in options {
        match Level::from_word(option) {
            Some(_) if level.is_some() => return Err(c.err("multiple log levels specified in consolidate")),
            Some(_) if show_first => {
                return Err(c.err("log level must come before show_first in consolidate"));
            }
            Some(given) => level = Some(given),
            None if option == "show_first" => show_first = true,
            None => return Err(c.err(format_args!("unknown option in consolidate: {option}"))),
        }
    }
    Ok((level.unwrap_or(Level::Error), show_first))
}
