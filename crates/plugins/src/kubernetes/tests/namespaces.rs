//! The objects a block exposes: `namespaces`, `namespace_labels`, `labels`.

use super::{block, check};

const MANIFESTS: &str = "
apiVersion: v1
kind: Namespace
metadata: { name: one, labels: { team: a } }
---
apiVersion: v1
kind: Namespace
metadata: { name: two, labels: { team: b } }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: one, labels: { app: web } }
spec: { clusterIP: 10.96.0.11, clusterIPs: [10.96.0.11], ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: two }
spec: { clusterIP: 10.96.0.12, clusterIPs: [10.96.0.12], ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: db, namespace: one, labels: { app: web } }
spec: { clusterIP: None, ports: [{ port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db-1, namespace: one, labels: { kubernetes.io/service-name: db, app: web } }
addressType: IPv4
endpoints: [{ addresses: [10.244.0.1], hostname: a }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db-2, namespace: one, labels: { kubernetes.io/service-name: db } }
addressType: IPv4
endpoints: [{ addresses: [10.244.0.2], hostname: b }]
";

#[test]
fn namespaces() {
    check(
        &block("namespaces one three"),
        MANIFESTS,
        "
web.one.svc.cluster.local A
    NOERROR
    web.one.svc.cluster.local. 5 IN A 10.96.0.11
web.two.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
two.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
three.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
11.0.96.10.in-addr.arpa PTR
    NOERROR
    11.0.96.10.in-addr.arpa. 5 IN PTR web.one.svc.cluster.local.
12.0.96.10.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
",
    );
}

/// `namespace_labels` does not apply to PTR records.
#[test]
fn namespace_labels() {
    check(
        &block("namespace_labels team=a"),
        MANIFESTS,
        "
web.one.svc.cluster.local A
    NOERROR
    web.one.svc.cluster.local. 5 IN A 10.96.0.11
web.two.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
12.0.96.10.in-addr.arpa PTR
    NOERROR
    12.0.96.10.in-addr.arpa. 5 IN PTR web.two.svc.cluster.local.
",
    );
}

#[test]
fn labels() {
    check(
        &block("labels app in (web, api)"),
        MANIFESTS,
        "
web.one.svc.cluster.local A
    NOERROR
    web.one.svc.cluster.local. 5 IN A 10.96.0.11
web.two.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
two.svc.cluster.local A
    NOERROR, SOA cluster.local.
db.one.svc.cluster.local A
    NOERROR
    db.one.svc.cluster.local. 5 IN A 10.244.0.1
12.0.96.10.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
2.0.244.10.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
",
    );
}
