//! The same names with the query log on. What is logged goes to /dev/null: what is measured is making the lines.

use testkit::error::Result;

use super::{Prepared, Workload, cluster};
use crate::ground::Grounds;
use bench::kubeadm;

pub fn prepare(grounds: &Grounds) -> Result<Prepared> {
    let watched = grounds.large_cluster()?;
    let about = "the cluster workload with the log plugin: a line for every query, to /dev/null";
    let workload = Workload { logs: true, ..cluster::names("log", about, &watched, kubeadm::with_log()) };
    Ok(Prepared { workloads: vec![workload], watched: Some(watched) })
}
