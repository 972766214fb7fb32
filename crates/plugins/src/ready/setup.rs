//! ```text
//! ready [ADDRESS] {
//!     monitor until-ready|continuously
//! }
//! ```

use corefile::Diagnostic;
use server::Setup;
use server::http::Route;

use super::list::{Monitor, ReadyList};
use super::{PATH, answer};
use crate::options::listen_address;

const DEFAULT_ADDRESS: &str = ":8181";

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut addr = DEFAULT_ADDRESS.to_owned();
    let mut monitor = Monitor::UntilReady;
    let mut seen = false;
    while s.c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(s.once_error());
        }
        addr = listen_address(&mut s.c, &addr, |c, error| c.bare_err(error))?;
        while s.c.next_block() {
            match s.c.val() {
                "monitor" => monitor = parse_monitor(s)?,
                _ => return Err(s.c.unknown_property(&["monitor"])),
            }
        }
    }
    let list = s.shared(&addr, ReadyList::default);
    if list.needs_route() {
        let list = list.clone();
        s.http(Route::new(addr, PATH, move |request| answer(&list, request.stopping)));
    }
    s.link(move |link| link.offers().into_iter().for_each(|reporter| list.add(reporter, monitor)));
    Ok(())
}

fn parse_monitor(s: &mut Setup<'_>) -> Result<Monitor, Diagnostic> {
    match s.c.remaining_args()[..] {
        ["until-ready"] => Ok(Monitor::UntilReady),
        ["continuously"] => Ok(Monitor::Continuously),
        [other] => Err(s.c.err(format_args!("monitor type '{other}' not supported"))),
        _ => Err(s.c.arg_err()),
    }
}
