//! The cluster and the upstreams of the document.

use std::path::PathBuf;

use testkit::cluster::{Cluster, load};
use testkit::peers::Peer;

use super::cluster;
use super::upstreams::Upstreams;

pub struct Environment {
    cluster: Cluster,
    pub upstreams: Upstreams,
}

impl Environment {
    /// Prints a line and returns None when a peer is not built.
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

    /// Stops an upstream.
    pub fn stop_upstream(&mut self, upstream: &str) -> Result<(), String> {
        self.upstreams.stop(upstream)
    }

    /// Restarts all stopped upstreams.
    pub fn restart_upstreams(&mut self) -> Result<(), String> {
        let kubeconfig = self.cluster.kubeconfig();
        self.upstreams.start_missing(&kubeconfig)
    }
}
