//! The clusters that servers watch: etcd and kube-apiserver on dnsperf's CPU.

use std::cell::RefCell;
use std::rc::Rc;

use testkit::cluster::objects::Object;
use testkit::cluster::{Cluster, load};
use testkit::error::{Context, Result};
use testkit::process::{Process, Signal};

use crate::population;
use bench::machine;

/// An API server with its objects.
pub struct WatchedCluster {
    cluster: Cluster,
    kubeconfig: String,
}

impl WatchedCluster {
    pub fn start(objects: &[Object]) -> Result<Self> {
        let cluster = Cluster::alone()?;
        let path = cluster.kubeconfig();
        let kubeconfig = std::fs::read_to_string(&path).context(path.display())?;
        let cluster = Self { cluster, kubeconfig };
        cluster.pids().try_for_each(machine::move_to_both_cpus)?;
        load::load(cluster.cluster.api(), objects)?;
        cluster.pids().try_for_each(machine::move_to_client_cpu)?;
        Ok(cluster)
    }

    /// The text of its kubeconfig.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// Stops it until the value is dropped: its periodic work would use the clients' CPU. Watches tolerate more silence
    /// than a measurement takes.
    pub fn pause(&self) -> Result<Paused<'_>> {
        let paused = Paused { cluster: self };
        self.signal(Signal::STOP)?;
        Ok(paused)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        self.cluster.process().map_or(Ok(()), |server| server.signal(signal))?;
        self.cluster.etcd().signal(signal)
    }

    fn pids(&self) -> impl Iterator<Item = u32> {
        self.cluster.process().map(Process::pid).into_iter().chain([self.cluster.etcd().pid()])
    }
}

/// A paused cluster (SIGSTOP); resumed when dropped.
pub struct Paused<'a> {
    cluster: &'a WatchedCluster,
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        // The next user of the cluster reports one that has exited.
        let _ = self.cluster.signal(Signal::CONT);
    }
}

/// Clusters shared by several suites, created on first use.
#[derive(Default)]
pub struct SharedClusters {
    large: RefCell<Option<Rc<WatchedCluster>>>,
}

impl SharedClusters {
    /// All of [`population`]; loading it takes a minute or two.
    pub fn large_cluster(&self) -> Result<Rc<WatchedCluster>> {
        let mut large = self.large.borrow_mut();
        if let Some(cluster) = &*large {
            return Ok(Rc::clone(cluster));
        }
        eprintln!("loading {} Services and their endpoints into an API server", population::SERVICES);
        let cluster = Rc::new(WatchedCluster::start(&population::objects())?);
        *large = Some(Rc::clone(&cluster));
        Ok(cluster)
    }
}
