//! The servers that schedules run on, one after another: etcd and an API server on a node, and in a pod, behind a
//! cable that can be cut, Rhumb.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;
use testkit::cluster::{Cluster, Settings, Signer, deploy};
use testkit::dns_server;
use testkit::error::{Error, Result};
use testkit::network::Cable;
use testkit::process::Signal;
use testkit::{DnsServer, Kind, ports};

use super::action::Action;
use super::schedule::{Fault, Schedule};

/// How long a token lasts, and when the next one is there, until one is late. Real ones last an hour, as the last does.
pub const TOKEN: Duration = Duration::from_secs(3);
const ROTATION: Duration = Duration::from_millis(1500);
const LAST_TOKEN: Duration = Duration::from_secs(3600);

/// An API server that ended because it had no etcd when it began is started again, as kubelets do.
const READY: Duration = Duration::from_secs(120);

pub struct Lane {
    // Dropped first: it runs in the network.
    cluster: Cluster,
    signer: Signer,
    folder: TempDir,
    rotated: Instant,
    rotates: bool,
    pub cable: Cable,
}

/// Rhumb, with the ports of its other servers.
pub struct Rhumb {
    pub server: DnsServer,
    metrics: u16,
}

impl Lane {
    /// On a cable of its own. Takes the calling thread to the node, for good.
    pub fn start(cable: Cable) -> Result<Self> {
        cable.node.enter()?;
        let place = cable.node.place(Cable::NODE);
        let cluster = Cluster::alone_with(Settings { place, ..Settings::default() })?;
        deploy::apply(&cluster, "rbac.yaml")?;
        let signer = cluster.signer("kube-system", "rhumb")?;
        let (folder, rotated) = (tempfile::tempdir()?, Instant::now());
        Ok(Self { cluster, signer, folder, rotated, rotates: false, cable })
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// With kubeadm's Corefile, as far as it is about the cluster; all else is denied.
    pub fn start_rhumb(&mut self, schedule: &Schedule) -> Result<Rhumb> {
        let mut free = [0; 4];
        for port in &mut free {
            *port = ports::free()?;
        }
        let [port, ready, metrics, beyond] = free;
        let pods = if schedule.pods { "verified" } else { "insecure" };
        let corefile = format!(
            ".:{port} {{
    bind 127.0.0.1
    errors
    ready 127.0.0.1:{ready}
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig kubeconfig
        pods {pods}
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }}
    prometheus 127.0.0.1:{metrics}
    forward . 127.0.0.1:{beyond}
    loadbalance
}}
.:{beyond} {{
    bind 127.0.0.1
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"
        );
        self.rotates = schedule.has(Fault::TokenExpired);
        let kubeconfig = match self.rotates {
            true => {
                self.write_token(SystemTime::now() + TOKEN)?;
                self.cluster.kubeconfig_with_file(&self.token_file())
            }
            false => self.cluster.kubeconfig_with(self.cluster.token()),
        };
        let place = self.cable.pod.place(std::net::Ipv4Addr::LOCALHOST);
        let server = self.cable.pod.within(|| {
            let files = [("kubeconfig", kubeconfig.as_str())];
            let server = DnsServer::start_at(&place, Kind::Rhumb, &corefile, port, &files)?;
            server.wait_until_ready(ready)?;
            Ok::<_, Error>(server)
        })?;
        Ok(Rhumb { server, metrics })
    }

    fn token_file(&self) -> PathBuf {
        self.folder.path().join("token")
    }

    /// What a kubelet does: a new token is in the file before the old one expires, unless it is late.
    pub fn rotate(&mut self) -> Result<()> {
        if !self.rotates || self.rotated.elapsed() < ROTATION {
            return Ok(());
        }
        self.rotated = Instant::now();
        self.write_token(SystemTime::now() + TOKEN)
    }

    fn write_token(&self, expires: SystemTime) -> Result<()> {
        let new = self.folder.path().join("new");
        std::fs::write(&new, self.signer.token(expires)?)?;
        Ok(std::fs::rename(new, self.token_file())?)
    }

    pub fn act(&mut self, action: Action) -> Result<()> {
        match action {
            Action::KillApi => self.cluster.stop(),
            Action::StartApi => self.cluster.begin_again(),
            Action::StopApi => self.signal(Signal::STOP),
            Action::ContinueApi => self.signal(Signal::CONT),
            Action::KillEtcd => self.cluster.etcd().kill(),
            Action::StartEtcd => self.cluster.etcd().start_again(),
            Action::StopEtcd => self.cluster.etcd().signal(Signal::STOP),
            Action::ContinueEtcd => self.cluster.etcd().signal(Signal::CONT),
            Action::Compact => self.cluster.etcd().compact().map(drop),
            Action::Cut => self.cable.cut(),
            Action::Mend => self.cable.mend(),
            Action::ExpireToken => {
                self.rotates = false;
                self.write_token(SystemTime::now() - Duration::from_secs(1))
            }
            Action::RenewToken => self.write_token(SystemTime::now() + LAST_TOKEN),
        }
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        match self.cluster.process() {
            Some(process) => process.signal(signal),
            None => Err(Error::new("there is no API server to be signalled")),
        }
    }

    /// Starts the API server again if it has ended by itself.
    pub fn look_after(&mut self) -> Result<()> {
        match self.cluster.process().and_then(|process| process.exit_status()) {
            Some(_) => self.cluster.begin_again(),
            None => Ok(()),
        }
    }

    /// Undoes what a schedule that came to no good end has left behind.
    pub fn heal(&mut self) -> Result<()> {
        self.cable.mend()?;
        if self.cluster.etcd().signal(Signal::CONT).is_err() {
            self.cluster.etcd().start_again()?;
        }
        self.cluster.start_again()
    }

    /// Until all is there again, whatever was done to it.
    pub fn wait_until_well(&mut self) -> Result<()> {
        let deadline = Instant::now() + READY;
        loop {
            self.look_after()?;
            match self.cluster.wait_until_ready() {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => {}
            }
        }
    }
}

impl Rhumb {
    /// The sum of a counter's values, of all lines that have a text in their labels.
    fn count(&self, lane: &Lane, counter: &str, label: &str) -> usize {
        self.sum(lane, counter, label) as usize
    }

    /// Whether it says so itself.
    pub fn is_stale(&self, lane: &Lane) -> bool {
        self.sum(lane, "rhumb_cluster_staleness_seconds", "") > 0.0
    }

    fn sum(&self, lane: &Lane, metric: &str, label: &str) -> f64 {
        let metrics = lane.cable.pod.within(|| dns_server::get(self.metrics, "/metrics")).unwrap_or_default();
        let lines = metrics.lines().filter(|line| line.starts_with(metric) && line.contains(label));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// Requests that were answered with a code.
    pub fn requests(&self, lane: &Lane, code: u16) -> usize {
        self.count(lane, "coredns_kubernetes_rest_client_requests_total", &format!("code=\"{code}\""))
    }

    /// Lists that were taken in.
    pub fn lists(&self, lane: &Lane) -> usize {
        self.count(lane, "rhumb_cluster_events_total", "event=\"list\"")
    }
}
