//! The answer path allocates nothing: not for an answer, not for a denial, not for a log line.

use std::net::SocketAddr;

use server::{Client, Exchange, ExchangeResult, Input, Transport, config};
use testkit::alloc::{Counting, assert_no_alloc};
use wire::{Edns, NameBuf, Query, Rtype};

#[global_allocator]
static COUNTING: Counting = Counting;

const COREFILE: &str = ".:53 {
    prometheus
    errors
    log
    loadbalance
    bufsize 1232
    any
    local
    acl shop.example {
        block net 10.0.0.0/8 2001:db8::/32
        filter type HTTPS
        allow net 127.0.0.1
    }
    header {
        response set ra
    }
    minimal
    hosts {
        10.0.0.1 web.shop.example api.shop.example
        10.0.0.2 web.shop.example
        10.0.0.3 web.shop.example
        2001:db8::1 web.shop.example
        fallthrough other.example
    }
    whoami
}
";

/// Translates for both families; a name with an address of the queried family needs no translation.
const TRANSLATED: &str = ".:53 {
    metadata
    errors
    geoip DATABASE {
        edns-subnet
    }
    dns64 {
        allow_ipv4
    }
    siit {
        eam 192.0.2.1 2001:db8::1
    }
    hosts {
        10.0.0.1 web.shop.example
        2001:db8::1 web.shop.example
    }
}
";

/// Queries that are not traced allocate nothing, nor does dnstap without a reader.
const OBSERVED: &str = ".:53 {
    trace {
        every 1000000
    }
    dnstap listen /nowhere/dnstap.sock full
    hosts {
        10.0.0.1 web.shop.example
    }
}
";

const CACHED: &str = ".:53 {
    errors
    loadbalance
    cache 300 {
        prefetch 100000
        serve_stale
    }
    hosts {
        10.0.0.1 web.shop.example api.shop.example
        10.0.0.2 web.shop.example
        2001:db8::1 web.shop.example
        fallthrough
    }
    whoami
}
";

const CLUSTER: &str = ".:53 {
    errors
    loadbalance
    kubernetes cluster.local in-addr.arpa {
        manifests FOLDER
        pods verified
    }
    whoami
}
";

/// The client is a pod in `shop`.
const SEARCHED: &str = ".:53 {
    errors
    autopath @kubernetes
    k8s_external example.org in-addr.arpa {
        headless
        fallthrough in-addr.arpa
    }
    kubernetes cluster.local in-addr.arpa {
        manifests FOLDER
        pods verified
    }
    whoami
}
";

/// The Corefile of older kubeadm. The cache is above the cluster, so that all but the first answer are hits.
const KUBEADM: &str = ".:53 {
    errors
    health 127.0.0.1:8080 {
        lameduck 5s
    }
    ready 127.0.0.1:8181
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        manifests FOLDER
        pods insecure
        ttl 30
    }
    prometheus 127.0.0.1:9153
    forward . 127.0.0.1:9 {
        max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
";

/// Templates with constant answers, and some that only pass a query on.
const TEMPLATES: &str = ".:53 {
    prometheus
    errors
    template ANY ANY internal.cloudapp.net {
        match \"^(?:[^.]+\\.){4,}internal\\.cloudapp\\.net\\.$\"
        rcode NXDOMAIN
        fallthrough
    }
    template ANY ANY reddog.microsoft.com {
        rcode NXDOMAIN
    }
    template IN A fixed.example {
        match ^(a|b)[.]
        answer \"a.fixed.example. 60 IN A 10.0.0.1\" \"b.fixed.example. 60 IN A 10.0.0.2\"
        authority \"fixed.example. 60 IN NS ns.fixed.example.\"
        fallthrough
    }
    whoami
}
";

/// Common views. `metadata` is not among them, because plugins allocate its text.
const VIEWS: &str = ".:53 {
    view nobody {
        expr incidr(client_ip(), '10.0.0.0/8') && type() == 'A'
    }
    whoami
}
.:53 {
    view nothing {
        expr name() matches '^nothing' || type() in ['TXT', 'SRV'] || name() endsWith '.nowhere.'
        expr (id() + size() > 0) && proto() == 'udp' && bufsize() >= 512 && trimPrefix(name(), 'x') != ''
    }
    whoami
}
.:53 {
    view rest {
        expr incidr(client_ip(), '127.0.0.0/8') and not (opcode() in [1, 2]) && (do() ? class() == 'IN' : true)
    }
    hosts {
        10.0.0.1 web.shop.example
    }
}
";

/// A Service with cluster IPs, and a headless one.
const MANIFESTS: &str = "
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  externalIPs: [192.0.2.1, 192.0.2.2, '2001:db8::1']
  clusterIP: 10.96.0.7
  clusterIPs: [10.96.0.7, 'fd00:96::7']
  ports: [{ name: http, port: 80 }, { name: https, port: 443 }]
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
ports: [{ name: sql, port: 5432, protocol: TCP }]
endpoints:
  - { addresses: [10.244.1.1], hostname: db-0 }
  - { addresses: [10.244.1.2], hostname: db-1 }
  - { addresses: [10.244.1.3] }
---
apiVersion: v1
kind: Pod
metadata: { name: db-0, namespace: shop }
status: { phase: Running, podIPs: [{ ip: 10.244.1.1 }] }
---
apiVersion: v1
kind: Pod
metadata: { name: client, namespace: shop }
status: { phase: Running, podIPs: [{ ip: 127.0.0.1 }] }
";

#[test]
fn clusters_allocate_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("shop.yaml"), MANIFESTS).expect("it can be written");
    let questions = [
        ("web.shop.svc.cluster.local.", Rtype::A),
        ("Web.Shop.svc.Cluster.Local.", Rtype::AAAA),
        ("db.shop.svc.cluster.local.", Rtype::A),
        ("db.shop.svc.cluster.local.", Rtype::AAAA),
        ("db-1.db.shop.svc.cluster.local.", Rtype::A),
        ("10-244-1-3.db.shop.svc.cluster.local.", Rtype::A),
        ("_http._tcp.web.shop.svc.cluster.local.", Rtype::SRV),
        ("_sql._tcp.db.shop.svc.cluster.local.", Rtype::SRV),
        // Other names after search path expansion.
        ("web.shop.svc.cluster.local.shop.svc.cluster.local.", Rtype::A),
        ("www.example.com.svc.cluster.local.", Rtype::A),
        ("www.example.com.cluster.local.", Rtype::A),
        ("nosuch.shop.svc.cluster.local.", Rtype::A),
        ("web.nosuch.svc.cluster.local.", Rtype::AAAA),
        ("web.shop.svc.cluster.local.", Rtype::HTTPS),
        ("cluster.local.", Rtype::SOA),
        ("dns-version.cluster.local.", Rtype::TXT),
        ("10-244-1-1.shop.pod.cluster.local.", Rtype::A),
        ("7.0.96.10.in-addr.arpa.", Rtype::PTR),
        ("1.1.244.10.in-addr.arpa.", Rtype::PTR),
        ("9.9.9.9.in-addr.arpa.", Rtype::PTR),
    ];
    // The Corefile of current kubeadm: nothing of the cluster is in the cache.
    let uncached = "cache 30 {\ndisable success cluster.local\ndisable denial cluster.local\n}\n";
    let kubeadm = KUBEADM.replace("cache 30\n", uncached);
    for corefile in [CLUSTER, KUBEADM, &kubeadm] {
        let corefile = corefile.replace("FOLDER", &folder.path().display().to_string());
        allocate_nothing(&corefile, &questions);
    }
}

/// With autopath and k8s_external: names outside the search path, names found in its first domain, external names.
#[test]
fn autopath_and_k8s_external_allocate_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("shop.yaml"), MANIFESTS).expect("it can be written");
    let questions = [
        ("web.shop.svc.cluster.local.", Rtype::A),
        ("Web.Shop.svc.Cluster.Local.", Rtype::AAAA),
        ("web.shop.svc.cluster.local.", Rtype::TXT),
        ("www.example.com.other.svc.cluster.local.", Rtype::A),
        ("www.example.com.svc.cluster.local.", Rtype::A),
        ("www.example.com.cluster.local.", Rtype::A),
        ("www.example.com.", Rtype::A),
        ("shop.svc.cluster.local.", Rtype::A),
        ("web.shop.example.org.", Rtype::A),
        ("Web.Shop.Example.org.", Rtype::AAAA),
        ("_http._tcp.web.shop.example.org.", Rtype::SRV),
        ("db.shop.example.org.", Rtype::A),
        ("db-0.db.shop.example.org.", Rtype::A),
        ("_sql._tcp.db.shop.example.org.", Rtype::SRV),
        ("nosuch.shop.example.org.", Rtype::A),
        ("web.shop.example.org.", Rtype::HTTPS),
        ("example.org.", Rtype::SOA),
        ("example.org.", Rtype::NS),
        ("ns1.dns.example.org.", Rtype::A),
        ("1.2.0.192.in-addr.arpa.", Rtype::PTR),
        ("7.0.96.10.in-addr.arpa.", Rtype::PTR),
    ];
    allocate_nothing(&SEARCHED.replace("FOLDER", &folder.path().display().to_string()), &questions);
}

#[test]
fn answers_allocate_nothing() {
    let questions = [
        ("web.shop.example.", Rtype::A),
        ("WEB.Shop.example.", Rtype::A),
        ("web.shop.example.", Rtype::AAAA),
        ("web.shop.example.", Rtype::MX),
        ("1.0.0.10.in-addr.arpa.", Rtype::PTR),
        ("localhost.", Rtype::A),
        ("nothing.shop.example.", Rtype::A),
        ("web.other.example.", Rtype::A),
        ("web.shop.example.", Rtype::ANY),
    ];
    allocate_nothing(COREFILE, &questions);
}

#[test]
fn queries_without_translation_allocate_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("city.mmdb");
    std::fs::write(&path, testkit::mmdb::Database::new("GeoLite2-City", Vec::new()).bytes())
        .expect("written");
    let questions = [
        ("web.shop.example.", Rtype::A),
        ("WEB.Shop.example.", Rtype::AAAA),
        ("web.shop.example.", Rtype::MX),
        ("1.0.0.10.in-addr.arpa.", Rtype::PTR),
    ];
    allocate_nothing(&TRANSLATED.replace("DATABASE", &path.display().to_string()), &questions);
}

#[test]
fn unobserved_queries_allocate_nothing() {
    allocate_nothing(OBSERVED, &[("web.shop.example.", Rtype::A), ("nothing.shop.example.", Rtype::A)]);
}

#[test]
fn constant_templates_allocate_nothing() {
    let questions = [
        ("a.b.c.d.internal.cloudapp.net.", Rtype::A),
        ("a.internal.cloudapp.net.", Rtype::A),
        ("x.Reddog.microsoft.com.", Rtype::AAAA),
        ("a.fixed.example.", Rtype::A),
        ("c.fixed.example.", Rtype::A),
        ("other.example.", Rtype::A),
    ];
    allocate_nothing(TEMPLATES, &questions);
}

#[test]
fn views_allocate_nothing() {
    let questions =
        [("web.shop.example.", Rtype::A), ("WEB.Shop.example.", Rtype::AAAA), ("other.example.", Rtype::A)];
    allocate_nothing(VIEWS, &questions);
}

/// Also for a name in another case.
#[test]
fn cache_hits_allocate_nothing() {
    let questions = [
        ("web.shop.example.", Rtype::A),
        ("WEB.Shop.example.", Rtype::A),
        ("web.shop.example.", Rtype::AAAA),
        ("1.0.0.10.in-addr.arpa.", Rtype::PTR),
        ("Web.Other.Example.", Rtype::A),
        ("web.other.example.", Rtype::A),
    ];
    allocate_nothing(CACHED, &questions);
}

fn allocate_nothing(corefile: &str, questions: &[(&str, Rtype)]) {
    server::log::set_output(Box::new(std::io::sink()));
    let input = Input { name: "Corefile".into(), contents: corefile.into(), dns_port: "53".into() };
    let config = config::build(&input, plugins::PLUGINS, &corefile::Disk)
        .unwrap_or_else(|errors| panic!("{}", errors[0]));
    config.prepare().expect("nothing here can be refused");
    let (_, service) = config.services().next().expect("one service");
    let client = Client {
        remote: SocketAddr::from(([127, 0, 0, 1], 40000)),
        local: SocketAddr::from(([127, 0, 0, 1], 53)),
        transport: Transport::Udp,
    };
    let packets: Vec<Vec<u8>> = questions
        .iter()
        .flat_map(|(name, qtype)| {
            let name = NameBuf::parse(name).expect("a name");
            let plain = Query::ask(name.as_name(), *qtype);
            let mut edns = plain.clone();
            edns.edns = Some(Edns { udp_size: 4096, version: 0, extended_rcode: 0, flags: Edns::DO });
            [plain.to_packet(), edns.to_packet()]
        })
        .collect();
    let mut out = Vec::with_capacity(4096);
    let mut exchange = Exchange::new();
    let mut round = || {
        for packet in &packets {
            assert_eq!(exchange.answer(service, client, packet, &mut out), ExchangeResult::Reply);
        }
    };
    // The first rounds fill buffers, thread-local state and the log's ring.
    (0..3).for_each(|_| round());
    assert_no_alloc(|| (0..100).for_each(|_| round()));
    server::log::flush();
}
