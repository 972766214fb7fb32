//! Names of Services, their ports and their endpoints.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::generate::ZONES;
use super::super::objects::{label_of, list, name_of, namespace_of, text};
use super::super::stored::StoredObjects;
use super::{Slices, dashed};
use crate::random::Random;

const SERVICE: &str = "kubernetes.io/service-name";
const IMPORTED: &str = "multicluster.kubernetes.io/service-name";
const CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";

pub(super) fn services(stored: &StoredObjects, zone: &str) -> Vec<String> {
    stored.services.iter().map(|service| base(service, zone)).collect()
}

/// `name.namespace.svc.zone`
fn base(service: &Value, zone: &str) -> String {
    format!("{}.{}.svc.{zone}", name_of(service), namespace_of(service))
}

/// The ports of each Service and of its slices, with and without underscores, existing or not.
pub(super) fn ports(stored: &StoredObjects, zone: &str) -> Vec<String> {
    let slices = Slices::by(stored, SERVICE);
    stored.services.iter().flat_map(|service| ports_of(&slices, service, zone)).collect()
}

fn ports_of<'a>(slices: &Slices<'a>, service: &'a Value, zone: &str) -> Vec<String> {
    let base = base(service, zone);
    let slices = slices.of(service).iter().flat_map(|slice| list(slice, "/ports"));
    let ports: BTreeSet<(String, String)> = list(service, "/spec/ports")
        .iter()
        .chain(slices)
        .map(|port| {
            let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
            (text(port, "/name").to_owned(), protocol.to_lowercase())
        })
        .collect();
    let mut names =
        vec![format!("_nosuch._tcp.{base}"), format!("_http._nosuch.{base}"), format!("_tcp.{base}")];
    for (port, protocol) in ports {
        if port.is_empty() {
            names.extend([format!("_._{protocol}.{base}"), format!("_80._{protocol}.{base}")]);
            continue;
        }
        names.push(format!("_{port}._{protocol}.{base}"));
        names.push(format!("_{port}._{protocol}.{base}"));
        names.push(format!("{port}.{protocol}.{base}"));
        names.push(format!("_{port}.{protocol}.{base}"));
        names.push(format!("{port}._{protocol}.{base}"));
        names.push(format!("__{port}._{protocol}.{base}"));
        names.push(format!("_{port}._udp.{base}"));
        names.push(format!("*._{protocol}.{base}"));
        names.push(format!("any._{protocol}.{base}"));
    }
    names
}

/// Endpoints by address, hostname and pod, ready or not, and near misses.
pub(super) fn endpoints(stored: &StoredObjects, zone: &str) -> Vec<String> {
    let slices = Slices::by(stored, SERVICE);
    let mut names = Vec::new();
    for service in &stored.services {
        let base = base(service, zone);
        for slice in slices.of(service) {
            let labels = endpoint_labels(slice);
            names.extend(labels.iter().map(|label| format!("{label}.{base}")));
            if let Some(label) = labels.first() {
                names.push(format!("_http._tcp.{label}.{base}"));
                names.push(format!("x.{label}.{base}"));
            }
        }
        names.push(format!("10-244-9-9.{base}"));
        names.push(format!("db-0.{base}"));
    }
    names
}

fn endpoint_labels(slice: &Value) -> Vec<String> {
    let mut labels = Vec::new();
    for endpoint in list(slice, "/endpoints") {
        let addresses = list(endpoint, "/addresses").iter().map(|address| text(address, ""));
        labels.extend(addresses.map(|address| match address.parse() {
            Ok(ip) => dashed(ip),
            Err(_) => address.replace('.', "-"),
        }));
        labels.extend(["/hostname", "/targetRef/name"].map(|field| text(endpoint, field).to_owned()));
    }
    labels.retain(|label| !label.is_empty());
    labels
}

/// Names for one topology zone, and near misses.
pub(super) fn zonal(stored: &StoredObjects, zone: &str) -> Vec<String> {
    let slices = Slices::by(stored, SERVICE);
    let mut names = Vec::new();
    for service in &stored.services {
        let base = base(service, zone);
        let carried = slices.of(service).iter().flat_map(|slice| list(slice, "/endpoints"));
        let carried: BTreeSet<&str> = carried.map(|e| text(e, "/zone")).filter(|z| !z.is_empty()).collect();
        for place in carried.iter().copied().chain(ZONES.iter().copied().take(1)) {
            names.push(format!("{place}.pin._zone.{base}"));
            names.push(format!("{place}.prefer._zone.{base}"));
        }
        names.extend(
            [
                "nosuch.pin._zone",
                "nosuch.prefer._zone",
                "pin._zone",
                "prefer._zone",
                "_zone",
                "zone-a.other._zone",
                "zone-a.pin.zone",
                "_http._tcp.zone-a.pin._zone",
            ]
            .map(|front| format!("{front}.{base}")),
        );
    }
    names
}

/// Imported Services in the ClusterSet, and their endpoints by cluster.
pub(super) fn imports(stored: &StoredObjects, zone: &str) -> Vec<String> {
    let slices = Slices::by(stored, IMPORTED);
    let mut names = Vec::new();
    for import in &stored.imports {
        let base = base(import, zone);
        names.push(base.clone());
        names.extend(ports_of(&slices, import, zone));
        for slice in slices.of(import) {
            let cluster = label_of(slice, CLUSTER).unwrap_or("none");
            for label in endpoint_labels(slice) {
                names.push(format!("{label}.{cluster}.{base}"));
                names.push(format!("{label}.{base}"));
                names.push(format!("{label}.nosuch.{base}"));
                names.push(format!("_{label}.{cluster}.{base}"));
            }
            names.push(format!("{cluster}.{base}"));
            names.push(format!("x.10-244-0-1.{cluster}.{base}"));
        }
    }
    names
}

/// Labels in the wrong position, one too many, one too few.
pub(super) fn misses(stored: &StoredObjects, zone: &str, random: &mut Random) -> Vec<String> {
    let namespaces: Vec<&str> = stored.namespaces.iter().map(name_of).collect();
    if namespaces.is_empty() {
        return Vec::new();
    }
    let mut names = Vec::new();
    for service in stored.services.iter().chain(&stored.imports) {
        let (name, namespace) = (name_of(service), namespace_of(service));
        let other = random.pick(&namespaces);
        names.extend([
            format!("{name}.{other}.svc.{zone}"),
            format!("{name}.nosuch.svc.{zone}"),
            format!("{name}.{namespace}.pod.{zone}"),
            format!("{name}.{namespace}.{zone}"),
            format!("{name}.svc.{zone}"),
            format!("{name}x.{namespace}.svc.{zone}"),
            format!("*.{namespace}.svc.{zone}"),
            format!("any.{namespace}.svc.{zone}"),
            format!("{name}.*.svc.{zone}"),
            format!("{name}.any.svc.{zone}"),
            format!("a.b.c.{name}.{namespace}.svc.{zone}"),
            format!("{name}.{namespace}.svc.svc.{zone}"),
            format!("_{name}.{namespace}.svc.{zone}"),
        ]);
    }
    names
}
