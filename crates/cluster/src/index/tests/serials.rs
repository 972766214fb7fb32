//! Which changes advance which serial.

use super::build::*;
use crate::index::{Change, Index};
use crate::object::{Details, EndpointSlice, External, Kind, Namespace, Object, Pod, Service, ServiceType};
use crate::snapshot::LastModified;
use crate::want::SelectorSet;

/// Compares which serials advance when `old` becomes `new`: internal, external and multicluster.
fn check(what: &str, old: Option<&Object>, new: Option<&Object>, moves: [bool; 3]) {
    let mut index = Index::new();
    if let Some(old) = old {
        index.apply(old.apply(), 10);
    }
    let LastModified { internal, external, multicluster } = index.snapshot().modified();
    match (old, new) {
        (_, Some(new)) => index.apply(new.apply(), 20),
        (Some(old), None) => index.apply(old.delete(), 20),
        (None, None) => false,
    };
    let after = index.snapshot().modified();
    let expected = [(internal, moves[0]), (external, moves[1]), (multicluster, moves[2])]
        .map(|(before, moved)| if moved { 20 } else { before });
    assert_eq!([after.internal, after.external, after.multicluster], expected, "{what}");
}

const NONE: [bool; 3] = [false, false, false];
const INTERNAL: [bool; 3] = [true, false, false];
const EXTERNAL: [bool; 3] = [false, true, false];
const BOTH: [bool; 3] = [true, true, false];
const MULTICLUSTER: [bool; 3] = [false, false, true];

#[test]
fn serials_advance_with_services() {
    let edit = |object: &Object, edit: fn(&mut Service)| {
        let Object::Service(mut service) = object.clone() else { unreachable!() };
        edit(&mut service);
        Object::Service(service)
    };
    let (plain, outside) = (service("n/a", &[1]), external("n/a", &[1], &[9]));
    check("added", None, Some(&plain), INTERNAL);
    check("deleted", Some(&plain), None, INTERNAL);
    check("same", Some(&plain), Some(&plain), NONE);
    check("added, with external addresses", None, Some(&outside), BOTH);
    check("deleted, with external addresses", Some(&outside), None, BOTH);
    check("cluster IP", Some(&plain), Some(&service("n/a", &[2])), INTERNAL);
    check("external address", Some(&outside), Some(&external("n/a", &[1], &[8])), EXTERNAL);
    check("no external address", Some(&outside), Some(&plain), EXTERNAL);
    check(
        "external host",
        Some(&plain),
        Some(&edit(&plain, |s| s.external = [External::Host("lb".into())].into())),
        EXTERNAL,
    );
    check("ports", Some(&outside), Some(&edit(&outside, |s| s.ports = port(80))), BOTH);
    check(
        "external name",
        Some(&plain),
        Some(&edit(&plain, |s| s.kind = ServiceType::ExternalName("x.org".into()))),
        INTERNAL,
    );
    check("headless", Some(&plain), Some(&edit(&plain, |s| s.kind = ServiceType::Headless)), INTERNAL);
    check("selected", Some(&plain), Some(&edit(&plain, |s| s.selected = SelectorSet(1))), INTERNAL);
    check(
        "selected, with external addresses",
        Some(&outside),
        Some(&edit(&outside, |s| s.selected = SelectorSet(1))),
        BOTH,
    );
}

#[test]
fn serials_advance_with_slices() {
    let edit = |edit: fn(&mut EndpointSlice)| {
        let Object::EndpointSlice(mut made) = slice("n/s", "n/a", &[1]) else { unreachable!() };
        edit(&mut made);
        Object::EndpointSlice(made)
    };
    let detailed = |details: Details| {
        let Object::EndpointSlice(mut made) = slice("n/s", "n/a", &[1]) else { unreachable!() };
        made.endpoints = [(address(1), details)].into_iter().collect();
        Object::EndpointSlice(made)
    };
    let local = slice("n/s", "n/a", &[1]);
    check("added", None, Some(&local), INTERNAL);
    check("deleted", Some(&local), None, INTERNAL);
    check("same", Some(&local), Some(&local), NONE);
    check("addresses", Some(&local), Some(&slice("n/s", "n/a", &[1, 2])), INTERNAL);
    check("ports", Some(&local), Some(&edit(|s| s.ports = port(80))), INTERNAL);
    check(
        "hostname",
        Some(&local),
        Some(&detailed(Details { hostname: Some("h".into()), ..Details::default() })),
        INTERNAL,
    );
    check(
        "zone",
        Some(&local),
        Some(&detailed(Details { zone: Some("z".into()), ..Details::default() })),
        INTERNAL,
    );
    check("moves", Some(&local), Some(&slice("n/s", "n/b", &[1])), INTERNAL);

    let far = imported("n/s", None, "n/i", &[1]);
    check("imported added", None, Some(&far), MULTICLUSTER);
    check("imported deleted", Some(&far), None, MULTICLUSTER);
    check("imported changes", Some(&far), Some(&imported("n/s", None, "n/i", &[2])), MULTICLUSTER);
    check("both change", Some(&local), Some(&far), [true, false, true]);
    check("without a Service", None, Some(&orphan("n/s", &[1])), NONE);
}

#[test]
fn serials_advance_with_pods_and_imports() {
    let (one, two) = (pod("n/p", &[1]), pod("n/p", &[2]));
    check("pod added", None, Some(&one), INTERNAL);
    check("pod deleted", Some(&one), None, INTERNAL);
    check("pod changes its address", Some(&one), Some(&two), INTERNAL);
    let Object::Pod(bare) = one.clone() else { unreachable!() };
    let labelled = Object::Pod(Pod { labels: [("a".into(), "b".into())].into(), ..bare });
    check("pod changes its labels", Some(&one), Some(&labelled), NONE);

    let (one, two) = (import("n/i", &[1]), import("n/i", &[2]));
    check("import added", None, Some(&one), MULTICLUSTER);
    check("import deleted", Some(&one), None, MULTICLUSTER);
    check("import changes", Some(&one), Some(&two), MULTICLUSTER);

    let space = Object::Namespace(Namespace { name: "n".into(), selected: SelectorSet(0) });
    check("namespace added", None, Some(&space), NONE);
    check("namespace deleted", Some(&space), None, NONE);
}

#[test]
fn serials_never_decrease() {
    let mut index = Index::new();
    index.apply(service("n/a", &[1]).apply(), 20);
    index.apply(service("n/b", &[2]).apply(), 10);
    assert_eq!(index.snapshot().modified().internal, 20);
}

#[test]
fn a_list_advances_serials_when_an_object_is_missing() {
    let mut index = Index::new();
    let a = service("n/a", &[1]);
    index.apply(a.apply(), 10);
    let mut list = |shown: Option<&Object>, now, moved| {
        index.apply(Change::ListBegins(Kind::Service), now);
        shown.map(|shown| index.apply(shown.apply(), now));
        index.apply(Change::ListEnds(Kind::Service), now);
        assert_eq!(index.snapshot().modified().internal, moved);
    };
    list(Some(&a), 20, 10);
    list(None, 30, 30);
    list(None, 40, 30);
}
