//! `wildcards`: names as in CoreDNS up to 1.8.

use super::shop::SHOP;
use super::{block, check};

const MORE: &str = "
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: other }
spec: { clusterIP: 10.96.1.7, clusterIPs: [10.96.1.7], ports: [{ name: http, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: alias, namespace: other }
spec: { type: ExternalName, externalName: www.example.org }
";

const TABLE: &str = "
web.*.svc.cluster.local A
    NOERROR
    web.*.svc.cluster.local. 5 IN A 10.96.0.7
    web.*.svc.cluster.local. 5 IN A 10.96.1.7
*.other.svc.cluster.local A
    NOERROR
    *.other.svc.cluster.local. 5 IN A 10.96.1.7
Any.any.svc.cluster.local AAAA
    NOERROR
    Any.any.svc.cluster.local. 5 IN AAAA fd00:96::7
    Any.any.svc.cluster.local. 5 IN AAAA fd00:244::1
*.db.shop.svc.cluster.local A
    NOERROR
    *.db.shop.svc.cluster.local. 5 IN A 10.244.1.1
    *.db.shop.svc.cluster.local. 5 IN A 10.244.1.2
    *.db.shop.svc.cluster.local. 5 IN A 10.244.1.3
*.*.web.shop.svc.cluster.local SRV
    NOERROR
    *.*.web.shop.svc.cluster.local. 5 IN SRV 0 25 53 web.shop.svc.cluster.local.
    *.*.web.shop.svc.cluster.local. 5 IN SRV 0 25 80 web.shop.svc.cluster.local.
    additional: web.shop.svc.cluster.local. 5 IN A 10.96.0.7
    additional: web.shop.svc.cluster.local. 5 IN AAAA fd00:96::7
_any._udp.web.shop.svc.cluster.local SRV
    NOERROR
    _any._udp.web.shop.svc.cluster.local. 5 IN SRV 0 50 53 web.shop.svc.cluster.local.
    additional: web.shop.svc.cluster.local. 5 IN A 10.96.0.7
    additional: web.shop.svc.cluster.local. 5 IN AAAA fd00:96::7
_http._tcp.*.*.svc.cluster.local SRV
    NOERROR
    _http._tcp.*.*.svc.cluster.local. 5 IN SRV 0 33 80 web.other.svc.cluster.local.
    _http._tcp.*.*.svc.cluster.local. 5 IN SRV 0 33 80 web.shop.svc.cluster.local.
    additional: web.other.svc.cluster.local. 5 IN A 10.96.1.7
    additional: web.shop.svc.cluster.local. 5 IN A 10.96.0.7
    additional: web.shop.svc.cluster.local. 5 IN AAAA fd00:96::7
# A namespace without matching Services still has the name; a missing namespace has not.
*.empty.svc.cluster.local A
    NOERROR, SOA cluster.local.
nosuch.*.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
*.nosuch.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
*.svc.cluster.local A
    NOERROR, SOA cluster.local.
# A CNAME excludes other records.
alias.*.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
alias.other.svc.cluster.local CNAME
    NOERROR
    alias.other.svc.cluster.local. 5 IN CNAME www.example.org.
";

#[test]
fn on() {
    check(&block("wildcards"), &format!("{SHOP}{MORE}"), TABLE);
}

#[test]
fn off() {
    let nothing: String = TABLE
        .lines()
        .filter(|line| !line.starts_with([' ', '#']) && line.contains(['*', 'y']))
        .map(|question| format!("{question}\n    NXDOMAIN, SOA cluster.local.\n"))
        .collect();
    check(&block(""), &format!("{SHOP}{MORE}"), &nothing);
}

/// A wildcard matches exposed namespaces only.
#[test]
fn exposed_namespaces_only() {
    check(
        &block("wildcards\nnamespaces other\npods insecure"),
        &format!("{SHOP}{MORE}"),
        "
web.*.svc.cluster.local A
    NOERROR
    web.*.svc.cluster.local. 5 IN A 10.96.1.7
10-0-0-1.*.pod.cluster.local A
    NOERROR
    10-0-0-1.*.pod.cluster.local. 5 IN A 10.0.0.1
",
    );
}
