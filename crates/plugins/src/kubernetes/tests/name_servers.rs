//! The zone apex: SOA and NS.

use std::net::IpAddr;

use super::super::apex::local_addresses;
use super::shop::SHOP;
use super::{block, check, serve};
use crate::testing::harness::present;

/// A DNS Service with the endpoint 192.0.2.53, to which the tests below bind.
const KUBE_DNS: &str = "
apiVersion: v1
kind: Service
metadata: { name: kube-dns, namespace: kube-system }
spec: { clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10, 'fd00:96::a'], ports: [{ name: dns, port: 53, protocol: UDP }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: kube-dns-1, namespace: kube-system, labels: { kubernetes.io/service-name: kube-dns } }
addressType: IPv4
ports: [{ name: dns, port: 53, protocol: UDP }]
endpoints:
  - { addresses: [192.0.2.53] }
  - { addresses: [192.0.2.54], hostname: other }
";

fn bound(options: &str) -> String {
    format!(
        ".:53 {{\nbind 192.0.2.53 127.0.0.1\nkubernetes cluster.local {{\nmanifests FOLDER\n{options}\n}}\n}}\n"
    )
}

#[test]
fn soa() {
    let served = serve(&block("ttl 600"), SHOP);
    for (question, owner) in [
        ("cluster.local SOA", "answer: cluster.local."),
        ("Cluster.LOCAL SOA", "answer: Cluster.LOCAL."),
        ("cluster.local A", "authority: cluster.local."),
        ("nosuch.Cluster.local A", "authority: Cluster.local."),
    ] {
        let text = present(&served.ask(question));
        let line = text.lines().nth(1).unwrap_or_default();
        let words: Vec<&str> = line.split(' ').collect();
        let zone = words[1];
        assert_eq!(format!("{} {zone}", words[0]), owner, "{question}");
        // The TTL of an SOA record is at most 300 seconds.
        assert_eq!(words[2..5], ["300", "IN", "SOA"], "{text}");
        assert_eq!(words[5..7], [format!("ns.dns.{zone}"), format!("hostmaster.{zone}")], "{text}");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let serial: u64 = words[7].parse().unwrap();
        assert!(serial <= now && now - serial < 100, "{text}");
        assert_eq!(words[8..], ["7200", "1800", "86400", "600"], "{text}");
    }
}

#[test]
fn the_service_of_this_server() {
    check(
        &bound(""),
        KUBE_DNS,
        "
cluster.local NS
    NOERROR
    cluster.local. 5 IN NS kube-dns.kube-system.svc.cluster.local.
    additional: kube-dns.kube-system.svc.cluster.local. 5 IN A 10.96.0.10
    additional: kube-dns.kube-system.svc.cluster.local. 5 IN AAAA fd00:96::a
# In any case.
Cluster.Local NS
    NOERROR
    Cluster.Local. 5 IN NS kube-dns.kube-system.svc.Cluster.Local.
    additional: kube-dns.kube-system.svc.Cluster.Local. 5 IN A 10.96.0.10
    additional: kube-dns.kube-system.svc.Cluster.Local. 5 IN AAAA fd00:96::a
ns.dns.cluster.local A
    NOERROR
    ns.dns.cluster.local. 5 IN A 10.96.0.10
NS.dns.Cluster.local AAAA
    NOERROR
    NS.dns.Cluster.local. 5 IN AAAA fd00:96::a
ns.dns.cluster.local SRV
    NOERROR, SOA cluster.local.
ns.dns.cluster.local HTTPS
    NOERROR, SOA cluster.local.
ns.dns.cluster.local TXT
    NXDOMAIN, SOA cluster.local.
ns.dns.cluster.local PTR
    NXDOMAIN, SOA cluster.local.
ns.dns.cluster.local.cluster.local A
    NXDOMAIN, SOA cluster.local.
dns.cluster.local NS
    NXDOMAIN, SOA cluster.local.
kube-dns.kube-system.svc.cluster.local NS
    NOERROR, SOA cluster.local.
",
    );
}

#[test]
fn a_headless_service_of_this_server() {
    let manifests =
        KUBE_DNS.replace("clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10, 'fd00:96::a']", "clusterIP: None");
    check(
        &bound(""),
        &manifests,
        "
cluster.local NS
    NOERROR
    cluster.local. 5 IN NS 192-0-2-53.kube-dns.kube-system.svc.cluster.local.
    cluster.local. 5 IN NS other.kube-dns.kube-system.svc.cluster.local.
    additional: 192-0-2-53.kube-dns.kube-system.svc.cluster.local. 5 IN A 192.0.2.53
    additional: other.kube-dns.kube-system.svc.cluster.local. 5 IN A 192.0.2.54
",
    );
}

#[test]
fn outside_of_the_cluster() {
    check(
        &bound(""),
        SHOP,
        "
cluster.local NS
    NOERROR
    cluster.local. 5 IN NS ns.dns.cluster.local.
    additional: ns.dns.cluster.local. 5 IN A 192.0.2.53
ns.dns.cluster.local A
    NOERROR
    ns.dns.cluster.local. 5 IN A 192.0.2.53
",
    );
}

#[test]
fn addresses_of_this_machine() {
    let ip = |text: &str| Some(text.parse::<IpAddr>().unwrap());
    let bound = [ip("192.0.2.1"), ip("127.0.0.1"), ip("fd00::1"), ip("192.0.2.1")];
    assert_eq!(local_addresses(&bound), [ip("192.0.2.1").unwrap(), ip("fd00::1").unwrap()]);
    assert_eq!(local_addresses(&[]), [] as [IpAddr; 0]);
    for everywhere in [None, ip("::"), ip("0.0.0.0")] {
        assert!(local_addresses(&[everywhere]).iter().all(|address| !address.is_loopback()));
    }
}
