//! Random changes, compared with a model that keeps objects in maps and searches all of them each time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::View;
use super::build::*;
use crate::index::{Change, Index};
use crate::object::{EndpointSlice, External, Kind, Object};
use crate::snapshot::Entry;
use crate::want::SelectorSet;

#[derive(Default)]
struct Model {
    objects: BTreeMap<(Kind, String), Object>,
    /// The objects of each list in progress.
    lists: BTreeMap<Kind, BTreeSet<String>>,
    synced: BTreeSet<Kind>,
}

impl Model {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Apply(object) => {
                let (kind, name) = (object.kind(), name_of(object));
                self.objects.insert((kind, name.clone()), object.clone());
                if let Some(list) = self.lists.get_mut(&kind) {
                    list.insert(name);
                }
            }
            Change::Delete(object) => drop(self.objects.remove(&(object.kind(), name_of(object)))),
            Change::ListBegins(kind) => drop(self.lists.insert(*kind, BTreeSet::new())),
            Change::ListEnds(kind) => {
                if let Some(list) = self.lists.remove(kind) {
                    self.objects.retain(|(other, name), _| other != kind || list.contains(name));
                }
                self.synced.insert(*kind);
            }
        }
    }

    fn view(&self) -> View {
        let mut view = View { synced: self.synced.iter().copied().collect(), ..View::default() };
        let count = |kind| self.objects.keys().filter(|(other, _)| *other == kind).count();
        view.counts = Kind::ALL.into_iter().map(count).collect();
        for object in self.objects.values() {
            match object {
                Object::Namespace(namespace) => {
                    view.namespaces.insert(namespace.name.to_string(), namespace.selected);
                }
                Object::Service(service) => {
                    entry(&mut view, &service.key).service = Some(Arc::new(service.clone()));
                }
                Object::EndpointSlice(slice) => {
                    if let Some(service) = &slice.service {
                        push(&mut entry(&mut view, service).slices, slice);
                    }
                    if let Some(imported) = &slice.imported {
                        push(&mut entry(&mut view, &imported.service).imported, slice);
                    }
                }
                Object::Pod(_) => {}
                Object::ServiceImport(import) => {
                    entry(&mut view, &import.key).import = Some(Arc::new(import.clone()));
                }
            }
        }
        for entry in view.entries.values_mut() {
            entry.slices.sort_by(|a, b| a.key.cmp(&b.key));
            entry.imported.sort_by(|a, b| a.key.cmp(&b.key));
        }
        for address in (0..=255).map(address) {
            let mut holders: Vec<_> =
                self.objects.values().filter_map(|o| Some((rank(o, address)?, o))).collect();
            holders.sort_by(|a, b| a.0.cmp(&b.0));
            if !holders.is_empty() {
                view.holders.insert(address, holders.into_iter().map(|(_, object)| object.clone()).collect());
            }
            let has = |object: &&Object| match object {
                Object::Service(service) => service.external.contains(&External::Address(address)),
                _ => false,
            };
            let mut external: Vec<_> = self.objects.values().filter(has).cloned().collect();
            external.sort_by_key(rank_key);
            if !external.is_empty() {
                view.external.insert(address, external);
            }
        }
        view
    }
}

fn name_of(object: &Object) -> String {
    match object {
        Object::Namespace(namespace) => namespace.name.to_string(),
        Object::Service(service) => service.key.to_string(),
        Object::EndpointSlice(slice) => slice.key.to_string(),
        Object::Pod(pod) => pod.key.to_string(),
        Object::ServiceImport(import) => import.key.to_string(),
    }
}

fn entry<'v>(view: &'v mut View, key: &crate::key::Key) -> &'v mut Entry {
    view.entries.entry(key.to_string()).or_insert_with(|| Entry::new(key.clone()))
}

fn push(slices: &mut Box<[Arc<EndpointSlice>]>, slice: &EndpointSlice) {
    *slices = slices.iter().cloned().chain([Arc::new(slice.clone())]).collect();
}

/// The sort key of an object among those with an address; None if it does not have the address.
fn rank(object: &Object, address: std::net::IpAddr) -> Option<(u8, Vec<Vec<u8>>)> {
    let has = match object {
        Object::Service(service) => service.cluster_ips().contains(&address),
        Object::EndpointSlice(slice) => {
            (slice.service.is_some() || slice.imported.is_some())
                && slice.endpoints.iter().any(|endpoint| endpoint.address == address)
        }
        Object::Pod(pod) => pod.ips.contains(&address),
        Object::ServiceImport(import) => import.ips.contains(&address),
        Object::Namespace(_) => false,
    };
    has.then(|| rank_key(object))
}

fn rank_key(object: &Object) -> (u8, Vec<Vec<u8>>) {
    let bytes = |key: &crate::key::Key| key.as_bytes().to_vec();
    match object {
        Object::Service(service) => (0, vec![bytes(&service.key)]),
        Object::EndpointSlice(slice) => match (&slice.service, &slice.imported) {
            (Some(service), _) => (1, vec![bytes(service), bytes(&slice.key)]),
            (None, Some(imported)) => (2, vec![bytes(&imported.service), bytes(&slice.key)]),
            (None, None) => (2, vec![]),
        },
        Object::ServiceImport(import) => (3, vec![bytes(&import.key)]),
        Object::Pod(pod) => (4, vec![bytes(&pod.key)]),
        Object::Namespace(_) => (5, vec![]),
    }
}

/// Few names and few addresses, so that objects collide often.
fn any_object() -> impl Strategy<Value = Object> {
    let name = || prop::sample::select(vec!["n/a", "n/b", "m/a", "m/bb"]);
    let some = || prop::collection::vec(prop::sample::select(vec![1u8, 2, 3, 4, 200]), 0..4);
    let selected = 0u32..3;
    prop_oneof![
        1 => (name(), selected.clone()).prop_map(|(name, selected)| namespace(&name[..1], selected)),
        3 => (name(), some(), some(), 0u32..2).prop_map(|(name, ips, outside, selected)| {
            let Object::Service(mut service) = external(name, &ips, &outside) else { unreachable!() };
            service.selected = SelectorSet(selected);
            Object::Service(service)
        }),
        6 => (name(), prop::option::of(name()), prop::option::of(name()), some(), 0u16..3).prop_map(
            |(name, service, import, endpoints, number)| {
                let mut made = bare_slice(name, &endpoints);
                made.service = service.map(key);
                let west = |import| crate::object::ImportOrigin { service: key(import), cluster: "west".into() };
                made.imported = import.map(west).map(Box::new);
                made.ports = port(number);
                Object::EndpointSlice(made)
            }
        ),
        3 => (name(), some()).prop_map(|(name, ips)| pod(name, &ips)),
        2 => (name(), some()).prop_map(|(name, ips)| import(name, &ips)),
    ]
}

fn any_change() -> impl Strategy<Value = Change> {
    let kind = || prop::sample::select(Kind::ALL.to_vec());
    prop_oneof![
        12 => any_object().prop_map(Change::Apply),
        4 => any_object().prop_map(Change::Delete),
        2 => kind().prop_map(Change::ListBegins),
        2 => kind().prop_map(Change::ListEnds),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_equals_the_model(steps in prop::collection::vec((any_change(), 0u32..100, 0u8..10), 0..60)) {
        let (mut index, mut model) = (Index::new(), Model::default());
        let mut kept = Vec::new();
        let mut view = model.view();
        for (change, now, keep) in steps {
            let modified = index.snapshot().modified();
            model.apply(&change);
            let differs = index.apply(change, now);

            let expected = model.view();
            let snapshot = index.snapshot();
            prop_assert_eq!(View::of(&snapshot), expected.clone());
            prop_assert!(differs || view == expected, "an unreported change");
            view = expected.clone();

            let after = snapshot.modified();
            prop_assert!(after.internal >= modified.internal && after.external >= modified.external);
            prop_assert!(after.multicluster >= modified.multicluster);
            prop_assert!(differs || after == modified);
            if keep == 0 {
                kept.push((snapshot, expected));
            }
        }
        for (snapshot, expected) in kept {
            prop_assert_eq!(View::of(&snapshot), expected, "an old snapshot was altered");
        }
    }
}
