//! The real API server and external-dns start and work as tests need.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use testkit::cluster::{Cluster, Etcd};
use testkit::peers::Peer;
use testkit::process::Process;

#[test]
fn objects_are_separate_and_survive_a_restart() {
    if Peer::Etcd.for_test().is_none() || Peer::KubeApiserver.for_test().is_none() {
        return;
    }
    let etcd = Arc::new(Etcd::start().unwrap());
    let mut one = Cluster::start(&etcd, "one").unwrap();
    let two = Cluster::start(&etcd, "two").unwrap();

    let namespace = json!({"metadata": {"name": "shop"}});
    one.api().create("/api/v1/namespaces", &namespace).unwrap();
    let service = json!({
        "metadata": {"name": "cart"},
        "spec": {"type": "LoadBalancer", "clusterIP": "10.96.7.7", "ports": [{"name": "http", "port": 80}]},
    });
    one.api().create("/api/v1/namespaces/shop/services", &service).unwrap();
    let path = "/api/v1/namespaces/shop/services/cart";
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    one.api().patch(&format!("{path}/status"), &status).unwrap();

    let read = one.api().get(path).unwrap();
    assert_eq!(read["spec"]["clusterIP"], "10.96.7.7");
    assert_eq!(read["status"]["loadBalancer"]["ingress"][0]["ip"], "192.0.2.1");
    let e = two.api().get(path).unwrap_err().to_string();
    assert!(e.contains("404"), "{e}");

    one.stop().unwrap();
    assert!(one.api().get(path).is_err());
    one.restart().unwrap();
    assert_eq!(one.api().get(path).unwrap()["spec"]["clusterIP"], "10.96.7.7");
    one.api().delete(path).unwrap();
    assert!(one.api().get(path).is_err());
    let kubeconfig = std::fs::read_to_string(one.kubeconfig()).unwrap();
    assert!(kubeconfig.contains(&one.url()) && kubeconfig.contains(one.token()));
}

#[test]
#[ignore = "external-dns takes minutes to build; part of make test-long PART=observers"]
fn external_dns_prints_its_version() {
    let Some(binary) = Peer::ExternalDns.for_test() else { return };
    let mut command = Command::new(binary);
    command.arg("--version");
    let process = Process::start("external-dns", command).unwrap();
    assert!(process.wait(Duration::from_secs(30)).unwrap().success(), "{}", process.output());
    assert!(process.output().contains(Peer::ExternalDns.version()), "{}", process.output());
}
