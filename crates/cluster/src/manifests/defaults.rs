//! Defaults that the API server would set, as far as answers depend on them.

use kube_api::message::Pair;

use crate::message::{ApiObject, Namespace, PodIp, ServicePort};

const TCP: &str = "TCP";
/// Every namespace has its name as a label, for selectors of one namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn apply_defaults(raw: &mut ApiObject) {
    match raw {
        ApiObject::Namespace(it) => {
            it.metadata.labels.retain(|pair| pair.key != NAME_LABEL);
            it.metadata.labels.push(Pair::new(NAME_LABEL, &it.metadata.name));
            return;
        }
        ApiObject::Service(it) => it.spec.ports.iter_mut().for_each(protocol),
        ApiObject::ServiceImport(it) => it.spec.ports.iter_mut().for_each(protocol),
        ApiObject::EndpointSlice(it) => {
            for port in &mut it.ports {
                port.protocol.get_or_insert_with(|| TCP.to_owned());
            }
        }
        ApiObject::Pod(it) => {
            if it.status.pod_ips.is_empty() && !it.status.pod_ip.is_empty() {
                it.status.pod_ips = vec![PodIp { ip: it.status.pod_ip.clone() }];
            }
        }
    }
    let meta = raw.meta_mut();
    if meta.namespace.is_empty() {
        meta.namespace = "default".to_owned();
    }
}

/// A namespace without a manifest of its own.
pub(super) fn implied_namespace(name: &str) -> ApiObject {
    let mut namespace = Namespace::default();
    namespace.metadata.name = name.to_owned();
    let mut raw = ApiObject::Namespace(namespace);
    apply_defaults(&mut raw);
    raw
}

fn protocol(port: &mut ServicePort) {
    if port.protocol.is_empty() {
        port.protocol = TCP.to_owned();
    }
}
