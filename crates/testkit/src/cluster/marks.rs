//! Marks: objects of each kind, created to detect when a server has processed all earlier changes.
//!
//! A watch delivers changes of one kind in order. So when a server answers with the last object of each kind, it
//! has processed all older ones, and no test needs to sleep.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;

use super::objects::{Object, Resource};
use super::{Api, load};
use crate::client::{self, Transport};
use crate::error::{Error, Result};
use crate::message::Message;
use crate::name::Name;

/// Matches the selectors that tests use.
const LABELS: [(&str, &str); 3] = [("tier", "front"), ("env", "prod"), ("team", "red")];

/// A mark in a cluster.
pub struct Mark {
    namespace: String,
    number: u8,
}

/// The parts of a cluster that a server serves.
#[derive(Clone, Copy, Debug)]
pub struct ServedZones<'a> {
    pub zone: &'a str,
    pub pods: bool,
    /// The zone of the ClusterSet, if it has one.
    pub clusterset: Option<&'a str>,
}

impl Mark {
    /// `number` must be unique among the marks of a cluster.
    pub fn create(api: &Api, number: u8) -> Result<Self> {
        let mark = Self { namespace: format!("mark-{number}"), number };
        mark.objects().iter().try_for_each(|object| load::create(api, object))?;
        Ok(mark)
    }

    fn objects(&self) -> Vec<Object> {
        let labels = |more: &[(&str, &str)]| {
            let all = LABELS.iter().chain(more);
            all.map(|(key, value)| ((*key).to_owned(), json!(value))).collect::<serde_json::Map<_, _>>()
        };
        let (namespace, number) = (self.namespace.as_str(), self.number);
        let slice = |name: &str, label: (&str, &str), cluster: &str| {
            let body = json!({
                "metadata": {"name": name, "labels": labels(&[
                    label, ("multicluster.kubernetes.io/source-cluster", cluster),
                ])},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [format!("10.250.1.{number}")]}],
                "ports": [{"port": 80}],
            });
            Object::new(Resource::EndpointSlice, namespace, name, body)
        };
        let ports = json!([{"port": 80}]);
        let mut pod = Object::new(
            Resource::Pod,
            namespace,
            "pod",
            json!({
                "metadata": {"name": "pod", "labels": labels(&[])},
                "spec": {"containers": [{"name": "c", "image": "none"}]},
            }),
        );
        let ip = self.pod_ip();
        pod.status = Some(json!({"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}));
        let mut objects = vec![
            Object::new(
                Resource::Namespace,
                "",
                namespace,
                json!({"metadata": {"name": namespace, "labels": labels(&[])}}),
            ),
            Object::new(
                Resource::Service,
                namespace,
                "service",
                json!({
                    "metadata": {"name": "service", "labels": labels(&[])},
                    "spec": {"clusterIP": "None", "ports": ports},
                }),
            ),
            slice("slice", ("kubernetes.io/service-name", "service"), ""),
            slice("imported", ("multicluster.kubernetes.io/service-name", "import"), "east"),
            pod,
        ];
        objects.push(Object::new(
            Resource::ServiceImport,
            namespace,
            "import",
            json!({
                "apiVersion": Resource::ServiceImport.api_version(),
                "kind": Resource::ServiceImport.kind(),
                "metadata": {"name": "import", "labels": labels(&[])},
                "spec": {"type": "Headless", "ports": ports},
            }),
        ));
        objects
    }

    fn pod_ip(&self) -> String {
        format!("10.250.2.{}", self.number)
    }

    /// Waits until a server answers with all objects of the mark that it serves.
    pub fn wait(&self, server: SocketAddr, served: ServedZones<'_>, timeout: Duration) -> Result<()> {
        let (namespace, zone) = (&self.namespace, served.zone);
        let mut names = vec![format!("service.{namespace}.svc.{zone}")];
        if served.pods {
            names.push(format!("{}.{namespace}.pod.{zone}", self.pod_ip().replace('.', "-")));
        }
        names.extend(served.clusterset.map(|set| format!("import.{namespace}.svc.{set}")));
        let deadline = Instant::now() + timeout;
        names.iter().try_for_each(|name| wait_for_address(server, name, deadline))
    }
}

fn wait_for_address(server: SocketAddr, name: &str, deadline: Instant) -> Result<()> {
    let mut query = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    query.extend(Name::parse(name)?.wire());
    query.extend([0, 1, 0, 1]);
    loop {
        let outcome = client::query(server, Transport::Udp, &query, Duration::from_millis(500))?;
        if outcome.reply().is_some_and(|reply| !Message::decode(reply).answer.is_empty()) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::new(format!("{server} did not return an address for {name}")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
