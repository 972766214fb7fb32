//! The labels `*` and `any` for all Services or all namespaces, as CoreDNS had them until 1.8.
//!
//! Every Service is looked at. ExternalName Services are left out: no other record may stand beside a CNAME.

use super::behind::Behind;
use super::filter::{Filter, is_wildcard};
use super::find::{Ask, Behinds, Found, Services};
use super::request::Asked;

pub(super) fn is_asked(asked: &Asked<'_>) -> bool {
    is_wildcard(asked.namespace) || is_wildcard(asked.name)
}

pub(super) fn find<'a>(ask: &Ask<'a>, asked: &Asked<'a>) -> Found<'a> {
    let (plugin, snapshot) = (ask.plugin, ask.snapshot);
    let any_namespace = is_wildcard(asked.namespace);
    if !any_namespace && !plugin.exposes(snapshot, asked.namespace) {
        return Found::Nothing;
    }
    if asked.name.is_empty() {
        return Found::Empty;
    }
    let any_name = is_wildcard(asked.name);
    let filter = Filter::new(asked.part, true);
    let meant = snapshot.entries().filter(|entry| {
        let (name, namespace) = (entry.key.name().as_bytes(), entry.key.namespace().as_bytes());
        (any_name || name == asked.name)
            && if any_namespace { plugin.exposes(snapshot, namespace) } else { namespace == asked.namespace }
    });
    let behind: Vec<Behind<'a>> = meant
        .filter_map(|entry| {
            if ask.zone.is_multicluster {
                Behind::import(plugin, entry, &filter)
            } else {
                Behind::service(plugin, entry, &filter)
            }
        })
        .filter(|behind| behind.alias.is_none())
        .collect();
    // A namespace that is there has all names, so to speak.
    let exists = any_name && !any_namespace || behind.iter().any(|behind| behind.is_own);
    Found::Services(Services { behind: Behinds::Many(behind), filter, exists })
}
