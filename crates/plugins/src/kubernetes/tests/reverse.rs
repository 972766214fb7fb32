//! PTR records: the objects of an address, and the zone of their names.

use super::{block, check};

const MANIFESTS: &str = "
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{ port: 80 }] }
---
# The same pod behind two Services, and twice in one.
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ port: 80 }]
endpoints: [{ addresses: [10.244.1.7] }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-2, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ port: 80 }]
endpoints: [{ addresses: [10.244.1.7] }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: api-1, namespace: shop, labels: { kubernetes.io/service-name: api } }
addressType: IPv4
ports: [{ port: 80 }]
endpoints: [{ addresses: [10.244.1.7], hostname: first }, { addresses: [10.244.1.7], hostname: second }]
---
# Made by hand: it claims an address outside of the cluster, and one of a pod in another namespace.
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: evil-1, namespace: evil, labels: { kubernetes.io/service-name: bank } }
addressType: IPv4
endpoints: [{ addresses: [192.0.2.80], hostname: www }, { addresses: [10.244.1.7], hostname: www }]
---
apiVersion: v1
kind: Pod
metadata: { name: web-abc, namespace: shop }
status: { phase: Running, podIPs: [{ ip: 10.244.1.7 }] }
";

#[test]
fn one_name_for_each_service() {
    check(
        &block(""),
        MANIFESTS,
        "
7.1.244.10.in-addr.arpa PTR
    NOERROR
    7.1.244.10.in-addr.arpa. 5 IN PTR 10-244-1-7.web.shop.svc.cluster.local.
    7.1.244.10.in-addr.arpa. 5 IN PTR first.api.shop.svc.cluster.local.
    7.1.244.10.in-addr.arpa. 5 IN PTR second.api.shop.svc.cluster.local.
    7.1.244.10.in-addr.arpa. 5 IN PTR www.bank.evil.svc.cluster.local.
80.2.0.192.in-addr.arpa PTR
    NOERROR
    80.2.0.192.in-addr.arpa. 5 IN PTR www.bank.evil.svc.cluster.local.
7.1.244.10.IN-ADDR.arpa PTR
    NOERROR
    7.1.244.10.IN-ADDR.arpa. 5 IN PTR 10-244-1-7.web.shop.svc.cluster.local.
    7.1.244.10.IN-ADDR.arpa. 5 IN PTR first.api.shop.svc.cluster.local.
    7.1.244.10.IN-ADDR.arpa. 5 IN PTR second.api.shop.svc.cluster.local.
    7.1.244.10.IN-ADDR.arpa. 5 IN PTR www.bank.evil.svc.cluster.local.
",
    );
}

/// Endpoints made by hand cannot give names to addresses of others.
#[test]
fn verified() {
    check(
        &block("ptr verified"),
        MANIFESTS,
        "
7.1.244.10.in-addr.arpa PTR
    NOERROR
    7.1.244.10.in-addr.arpa. 5 IN PTR 10-244-1-7.web.shop.svc.cluster.local.
    7.1.244.10.in-addr.arpa. 5 IN PTR first.api.shop.svc.cluster.local.
    7.1.244.10.in-addr.arpa. 5 IN PTR second.api.shop.svc.cluster.local.
80.2.0.192.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
# A Service's own address needs no pod.
7.0.96.10.in-addr.arpa PTR
    NOERROR
    7.0.96.10.in-addr.arpa. 5 IN PTR web.shop.svc.cluster.local.
# Pod names depend on the option `pods`.
10-244-1-7.shop.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
",
    );
}

/// Zones may be networks; names point into the first zone that is not a reverse zone.
#[test]
fn networks() {
    let corefile = ".:53 {
        kubernetes 10.96.0.0/20 10.244.0.0/16 k8s.example cluster.local {
            manifests FOLDER
        }
    }";
    check(
        corefile,
        MANIFESTS,
        "
7.0.96.10.in-addr.arpa PTR
    NOERROR
    7.0.96.10.in-addr.arpa. 5 IN PTR web.shop.svc.k8s.example.
0.96.10.in-addr.arpa SOA
    NOERROR
    0.96.10.in-addr.arpa. 5 IN SOA ns.dns.0.96.10.in-addr.arpa. hostmaster.0.96.10.in-addr.arpa. SERIAL 7200 1800 86400 5
9.0.96.10.in-addr.arpa PTR
    NXDOMAIN, SOA 0.96.10.in-addr.arpa.
9.1.244.10.in-addr.arpa PTR
    NXDOMAIN, SOA 244.10.in-addr.arpa.
244.10.in-addr.arpa PTR
    NOERROR, SOA 244.10.in-addr.arpa.
80.2.0.192.in-addr.arpa PTR
    SERVFAIL qr
web.shop.svc.cluster.local A
    NOERROR
    web.shop.svc.cluster.local. 5 IN A 10.96.0.7
",
    );
}
