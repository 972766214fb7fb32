//! `erratic { drop [N]; delay [N [DURATION]]; truncate [N]; large }`

use std::num::IntErrorKind;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;
use server::{Ready, SearchPath, Setup};

use super::{Erratic, Options};

const DEFAULT_AMOUNT: u64 = 2;
const DEFAULT_DELAY: Duration = Duration::from_millis(100);

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let options = parse(&mut s.c)?;
    let erratic = s.add(Erratic { options, queries: AtomicU64::new(0) });
    s.offer::<dyn Ready>(erratic.clone());
    s.offer::<dyn SearchPath>(erratic);
    Ok(())
}

fn parse(c: &mut Dispenser<'_>) -> Result<Options, Diagnostic> {
    let mut options =
        Options { drop: DEFAULT_AMOUNT, delay: 0, truncate: 0, duration: Duration::ZERO, large: false };
    let mut drop_given = false;
    // CoreDNS ignores arguments on the directive's own line.
    while c.next() {
        while c.next_block() {
            match c.val() {
                "drop" => match c.remaining_args()[..] {
                    // Without an amount `drop` has no effect: other options still turn dropping off.
                    [] => {}
                    [number] => (options.drop, drop_given) = (amount(c, number)?, true),
                    _ => return Err(c.arg_err()),
                },
                "delay" => {
                    (options.delay, options.duration) = (DEFAULT_AMOUNT, DEFAULT_DELAY);
                    match c.remaining_args()[..] {
                        [] => {}
                        [number] => options.delay = amount(c, number)?,
                        [number, time] => {
                            options.delay = amount(c, number)?;
                            options.duration = duration(c, time)?;
                        }
                        _ => return Err(c.arg_err()),
                    }
                }
                "truncate" => {
                    options.truncate = DEFAULT_AMOUNT;
                    match c.remaining_args()[..] {
                        [] => {}
                        [number] => options.truncate = amount(c, number)?,
                        _ => return Err(c.arg_err()),
                    }
                }
                "large" => options.large = true,
                _ => return Err(c.unknown_property(&["drop", "delay", "truncate", "large"])),
            }
        }
    }
    if !drop_given && (options.delay > 0 || options.truncate > 0) {
        options.drop = 0;
    }
    Ok(options)
}

/// An amount; error texts are those of Go's `ParseInt`.
fn amount(c: &Dispenser<'_>, text: &str) -> Result<u64, Diagnostic> {
    match text.parse::<i32>() {
        Ok(number) => {
            u64::try_from(number).map_err(|_| c.bare_err(format_args!("illegal amount value given {text:?}")))
        }
        Err(error) => {
            let why = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            Err(c.bare_err(format_args!("strconv.ParseInt: parsing {text:?}: {why}")))
        }
    }
}

/// A duration; a negative one is accepted and means no delay.
fn duration(c: &Dispenser<'_>, text: &str) -> Result<Duration, Diagnostic> {
    let given = GoDuration::parse(text).map_err(|error| c.bare_err(error))?;
    Ok(given.not_negative().unwrap_or_default())
}
