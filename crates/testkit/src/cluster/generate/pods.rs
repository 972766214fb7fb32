//! Pods in all phases.

use serde_json::{Value, json};

use super::{Family, ObjectGenerator};
use crate::cluster::objects::{Object, Resource};

pub(crate) const PHASES: [&str; 5] = ["Pending", "Running", "Succeeded", "Failed", "Unknown"];

/// Keeps a deleted pod terminating.
const FINALIZER: &str = "rhumb.dev/held-by-a-test";

impl ObjectGenerator {
    pub(super) fn pods(&mut self, count: usize) -> Vec<Object> {
        (0..count).map(|_| self.pod()).collect()
    }

    pub fn pod(&mut self) -> Object {
        let namespace = self.namespace();
        let name = self.name(Resource::Pod, namespace);
        let mut body = json!({
            "metadata": {"name": name, "labels": self.labels()},
            "spec": {"containers": [{"name": "c", "image": "none"}]},
        });
        let terminating = self.random.chance(0.08);
        if terminating {
            body["metadata"]["finalizers"] = json!([FINALIZER]);
        }
        let mut pod = Object::new(Resource::Pod, namespace, &name, body);
        pod.status = Some(self.pod_status());
        pod.terminating = terminating;
        pod
    }

    /// A phase and the addresses that go with it. Pods on the node's own network share theirs.
    pub fn pod_status(&mut self) -> Value {
        let phase = *self.random.weighted(&[
            (6, PHASES[1]),
            (1, PHASES[0]),
            (1, PHASES[2]),
            (1, PHASES[3]),
            (1, PHASES[4]),
        ]);
        let ips: Vec<String> = match self.random.below(10) {
            // Not scheduled yet; or ended so long ago that another pod has its address.
            0 => return json!({"phase": phase}),
            1 => vec!["192.168.0.10".into()],
            2 => vec![self.pod_ip(Family::Ipv6)],
            3 | 4 => vec![self.pod_ip(Family::Ipv4), self.pod_ip(Family::Ipv6)],
            5 => vec![self.pod_ip(Family::Ipv6), self.pod_ip(Family::Ipv4)],
            _ => vec![self.pod_ip(Family::Ipv4)],
        };
        let all: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
        json!({"phase": phase, "podIP": ips[0], "podIPs": all})
    }
}
