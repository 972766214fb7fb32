//! `on EVENT COMMAND [ARGS...] [&]`

use std::sync::Arc;

use corefile::{Diagnostic, Dispenser};
use server::{Lifecycle, Setup};

use super::command::Command;
use super::{Event, On, words};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut commands = Vec::new();
    while s.c.next() {
        // In CoreDNS the directive is Caddy's, whose errors name no plugin.
        commands.push(line(&mut s.c).map_err(Diagnostic::unnamed)?);
    }
    s.offer::<dyn Lifecycle>(Arc::new(On { commands }));
    Ok(())
}

fn line(c: &mut Dispenser<'_>) -> Result<(Event, Command), Diagnostic> {
    if !c.next_arg() {
        return Err(c.arg_err());
    }
    let event = match c.val().to_lowercase().as_str() {
        "startup" => Event::Startup,
        "shutdown" => Event::Shutdown,
        "certrenew" => Event::CertRenew,
        _ => return Err(c.err(format_args!("Wrong event name or event not supported: '{}'", c.val()))),
    };
    let line = c.remaining_args().join(" ");
    let mut words =
        words::split(&line).map_err(|error| c.err(format_args!("error parsing command: {error}")))?;
    if words.is_empty() {
        return Err(c.err(format_args!("no command contained in '{line}'")));
    }
    let program = words.remove(0);
    Ok((event, Command::new(program, words)))
}
