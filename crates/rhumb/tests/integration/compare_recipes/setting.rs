//! The cluster and the upstreams that the document speaks of.

use std::path::PathBuf;

use testkit::cluster::{Cluster, load};
use testkit::peers::Peer;

use super::cluster;
use super::upstreams::Upstreams;

pub struct Setting {
    cluster: Cluster,
    pub upstreams: Upstreams,
}

impl Setting {
    /// None, and a line saying so, when a peer is not built.
    pub fn create() -> Option<Self> {
        let peers = [Peer::CoreDns, Peer::Etcd, Peer::KubeApiserver];
        if peers.iter().any(|peer| peer.for_test().is_none()) {
            return None;
        }
        let cluster = Cluster::alone().expect("an API server");
        load::load(cluster.api(), &cluster::objects()).unwrap_or_else(|error| panic!("{error}"));
        let upstreams = Upstreams::start(&cluster.kubeconfig()).unwrap_or_else(|error| panic!("{error}"));
        Some(Self { cluster, upstreams })
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.cluster.kubeconfig()
    }

    /// An upstream stops answering.
    pub fn take_away(&mut self, upstream: &str) -> Result<(), String> {
        self.upstreams.stop(upstream)
    }

    /// All upstreams answer again.
    pub fn bring_back(&mut self) -> Result<(), String> {
        let kubeconfig = self.cluster.kubeconfig();
        self.upstreams.start_missing(&kubeconfig)
    }
}
