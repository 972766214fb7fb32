//! `loop`

use std::sync::Arc;

use corefile::Diagnostic;
use server::{Lifecycle, Setup};
use wire::NameBuf;

use super::{Loop, NAME, ProbeState};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut seen = false;
    while s.c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(s.once_error());
        }
        if s.c.next_arg() {
            return Err(s.c.arg_err());
        }
    }
    // Only the first zone is probed.
    let zone = s.keys().first().and_then(|key| NameBuf::parse(&key.zone).ok());
    let mut zone = zone.unwrap_or(NameBuf::root());
    zone.make_lower();
    s.add_linked(NAME, move |link| {
        let server = link.servers().first().copied().unwrap_or_default();
        let plugin = Arc::new(Loop { probe: Arc::new(ProbeState::new(zone, server)) });
        link.offer::<dyn Lifecycle>(plugin.clone());
        Ok(plugin)
    });
    Ok(())
}
