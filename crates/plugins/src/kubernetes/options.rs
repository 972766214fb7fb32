//! The options of a block, with CoreDNS's complaints about them.

use std::path::PathBuf;
use std::time::Duration;

use cluster::{Kind, Selector, SelectorError, Source, Tls, Want};
use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;
use server::Setup;
use wire::NameBuf;

use super::NAME;
use super::number;
use crate::parse::Fallthrough;

const DEFAULT_TTL: u32 = 5;
const MOST_TTL: i64 = 3600;
const DEFAULT_STARTUP_TIMEOUT: Duration = Duration::from_secs(5);

const PROPERTIES: &[&str] = &[
    "apiserver_burst",
    "apiserver_max_inflight",
    "apiserver_qps",
    "endpoint",
    "endpoint_pod_names",
    "fallthrough",
    "ignore",
    "kubeconfig",
    "labels",
    "manifests",
    "multicluster",
    "namespace_labels",
    "namespaces",
    "noendpoints",
    "pods",
    "ptr",
    "stale_ready",
    "startup_timeout",
    "tls",
    "ttl",
    "wildcards",
    "zonal",
];

/// Whether names of pods are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pods {
    Disabled,
    /// Without a look whether there is such a pod.
    Insecure,
    Verified,
}

#[derive(Debug)]
pub(super) struct Options {
    endpoint: Option<String>,
    tls: Option<Tls>,
    pub kubeconfig: Option<(PathBuf, Option<String>)>,
    manifests: Option<PathBuf>,
    /// Empty: all.
    pub namespaces: Vec<Box<str>>,
    namespace_labels: Option<Selector>,
    labels: Option<Selector>,
    pub pods: Pods,
    pub endpoint_pod_names: bool,
    pub ttl: u32,
    /// Endpoints are watched.
    pub endpoints: bool,
    pub fallthrough: Fallthrough,
    pub ignore_empty_service: bool,
    pub multicluster: Vec<NameBuf>,
    pub zonal: bool,
    pub startup_timeout: Duration,
    /// `*` and `any` stand for every label.
    pub wildcards: bool,
    /// Endpoints have names only if there is a pod behind their address.
    pub verified_ptr: bool,
    /// Not ready once the cluster was out of reach for so long.
    pub stale_ready: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            endpoint: None,
            tls: None,
            kubeconfig: None,
            manifests: None,
            namespaces: Vec::new(),
            namespace_labels: None,
            labels: None,
            pods: Pods::Disabled,
            endpoint_pod_names: false,
            ttl: DEFAULT_TTL,
            endpoints: true,
            fallthrough: Fallthrough::default(),
            ignore_empty_service: false,
            multicluster: Vec::new(),
            zonal: false,
            startup_timeout: DEFAULT_STARTUP_TIMEOUT,
            wildcards: false,
            verified_ptr: false,
            stale_ready: None,
        }
    }
}

impl Options {
    /// Reads one option of the block.
    pub fn read(&mut self, s: &mut Setup<'_>) -> Result<(), Diagnostic> {
        match s.c.val() {
            "endpoint" => {
                let args = some(&mut s.c)?;
                if args.len() > 1 {
                    warn(
                        s,
                        format!(
                            "Multiple endpoints have been deprecated, only the first specified endpoint '{}' is used",
                            args[0]
                        ),
                        None,
                    );
                }
                self.endpoint = Some(args[0].to_owned());
            }
            "tls" => {
                let [certificate, key, authority] = exactly(&mut s.c)?;
                let [certificate, key, authority] = [certificate, key, authority].map(PathBuf::from);
                self.tls = Some(Tls { certificate, key, authority });
            }
            "kubeconfig" => match s.c.remaining_args()[..] {
                [file] => self.kubeconfig = Some((file.into(), None)),
                [file, context] => self.kubeconfig = Some((file.into(), Some(context.to_owned()))),
                _ => return Err(s.c.arg_err()),
            },
            "manifests" => {
                let [folder] = exactly(&mut s.c)?;
                self.manifests = Some(s.path(folder));
            }
            "apiserver_qps" => not_negative(&mut s.c, |text| number::float(text).map(|number| number < 0.0))?,
            "apiserver_burst" | "apiserver_max_inflight" => {
                not_negative(&mut s.c, |text| golang::atoi(text).map(|number| number < 0))?;
            }
            "namespaces" => self.namespaces.extend(some(&mut s.c)?.into_iter().map(Into::into)),
            "namespace_labels" => self.namespace_labels = Some(selector(&mut s.c, "namespace_label")?),
            "labels" => self.labels = Some(selector(&mut s.c, "label")?),
            "pods" => self.pods = pods(&mut s.c)?,
            "endpoint_pod_names" => self.endpoint_pod_names = flag(&mut s.c)?,
            "ttl" => self.ttl = ttl(&mut s.c)?,
            "noendpoints" => self.endpoints = !flag(&mut s.c)?,
            "fallthrough" => self.fallthrough = Fallthrough::from_args(&s.c.remaining_args()),
            "ignore" => match s.c.remaining_args().first() {
                // Without an argument it means nothing, and is let pass.
                None => {}
                Some(&"empty_service") => self.ignore_empty_service = true,
                Some(other) => {
                    let error = s.c.bare_err(format_args!("unable to parse ignore value: '{other}'"));
                    return Err(error.help("there is `ignore empty_service`"));
                }
            },
            "multicluster" => {
                let zones = s.c.remaining_args();
                let zones = zones.iter().flat_map(|zone| corefile::normalize_exact(zone));
                self.multicluster = zones.filter_map(|zone| NameBuf::parse(&zone).ok()).collect();
            }
            "zonal" => self.zonal = flag(&mut s.c)?,
            "startup_timeout" => self.startup_timeout = startup_timeout(&mut s.c)?,
            "wildcards" => self.wildcards = flag(&mut s.c)?,
            "ptr" => match exactly(&mut s.c)? {
                ["verified"] => self.verified_ptr = true,
                [other] => {
                    let error = s.c.err(format_args!("unknown value of ptr: '{other}'"));
                    return Err(error.help("there is `ptr verified`"));
                }
            },
            "stale_ready" => {
                let [text] = exactly(&mut s.c)?;
                let given = GoDuration::parse(text).map_err(|error| s.c.err(error))?;
                let above_zero = given.above_zero();
                let wrong = || s.c.err(format_args!("stale_ready must be above zero: {text}"));
                self.stale_ready = Some(above_zero.ok_or_else(wrong)?);
            }
            "upstream" | "resyncperiod" | "transfer" => old(s),
            _ => return Err(s.c.unknown_property(PROPERTIES)),
        }
        Ok(())
    }

    /// What options say of each other.
    pub fn check(&self, s: &mut Setup<'_>, zones: &[NameBuf]) -> Result<(), Diagnostic> {
        if !self.namespaces.is_empty() && self.namespace_labels.is_some() {
            return Err(s.c.err("namespaces and namespace_labels cannot both be set"));
        }
        if let Some(zone) = self.multicluster.iter().find(|zone| !zones.contains(zone)) {
            let known: Vec<String> = zones.iter().map(ToString::to_string).collect();
            let error = s.c.err(format_args!(
                "is not authoritative for the multicluster zone {zone} (authoritative zones: [{}])",
                known.join(" ")
            ));
            return Err(error.help(format!("name {zone} among the zones of this plugin")));
        }
        if self.zonal && !self.endpoints {
            return Err(s.c.err("zonal requires the endpoint cache; remove noendpoints"));
        }
        if self.manifests.is_some() && (self.endpoint.is_some() || self.kubeconfig.is_some()) {
            return Err(s.c.err("manifests cannot be set together with endpoint or kubeconfig"));
        }
        if self.tls.is_some() && (self.endpoint.is_none() || self.kubeconfig.is_some()) {
            warn(s, "tls has no effect: it belongs to endpoint".to_owned(), None);
        }
        Ok(())
    }

    /// Where the cluster is read from. A kubeconfig counts more than an endpoint.
    pub fn source(&self) -> Source {
        match (&self.manifests, &self.kubeconfig, &self.endpoint) {
            (Some(folder), _, _) => Source::Manifests(folder.clone()),
            (None, Some((file, context)), _) => {
                Source::Kubeconfig { file: file.clone(), context: context.clone() }
            }
            (None, None, Some(url)) => Source::Endpoint { url: url.clone(), tls: self.tls.clone() },
            (None, None, None) => Source::InCluster,
        }
    }

    /// What answers need of the cluster. `labels_of_pods`: somebody may ask for them as metadata; `outside`: somebody
    /// tells how Services are reached from outside.
    pub fn want(&self, labels_of_pods: bool, outside: bool) -> Want {
        let verified = self.pods == Pods::Verified;
        let multicluster = !self.multicluster.is_empty();
        let kinds = [
            (Kind::Namespace, true),
            (Kind::Service, true),
            (Kind::EndpointSlice, self.endpoints || multicluster),
            (Kind::Pod, verified || self.verified_ptr),
            (Kind::ServiceImport, multicluster),
        ];
        Want {
            kinds: kinds.into_iter().filter(|(_, wanted)| *wanted).map(|(kind, _)| kind).collect(),
            selectors: self.labels.clone().into_iter().collect(),
            namespace_selectors: self.namespace_labels.clone().into_iter().collect(),
            pod_names: self.endpoint_pod_names,
            zones: self.zonal,
            pod_labels: verified && labels_of_pods,
            external: outside,
        }
    }

    /// Whether `namespaces` lets this one be seen.
    pub fn names(&self, namespace: &[u8]) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|name| name.as_bytes() == namespace)
    }
}

/// At least one argument.
fn some<'a>(c: &mut Dispenser<'a>) -> Result<Vec<&'a str>, Diagnostic> {
    let args = c.remaining_args();
    if args.is_empty() { Err(c.arg_err()) } else { Ok(args) }
}

fn exactly<'a, const N: usize>(c: &mut Dispenser<'a>) -> Result<[&'a str; N], Diagnostic> {
    <[&str; N]>::try_from(c.remaining_args()).map_err(|_| c.arg_err())
}

/// An option without arguments.
fn flag(c: &mut Dispenser<'_>) -> Result<bool, Diagnostic> {
    exactly::<0>(c).map(|[]| true)
}

/// A limit on requests to the API server. We make few, so it only has to be one.
fn not_negative(
    c: &mut Dispenser<'_>,
    is_negative: impl Fn(&str) -> Result<bool, String>,
) -> Result<(), Diagnostic> {
    let option = c.val();
    let [text] = exactly(c)?;
    match is_negative(text) {
        Ok(false) => Ok(()),
        Ok(true) => Err(c.err(format_args!("{option} must be >= 0"))),
        Err(error) => Err(c.err(format_args!("invalid {option} {}: {error}", golang::quoted(text)))),
    }
}

fn selector(c: &mut Dispenser<'_>, what: &str) -> Result<Selector, Diagnostic> {
    let text = some(c)?.join(" ");
    Selector::parse(&text).map_err(|SelectorError(error)| {
        c.bare_err(format_args!("unable to parse {what} selector value: '{text}': {error}"))
    })
}

fn pods(c: &mut Dispenser<'_>) -> Result<Pods, Diagnostic> {
    match exactly(c)? {
        ["disabled"] => Ok(Pods::Disabled),
        ["insecure"] => Ok(Pods::Insecure),
        ["verified"] => Ok(Pods::Verified),
        // The two blanks are CoreDNS's.
        [other] => Err(c.bare_err(format_args!(
            "wrong value for pods: {other},  must be one of: disabled, verified, insecure"
        ))),
    }
}

fn ttl(c: &mut Dispenser<'_>) -> Result<u32, Diagnostic> {
    // More arguments than one are let pass.
    let text = some(c)?[0];
    let number = golang::atoi(text).map_err(|error| c.bare_err(error))?;
    match u32::try_from(number) {
        Ok(ttl) if number <= MOST_TTL => Ok(ttl),
        _ => Err(c.err(format_args!("ttl must be in range [0, {MOST_TTL}]: {number}"))),
    }
}

fn startup_timeout(c: &mut Dispenser<'_>) -> Result<Duration, Diagnostic> {
    let text = some(c)?[0];
    let given = GoDuration::parse(text)
        .map_err(|error| c.bare_err(format_args!("failed to parse startup_timeout: {text}, {error}")))?;
    given.not_negative().ok_or_else(|| c.err(format_args!("startup_timeout must be >= 0: {text}")))
}

/// Options that CoreDNS had once; old Corefiles still say them.
fn old(s: &mut Setup<'_>) {
    let (what, instead) = match s.c.val() {
        "upstream" => (
            "upstream has no effect: names outside of the cluster are asked of this server itself",
            "leave the line out; `forward` says which servers are asked",
        ),
        "resyncperiod" => ("resyncperiod has no effect: changes come by themselves", "leave the line out"),
        _ => (
            "transfer has no effect: zone transfers are a plugin of their own",
            "write `transfer ZONES { to ADDRESS }` beside this plugin",
        ),
    };
    warn(s, what.to_owned(), Some(instead));
    s.c.remaining_args();
}

fn warn(s: &mut Setup<'_>, text: String, help: Option<&str>) {
    let warning = s.c.warning(text).in_plugin(NAME);
    s.warn(match help {
        Some(help) => warning.help(help),
        None => warning,
    });
}
