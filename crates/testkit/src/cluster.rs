//! A real Kubernetes API on loopback: etcd and kube-apiserver, nothing more.
//!
//! No controller-manager, scheduler or kubelet runs: tests write EndpointSlices, Pod and Service status
//! themselves. Several clusters can share one etcd, each under its own prefix.
//!
//! [`generate`] generates the objects of a cluster, [`load`] creates them, [`stored`] reads them back,
//! [`names`] derives query names and [`changes`] makes random changes. [`deploy`] applies the manifests we ship.

mod api;
pub mod changes;
mod credentials;
pub mod deploy;
mod etcd;
pub mod generate;
pub mod load;
pub mod manifests;
pub mod marks;
pub mod names;
pub mod objects;
pub mod stored;
mod token;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::network::Host;
use crate::peers::Peer;
use crate::ports;
use crate::process::Process;
use credentials::TOKEN;

pub use api::{Api, Method, Response};
pub use etcd::Etcd;
pub use stored::StoredObjects;
pub use token::Signer;

/// Start-up usually takes five seconds; builds on the same machine slow it down.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Services may have addresses of both families.
const SERVICE_RANGES: &str = "10.96.0.0/16,fd00:10:96::/112";

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Logs each request and each start of a watch, without bodies.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

/// Options of an API server.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether it writes [`Cluster::audit_log`].
    pub audit: bool,
    /// Further arguments.
    pub arguments: Vec<String>,
    /// Where it and its etcd run.
    pub host: Host,
}

/// A running API server with its own data in an etcd.
pub struct Cluster {
    name: String,
    // Fields are dropped in this order: the API server before its etcd and files.
    process: Option<Process>,
    etcd: Arc<Etcd>,
    folder: TempDir,
    port: u16,
    settings: Settings,
    api: Api,
}

impl Cluster {
    /// A cluster with an etcd of its own.
    pub fn alone() -> Result<Self> {
        Self::alone_with(Settings::default())
    }

    /// The same with settings of its own.
    pub fn alone_with(settings: Settings) -> Result<Self> {
        Self::start_with(&Arc::new(Etcd::start_at(&settings.host)?), "alone", settings)
    }

    /// A cluster on a shared etcd; `name` must be unique there.
    pub fn start(etcd: &Arc<Etcd>, name: &str) -> Result<Self> {
        Self::start_with(etcd, name, Settings::default())
    }

    /// The same with settings of its own.
    pub fn start_with(etcd: &Arc<Etcd>, name: &str, settings: Settings) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        credentials::write(folder.path())?;
        std::fs::write(folder.path().join("audit-policy.yaml"), AUDIT_POLICY)?;
        let port = ports::free()?;
        let process = start_api_server(name, folder.path(), port, etcd, &settings)?;
        let url = url(settings.host.address, port);
        let api = wait_until_ready(&process, folder.path(), &url)?;
        let (name, process, etcd) = (name.to_owned(), Some(process), Arc::clone(etcd));
        let cluster = Self { name, process, etcd, folder, port, settings, api };
        std::fs::write(cluster.kubeconfig(), cluster.kubeconfig_with(TOKEN))?;
        Ok(cluster)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// `https://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        url(self.settings.host.address, self.port)
    }

    /// A file for kubectl, Rhumb and external-dns, with an admin's rights.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// A kubeconfig that authenticates with `token`.
    pub fn kubeconfig_with(&self, token: &str) -> String {
        self.kubeconfig_of(&format!("token: {token}"))
    }

    /// A kubeconfig that reads its token from a file, which may change.
    pub fn kubeconfig_with_file(&self, token_file: &Path) -> String {
        self.kubeconfig_of(&format!("tokenFile: {}", token_file.display()))
    }

    fn kubeconfig_of(&self, user: &str) -> String {
        kubeconfig(&self.name, &self.url(), &self.ca_file(), user)
    }

    /// Signs tokens of an existing service account.
    pub fn signer(&self, namespace: &str, account: &str) -> Result<Signer> {
        let account = self.api.get(&format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}"))?;
        Signer::new(&self.folder.path().join(credentials::SERVICE_ACCOUNT_KEY), account, ISSUER)
    }

    /// One JSON object per line, if [`Settings::audit`] is set.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.path().join("audit.log")
    }

    /// The bearer token of an admin.
    pub fn token(&self) -> &str {
        TOKEN
    }

    /// The CA certificate of the API server.
    pub fn ca_file(&self) -> PathBuf {
        certificate(self.folder.path())
    }

    /// Certificate and key of a client with an admin's rights.
    pub fn client_certificate(&self) -> (PathBuf, PathBuf) {
        let file = |name| self.folder.path().join(name);
        (file(credentials::CLIENT_CERTIFICATE), file(credentials::CLIENT_KEY))
    }

    /// Its REST API, as admin.
    pub fn api(&self) -> &Api {
        &self.api
    }

    pub fn etcd(&self) -> &Arc<Etcd> {
        &self.etcd
    }

    /// The API server, unless stopped.
    pub fn process(&self) -> Option<&Process> {
        self.process.as_ref()
    }

    /// Kills the API server; its data stay.
    pub fn stop(&mut self) -> Result<()> {
        match self.process.take() {
            // On TERM it waits for its watchers first, and tests keep watches open.
            Some(process) => process.kill().map(drop),
            None => Ok(()),
        }
    }

    /// Starts it again on the same port with the same data.
    pub fn restart(&mut self) -> Result<()> {
        self.restart_without_waiting()?;
        self.wait_until_ready()
    }

    /// The same without waiting until it is ready.
    pub fn restart_without_waiting(&mut self) -> Result<()> {
        self.stop()?;
        let process =
            start_api_server(&self.name, self.folder.path(), self.port, &self.etcd, &self.settings)?;
        self.process = Some(process);
        Ok(())
    }

    /// Waits until the API server is ready, unless it is stopped.
    pub fn wait_until_ready(&mut self) -> Result<()> {
        if let Some(process) = &self.process {
            self.api = wait_until_ready(process, self.folder.path(), &self.url())?;
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn url(address: Ipv4Addr, port: u16) -> String {
    format!("https://{address}:{port}")
}

/// kube-apiserver generates it at its first start: its certificate and the CA's.
fn certificate(folder: &Path) -> PathBuf {
    folder.join("certs/apiserver.crt")
}

fn start_api_server(
    name: &str,
    folder: &Path,
    port: u16,
    etcd: &Etcd,
    settings: &Settings,
) -> Result<Process> {
    let file = |name: &str| folder.join(name).display().to_string();
    let address = settings.host.address;
    let mut command = settings.host.command(Peer::KubeApiserver.locate()?);
    command.args([
        format!("--etcd-servers={}", etcd.url()),
        format!("--etcd-prefix=/{name}"),
        format!("--secure-port={port}"),
        format!("--bind-address={address}"),
        format!("--advertise-address={address}"),
        format!("--cert-dir={}", file("certs")),
        format!("--service-account-issuer={ISSUER}"),
        format!("--service-account-key-file={}", file(credentials::SERVICE_ACCOUNT_PUBLIC)),
        format!("--service-account-signing-key-file={}", file(credentials::SERVICE_ACCOUNT_KEY)),
        format!("--service-cluster-ip-range={SERVICE_RANGES}"),
        format!("--token-auth-file={}", file(credentials::TOKENS)),
        format!("--client-ca-file={}", file(credentials::CLIENT_CA)),
        "--authorization-mode=RBAC".into(),
        // Pods would need a service account, which the controller-manager creates.
        "--disable-admission-plugins=ServiceAccount".into(),
    ]);
    if settings.audit {
        command.arg(format!("--audit-policy-file={}", file("audit-policy.yaml")));
        command.arg(format!("--audit-log-path={}", file("audit.log")));
    }
    command.args(&settings.arguments);
    Process::start(format!("kube-apiserver {name}"), command)
}

fn wait_until_ready(process: &Process, folder: &Path, url: &str) -> Result<Api> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        if let Some(status) = process.exit_status() {
            let _ = process.wait(Duration::from_secs(1));
            return Err(Error::new(format!("{} ended ({status}):\n{}", process.name(), process.output())));
        }
        // The certificate file appears before the port is open.
        let why_not = match Api::new(url.to_owned(), TOKEN, &certificate(folder)) {
            Ok(api) => match api.send(Method::GET, "/readyz", None) {
                Ok(response) if response.status == 200 => return Ok(api),
                Ok(response) => response.text(),
                Err(e) => e.to_string(),
            },
            Err(e) => e.to_string(),
        };
        if Instant::now() >= deadline {
            let output = process.output();
            return Err(Error::new(format!("{} did not become ready: {why_not}\n{output}", process.name())));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn kubeconfig(name: &str, url: &str, ca: &Path, user: &str) -> String {
    let ca = ca.display();
    format!(
        "apiVersion: v1
kind: Config
current-context: {name}
clusters:
- name: {name}
  cluster:
    server: {url}
    certificate-authority: {ca}
contexts:
- name: {name}
  context:
    cluster: {name}
    user: client
users:
- name: client
  user:
    {user}
"
    )
}
