//! Applies changes and compares the visible state.

mod build;
mod model;
mod serials;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use self::build::*;
use super::{Change, Index};
use crate::object::{Kind, Object};
use crate::snapshot::{Entry, Holder, Snapshot};
use crate::want::SelectorSet;

/// Applies changes and compares every line of the visible state.
fn check(changes: &[Change], visible: &[&str]) {
    let mut index = Index::new();
    for change in changes {
        index.apply(change.clone(), 1);
    }
    assert_eq!(lines(&index.snapshot()), visible, "after {changes:#?}");
}

#[test]
fn services_and_their_slices_meet_in_any_order() {
    let web = service("shop/web", &[1]);
    let (a, b) = (slice("shop/web-a", "shop/web", &[2, 3]), slice("shop/web-b", "shop/web", &[4]));
    let all = [
        "shop/web: Service, slices web-a web-b",
        "10.0.0.1: Service shop/web",
        "10.0.0.2: Slice shop/web-a",
        "10.0.0.3: Slice shop/web-a",
        "10.0.0.4: Slice shop/web-b",
    ];
    check(&[web.apply(), a.apply(), b.apply()], &all);
    check(&[b.apply(), web.apply(), a.apply()], &all);
    check(&[a.apply(), b.apply(), web.apply()], &all);
    check(
        &[web.apply(), a.apply(), b.apply(), web.delete()],
        &[
            "shop/web: slices web-a web-b",
            "10.0.0.2: Slice shop/web-a",
            "10.0.0.3: Slice shop/web-a",
            "10.0.0.4: Slice shop/web-b",
        ],
    );
    check(
        &[web.apply(), a.apply(), b.apply(), a.delete()],
        &["shop/web: Service, slices web-b", "10.0.0.1: Service shop/web", "10.0.0.4: Slice shop/web-b"],
    );
    check(&[web.apply(), a.apply(), b.apply(), web.delete(), a.delete(), b.delete()], &[]);
}

#[test]
fn names_of_two_namespaces_do_not_mix() {
    check(
        &[service("a/b", &[1]).apply(), service("b/a", &[2]).apply(), service("a/b", &[1]).delete()],
        &["b/a: Service", "10.0.0.2: Service b/a"],
    );
}

#[test]
fn a_slice_whose_service_changes_moves() {
    let (from, to) = (slice("shop/s", "shop/web", &[1, 2]), slice("shop/s", "shop/db", &[2, 3]));
    check(
        &[from.apply(), to.apply()],
        &["shop/db: slices s", "10.0.0.2: Slice shop/s", "10.0.0.3: Slice shop/s"],
    );
    check(&[from.apply(), orphan("shop/s", &[1, 2]).apply()], &[]);
    check(&[from.apply(), to.apply(), from.delete()], &[]);
}

#[test]
fn an_address_is_held_by_those_that_have_it_now() {
    check(
        &[
            slice("shop/s", "shop/web", &[1, 2, 3]).apply(),
            slice("shop/s", "shop/web", &[2, 2, 4]).apply(),
            service("shop/web", &[5, 6]).apply(),
            service("shop/web", &[6, 7]).apply(),
            pod("shop/p", &[8]).apply(),
            pod("shop/p", &[9]).apply(),
            pod("shop/q", &[]).apply(),
        ],
        &[
            "shop/web: Service, slices s",
            "10.0.0.2: Slice shop/s",
            "10.0.0.4: Slice shop/s",
            "10.0.0.6: Service shop/web",
            "10.0.0.7: Service shop/web",
            "10.0.0.9: Pod shop/p",
        ],
    );
}

#[test]
fn holders_come_in_order() {
    let changes = [
        pod("a/p2", &[1]).apply(),
        pod("a/p1", &[1]).apply(),
        import("a/i", &[1]).apply(),
        imported("a/s0", None, "a/i", &[1]).apply(),
        slice("a/s2", "a/web", &[1]).apply(),
        slice("a/s1", "a/web", &[1]).apply(),
        service("a/x", &[1]).apply(),
        service("a/web", &[1]).apply(),
    ];
    let visible = [
        "a/i: ServiceImport, imported s0",
        "a/web: Service, slices s1 s2",
        "a/x: Service",
        "10.0.0.1: Service a/x, Service a/web, Slice a/s1, Slice a/s2, Slice a/s0, Import a/i, Pod a/p1, Pod a/p2",
    ];
    check(&changes, &visible);
    check(&changes.iter().rev().cloned().collect::<Vec<_>>(), &visible);
}

#[test]
fn a_slice_of_a_service_and_an_import_is_in_both_and_held_once() {
    let both = imported("a/s", Some("a/web"), "a/i", &[1]);
    check(&[both.apply()], &["a/i: imported s", "a/web: slices s", "10.0.0.1: Slice a/s"]);
    check(
        &[both.apply(), imported("a/s", None, "a/i", &[1]).apply()],
        &["a/i: imported s", "10.0.0.1: Slice a/s"],
    );
    check(&[both.apply(), slice("a/s", "a/web", &[1]).apply()], &["a/web: slices s", "10.0.0.1: Slice a/s"]);
    check(&[both.apply(), both.delete()], &[]);
}

#[test]
fn external_addresses_are_held_apart() {
    let (one, other) = (external("shop/web", &[1], &[8, 9]), external("shop/web", &[1], &[9]));
    check(
        &[one.apply()],
        &[
            "shop/web: Service",
            "10.0.0.1: Service shop/web",
            "10.0.0.8: external shop/web",
            "10.0.0.9: external shop/web",
        ],
    );
    check(
        &[one.apply(), other.apply()],
        &["shop/web: Service", "10.0.0.1: Service shop/web", "10.0.0.9: external shop/web"],
    );
    check(&[one.apply(), one.delete()], &[]);
}

#[test]
fn namespaces_exist_and_match_selectors() {
    check(
        &[namespace("shop", 1).apply(), namespace("shop", 2).apply(), namespace("b", 0).apply()],
        &["namespace b 0", "namespace shop 2"],
    );
    check(&[namespace("shop", 1).apply(), namespace("shop", 0).delete()], &[]);
}

#[test]
fn a_list_replaces_what_was_there_when_it_ends() {
    let (a, b, c) = (service("n/a", &[1]), service("n/b", &[2]), service("n/c", &[3]));
    let before = [a.apply(), b.apply(), namespace("n", 0).apply(), Change::ListBegins(Kind::Service)];
    let check = |after: &[Change], visible: &[&str]| check(&[&before, after].concat(), visible);
    let ends = || Change::ListEnds(Kind::Service);

    check(
        &[c.apply()],
        &[
            "namespace n 0",
            "n/a: Service",
            "n/b: Service",
            "n/c: Service",
            "10.0.0.1: Service n/a",
            "10.0.0.2: Service n/b",
            "10.0.0.3: Service n/c",
        ],
    );
    check(
        &[c.apply(), b.apply(), ends()],
        &[
            "synced Service",
            "namespace n 0",
            "n/b: Service",
            "n/c: Service",
            "10.0.0.2: Service n/b",
            "10.0.0.3: Service n/c",
        ],
    );
    check(&[ends()], &["synced Service", "namespace n 0"]);
    // A list that did not end has no effect.
    check(
        &[a.apply(), Change::ListBegins(Kind::Service), b.apply(), ends()],
        &["synced Service", "namespace n 0", "n/b: Service", "10.0.0.2: Service n/b"],
    );
    // Without a beginning, the end of a list removes nothing.
    check(
        &[a.apply(), ends(), ends()],
        &["synced Service", "namespace n 0", "n/a: Service", "10.0.0.1: Service n/a"],
    );
}

#[test]
fn only_differences_are_changes() {
    let mut index = Index::new();
    let web = slice("shop/s", "shop/web", &[1]);
    for (change, differs) in [
        (Change::ListBegins(Kind::EndpointSlice), false),
        (web.apply(), true),
        (web.apply(), false),
        (service("shop/web", &[1]).delete(), false),
        (Change::ListEnds(Kind::EndpointSlice), true),
        (Change::ListBegins(Kind::EndpointSlice), false),
        (web.apply(), false),
        (Change::ListEnds(Kind::EndpointSlice), false),
        (slice("shop/s", "shop/web", &[2]).apply(), true),
        (Change::ListBegins(Kind::EndpointSlice), false),
        (Change::ListEnds(Kind::EndpointSlice), true),
        (web.delete(), false),
    ] {
        assert_eq!(index.apply(change.clone(), 1), differs, "{change:?}");
    }
}

#[test]
fn a_change_in_a_slice_leaves_the_rows_of_its_other_addresses_alone() {
    let rows = |snapshot: &Snapshot| snapshot.addresses.iter().map(std::ptr::from_ref).collect::<Vec<_>>();
    let mut index = Index::new();
    let mut addresses: Vec<u8> = (1..=100).collect();
    index.apply(slice("shop/s", "shop/web", &addresses).apply(), 1);
    let before = index.snapshot();

    addresses.push(101);
    index.apply(slice("shop/s", "shop/web", &addresses).apply(), 2);
    let after = index.snapshot();
    let (before, after) = (rows(&before), rows(&after));
    let moved = after.iter().filter(|row| !before.contains(row)).count();
    assert!((1..20).contains(&moved), "one leaf of {} rows, not {moved} rows", after.len());

    let snapshot = index.snapshot();
    let owners: std::collections::BTreeSet<_> = snapshot.addresses.iter().map(Arc::as_ptr).collect();
    assert_eq!(owners.len(), 1, "all rows of a slice share one owner");
}

/// The visible state of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
struct View {
    entries: BTreeMap<String, Entry>,
    namespaces: BTreeMap<String, SelectorSet>,
    holders: BTreeMap<IpAddr, Vec<Object>>,
    external: BTreeMap<IpAddr, Vec<Object>>,
    synced: Vec<Kind>,
    counts: Vec<usize>,
}

impl View {
    fn of(snapshot: &Snapshot) -> Self {
        let mut view = Self {
            namespaces: snapshot.namespaces().map(|(name, selected)| (name.into(), selected)).collect(),
            synced: Kind::ALL.into_iter().filter(|kind| snapshot.has_synced(*kind)).collect(),
            counts: Kind::ALL.iter().map(|kind| snapshot.count(*kind)).collect(),
            ..Self::default()
        };
        for entry in snapshot.entries() {
            assert_eq!(snapshot.entry(entry.key.as_bytes()), Some(entry));
            assert!(view.entries.insert(entry.key.to_string(), entry.clone()).is_none(), "twice");
        }
        for (name, selected) in &view.namespaces {
            assert_eq!(snapshot.namespace(name.as_bytes()), Some(*selected));
        }
        let [mut rows, mut external_rows] = [0; 2];
        for address in (0..=255).map(address) {
            let holders: Vec<_> = snapshot.holders(address).map(object).collect();
            let external: Vec<_> =
                snapshot.external_holders(address).map(|s| object(Holder::Service(s))).collect();
            rows += holders.len();
            external_rows += external.len();
            view.holders.extend((!holders.is_empty()).then_some((address, holders)));
            view.external.extend((!external.is_empty()).then_some((address, external)));
        }
        assert_eq!(
            snapshot.addresses.iter().count() + snapshot.pods.iter().count(),
            rows,
            "an address without an owner"
        );
        assert_eq!(snapshot.external.iter().count(), external_rows, "an external address without an owner");
        view
    }
}

fn object(holder: Holder) -> Object {
    match holder {
        Holder::Service(service) => Object::Service((**service).clone()),
        Holder::Slice(slice) => Object::EndpointSlice((**slice).clone()),
        Holder::Import(import) => Object::ServiceImport((**import).clone()),
        Holder::Pod(pod) => Object::Pod((**pod).clone()),
    }
}

/// A view as text lines.
fn lines(snapshot: &Snapshot) -> Vec<String> {
    let view = View::of(snapshot);
    let mut lines: Vec<String> = view.synced.iter().map(|kind| format!("synced {}", kind.name())).collect();
    lines.extend(view.namespaces.iter().map(|(name, selected)| format!("namespace {name} {}", selected.0)));
    for (key, entry) in &view.entries {
        let names = |what: &str, slices: &[Arc<crate::object::EndpointSlice>]| {
            let names: Vec<_> = slices.iter().map(|slice| slice.key.name()).collect();
            (!names.is_empty()).then(|| format!("{what} {}", names.join(" ")))
        };
        let parts = [
            entry.service.as_ref().map(|_| "Service".to_owned()),
            names("slices", &entry.slices),
            entry.import.as_ref().map(|_| "ServiceImport".to_owned()),
            names("imported", &entry.imported),
        ];
        lines.push(format!("{key}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    }
    for (address, holders) in &view.holders {
        let names: Vec<_> = holders.iter().map(holder_name).collect();
        lines.push(format!("{address}: {}", names.join(", ")));
    }
    for (address, holders) in &view.external {
        let names: Vec<_> =
            holders.iter().map(|holder| holder_name(holder).replace("Service", "external")).collect();
        lines.push(format!("{address}: {}", names.join(", ")));
    }
    lines
}

fn holder_name(holder: &Object) -> String {
    match holder {
        Object::Service(service) => format!("Service {}", service.key),
        Object::EndpointSlice(slice) => format!("Slice {}", slice.key),
        Object::ServiceImport(import) => format!("Import {}", import.key),
        Object::Pod(pod) => format!("Pod {}", pod.key),
        Object::Namespace(_) => unreachable!("a namespace has no address"),
    }
}
