//! A pod of the Deployment in deploy/kubernetes as set up by a kubelet, on a node whose name server has two names.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;

use tempfile::TempDir;
use testkit::cluster::objects::text;
use testkit::cluster::{Cluster, deploy};
use testkit::scripted_upstream::{ScriptedUpstream, Step};

use super::container::{Mount, NODE, Sandbox};

/// Some providers set a name here, which a static binary in an empty root must resolve.
const API_SERVER: &str = "kubernetes.default.svc";

pub struct Pod {
    folder: TempDir,
    _cluster: Cluster,
}

const FILES: [(&str, &str); 3] = [
    ("coredns", "etc/coredns"),
    ("resolv.conf", "etc/resolv.conf"),
    ("serviceaccount", "var/run/secrets/kubernetes.io/serviceaccount"),
];

impl Pod {
    pub fn start(sandbox: &Sandbox) -> Self {
        let cluster = Cluster::alone().unwrap_or_else(|error| panic!("{error}"));
        for file in ["rbac.yaml", "corefile.yaml", "rhumb.yaml"] {
            deploy::apply(&cluster, file).unwrap_or_else(|error| panic!("{error}"));
        }
        let upstream = sandbox
            .node
            .within(|| ScriptedUpstream::start_at((NODE, 53).into()))
            .unwrap_or_else(|error| panic!("{error}"));
        // It cannot be stopped from outside its namespace.
        let upstream = Box::leak(Box::new(upstream));
        upstream.on(API_SERVER, [Step::address(&NODE.to_string(), 30).unwrap()]);
        upstream.on("www.example.org", [Step::address("192.0.2.1", 30).unwrap()]);
        relay(sandbox, cluster.url().rsplit(':').next().unwrap().parse().unwrap());
        let folder = tempfile::tempdir().unwrap();
        write_files(&cluster, folder.path());
        Self { folder, _cluster: cluster }
    }

    pub fn mounts(&self) -> Vec<Mount> {
        FILES.iter().map(|(source, target)| Mount::new(&self.folder.path().join(source), target)).collect()
    }

    pub fn environment(&self) -> Vec<String> {
        vec![format!("KUBERNETES_SERVICE_HOST={API_SERVER}"), "KUBERNETES_SERVICE_PORT=443".to_owned()]
    }
}

fn write_files(cluster: &Cluster, folder: &Path) {
    let map = cluster.api().get("/api/v1/namespaces/kube-system/configmaps/coredns").unwrap();
    let token = deploy::service_account_token(cluster).unwrap();
    let authority = std::fs::read_to_string(cluster.ca_file()).unwrap();
    for (path, content) in [
        ("coredns/Corefile", text(&map, "/data/Corefile")),
        ("resolv.conf", &format!("nameserver {NODE}\n")),
        ("serviceaccount/token", &token),
        ("serviceaccount/ca.crt", &authority),
        ("serviceaccount/namespace", "kube-system"),
    ] {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// Relays port 443 of the node to the API server outside: a socket stays in its namespace and can be used from
/// another.
fn relay(sandbox: &Sandbox, port: u16) {
    let listener = sandbox.node.within(|| TcpListener::bind((NODE, 443))).unwrap();
    std::thread::spawn(move || {
        for inside in listener.incoming().flatten() {
            let Ok(outside) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { continue };
            let (Ok(inside_too), Ok(outside_too)) = (inside.try_clone(), outside.try_clone()) else {
                continue;
            };
            std::thread::spawn(move || copy(inside, outside));
            std::thread::spawn(move || copy(outside_too, inside_too));
        }
    });
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    // Either end may close at any time; the other is closed then.
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = from.shutdown(std::net::Shutdown::Both);
}
