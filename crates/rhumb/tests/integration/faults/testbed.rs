//! The servers that schedules run on, one after another: etcd and an API server on a node, and Rhumb in a pod behind a
//! link that can be cut.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;
use testkit::cluster::{Cluster, Settings, Signer, deploy};
use testkit::dns_server;
use testkit::error::{Error, Result};
use testkit::network::Link;
use testkit::process::Signal;
use testkit::{DnsServer, Kind, ports};

use super::action::Action;
use super::schedule::{Fault, Schedule};

/// Lifetime of tokens and interval of their rotation, until one is late. The last one is valid for an hour, as real ones.
pub const TOKEN_LIFETIME: Duration = Duration::from_secs(3);
const ROTATION_INTERVAL: Duration = Duration::from_millis(1500);
const LAST_TOKEN_LIFETIME: Duration = Duration::from_secs(3600);

/// Time limit until the API server is ready. If it exits for lack of etcd it is restarted, as a kubelet would.
const READY_TIMEOUT: Duration = Duration::from_secs(120);

pub struct Testbed {
    // Dropped first: it runs in the link's namespace.
    cluster: Cluster,
    signer: Signer,
    folder: TempDir,
    rotated: Instant,
    rotates: bool,
    pub link: Link,
}

/// Rhumb, with the port of its metrics.
pub struct Rhumb {
    pub server: DnsServer,
    metrics: u16,
}

impl Testbed {
    /// Moves the calling thread into the node's namespace, permanently.
    pub fn start(link: Link) -> Result<Self> {
        link.node.enter()?;
        let host = link.node.host(Link::NODE);
        let cluster = Cluster::alone_with(Settings { host, ..Settings::default() })?;
        deploy::apply(&cluster, "rbac.yaml")?;
        let signer = cluster.signer("kube-system", "rhumb")?;
        let (folder, rotated) = (tempfile::tempdir()?, Instant::now());
        Ok(Self { cluster, signer, folder, rotated, rotates: false, link })
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Uses the cluster part of kubeadm's Corefile; other names are NXDOMAIN.
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
                self.write_token(SystemTime::now() + TOKEN_LIFETIME)?;
                self.cluster.kubeconfig_with_file(&self.token_file())
            }
            false => self.cluster.kubeconfig_with(self.cluster.token()),
        };
        let host = self.link.pod.host(std::net::Ipv4Addr::LOCALHOST);
        let server = self.link.pod.within(|| {
            let files = [("kubeconfig", kubeconfig.as_str())];
            let server = DnsServer::start_at(&host, Kind::Rhumb, &corefile, port, &files)?;
            server.wait_until_ready(ready)?;
            Ok::<_, Error>(server)
        })?;
        Ok(Rhumb { server, metrics })
    }

    fn token_file(&self) -> PathBuf {
        self.folder.path().join("token")
    }

    /// Like a kubelet, writes a new token before the old one expires.
    pub fn rotate(&mut self) -> Result<()> {
        if !self.rotates || self.rotated.elapsed() < ROTATION_INTERVAL {
            return Ok(());
        }
        self.rotated = Instant::now();
        self.write_token(SystemTime::now() + TOKEN_LIFETIME)
    }

    fn write_token(&self, expires: SystemTime) -> Result<()> {
        let new = self.folder.path().join("new");
        std::fs::write(&new, self.signer.token(expires)?)?;
        Ok(std::fs::rename(new, self.token_file())?)
    }

    pub fn act(&mut self, action: Action) -> Result<()> {
        match action {
            Action::KillApi => self.cluster.stop(),
            Action::StartApi => self.cluster.restart_without_waiting(),
            Action::StopApi => self.signal(Signal::STOP),
            Action::ContinueApi => self.signal(Signal::CONT),
            Action::KillEtcd => self.cluster.etcd().kill(),
            Action::StartEtcd => self.cluster.etcd().restart(),
            Action::StopEtcd => self.cluster.etcd().signal(Signal::STOP),
            Action::ContinueEtcd => self.cluster.etcd().signal(Signal::CONT),
            Action::Compact => self.cluster.etcd().compact().map(drop),
            Action::Cut => self.link.cut(),
            Action::Restore => self.link.restore(),
            Action::ExpireToken => {
                self.rotates = false;
                self.write_token(SystemTime::now() - Duration::from_secs(1))
            }
            Action::RenewToken => self.write_token(SystemTime::now() + LAST_TOKEN_LIFETIME),
        }
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        match self.cluster.process() {
            Some(process) => process.signal(signal),
            None => Err(Error::new("no API server to signal")),
        }
    }

    /// Restarts the API server if it has exited by itself.
    pub fn restart_if_exited(&mut self) -> Result<()> {
        match self.cluster.process().and_then(|process| process.exit_status()) {
            Some(_) => self.cluster.restart_without_waiting(),
            None => Ok(()),
        }
    }

    /// Undoes all faults after a failed schedule.
    pub fn reset(&mut self) -> Result<()> {
        self.link.restore()?;
        if self.cluster.etcd().signal(Signal::CONT).is_err() {
            self.cluster.etcd().restart()?;
        }
        self.cluster.restart()
    }

    /// Waits until the cluster is healthy, restarting the API server as needed.
    pub fn wait_until_healthy(&mut self) -> Result<()> {
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            self.restart_if_exited()?;
            match self.cluster.wait_until_ready() {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => {}
            }
        }
    }
}

impl Rhumb {
    /// The sum of a counter over all series whose labels contain `label`.
    fn count(&self, testbed: &Testbed, counter: &str, label: &str) -> usize {
        self.sum(testbed, counter, label) as usize
    }

    /// Whether its staleness metric is above zero.
    pub fn is_stale(&self, testbed: &Testbed) -> bool {
        self.sum(testbed, "rhumb_cluster_staleness_seconds", "") > 0.0
    }

    fn sum(&self, testbed: &Testbed, metric: &str, label: &str) -> f64 {
        let metrics =
            testbed.link.pod.within(|| dns_server::get(self.metrics, "/metrics")).unwrap_or_default();
        let lines = metrics.lines().filter(|line| line.starts_with(metric) && line.contains(label));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// Number of API requests with this response code.
    pub fn requests(&self, testbed: &Testbed, code: u16) -> usize {
        self.count(testbed, "coredns_kubernetes_rest_client_requests_total", &format!("code=\"{code}\""))
    }

    /// Number of completed lists.
    pub fn lists(&self, testbed: &Testbed) -> usize {
        self.count(testbed, "rhumb_cluster_events_total", "event=\"list\"")
    }
}
