//! Large answers over TCP: the SRV records of a headless Service with ninety endpoints.

use testkit::client::Transport;
use testkit::error::Result;

use super::{NONE_FORWARDED, Prepared, Turn, Workload};
use crate::clusters::{SharedClusters, WatchedCluster};
use crate::contender::Kind::{Before, CoreDns, Knot, Nsd, Rhumb};
use crate::population::{self, Service, WIDE};
use bench::kubeadm;

pub fn prepare(clusters: &SharedClusters) -> Result<Prepared> {
    let watched = clusters.large_cluster()?;
    Ok(Prepared { workloads: vec![workload(&watched)], watched: Some(watched) })
}

fn workload(watched: &WatchedCluster) -> Workload {
    Workload {
        contenders: &[Rhumb, Before, CoreDns, Knot, Nsd],
        transport: Transport::Tcp,
        zones: population::zones(),
        files: kubeadm::files(watched.kubeconfig()),
        forwarded: Some(NONE_FORWARDED),
        turn,
        ..Workload::new(
            "tcp",
            "90 SRV records of a headless Service over TCP; the cluster and its Corefile",
            kubeadm::COREFILE,
        )
    }
}

fn turn(_number: u32, _at_most: u64) -> Turn {
    let questions = format!("_http._tcp.{} SRV\n", Service::number(WIDE).name());
    Turn { warm_up: questions.clone(), questions }
}
