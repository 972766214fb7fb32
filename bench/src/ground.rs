//! The clusters that servers watch: etcd and kube-apiserver on dnsperf's processor.

use std::cell::RefCell;
use std::rc::Rc;

use testkit::cluster::objects::Object;
use testkit::cluster::{Cluster, load};
use testkit::error::{Context, Result};
use testkit::process::{Process, Signal};

use crate::population;
use bench::machine;

/// An API server with its objects.
pub struct Watched {
    cluster: Cluster,
    kubeconfig: String,
}

impl Watched {
    pub fn start(objects: &[Object]) -> Result<Self> {
        let cluster = Cluster::alone()?;
        let path = cluster.kubeconfig();
        let kubeconfig = std::fs::read_to_string(&path).context(path.display())?;
        let watched = Self { cluster, kubeconfig };
        watched.pids().try_for_each(machine::move_to_both_cpus)?;
        load::load(watched.cluster.api(), objects)?;
        watched.pids().try_for_each(machine::move_to_client_cpu)?;
        Ok(watched)
    }

    /// The text of the file that leads to it.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// Holds it until the value goes: an API server has work of its own every few seconds, on the processor that asks.
    /// Watches are silent for longer than a measurement takes anyway.
    pub fn hold(&self) -> Result<Held<'_>> {
        let held = Held { watched: self };
        self.signal(Signal::STOP)?;
        Ok(held)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        self.cluster.process().map_or(Ok(()), |server| server.signal(signal))?;
        self.cluster.etcd().signal(signal)
    }

    fn pids(&self) -> impl Iterator<Item = u32> {
        self.cluster.process().map(Process::pid).into_iter().chain([self.cluster.etcd().pid()])
    }
}

/// A cluster that stands still.
pub struct Held<'a> {
    watched: &'a Watched,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // One that has ended is told by whoever needs it next.
        let _ = self.watched.signal(Signal::CONT);
    }
}

/// What several suites stand on, made when the first of them needs it.
#[derive(Default)]
pub struct Grounds {
    large: RefCell<Option<Rc<Watched>>>,
}

impl Grounds {
    /// All of [`population`], which takes a minute or two to load.
    pub fn large_cluster(&self) -> Result<Rc<Watched>> {
        let mut large = self.large.borrow_mut();
        if let Some(watched) = &*large {
            return Ok(Rc::clone(watched));
        }
        eprintln!("loading {} Services and their endpoints into an API server", population::SERVICES);
        let watched = Rc::new(Watched::start(&population::objects())?);
        *large = Some(Rc::clone(&watched));
        Ok(watched)
    }
}
