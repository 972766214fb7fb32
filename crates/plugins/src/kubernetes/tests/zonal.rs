//! `zonal`: endpoints in one topology zone.

use super::{block, check};

const MANIFESTS: &str = "
apiVersion: v1
kind: Service
metadata: { name: db, namespace: shop }
spec: { clusterIP: None, ports: [{ name: sql, port: 5432 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db-1, namespace: shop, labels: { kubernetes.io/service-name: db } }
addressType: IPv4
ports: [{ name: sql, port: 5432, protocol: TCP }]
endpoints:
  - { addresses: [10.244.1.1], hostname: a, zone: North }
  - { addresses: [10.244.1.2], hostname: b, zone: south.example.com }
  - { addresses: [10.244.1.3], hostname: c }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: alias, namespace: shop }
spec: { type: ExternalName, externalName: www.example.org }
---
apiVersion: v1
kind: Service
metadata: { name: idle, namespace: shop }
spec: { clusterIP: None }
";

#[test]
fn on() {
    check(
        &block("zonal"),
        MANIFESTS,
        "
north.pin._zone.db.shop.svc.cluster.local A
    NOERROR
    north.pin._zone.db.shop.svc.cluster.local. 5 IN A 10.244.1.1
NORTH.Pin._Zone.db.shop.svc.cluster.local SRV
    NOERROR
    NORTH.Pin._Zone.db.shop.svc.cluster.local. 5 IN SRV 0 100 5432 a.db.shop.svc.cluster.local.
    additional: a.db.shop.svc.cluster.local. 5 IN A 10.244.1.1
# A zone may have dots.
south.example.com.pin._zone.db.shop.svc.cluster.local A
    NOERROR
    south.example.com.pin._zone.db.shop.svc.cluster.local. 5 IN A 10.244.1.2
# A zone without endpoints: nothing, or all.
west.pin._zone.db.shop.svc.cluster.local A
    NOERROR, SOA cluster.local.
west.pin._zone.db.shop.svc.cluster.local TXT
    NOERROR, SOA cluster.local.
west.pin._zone.db.shop.svc.cluster.local MX
    NOERROR, SOA cluster.local.
north.prefer._zone.db.shop.svc.cluster.local A
    NOERROR
    north.prefer._zone.db.shop.svc.cluster.local. 5 IN A 10.244.1.1
west.prefer._zone.db.shop.svc.cluster.local A
    NOERROR
    west.prefer._zone.db.shop.svc.cluster.local. 5 IN A 10.244.1.1
    west.prefer._zone.db.shop.svc.cluster.local. 5 IN A 10.244.1.2
    west.prefer._zone.db.shop.svc.cluster.local. 5 IN A 10.244.1.3
west.prefer._zone.idle.shop.svc.cluster.local A
    NOERROR, SOA cluster.local.
# Only headless Services have such names.
north.pin._zone.web.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
north.pin._zone.alias.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
north.pin._zone.nosuch.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
north.pin._zone.nosuch.shop.svc.cluster.local TXT
    NXDOMAIN, SOA cluster.local.
north.any._zone.db.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
",
    );
}

#[test]
fn off() {
    check(
        &block(""),
        MANIFESTS,
        "
north.pin._zone.db.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
db.shop.svc.cluster.local A
    NOERROR
    db.shop.svc.cluster.local. 5 IN A 10.244.1.1
    db.shop.svc.cluster.local. 5 IN A 10.244.1.2
    db.shop.svc.cluster.local. 5 IN A 10.244.1.3
",
    );
}
