//! The DNS schema of the multi-cluster Services API, version 1.0.0.

use super::{check, serve};

const COREFILE: &str = ".:53 {
    kubernetes cluster.local clusterset.local in-addr.arpa {
        manifests FOLDER
        multicluster clusterset.local
    }
}
";

const MANIFESTS: &str = "
# With an address in the whole cluster set.
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: { name: web, namespace: shop }
spec:
  type: ClusterSetIP
  ips: [10.112.0.7]
  ports: [{ name: http, port: 80, protocol: TCP }, { name: alt, port: 81, protocol: TCP }]
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: { name: portless, namespace: shop }
spec: { type: ClusterSetIP, ips: [10.112.0.8], ports: [] }
---
# Headless, with endpoints in two clusters.
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: { name: db, namespace: shop }
spec: { type: Headless, ports: [{ name: sql, port: 5432, protocol: TCP }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: imported-db-east
  namespace: shop
  labels: { multicluster.kubernetes.io/service-name: db, multicluster.kubernetes.io/source-cluster: east }
addressType: IPv4
ports: [{ name: sql, port: 5432, protocol: TCP }]
endpoints:
  - { addresses: [10.1.0.1], hostname: db-0 }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: imported-db-west
  namespace: shop
  labels: { multicluster.kubernetes.io/service-name: db, multicluster.kubernetes.io/source-cluster: west }
addressType: IPv4
ports: [{ name: sql, port: 5432, protocol: TCP }]
endpoints:
  - { addresses: [10.2.0.1], hostname: db-0 }
  - { addresses: [10.2.0.2] }
  - { addresses: [10.2.0.3], conditions: { ready: false } }
---
# Without endpoints.
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: { name: idle, namespace: shop }
spec: { type: Headless, ports: [{ name: x, port: 1 }] }
---
# Only in this cluster.
apiVersion: v1
kind: Service
metadata: { name: local, namespace: shop }
spec: { clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{ name: http, port: 80 }] }
";

#[test]
pub(super) fn clusterset_ips() {
    check(
        COREFILE,
        MANIFESTS,
        "
web.shop.svc.clusterset.local A
    NOERROR
    web.shop.svc.clusterset.local. 5 IN A 10.112.0.7
Web.shop.svc.ClusterSet.local A
    NOERROR
    Web.shop.svc.ClusterSet.local. 5 IN A 10.112.0.7
web.shop.svc.clusterset.local AAAA
    NOERROR, SOA clusterset.local.
_http._tcp.web.shop.svc.clusterset.local SRV
    NOERROR
    _http._tcp.web.shop.svc.clusterset.local. 5 IN SRV 0 100 80 web.shop.svc.clusterset.local.
    additional: web.shop.svc.clusterset.local. 5 IN A 10.112.0.7
web.shop.svc.clusterset.local SRV
    NOERROR
    web.shop.svc.clusterset.local. 5 IN SRV 0 50 80 web.shop.svc.clusterset.local.
    web.shop.svc.clusterset.local. 5 IN SRV 0 50 81 web.shop.svc.clusterset.local.
    additional: web.shop.svc.clusterset.local. 5 IN A 10.112.0.7
# Without ports it still has its address.
portless.shop.svc.clusterset.local A
    NOERROR
    portless.shop.svc.clusterset.local. 5 IN A 10.112.0.8
portless.shop.svc.clusterset.local SRV
    NOERROR, SOA clusterset.local.
7.0.112.10.in-addr.arpa PTR
    NOERROR
    7.0.112.10.in-addr.arpa. 5 IN PTR web.shop.svc.clusterset.local.
# The zones do not mix.
web.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
local.shop.svc.clusterset.local A
    NXDOMAIN, SOA clusterset.local.
local.shop.svc.cluster.local A
    NOERROR
    local.shop.svc.cluster.local. 5 IN A 10.96.0.7
shop.svc.clusterset.local A
    NOERROR, SOA clusterset.local.
",
    );
}

#[test]
pub(super) fn headless() {
    check(
        COREFILE,
        MANIFESTS,
        "
db.shop.svc.clusterset.local A
    NOERROR
    db.shop.svc.clusterset.local. 5 IN A 10.1.0.1
    db.shop.svc.clusterset.local. 5 IN A 10.2.0.1
    db.shop.svc.clusterset.local. 5 IN A 10.2.0.2
db-0.east.db.shop.svc.clusterset.local A
    NOERROR
    db-0.east.db.shop.svc.clusterset.local. 5 IN A 10.1.0.1
db-0.west.db.shop.svc.clusterset.local A
    NOERROR
    db-0.west.db.shop.svc.clusterset.local. 5 IN A 10.2.0.1
10-2-0-2.west.db.shop.svc.clusterset.local A
    NOERROR
    10-2-0-2.west.db.shop.svc.clusterset.local. 5 IN A 10.2.0.2
db-0.south.db.shop.svc.clusterset.local A
    NXDOMAIN, SOA clusterset.local.
# Without the cluster the endpoint name is ambiguous.
db-0.db.shop.svc.clusterset.local A
    NXDOMAIN, SOA clusterset.local.
_sql._tcp.db.shop.svc.clusterset.local SRV
    NOERROR
    _sql._tcp.db.shop.svc.clusterset.local. 5 IN SRV 0 33 5432 db-0.east.db.shop.svc.clusterset.local.
    _sql._tcp.db.shop.svc.clusterset.local. 5 IN SRV 0 33 5432 db-0.west.db.shop.svc.clusterset.local.
    _sql._tcp.db.shop.svc.clusterset.local. 5 IN SRV 0 33 5432 10-2-0-2.west.db.shop.svc.clusterset.local.
    additional: db-0.east.db.shop.svc.clusterset.local. 5 IN A 10.1.0.1
    additional: db-0.west.db.shop.svc.clusterset.local. 5 IN A 10.2.0.1
    additional: 10-2-0-2.west.db.shop.svc.clusterset.local. 5 IN A 10.2.0.2
1.0.2.10.in-addr.arpa PTR
    NOERROR
    1.0.2.10.in-addr.arpa. 5 IN PTR db-0.west.db.shop.svc.clusterset.local.
idle.shop.svc.clusterset.local A
    NXDOMAIN, SOA clusterset.local.
",
    );
}

/// Underscores distinguish a port from an endpoint of a cluster.
#[test]
pub(super) fn ports_need_an_underscore() {
    check(
        COREFILE,
        MANIFESTS,
        "
_http.tcp.web.shop.svc.clusterset.local A
    NOERROR
    _http.tcp.web.shop.svc.clusterset.local. 5 IN A 10.112.0.7
http.tcp.web.shop.svc.clusterset.local A
    NXDOMAIN, SOA clusterset.local.
dns-version.clusterset.local TXT
    NOERROR
    dns-version.clusterset.local. 28800 IN TXT \"1.1.0\"
",
    );
}

/// An address with a name in this cluster has no name in the cluster set.
#[test]
pub(super) fn local_names_take_precedence() {
    let served = serve(COREFILE, &MANIFESTS.replace("10.112.0.7", "10.96.0.7"));
    let answer = served.answer("7.0.96.10.in-addr.arpa PTR");
    assert_eq!(answer, "NOERROR\n7.0.96.10.in-addr.arpa. 5 IN PTR local.shop.svc.cluster.local.\n");
}
