//! A server under measurement, alone on its CPU, with kubeadm's Corefile.

use bench::kubeadm;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use tempfile::TempDir;
use testkit::cluster::Cluster;
use testkit::error::{Error, Result};
use testkit::peers::Peer;
use testkit::process::Process;
use testkit::scripted_api::ScriptedApi;
use testkit::{Kind, ports, rhumb};

use crate::client::Client;
use bench::machine::{SERVER_CPU, first_line};

pub const SERVERS: [Kind; 2] = [Kind::Rhumb, Kind::CoreDns];

pub struct Server {
    pub kind: Kind,
    pub process: Process,
    pub began: Instant,
    pub addr: SocketAddr,
    // Dropped after the process, so that it has ended when its files are removed.
    _folder: TempDir,
}

/// The source of objects, as options in a Corefile.
pub struct Source(String);

impl Source {
    pub fn real(cluster: &Cluster) -> Self {
        let (certificate, key) = cluster.client_certificate();
        let files = [certificate, key, cluster.ca_file()].map(|file| file.display().to_string());
        Self(format!("endpoint {}\n        tls {}", cluster.url(), files.join(" ")))
    }

    pub fn scripted(api: &ScriptedApi) -> Self {
        Self(format!("endpoint {}", api.url()))
    }
}

impl Server {
    /// Starts it without waiting.
    pub fn start(kind: Kind, source: &Source, upstream: SocketAddr) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let addr = ports::free_addr()?;
        // By `endpoint` and not by a kubeconfig: only then CoreDNS requests protobuf, as it does inside a cluster.
        let mut corefile = kubeadm::COREFILE
            .replace("{port}", &addr.port().to_string())
            .replace("{upstream}", &upstream.port().to_string())
            .replace("{metrics}", "{free}")
            .replace("kubeconfig kubeconfig", &source.0);
        while corefile.contains("{free}") {
            corefile = corefile.replacen("{free}", &ports::free()?.to_string(), 1);
        }
        std::fs::write(folder.path().join("Corefile"), corefile)?;
        let mut command = Command::new("taskset");
        command.args(["-c", &SERVER_CPU.to_string()]).arg(binary(kind)?);
        command.args(["-conf", "Corefile"]).current_dir(folder.path());
        let began = Instant::now();
        let process = Process::start(kind.name(), command)?;
        Ok(Self { kind, process, began, addr, _folder: folder })
    }

    pub fn client(&self) -> Result<Client> {
        Client::new(self.addr)
    }

    pub fn failed(&self, how: &str) -> Error {
        Error::new(format!("{} {how}; its output:\n{}", self.kind.name(), self.process.output()))
    }
}

fn binary(kind: Kind) -> Result<PathBuf> {
    match kind {
        Kind::Rhumb => rhumb::binary(),
        Kind::CoreDns => Peer::CoreDns.find().ok_or_else(|| Error::new("not built (peers/build coredns)")),
    }
}

/// The versions of all measured servers.
pub fn versions() -> Vec<(&'static str, String)> {
    let version = |kind| match binary(kind) {
        Ok(path) => first_line(Command::new(path).arg("-version")),
        Err(error) => error.to_string(),
    };
    let mut versions: Vec<_> = SERVERS.map(|kind| (kind.name(), version(kind))).into();
    versions.extend([Peer::KubeApiserver, Peer::Etcd].map(|peer| (peer.name(), peer.version().to_owned())));
    versions
}
