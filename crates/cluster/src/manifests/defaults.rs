//! What the API server would have filled in, as far as answers depend on it.

use crate::api::message::{Namespace, Pair, PodIp, Raw, ServicePort};

const TCP: &str = "TCP";
/// Every namespace has its name as a label, for selectors that mean one namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn fill_in(raw: &mut Raw) {
    match raw {
        Raw::Namespace(it) => {
            it.metadata.labels.retain(|pair| pair.key != NAME_LABEL);
            it.metadata.labels.push(Pair::new(NAME_LABEL, &it.metadata.name));
            return;
        }
        Raw::Service(it) => it.spec.ports.iter_mut().for_each(protocol),
        Raw::ServiceImport(it) => it.spec.ports.iter_mut().for_each(protocol),
        Raw::EndpointSlice(it) => {
            for port in &mut it.ports {
                port.protocol.get_or_insert_with(|| TCP.to_owned());
            }
        }
        Raw::Pod(it) => {
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

/// A namespace that is only mentioned.
pub(super) fn mentioned(name: &str) -> Raw {
    let mut namespace = Namespace::default();
    namespace.metadata.name = name.to_owned();
    let mut raw = Raw::Namespace(namespace);
    fill_in(&mut raw);
    raw
}

fn protocol(port: &mut ServicePort) {
    if port.protocol.is_empty() {
        port.protocol = TCP.to_owned();
    }
}
