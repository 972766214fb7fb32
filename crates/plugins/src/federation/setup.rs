//! `federation [ZONES...] { NAME DOMAIN; zone ZONE; region REGION; upstream [ADDRESS...] }`

use corefile::{Diagnostic, Dispenser};
use server::Setup;
use wire::NameBuf;

use super::name::prepend;
use super::{Federation, Member};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    while s.c.next() {
        let zones = s.c.remaining_args();
        let zones = s.zones(&zones);
        let mut members: Vec<(&str, NameBuf)> = Vec::new();
        let mut location = ClusterLocation::default();
        while s.c.next_block() {
            match s.c.val() {
                "upstream" => {
                    s.c.remaining_args();
                    let text = "'upstream' has no effect: CNAME targets are looked up through this server";
                    s.warn(s.c.warning(text).in_plugin("federation"));
                }
                "zone" => location.zone = part(&mut s.c)?,
                "region" => location.region = part(&mut s.c)?,
                name => {
                    let domain = member(&mut s.c, name)?;
                    // The last entry of a name counts.
                    members.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
                    members.push((name, domain));
                }
            }
        }
        if members.is_empty() {
            return Err(s.c.bare_err("at least one name to zone federation expected"));
        }
        if location.zone.is_some() && location.region.is_none() {
            let text = "'zone' has no effect without 'region'";
            s.warn(s.c.warning(text).in_plugin("federation"));
        }
        let members: Option<Vec<Member>> =
            members.iter().map(|(name, domain)| location.member(name, domain)).collect();
        let members = members.ok_or_else(|| {
            s.c.bare_err("federation domain too long: names below it would exceed 255 octets")
        })?;
        s.add(Federation { zones, members });
    }
    Ok(())
}

/// Where this cluster is; CNAMEs lead to the services nearest to it.
#[derive(Default)]
struct ClusterLocation {
    zone: Option<NameBuf>,
    region: Option<NameBuf>,
}

impl ClusterLocation {
    /// None if the name is too long.
    fn member(&self, name: &str, domain: &NameBuf) -> Option<Member> {
        let label = name.to_ascii_lowercase().into_bytes();
        let mut suffix = domain.clone();
        if let Some(region) = &self.region {
            // The order of the labels is zone, region, domain.
            for part in [Some(region), self.zone.as_ref()].into_iter().flatten() {
                let labels: Vec<&[u8]> = part.as_name().labels().collect();
                prepend(&mut suffix, &labels).then_some(())?;
            }
        }
        prepend(&mut suffix, &[&label, b"svc"]).then_some(Member { label, suffix })
    }
}

/// The domain of `NAME DOMAIN`.
fn member(c: &mut Dispenser<'_>, name: &str) -> Result<NameBuf, Diagnostic> {
    if name.contains('.') || NameBuf::parse(name).map_or(true, |name| name.as_name().is_root()) {
        return Err(c.err(format_args!("federation name: expected one label, got '{name}'")));
    }
    let args = c.remaining_args();
    let [domain] = args[..] else {
        return Err(c.bare_err(format_args!("need two arguments for federation, got {}", args.len())));
    };
    NameBuf::parse(&domain.to_ascii_lowercase())
        .map_err(|error| c.err(format_args!("federation domain '{domain}': {error}")))
}

/// The argument of `zone` or `region`. None if it is empty, as with an unset environment variable.
fn part(c: &mut Dispenser<'_>) -> Result<Option<NameBuf>, Diagnostic> {
    let option = c.val();
    let [text] = c.remaining_args()[..] else { return Err(c.arg_err()) };
    let name = NameBuf::parse(&text.to_ascii_lowercase())
        .map_err(|error| c.err(format_args!("{option} '{text}': {error}")))?;
    Ok((!name.as_name().is_root()).then_some(name))
}
