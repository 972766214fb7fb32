use crate::kubernetes::tests::{check, check_on, serve};
use crate::testing::harness::{present, refused};

const CLUSTER: &str = "
apiVersion: v1
kind: Namespace
metadata: { name: empty }
---
# Addresses of both kinds; one of them twice.
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  type: LoadBalancer
  clusterIP: 10.96.0.7
  externalIPs: [192.0.2.1, '2001:db8::1']
  ports: [{ name: http, port: 80 }, { name: dns, port: 53, protocol: UDP }]
status: { loadBalancer: { ingress: [{ ip: 192.0.2.2 }, { ip: 192.0.2.1 }] } }
---
# A load balancer with a hostname, and one whose hostname does not exist.
apiVersion: v1
kind: Service
metadata: { name: lb, namespace: shop }
spec: { type: LoadBalancer, clusterIP: 10.96.0.8, ports: [{ name: http, port: 80 }, { name: alt, port: 81 }] }
status: { loadBalancer: { ingress: [{ hostname: lb.Example.net }] } }
---
apiVersion: v1
kind: Service
metadata: { name: lost, namespace: shop }
spec: { type: LoadBalancer, clusterIP: 10.96.0.9, ports: [{ port: 80 }] }
status: { loadBalancer: { ingress: [{ hostname: lost.example.net }, { ip: 192.0.2.3 }, {}] } }
---
apiVersion: v1
kind: Service
metadata: { name: inside, namespace: shop }
spec: { clusterIP: 10.96.0.10, ports: [{ name: http, port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: inside-1, namespace: shop, labels: { kubernetes.io/service-name: inside } }
addressType: IPv4
ports: [{ name: http, port: 8080 }]
endpoints: [{ addresses: [10.244.0.9], hostname: i-0 }]
---
apiVersion: v1
kind: Service
metadata: { name: db, namespace: shop }
spec: { clusterIP: None, ports: [{ name: sql, port: 5432 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db-1, namespace: shop, labels: { kubernetes.io/service-name: db } }
addressType: IPv4
ports: [{ name: sql, port: 5432 }]
endpoints:
  - { addresses: [10.244.0.1], hostname: db-0 }
  - { addresses: [10.244.0.2] }
---
# Headless, but with an external address, which takes precedence.
apiVersion: v1
kind: Service
metadata: { name: out, namespace: shop }
spec: { clusterIP: None, externalIPs: [192.0.2.9] }
---
# Shares an address.
apiVersion: v1
kind: Service
metadata: { name: also, namespace: bank }
spec: { clusterIP: 10.96.0.11, externalIPs: [192.0.2.1], ports: [{ port: 80 }] }
";

fn corefile(options: &str, of_kubernetes: &str, zones: &str) -> String {
    format!(
        ".:53 {{
    k8s_external {zones} {{
        {options}
    }}
    kubernetes cluster.local {{
        manifests FOLDER
        ttl 7
        {of_kubernetes}
    }}
    hosts {{
        198.51.100.1 lb.example.net
        2001:db8::b1 lb.example.net
        fallthrough
    }}
    whoami
}}
"
    )
}

#[test]
fn services() {
    check(
        &corefile("", "", "example.org"),
        CLUSTER,
        "
web.shop.example.org A
    NOERROR
    web.shop.example.org. 5 IN A 192.0.2.1
    web.shop.example.org. 5 IN A 192.0.2.2
Web.shop.EXAMPLE.org AAAA
    NOERROR
    Web.shop.EXAMPLE.org. 5 IN AAAA 2001:db8::1
_http._tcp.web.shop.example.org A
    NOERROR
    _http._tcp.web.shop.example.org. 5 IN A 192.0.2.1
    _http._tcp.web.shop.example.org. 5 IN A 192.0.2.2
_http._udp.web.shop.example.org A
    NXDOMAIN, SOA example.org.
# Without `headless`, any name below is the Service itself.
x.web.shop.example.org A
    NOERROR
    x.web.shop.example.org. 5 IN A 192.0.2.1
    x.web.shop.example.org. 5 IN A 192.0.2.2
web.shop.example.org TXT
    NOERROR, SOA example.org.
web.shop.example.org CNAME
    NOERROR, SOA example.org.
web.shop.example.org PTR
    NOERROR, SOA example.org.
out.shop.example.org A
    NOERROR
    out.shop.example.org. 5 IN A 192.0.2.9
out.shop.example.org SRV
    NOERROR, SOA example.org.
inside.shop.example.org A
    NXDOMAIN, SOA example.org.
db.shop.example.org A
    NXDOMAIN, SOA example.org.
nosuch.shop.example.org A
    NXDOMAIN, SOA example.org.
web.nosuch.example.org PTR
    NXDOMAIN, SOA example.org.
shop.example.org A
    NOERROR, SOA example.org.
empty.example.org SRV
    NOERROR, SOA example.org.
nosuch.example.org A
    NXDOMAIN, SOA example.org.
a.b.c.web.shop.example.org A
    NXDOMAIN, SOA example.org.
",
    );
}

#[test]
fn srv() {
    check(
        &corefile("ttl 9", "", "example.org"),
        CLUSTER,
        "
# Four addresses, one of them twice, with two ports each; SRV has the TTL of kubernetes, addresses that of the zone.
web.shop.Example.org SRV
    NOERROR
    web.shop.Example.org. 7 IN SRV 0 12 80 web.shop.example.org.
    web.shop.Example.org. 7 IN SRV 0 12 53 web.shop.example.org.
    additional: web.shop.example.org. 9 IN A 192.0.2.1
    additional: web.shop.example.org. 9 IN A 192.0.2.2
    additional: web.shop.example.org. 9 IN AAAA 2001:db8::1
_dns._udp.web.shop.example.org SRV
    NOERROR
    _dns._udp.web.shop.example.org. 7 IN SRV 0 25 53 web.shop.example.org.
    additional: web.shop.example.org. 9 IN A 192.0.2.1
    additional: web.shop.example.org. 9 IN A 192.0.2.2
    additional: web.shop.example.org. 9 IN AAAA 2001:db8::1
_http._tcp.lb.shop.example.org SRV
    NOERROR
    _http._tcp.lb.shop.example.org. 7 IN SRV 0 100 80 lb.Example.net.
    additional: lb.example.net. 3600 IN A 198.51.100.1
    additional: lb.example.net. 3600 IN AAAA 2001:db8::b1
",
    );
}

#[test]
fn load_balancers_with_hostnames() {
    check(
        &corefile("", "", "example.org"),
        CLUSTER,
        "
# Once, although there are two ports.
lb.shop.example.org A
    NOERROR
    lb.shop.example.org. 7 IN CNAME lb.Example.net.
    lb.example.net. 3600 IN A 198.51.100.1
lb.shop.example.org AAAA
    NOERROR
    lb.shop.example.org. 7 IN CNAME lb.Example.net.
    lb.example.net. 3600 IN AAAA 2001:db8::b1
lb.shop.example.org TXT
    NOERROR, SOA example.org.
# whoami has no answer records for the target, and an ingress without hostname and address is ignored.
lost.shop.example.org A
    NOERROR
    lost.shop.example.org. 5 IN A 192.0.2.3
    lost.shop.example.org. 7 IN CNAME lost.example.net.
",
    );
}

#[test]
fn endpoints() {
    check(
        &corefile("headless", "", "example.org"),
        CLUSTER,
        "
db.shop.example.org A
    NOERROR
    db.shop.example.org. 5 IN A 10.244.0.1
    db.shop.example.org. 5 IN A 10.244.0.2
db-0.db.shop.example.org A
    NOERROR
    db-0.db.shop.example.org. 5 IN A 10.244.0.1
10-244-0-2.db.shop.example.org A
    NOERROR
    10-244-0-2.db.shop.example.org. 5 IN A 10.244.0.2
db-9.db.shop.example.org A
    NXDOMAIN, SOA example.org.
_sql._tcp.db.shop.example.org SRV
    NOERROR
    _sql._tcp.db.shop.example.org. 7 IN SRV 0 50 5432 10-244-0-2.db.shop.example.org.
    _sql._tcp.db.shop.example.org. 7 IN SRV 0 50 5432 db-0.db.shop.example.org.
    additional: 10-244-0-2.db.shop.example.org. 5 IN A 10.244.0.2
    additional: db-0.db.shop.example.org. 5 IN A 10.244.0.1
# An endpoint of a Service without external addresses has a name, the Service has none.
i-0.inside.shop.example.org A
    NOERROR
    i-0.inside.shop.example.org. 5 IN A 10.244.0.9
inside.shop.example.org A
    NXDOMAIN, SOA example.org.
# An external address takes precedence over endpoints.
out.shop.example.org A
    NOERROR
    out.shop.example.org. 5 IN A 192.0.2.9
",
    );
}

#[test]
fn ptr_records() {
    let table = "
1.2.0.192.in-addr.arpa PTR
    NOERROR
    1.2.0.192.in-addr.arpa. 5 IN PTR also.bank.example.org.
    1.2.0.192.in-addr.arpa. 5 IN PTR web.shop.example.org.
1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa PTR
    NOERROR
    1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 5 IN PTR web.shop.example.org.
# A cluster IP is not an external address.
7.0.96.10.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
1.2.0.192.in-addr.arpa A
    NXDOMAIN, SOA in-addr.arpa.
";
    check(&corefile("", "", "Example.org in-addr.arpa ip6.arpa"), CLUSTER, table);
    check(
        &corefile("", "namespaces bank", "example.org in-addr.arpa"),
        CLUSTER,
        "
1.2.0.192.in-addr.arpa PTR
    NOERROR
    1.2.0.192.in-addr.arpa. 5 IN PTR also.bank.example.org.
2.2.0.192.in-addr.arpa PTR
    NXDOMAIN, SOA in-addr.arpa.
",
    );
}

#[test]
fn zone_apex() {
    let served = serve(&corefile("apex Ns\nttl 30", "", "example.org"), CLUSTER);
    check_on(
        &served,
        "
example.org SOA
    NOERROR
    example.org. 30 IN SOA ns1.Ns.example.org. hostmaster.Ns.example.org. SERIAL 7200 1800 86400 30
example.org A
    NOERROR, SOA example.org.
example.org AXFR
    NOERROR, SOA example.org.
ns.example.org A
    NOERROR, SOA example.org.
ns1.ns.example.org TXT
    NOERROR, SOA example.org.
x.ns.example.org A
    NXDOMAIN, SOA example.org.
x.ns1.ns.example.org A
    NXDOMAIN, SOA example.org.
# With another apex this is a namespace that does not exist.
dns.example.org A
    NXDOMAIN, SOA example.org.
",
    );
    let text = present(&served.ask("Example.ORG NS"));
    let name_server = "answer: example.org. 30 IN NS ns1.Ns.example.org.";
    assert!(text.lines().any(|line| line == name_server), "{text}");
    for glue in text.lines().filter(|line| line.starts_with("additional: ")) {
        assert!(glue.starts_with("additional: ns1.Ns.Example.ORG. 30 IN A"), "{text}");
    }
}

#[test]
fn fallthrough() {
    check(
        &corefile("fallthrough shop.example.org", "", "example.org"),
        CLUSTER,
        "
nosuch.shop.example.org TXT
    NOERROR
    additional: nosuch.shop.example.org. 0 IN A 10.240.0.1
    additional: _udp.nosuch.shop.example.org. 0 IN SRV 0 0 40212 .
# A name that exists without records of the type does not fall through.
web.shop.example.org TXT
    NOERROR, SOA example.org.
nosuch.bank.example.org A
    NXDOMAIN, SOA example.org.
",
    );
}

#[test]
fn options_of_kubernetes_apply() {
    check(
        &corefile("headless", "namespaces bank\nnoendpoints", "example.org"),
        CLUSTER,
        "
web.shop.example.org A
    NXDOMAIN, SOA example.org.
also.bank.example.org A
    NOERROR
    also.bank.example.org. 5 IN A 192.0.2.1
",
    );
}

#[test]
fn reasons() {
    let served = serve(&corefile("headless", "", "example.org in-addr.arpa"), CLUSTER);
    for (question, reason) in [
        (
            "web.shop.example.org A",
            "Service shop/web has external addresses 192.0.2.1, 2001:db8::1, 192.0.2.2",
        ),
        ("lb.shop.example.org A", "Service shop/lb has external addresses lb.Example.net"),
        (
            "db.shop.example.org A",
            "Service shop/db has endpoints 10.244.0.1, 10.244.0.2 (EndpointSlice shop/db-1)",
        ),
        (
            "x.db.shop.example.org A",
            "Service shop/db has no matching ready endpoints (EndpointSlice shop/db-1)",
        ),
        (
            "inside.shop.example.org A",
            "Service shop/inside has neither externalIPs nor load balancer addresses",
        ),
        ("_x._tcp.web.shop.example.org SRV", "Service shop/web has no port x of protocol tcp"),
        ("nosuch.shop.example.org A", "Service shop/nosuch does not exist"),
        ("web.nosuch.example.org A", "namespace nosuch does not exist"),
        ("shop.example.org A", "namespace shop has no records of its own, only names below it"),
        (
            "a.b.c.web.shop.example.org A",
            "not a name the k8s_external plugin serves: expected SERVICE.NAMESPACE.ZONE",
        ),
        ("example.org NS", "example.org. is the zone apex"),
        ("ns1.dns.example.org A", "name server of example.org."),
        ("1.2.0.192.in-addr.arpa PTR", "192.0.2.1 is an external address of Services web.shop., also.bank."),
        ("9.9.9.9.in-addr.arpa PTR", "no Service has the external address 9.9.9.9"),
    ] {
        let notes = served.ask(question).notes;
        let found = notes.iter().any(|note| note.plugin == "k8s_external" && note.text == reason);
        assert!(found, "{question}: {notes:?}");
    }
}

#[test]
fn mistakes() {
    let error = |body: &str| refused(&format!(".:53 {{\n{body}\nkubernetes {{\nmanifests /nosuch\n}}\n}}\n"));
    for (options, expected) in [
        (
            "ttl",
            "plugin/k8s_external: Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'ttl'",
        ),
        ("ttl x", "plugin/k8s_external: strconv.Atoi: parsing \"x\": invalid syntax"),
        (
            "ttl 3601",
            "plugin/k8s_external: Corefile:3 - Error during parsing: ttl must be in range [0, 3600]: 3601",
        ),
        (
            "ttl -1",
            "plugin/k8s_external: Corefile:3 - Error during parsing: ttl must be in range [0, 3600]: -1",
        ),
        (
            "apex",
            "plugin/k8s_external: Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'apex'",
        ),
        ("apex a..b", "plugin/k8s_external: apex: expected labels that make a valid name, got 'a..b'"),
        ("nosuch", "plugin/k8s_external: Corefile:3 - Error during parsing: unknown property 'nosuch'"),
    ] {
        assert_eq!(error(&format!("k8s_external example.org {{\n{options}\n}}")), expected);
    }
    let alone = ".:53 {\nk8s_external example.org\nwhoami\n}\n";
    assert_eq!(refused(alone), "plugin/k8s_external: kubernetes plugin not loaded");
}
