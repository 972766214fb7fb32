//! The Kubernetes DNS specification 1.1.0, section by section; where it leaves a case open, CoreDNS's answer.

use super::shop::SHOP;
use super::{block, check};

#[test]
pub(super) fn section_2_2_schema_version() {
    check(
        &block(""),
        SHOP,
        "
dns-version.cluster.local TXT
    NOERROR
    dns-version.cluster.local. 28800 IN TXT \"1.1.0\"
DNS-Version.Cluster.Local TXT
    NOERROR
    DNS-Version.Cluster.Local. 28800 IN TXT \"1.1.0\"
dns-version.cluster.local A
    NXDOMAIN, SOA cluster.local.
",
    );
}

#[test]
pub(super) fn section_2_3_services_with_a_cluster_ip() {
    check(
        &block(""),
        SHOP,
        "
web.shop.svc.cluster.local A
    NOERROR
    web.shop.svc.cluster.local. 5 IN A 10.96.0.7
web.shop.svc.cluster.local AAAA
    NOERROR
    web.shop.svc.cluster.local. 5 IN AAAA fd00:96::7
# An address family that the Service does not have is NODATA.
single.shop.svc.cluster.local AAAA
    NOERROR, SOA cluster.local.
# Named ports have SRV records, one for each port; each address counts for the weight.
_http._tcp.web.shop.svc.cluster.local SRV
    NOERROR
    _http._tcp.web.shop.svc.cluster.local. 5 IN SRV 0 50 80 web.shop.svc.cluster.local.
    additional: web.shop.svc.cluster.local. 5 IN A 10.96.0.7
    additional: web.shop.svc.cluster.local. 5 IN AAAA fd00:96::7
_dns._udp.web.shop.svc.cluster.local SRV
    NOERROR
    _dns._udp.web.shop.svc.cluster.local. 5 IN SRV 0 50 53 web.shop.svc.cluster.local.
    additional: web.shop.svc.cluster.local. 5 IN A 10.96.0.7
    additional: web.shop.svc.cluster.local. 5 IN AAAA fd00:96::7
_http._udp.web.shop.svc.cluster.local SRV
    NXDOMAIN, SOA cluster.local.
# The underscores are optional, and addresses have these names too.
http.tcp.web.shop.svc.cluster.local A
    NOERROR
    http.tcp.web.shop.svc.cluster.local. 5 IN A 10.96.0.7
# The name of the Service has SRV records of all ports, those without a name included.
web.shop.svc.cluster.local SRV
    NOERROR
    web.shop.svc.cluster.local. 5 IN SRV 0 25 80 web.shop.svc.cluster.local.
    web.shop.svc.cluster.local. 5 IN SRV 0 25 53 web.shop.svc.cluster.local.
    additional: web.shop.svc.cluster.local. 5 IN A 10.96.0.7
    additional: web.shop.svc.cluster.local. 5 IN AAAA fd00:96::7
single.shop.svc.cluster.local SRV
    NOERROR
    single.shop.svc.cluster.local. 5 IN SRV 0 100 8080 single.shop.svc.cluster.local.
    additional: single.shop.svc.cluster.local. 5 IN A 10.96.0.8
# Without ports there are addresses only.
portless.shop.svc.cluster.local A
    NOERROR
    portless.shop.svc.cluster.local. 5 IN A 10.96.0.9
portless.shop.svc.cluster.local SRV
    NOERROR, SOA cluster.local.
_http._tcp.portless.shop.svc.cluster.local SRV
    NXDOMAIN, SOA cluster.local.
# PTR.
7.0.96.10.in-addr.arpa PTR
    NOERROR
    7.0.96.10.in-addr.arpa. 5 IN PTR web.shop.svc.cluster.local.
7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.9.0.0.0.0.d.f.ip6.arpa PTR
    NOERROR
    7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.9.0.0.0.0.d.f.ip6.arpa. 5 IN PTR web.shop.svc.cluster.local.
",
    );
}

#[test]
pub(super) fn section_2_4_headless_services() {
    check(
        &block(""),
        SHOP,
        "
db.shop.svc.cluster.local A
    NOERROR
    db.shop.svc.cluster.local. 5 IN A 10.244.1.1
    db.shop.svc.cluster.local. 5 IN A 10.244.1.2
    db.shop.svc.cluster.local. 5 IN A 10.244.1.3
db.shop.svc.cluster.local AAAA
    NOERROR
    db.shop.svc.cluster.local. 5 IN AAAA fd00:244::1
# No ready endpoint, no name.
idle.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
# Endpoints have names: the host name, or the address with dashes.
db-0.db.shop.svc.cluster.local A
    NOERROR
    db-0.db.shop.svc.cluster.local. 5 IN A 10.244.1.1
db-0.db.shop.svc.cluster.local AAAA
    NOERROR
    db-0.db.shop.svc.cluster.local. 5 IN AAAA fd00:244::1
db-1.db.shop.svc.cluster.local AAAA
    NOERROR, SOA cluster.local.
10-244-1-3.db.shop.svc.cluster.local A
    NOERROR
    10-244-1-3.db.shop.svc.cluster.local. 5 IN A 10.244.1.3
10-244-1-1.db.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
db-3.db.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
# An endpoint of a Service with an address has a name as well.
10-244-1-7.web.shop.svc.cluster.local A
    NOERROR
    10-244-1-7.web.shop.svc.cluster.local. 5 IN A 10.244.1.7
# SRV: as many as endpoints and ports; one target may have two addresses.
_sql._tcp.db.shop.svc.cluster.local SRV
    NOERROR
    _sql._tcp.db.shop.svc.cluster.local. 5 IN SRV 0 25 5432 db-0.db.shop.svc.cluster.local.
    _sql._tcp.db.shop.svc.cluster.local. 5 IN SRV 0 25 5432 db-1.db.shop.svc.cluster.local.
    _sql._tcp.db.shop.svc.cluster.local. 5 IN SRV 0 25 5432 10-244-1-3.db.shop.svc.cluster.local.
    additional: db-0.db.shop.svc.cluster.local. 5 IN A 10.244.1.1
    additional: db-0.db.shop.svc.cluster.local. 5 IN AAAA fd00:244::1
    additional: db-1.db.shop.svc.cluster.local. 5 IN A 10.244.1.2
    additional: 10-244-1-3.db.shop.svc.cluster.local. 5 IN A 10.244.1.3
db-1.db.shop.svc.cluster.local SRV
    NOERROR
    db-1.db.shop.svc.cluster.local. 5 IN SRV 0 100 5432 db-1.db.shop.svc.cluster.local.
    additional: db-1.db.shop.svc.cluster.local. 5 IN A 10.244.1.2
_sql._tcp.db-1.db.shop.svc.cluster.local SRV
    NXDOMAIN, SOA cluster.local.
bare.shop.svc.cluster.local A
    NOERROR
    bare.shop.svc.cluster.local. 5 IN A 10.244.1.11
bare.shop.svc.cluster.local SRV
    NOERROR, SOA cluster.local.
# PTR, with the name of the endpoint.
1.1.244.10.in-addr.arpa PTR
    NOERROR
    1.1.244.10.in-addr.arpa. 5 IN PTR db-0.db.shop.svc.cluster.local.
3.1.244.10.in-addr.arpa PTR
    NOERROR
    3.1.244.10.in-addr.arpa. 5 IN PTR 10-244-1-3.db.shop.svc.cluster.local.
4.1.244.10.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
",
    );
}

/// Empty non-terminals, names that do not exist, and types without records.
#[test]
pub(super) fn denials() {
    check(
        &block(""),
        SHOP,
        "
cluster.local A
    NOERROR, SOA cluster.local.
svc.cluster.local A
    NOERROR, SOA cluster.local.
pod.cluster.local AAAA
    NOERROR, SOA cluster.local.
shop.svc.cluster.local SRV
    NOERROR, SOA cluster.local.
empty.svc.cluster.local A
    NOERROR, SOA cluster.local.
nosuch.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
shop.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
nosuch.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
web.empty.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
web.shop.cluster.local A
    NXDOMAIN, SOA cluster.local.
a.b.c.web.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
dns.cluster.local A
    NXDOMAIN, SOA cluster.local.
# Search paths make such names.
web.shop.svc.cluster.local.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
www.example.com.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
# Types without records.
web.shop.svc.cluster.local MX
    NOERROR, SOA cluster.local.
web.shop.svc.cluster.local HTTPS
    NOERROR, SOA cluster.local.
web.shop.svc.cluster.local CNAME
    NOERROR, SOA cluster.local.
web.shop.svc.cluster.local TXT
    NOERROR, SOA cluster.local.
web.shop.svc.cluster.local PTR
    NOERROR, SOA cluster.local.
web.shop.svc.cluster.local NS
    NOERROR, SOA cluster.local.
nosuch.shop.svc.cluster.local MX
    NXDOMAIN, SOA cluster.local.
nosuch.shop.svc.cluster.local TXT
    NXDOMAIN, SOA cluster.local.
idle.shop.svc.cluster.local HTTPS
    NXDOMAIN, SOA cluster.local.
# SOA is never NXDOMAIN; TXT is NXDOMAIN for a name without any records.
nosuch.shop.svc.cluster.local SOA
    NOERROR, SOA cluster.local.
shop.svc.cluster.local TXT
    NXDOMAIN, SOA cluster.local.
cluster.local TXT
    NXDOMAIN, SOA cluster.local.
# Reverse zones.
in-addr.arpa A
    NOERROR, SOA in-addr.arpa.
7.0.96.10.in-addr.arpa A
    NXDOMAIN, SOA in-addr.arpa.
99.0.96.10.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
96.10.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
web.shop.svc.in-addr.arpa A
    NXDOMAIN, SOA in-addr.arpa.
",
    );
}

/// The owner keeps the client's case, and so does the zone in every name.
#[test]
pub(super) fn section_2_1_case() {
    check(
        &block(""),
        SHOP,
        "
WEB.Shop.SVC.cluster.LOCAL A
    NOERROR
    WEB.Shop.SVC.cluster.LOCAL. 5 IN A 10.96.0.7
_HTTP._TCP.Web.shop.svc.Cluster.Local SRV
    NOERROR
    _HTTP._TCP.Web.shop.svc.Cluster.Local. 5 IN SRV 0 50 80 web.shop.svc.Cluster.Local.
    additional: web.shop.svc.Cluster.Local. 5 IN A 10.96.0.7
    additional: web.shop.svc.Cluster.Local. 5 IN AAAA fd00:96::7
DB-0.Db.shop.svc.cluster.local A
    NOERROR
    DB-0.Db.shop.svc.cluster.local. 5 IN A 10.244.1.1
Nosuch.shop.svc.Cluster.local A
    NXDOMAIN, SOA Cluster.local.
",
    );
}

#[test]
fn zone_transfers_are_refused() {
    check(
        &block(""),
        SHOP,
        "
cluster.local AXFR tcp
    REFUSED qr
cluster.local IXFR tcp
    REFUSED qr
",
    );
}

#[test]
fn ttl_and_pod_names() {
    let options = "ttl 30\nendpoint_pod_names";
    check(
        &block(options),
        SHOP,
        "
web.shop.svc.cluster.local A
    NOERROR
    web.shop.svc.cluster.local. 30 IN A 10.96.0.7
db-x.db.shop.svc.cluster.local A
    NOERROR
    db-x.db.shop.svc.cluster.local. 30 IN A 10.244.1.3
10-244-1-3.db.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
db-0.db.shop.svc.cluster.local A
    NOERROR
    db-0.db.shop.svc.cluster.local. 30 IN A 10.244.1.1
3.1.244.10.in-addr.arpa PTR
    NOERROR
    3.1.244.10.in-addr.arpa. 30 IN PTR db-x.db.shop.svc.cluster.local.
",
    );
}

#[test]
fn without_endpoints() {
    check(
        &block("noendpoints"),
        SHOP,
        "
web.shop.svc.cluster.local A
    NOERROR
    web.shop.svc.cluster.local. 5 IN A 10.96.0.7
db.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
10-244-1-7.web.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
1.1.244.10.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
",
    );
}

#[test]
fn empty_services_ignored() {
    check(
        &block("ignore empty_service"),
        SHOP,
        "
web.shop.svc.cluster.local A
    NOERROR
    web.shop.svc.cluster.local. 5 IN A 10.96.0.7
single.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
",
    );
}

/// Only names that do not exist fall through, and only in the zones of the option.
#[test]
fn fallthrough() {
    let corefile = block("fallthrough cluster.local").replace("\n}\n}\n", "\n}\nwhoami\n}\n");
    check(
        &corefile,
        SHOP,
        "
nosuch.shop.svc.cluster.local A
    NOERROR
    additional: nosuch.shop.svc.cluster.local. 0 IN A 10.240.0.1
    additional: _udp.nosuch.shop.svc.cluster.local. 0 IN SRV 0 0 40212 .
web.shop.svc.cluster.local MX
    NOERROR, SOA cluster.local.
99.0.96.10.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
example.org A
    NOERROR
    additional: example.org. 0 IN A 10.240.0.1
    additional: _udp.example.org. 0 IN SRV 0 0 40212 .
",
    );
}
