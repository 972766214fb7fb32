//! The cluster workload with the query log, written to /dev/null: measures formatting the lines.

use testkit::error::Result;

use super::{Prepared, Workload, cluster};
use crate::clusters::SharedClusters;
use bench::kubeadm;

pub fn prepare(clusters: &SharedClusters) -> Result<Prepared> {
    let watched = clusters.large_cluster()?;
    let about = "the cluster workload with the log plugin: a line for every query, to /dev/null";
    let workload = Workload { logs: true, ..cluster::names("log", about, &watched, kubeadm::with_log()) };
    Ok(Prepared { workloads: vec![workload], watched: Some(watched) })
}
