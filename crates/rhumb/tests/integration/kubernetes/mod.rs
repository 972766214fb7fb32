//! Shared by the comparisons of the `kubernetes` plugin: a generated cluster behind a real API server, two servers on the
//! same Corefile, and the list of intended differences.

mod intended;
mod others;

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use serde_json::json;
use testkit::cluster::changes::Changes;
use testkit::cluster::generate::{self, ObjectGenerator, Size};
use testkit::cluster::names::{self, Zones};
use testkit::cluster::objects::{Object, Resource};
use testkit::cluster::{Cluster, StoredObjects, load};
use testkit::peers::Peer;
use testkit::query::Pool;
use testkit::random::seed_from_env;
use testkit::{DnsServer, Kind, ports};

pub use intended::IntendedDifferences;
pub use others::{AUTOPATH, K8S_EXTERNAL};

/// A cluster with generated objects.
pub struct World {
    pub seed: u64,
    pub cluster: Cluster,
    pub stored: StoredObjects,
    upstream: DnsServer,
}

impl World {
    /// Also returns the source of changes. Prints a line and returns None when a peer is not built.
    pub fn create(size: Size) -> Option<(Self, Changes)> {
        let peers = [Peer::CoreDns, Peer::Etcd, Peer::KubeApiserver];
        if peers.iter().any(|peer| peer.for_test().is_none()) {
            return None;
        }
        let seed = seed_from_env();
        let cluster = Cluster::alone().expect("an API server");
        load::install_service_imports(cluster.api()).expect("ServiceImports");
        let mut generator = ObjectGenerator::new(seed);
        let mut objects = generator.cluster(size);
        objects.extend([dns_service(), dns_slice()]);
        objects.extend(CLIENT_PODS.iter().map(|(ip, namespace)| client_pod(ip, namespace)));
        load::load(cluster.api(), &objects).unwrap_or_else(|error| panic!("{error}"));
        let stored = StoredObjects::read(cluster.api()).expect("all objects");
        let upstream = DnsServer::start_on_free_port(Kind::CoreDns, UPSTREAM).expect("an upstream");
        Some((Self { seed, cluster, stored, upstream }, Changes::new(generator, objects)))
    }

    /// The upstream of the servers, so that no query leaves this machine.
    pub fn upstream(&self) -> SocketAddr {
        self.upstream.addr()
    }

    /// The plugin's option that names the cluster.
    pub fn source(&self) -> String {
        format!("kubeconfig {}", self.cluster.kubeconfig().display())
    }
}

/// The Service of this machine's own addresses, if it has any but loopback: the name server of the zone, for a server
/// that listens on all addresses.
fn dns_service() -> Object {
    let body = json!({
        "metadata": {"name": "kube-dns", "labels": {"tier": "front", "env": "prod"}},
        "spec": {
            "clusterIP": "10.96.0.10",
            "externalIPs": ["192.0.2.53", "2001:db8::53"],
            "ports": [
                {"name": "dns", "port": 53, "protocol": "UDP"},
                {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
            ],
        },
    });
    Object::new(Resource::Service, "shop", "kube-dns", body)
}

fn dns_slice() -> Object {
    // A documentation address keeps the slice non-empty where the machine has only loopback.
    let mut addresses = vec!["192.0.2.53".to_owned()];
    addresses.extend(own_addresses());
    let endpoints: Vec<_> = addresses.iter().map(|ip| json!({"addresses": [ip]})).collect();
    let body = json!({
        "metadata": {"name": "kube-dns-own", "labels": {
            "kubernetes.io/service-name": "kube-dns", "tier": "front", "env": "prod",
        }},
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53}],
    });
    Object::new(Resource::EndpointSlice, "shop", "kube-dns-own", body)
}

/// The pods that send the queries of tests. Most come from the first; the last address is no pod's.
const CLIENT_PODS: &[(&str, &str)] =
    &[("127.0.0.1", "shop"), ("127.0.0.2", "team-a"), ("127.0.0.3", "shop"), ("127.0.0.4", "svc")];
const NO_POD: &str = "127.0.0.9";

fn client_pod(ip: &str, namespace: &str) -> Object {
    let name = format!("client-{}", ip.replace('.', "-"));
    let body = json!({
        "metadata": {"name": name, "labels": {"tier": "front"}},
        "spec": {"containers": [{"name": "c", "image": "none"}]},
    });
    let mut pod = Object::new(Resource::Pod, namespace, &name, body);
    pod.status = Some(json!({"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}));
    pod
}

/// The machine's own IPv4 addresses that are not loopback's.
fn own_addresses() -> Vec<String> {
    let interfaces = net::interfaces().unwrap_or_default();
    let addresses = interfaces.iter().flat_map(|interface| &interface.addrs).map(SocketAddr::ip);
    addresses.filter(|ip| ip.is_ipv4() && !ip.is_loopback()).map(|ip: IpAddr| ip.to_string()).collect()
}

/// Answers NXDOMAIN to everything.
const UPSTREAM: &str = "\
.:{port} {
    bind 127.0.0.1
    template ANY ANY {
        rcode NXDOMAIN
        authority \". 60 IN SOA a.root-servers.example. hostmaster.example. 1 1800 900 604800 86400\"
    }
}
";

/// A configuration of the plugin.
#[derive(Clone, Copy)]
pub struct Variant {
    pub name: &'static str,
    /// The zones of the block; its own are the root.
    pub zones: &'static str,
    /// Lines inside the plugin's braces.
    pub options: &'static str,
    /// Lines of other plugins. In them `{upstream}` is an upstream that answers NXDOMAIN.
    pub others: &'static str,
    /// Whether it listens on loopback only, as all variants except those for name servers.
    pub bound: bool,
    /// The queried names.
    pub query_names: QueryNames,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum QueryNames {
    /// Names of the cluster.
    Cluster,
    /// Names in these zones of `k8s_external`.
    Outside(&'static [&'static str]),
    /// Short names, from the addresses of several pods.
    SearchPaths,
}

/// `cluster.local` and all reverse zones.
pub const ZONES: &str = "cluster.local in-addr.arpa ip6.arpa";

/// The defaults of the variants.
pub const PLAIN: Variant = Variant {
    name: "default",
    zones: ZONES,
    options: "",
    others: "",
    bound: true,
    query_names: QueryNames::Cluster,
};

impl Variant {
    /// The names to query, `zones` being those of the cluster, and the source addresses, if they matter.
    pub fn questions(&self, stored: &StoredObjects, zones: Zones<'_>, seed: u64) -> (Vec<Pool>, Vec<IpAddr>) {
        match self.query_names {
            QueryNames::Cluster => (names::pools(stored, zones, seed), Vec::new()),
            QueryNames::Outside(zones) => (names::outside(stored, zones, seed), Vec::new()),
            QueryNames::SearchPaths => {
                let asking = CLIENT_PODS.iter().map(|(ip, _)| *ip).chain([NO_POD]);
                let namespaces = CLIENT_PODS.iter().map(|(_, namespace)| format!("{namespace}."));
                let domains: Vec<String> =
                    namespaces.chain([String::new()]).map(|it| format!("{it}svc.cluster.local")).collect();
                let domains: Vec<&str> = domains.iter().map(String::as_str).collect();
                let sources = asking.filter_map(|ip| ip.parse().ok()).collect();
                (names::search_paths(stored, &domains, seed), sources)
            }
        }
    }
}

/// CoreDNS and Rhumb, both ready.
pub struct Pair {
    pub coredns: DnsServer,
    pub rhumb: DnsServer,
}

impl Pair {
    /// Starts both concurrently; each has its own lines that name the source of objects.
    pub fn start(world: &World, variant: &Variant, coredns: &str, rhumb: &str) -> Self {
        let upstream = world.upstream();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| start(Kind::CoreDns, variant, coredns, upstream));
            let rhumb = start(Kind::Rhumb, variant, rhumb, upstream);
            Self { coredns: other.join().expect("CoreDNS starts"), rhumb }
        })
    }
}

fn start(kind: Kind, variant: &Variant, from: &str, upstream: SocketAddr) -> DnsServer {
    let (port, ready) = (ports::free().expect("a port"), ports::free().expect("a port"));
    let corefile = corefile(variant, from, port, ready).replace("{upstream}", &upstream.to_string());
    let server =
        DnsServer::start(kind, &corefile, port).unwrap_or_else(|error| panic!("{}: {error}", variant.name));
    server.wait_until_ready(ready).unwrap_or_else(|error| panic!("{}: {error}", variant.name));
    server
}

fn corefile(variant: &Variant, from: &str, port: u16, ready: u16) -> String {
    let mut hosts = String::new();
    for (name, addresses) in generate::OUTSIDE {
        for address in *addresses {
            let _ = writeln!(hosts, "        {address} {name}");
        }
    }
    let bind = if variant.bound { "bind 127.0.0.1" } else { "" };
    format!(
        ".:{port} {{
    {bind}
    errors
    ready 127.0.0.1:{ready}
    hosts {{
{hosts}        no_reverse
        fallthrough
    }}
    kubernetes {} {{
        {}
        {}
    }}
    {}
}}
",
        variant.zones, from, variant.options, variant.others
    )
}
