//! Several blocks on one cluster share its watch; each applies its own options.

use std::path::PathBuf;
use std::sync::Arc;

use cluster::Source;

use super::super::clusters::Clusters;
use super::serve;
use crate::testing::harness::answer;

const MANIFESTS: &str = "
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop, labels: { app: web } }
spec: { clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1], ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: api, namespace: shop, labels: { app: api } }
spec: { clusterIP: 10.96.0.2, clusterIPs: [10.96.0.2], ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: db, namespace: shop }
spec: { clusterIP: None }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db-1, namespace: shop, labels: { kubernetes.io/service-name: db } }
addressType: IPv4
endpoints: [{ addresses: [10.244.0.1] }]
";

#[test]
fn one_watch_for_each_source() {
    let clusters = Clusters::default();
    let (a, b) = (Source::Manifests(PathBuf::from("a")), Source::Manifests(PathBuf::from("b")));
    assert!(Arc::ptr_eq(&clusters.get(&a), &clusters.get(&a)));
    assert!(!Arc::ptr_eq(&clusters.get(&a), &clusters.get(&b)));
}

#[test]
fn each_block_applies_its_own_options() {
    let block = |port: u16, options: &str| {
        format!(".:{port} {{\nkubernetes cluster.local {{\nmanifests FOLDER\n{options}\n}}\n}}\n")
    };
    let corefile = [
        block(1, "labels app=web"),
        block(2, "labels app=api"),
        block(3, ""),
        block(4, "noendpoints"),
        block(5, "namespaces other"),
    ]
    .concat();
    let served = serve(&corefile, MANIFESTS);
    let expected: [(&str, [bool; 3]); 5] = [
        (":1", [true, false, false]),
        (":2", [false, true, false]),
        (":3", [true, true, true]),
        (":4", [true, true, false]),
        (":5", [false, false, false]),
    ];
    for (address, exposed) in expected {
        let (_, service) = served.config.services().find(|(of, _)| of.to_string() == address).unwrap();
        let answers = ["web", "api", "db"]
            .map(|name| answer(service, &format!("{name}.shop.svc.cluster.local A")).starts_with("NOERROR"));
        assert_eq!(answers, exposed, "{address}");
    }
}
