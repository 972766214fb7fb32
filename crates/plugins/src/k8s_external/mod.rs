//! Answers for the external addresses and load balancer names of Services, in separate zones.
//!
//! ```text
//! ZONE, ns1.dns.ZONE                     the zone apex and its name server (apex)
//! SERVICE.NAMESPACE.ZONE                 external IPs and load balancers (answer)
//!    └ a load balancer with a hostname   CNAME, and the records of its target (aliases)
//! 1.2.0.192.in-addr.arpa                 the Services with that address (answer)
//! ```
//!
//! The data come from the plugin `kubernetes` in the same block, through [`ExternalServices`].

mod aliases;
mod answer;
mod apex;
mod services;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::{Plugin, Step, Visit};
use wire::{Flags, Name, NameBuf, Query, Rcode, Rtype};

use crate::options::Fallthrough;
use answer::ServiceLookup;
use apex::ApexName;
pub(crate) use services::{Existence, ExternalEndpoint, ExternalServices, ExternalTarget};
pub(crate) use setup::setup;

const NAME: &str = "k8s_external";

/// All `k8s_external` directives of one block.
struct K8sExternal {
    zones: Vec<Zone>,
    ttl: u32,
    /// Services without external addresses have those of their endpoints.
    headless: bool,
    fallthrough: Fallthrough,
    cluster: Option<Arc<dyn ExternalServices>>,
}

/// A zone this plugin answers for, in lower case, and its reserved names.
struct Zone {
    name: NameBuf,
    /// `dns.ZONE`; no name below it is a Service.
    apex: NameBuf,
    /// `ns1.dns.ZONE`, in the case of the option `apex`.
    server: NameBuf,
    mailbox: NameBuf,
}

impl Plugin for K8sExternal {
    fn name(&self) -> &'static str {
        NAME
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let Some((zone, at)) = self.zone_of(visit.query.question.lower()) else { return Step::Next };
        let Some(outside) = self.cluster.as_deref() else {
            return Step::error(Rcode::SERVFAIL, "no kubernetes plugin in this server block");
        };
        let name = visit.query.question.lower();
        if at == 0 {
            return self.apex(visit, outside, zone);
        }
        if self.zones.iter().any(|zone| name.is_under(zone.apex.as_name())) {
            return self.below_apex(visit, outside, zone, ApexName::of(name, zone));
        }
        visit.begin().flags.set(Flags::AA, true);
        if visit.query.question.qtype == Rtype::PTR
            && let Some(address) = crate::messages::reverse::address(visit.query.question.lower())
        {
            let existence = self.names(visit, outside, address);
            return self.finish(visit, outside, zone, existence);
        }
        let front = front(visit.query, at);
        let ServiceLookup { existence, aliases } =
            self.services(visit.query, visit.reply, outside, zone, front);
        explain(visit, outside, existence, |query| outside.reason(self::front(query, at), self.headless));
        if !aliases.is_empty() {
            return aliases::follow(visit, aliases, outside.ttl());
        }
        self.finish(visit, outside, zone, existence)
    }
}

impl K8sExternal {
    /// The closest of our zones, and its offset in the name.
    fn zone_of(&self, name: Name<'_>) -> Option<(&Zone, usize)> {
        let zones = self.zones.iter();
        zones.filter_map(|zone| Some((zone, name.offset_of(zone.name.as_name())?))).min_by_key(|(_, at)| *at)
    }
}

/// Notes the reason of an answer, or the unlisted kinds if the answer depends on them.
fn explain(
    visit: &mut Visit<'_>,
    outside: &dyn ExternalServices,
    existence: Existence,
    reason: impl FnOnce(&Query) -> String,
) {
    if visit.is_explained() {
        let mut unknown = outside.unknown();
        let is_false = existence == Existence::Unknown;
        if is_false && unknown.is_empty() {
            unknown.push("the cluster was synced during this query; try again".to_owned());
        }
        visit.note_unless_unknown(unknown, is_false, reason);
    }
}

/// The octets of the name left of the zone, in lower case.
fn front(query: &Query, at: usize) -> &[u8] {
    query.question.lower().wire().get(..at).unwrap_or_default()
}
