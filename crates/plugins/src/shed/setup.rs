//! `shed`

use std::sync::Arc;

use corefile::{Diagnostic, Scheme};
use golang::quoted;
use metrics::registry;
use server::Setup;

use super::{NAME, Shed};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut seen = false;
    while s.c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(s.once_error());
        }
        if !s.c.remaining_args().is_empty() {
            return Err(s.c.arg_err());
        }
        if s.c.next_block() {
            return Err(s.c.err("shed takes no options"));
        }
    }
    if let Some(other) = s.keys().iter().find(|key| key.scheme != Scheme::Dns) {
        let (key, transport) = (quoted(&other.to_string()), quoted(other.scheme.as_str()));
        return Err(s.c.err(format_args!(
            "only plain DNS server blocks are supported; {key} uses transport {transport}"
        )));
    }
    let dropped = registry()
        .counters(
            "coredns_shed_dropped_total",
            "Counter of queries and responses dropped, per server, by reason.",
            &["server", "reason"],
        )
        .map_err(|error| s.c.bare_err(error))?;
    s.settings().lost_replies = Some(dropped.clone());
    s.add_linked(NAME, move |link| {
        let counter = |server: &str| (server.to_owned(), dropped.with(&[server, "query"]));
        Ok(Arc::new(Shed { servers: link.servers().into_iter().map(counter).collect() }))
    });
    Ok(())
}
