//! A pod address reused in another namespace: autopath's search path follows the watch.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::client::{self, Transport};
use testkit::cluster::objects::{Object, Resource};
use testkit::cluster::{Cluster, load};
use testkit::message::Message;
use testkit::name::Name;
use testkit::peers::Peer;
use testkit::{DnsServer, Kind, ports};

const COREFILE: &str = ".:{port} {
    bind 127.0.0.1
    ready 127.0.0.1:{ready}
    autopath @kubernetes
    hosts {
        192.0.2.1 www.example.org
        fallthrough
    }
    kubernetes cluster.local {
        kubeconfig {kubeconfig}
        pods verified
    }
}
";

/// A pod with the source address of this test's queries.
fn pod(namespace: &str) -> Object {
    let body = json!({
        "metadata": {"name": "client"},
        "spec": {"containers": [{"name": "c", "image": "none"}]},
    });
    let mut pod = Object::new(Resource::Pod, namespace, "client", body);
    pod.status = Some(json!({"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}));
    pod
}

/// Whether autopath applies the namespace's search path to a name.
fn is_searched(server: SocketAddr, namespace: &str) -> bool {
    let mut query = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    query.extend(Name::parse(&format!("www.example.org.{namespace}.svc.cluster.local")).unwrap().wire());
    query.extend([0, 1, 0, 1]);
    let outcome = client::query(server, Transport::Udp, &query, Duration::from_secs(2)).unwrap();
    outcome.reply().is_some_and(|reply| Message::decode(reply).answer.len() == 2)
}

#[test]
fn reused_pod_address_gets_the_new_namespace() {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let cluster = Cluster::alone().unwrap();
    let api = cluster.api();
    for name in ["shop", "bank"] {
        let namespace = Object::new(Resource::Namespace, "", name, json!({"metadata": {"name": name}}));
        load::create(api, &namespace).unwrap();
    }
    load::create(api, &pod("shop")).unwrap();
    let (port, ready) = (ports::free().unwrap(), ports::free().unwrap());
    let corefile = COREFILE
        .replace("{ready}", &ready.to_string())
        .replace("{port}", &port.to_string())
        .replace("{kubeconfig}", &cluster.kubeconfig().display().to_string());
    let server = DnsServer::start(Kind::Rhumb, &corefile, port).unwrap();
    server.wait_until_ready(ready).unwrap();
    let addr = server.addr();
    assert!(is_searched(addr, "shop") && !is_searched(addr, "bank"));
    for (from, to) in [("shop", "bank"), ("bank", "shop"), ("shop", "bank")] {
        api.delete(&format!("{}?gracePeriodSeconds=0", pod(from).path())).unwrap();
        load::create(api, &pod(to)).unwrap();
        let end = Instant::now() + Duration::from_secs(10);
        while !is_searched(addr, to) {
            assert!(Instant::now() < end, "the pod in {to} never searched");
        }
        assert!(!is_searched(addr, from), "{from} is still searched in");
    }
}
