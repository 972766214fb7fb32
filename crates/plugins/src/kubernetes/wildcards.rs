//! The labels `*` and `any` match all Services or all namespaces, as in CoreDNS up to 1.8.
//!
//! A lookup scans every Service. ExternalName Services never match: a CNAME excludes other records.

use super::filter::{Filter, is_wildcard};
use super::find::{LookupResult, NameLookup, ServiceMatches, Services};
use super::request::ObjectRef;
use super::service_match::ServiceMatch;

pub(super) fn has_wildcard(object: &ObjectRef<'_>) -> bool {
    is_wildcard(object.namespace) || is_wildcard(object.name)
}

pub(super) fn find<'a>(lookup: &NameLookup<'a>, object: &ObjectRef<'a>) -> LookupResult<'a> {
    let (plugin, snapshot) = (lookup.plugin, lookup.snapshot);
    let any_namespace = is_wildcard(object.namespace);
    if !any_namespace && !plugin.exposes(snapshot, object.namespace) {
        return LookupResult::NoName;
    }
    if object.name.is_empty() {
        return LookupResult::EmptyNonTerminal;
    }
    let any_name = is_wildcard(object.name);
    let filter = Filter::new(object.part, true);
    let entries = snapshot.entries().filter(|entry| {
        let (name, namespace) = (entry.key.name().as_bytes(), entry.key.namespace().as_bytes());
        (any_name || name == object.name)
            && if any_namespace { plugin.exposes(snapshot, namespace) } else { namespace == object.namespace }
    });
    let matched: Vec<ServiceMatch<'a>> = entries
        .filter_map(|entry| {
            if lookup.zone.is_multicluster {
                ServiceMatch::import(plugin, entry, &filter)
            } else {
                ServiceMatch::service(plugin, entry, &filter)
            }
        })
        .filter(|matched| matched.alias.is_none())
        .collect();
    // `*.NAMESPACE` exists if the namespace does.
    let exists = any_name && !any_namespace || matched.iter().any(|matched| matched.has_own_addresses);
    LookupResult::Services(Services { matches: ServiceMatches::Many(matched), filter, exists })
}
