//! `k8s_external [ZONES...] { apex LABEL; ttl SECONDS; headless; fallthrough [ZONES...] }`

use std::sync::Arc;

use corefile::{Diagnostic, Dispenser};
use server::Setup;
use wire::NameBuf;

use super::{K8sExternal, NAME, Zone};
use crate::options::Fallthrough;

const DEFAULT_TTL: u32 = 5;
const MAX_TTL: i64 = 3600;
const DEFAULT_APEX: &str = "dns";

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let (mut zones, mut ttl, mut apex) = (Vec::new(), DEFAULT_TTL, DEFAULT_APEX);
    let (mut headless, mut fallthrough) = (false, Fallthrough::default());
    // Of several directives, the last one's zones count, and the options of all.
    while s.c.next() {
        let args = s.c.remaining_args();
        zones = s.zones(&args);
        while s.c.next_block() {
            match s.c.val() {
                "ttl" => ttl = self::ttl(&mut s.c)?,
                "apex" => apex = first(&mut s.c)?,
                "headless" => headless = true,
                "fallthrough" => fallthrough = Fallthrough::from_args(&s.c.remaining_args()),
                _ => return Err(s.c.unknown_property(&["apex", "fallthrough", "headless", "ttl"])),
            }
        }
    }
    if !s.has_directive("kubernetes") {
        let error = s.c.bare_err("kubernetes plugin not loaded");
        return Err(error.help("add `kubernetes` to this server block: k8s_external answers from its data"));
    }
    let zones = zones.into_iter().map(|zone| Zone::new(zone, apex)).collect::<Option<Vec<Zone>>>();
    let zones = zones.ok_or_else(|| {
        s.c.bare_err(format_args!("apex: expected labels that make a valid name, got '{apex}'"))
    })?;
    s.add_linked(NAME, move |link| {
        let cluster = link.offers().into_iter().next().map(|offered| offered.value);
        Ok(Arc::new(K8sExternal { zones, ttl, headless, fallthrough, cluster }))
    });
    Ok(())
}

impl Zone {
    /// None if a name would be too long, or the apex is invalid.
    fn new(name: NameBuf, apex: &str) -> Option<Zone> {
        let spelt = NameBuf::parse(apex).ok().filter(|apex| !apex.as_name().is_root())?;
        let labels: Vec<&[u8]> = spelt.as_name().labels().collect();
        let under = |first: Option<&[u8]>| {
            let mut full = name.clone();
            let fits = labels.iter().rev().copied().chain(first).all(|label| full.prepend(label));
            fits.then_some(full)
        };
        let mut apex = under(None)?;
        apex.make_lower();
        Some(Zone { apex, server: under(Some(b"ns1"))?, mailbox: under(Some(b"hostmaster"))?, name })
    }
}

/// The first argument of an option; CoreDNS ignores the others.
fn first<'a>(c: &mut Dispenser<'a>) -> Result<&'a str, Diagnostic> {
    c.remaining_args().first().copied().ok_or_else(|| c.arg_err())
}

fn ttl(c: &mut Dispenser<'_>) -> Result<u32, Diagnostic> {
    let text = first(c)?;
    let number = golang::atoi(text).map_err(|error| c.bare_err(error))?;
    match u32::try_from(number) {
        Ok(ttl) if number <= MAX_TTL => Ok(ttl),
        _ => Err(c.err(format_args!("ttl must be in range [0, {MAX_TTL}]: {number}"))),
    }
}
