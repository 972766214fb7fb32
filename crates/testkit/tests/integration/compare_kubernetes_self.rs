//! CoreDNS against itself on a generated cluster: the API server accepts all generated objects, and any difference
//! found here is a fault of the comparison.

use std::time::{Duration, Instant};

use testkit::cluster::generate::{self, Size};
use testkit::cluster::names::{self, Zones};
use testkit::cluster::objects::Resource;
use testkit::cluster::{Cluster, StoredObjects, load, manifests};
use testkit::compare::Comparison;
use testkit::peers::Peer;
use testkit::query::{Generator, Options};
use testkit::random::seed_from_env;
use testkit::{DnsServer, Kind, ports};

const COREFILE: &str = "\
.:{port} {
    bind 127.0.0.1
    ready 127.0.0.1:{ready}
    kubernetes cluster.local clusterset.local in-addr.arpa ip6.arpa {
        kubeconfig {kubeconfig}
        pods verified
        multicluster clusterset.local
        zonal
    }
}
";

#[test]
fn equals_itself() {
    if [Peer::CoreDns, Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let seed = seed_from_env();
    let cluster = Cluster::alone().unwrap();
    load::install_service_imports(cluster.api()).unwrap();
    let objects = generate::cluster(seed, Size { services: 90, pods: 60, imports: 15 });
    let began = Instant::now();
    load::load(cluster.api(), &objects).unwrap();
    println!("{} objects in {:?}", objects.len(), began.elapsed());

    let stored = StoredObjects::read(cluster.api()).unwrap();
    for object in &objects {
        let found = stored.of(object.resource).iter().any(|stored| {
            stored.pointer("/metadata/name") == Some(&object.name.as_str().into())
                && (object.resource == Resource::Namespace
                    || stored.pointer("/metadata/namespace") == Some(&object.namespace.as_str().into()))
        });
        assert!(found, "{} is not there", object.path());
    }
    let folder = tempfile::tempdir().unwrap();
    manifests::write(&stored, folder.path()).unwrap();
    assert_eq!(manifests::read(&folder.path().join("services.yaml")).unwrap(), stored.services);

    let start = || {
        let (port, ready) = (ports::free().unwrap(), ports::free().unwrap());
        let corefile = COREFILE
            .replace("{port}", &port.to_string())
            .replace("{ready}", &ready.to_string())
            .replace("{kubeconfig}", &cluster.kubeconfig().display().to_string());
        let server = DnsServer::start(Kind::CoreDns, &corefile, port).unwrap();
        server.wait_until_ready(ready).unwrap();
        server
    };
    let (left, right) = (start(), start());
    let zones = Zones { cluster: &["cluster.local"], set: &["clusterset.local"] };
    let generator = Generator::new(seed, names::pools(&stored, zones, seed), Options::default());
    let report = Comparison::new(("left", left.addr()), ("right", right.addr()))
        .timeout(Duration::from_secs(2))
        .accept(|difference| difference.is_of_truncation().then_some("truncated"))
        .check(generator, 1_500);
    println!("{:?}, {} silent", report.rcodes, report.silent);
    for rcode in ["NOERROR", "NXDOMAIN"] {
        assert!(report.rcodes[rcode] > 200, "{rcode} was too rare: {:?}", report.rcodes);
    }
}
