//! A real Kubernetes API on loopback: etcd and kube-apiserver, nothing more.
//!
//! No controller-manager, scheduler or kubelet runs: EndpointSlices, Pod and Service status and the like
//! are written by the test itself. Several clusters can share one etcd, each under a prefix of its own.
//!
//! [`generate`] makes up all that a cluster may hold, [`load`] puts it there, [`stored`] reads it back and
//! [`names`] turns it into names to ask for; [`changes`] keeps it moving. [`deploy`] applies the manifests we ship.

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
use crate::network::Place;
use crate::peers::Peer;
use crate::ports;
use crate::process::Process;
use credentials::TOKEN;

pub use api::{Api, Method, Response};
pub use etcd::Etcd;
pub use stored::Stored;
pub use token::Signer;

/// Five seconds are usual; builds on the same machine make it more.
const START: Duration = Duration::from_secs(120);

/// Services may have addresses of both families.
const SERVICE_RANGES: &str = "10.96.0.0/16,fd00:10:96::/112";

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Logs who asked for what, without bodies, once per request and once per watch that begins.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

/// How an API server is started beyond the usual.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether it writes [`Cluster::audit_log`].
    pub audit: bool,
    /// Further arguments.
    pub arguments: Vec<String>,
    /// Where it runs, together with its etcd.
    pub place: Place,
}

/// A running API server with its own data in an etcd.
pub struct Cluster {
    name: String,
    // Fields are dropped in this order: the API server goes before what it needs.
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
        Self::start_with(&Arc::new(Etcd::start_at(&settings.place)?), "alone", settings)
    }

    /// A cluster on an etcd that others may use too; `name` must be its own among them.
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
        let url = url(settings.place.address, port);
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
        url(self.settings.place.address, self.port)
    }

    /// A file for kubectl, Rhumb and external-dns, with an admin's rights.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// The text of such a file for whoever holds `token`.
    pub fn kubeconfig_with(&self, token: &str) -> String {
        self.kubeconfig_of(&format!("token: {token}"))
    }

    /// The same for whoever's token is in a file, and may change there.
    pub fn kubeconfig_with_file(&self, token_file: &Path) -> String {
        self.kubeconfig_of(&format!("tokenFile: {}", token_file.display()))
    }

    fn kubeconfig_of(&self, user: &str) -> String {
        kubeconfig(&self.name, &self.url(), &self.ca_file(), user)
    }

    /// Signs tokens of a service account, which must be there.
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

    /// The certificate that the API server can be checked with.
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

    /// Takes the API server away, at once; its data stay.
    pub fn stop(&mut self) -> Result<()> {
        match self.process.take() {
            // Asked politely it waits for its watchers first, and tests hold watches open.
            Some(process) => process.kill().map(drop),
            None => Ok(()),
        }
    }

    /// Brings it back where it was, with the data it had.
    pub fn start_again(&mut self) -> Result<()> {
        self.begin_again()?;
        self.wait_until_ready()
    }

    /// The same without waiting for it.
    pub fn begin_again(&mut self) -> Result<()> {
        self.stop()?;
        let process =
            start_api_server(&self.name, self.folder.path(), self.port, &self.etcd, &self.settings)?;
        self.process = Some(process);
        Ok(())
    }

    /// Waits until the API server answers, if it is there.
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

/// kube-apiserver makes it at its first start: certificate and the authority that signed it.
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
    let address = settings.place.address;
    let mut command = settings.place.command(Peer::KubeApiserver.locate()?);
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
        // Pods would need a service account, which the controller-manager makes.
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
    let deadline = Instant::now() + START;
    loop {
        if let Some(status) = process.exit_status() {
            let _ = process.wait(Duration::from_secs(1));
            return Err(Error::new(format!("{} ended ({status}):\n{}", process.name(), process.output())));
        }
        // The certificate is there some time before anybody listens.
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
            return Err(Error::new(format!("{} does not get ready: {why_not}\n{output}", process.name())));
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
    user: somebody
users:
- name: somebody
  user:
    {user}
"
    )
}
