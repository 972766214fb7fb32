//! The options of a block, with CoreDNS's error texts.

use std::path::PathBuf;
use std::time::Duration;

use cluster::{Kind, Selector, SelectorError, Source, Tls, Want};
use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;
use server::Setup;
use wire::NameBuf;

use super::NAME;
use super::number;
use crate::options::Fallthrough;

const DEFAULT_TTL: u32 = 5;
const MAX_TTL: i64 = 3600;
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

/// The option `pods`: which pod names are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pods {
    Disabled,
    /// Any address, without a check that a pod has it.
    Insecure,
    Verified,
}

#[derive(Debug)]
pub(super) struct Options {
    endpoint: Option<String>,
    tls: Option<Tls>,
    pub kubeconfig: Option<(PathBuf, Option<String>)>,
    manifests: Option<PathBuf>,
    /// Empty means all.
    pub namespaces: Vec<Box<str>>,
    namespace_labels: Option<Selector>,
    labels: Option<Selector>,
    pub pods: Pods,
    pub endpoint_pod_names: bool,
    pub ttl: u32,
    /// Whether endpoints are watched (no `noendpoints`).
    pub endpoints: bool,
    pub fallthrough: Fallthrough,
    pub ignore_empty_service: bool,
    pub multicluster: Vec<NameBuf>,
    pub zonal: bool,
    pub startup_timeout: Duration,
    /// The labels `*` and `any` match everything.
    pub wildcards: bool,
    /// PTR records of endpoints require a pod with the address.
    pub verified_ptr: bool,
    /// Staleness of the cluster data from which the plugin is not ready.
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
                let args = at_least_one(&mut s.c)?;
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
            "namespaces" => self.namespaces.extend(at_least_one(&mut s.c)?.into_iter().map(Into::into)),
            "namespace_labels" => self.namespace_labels = Some(selector(&mut s.c, "namespace_label")?),
            "labels" => self.labels = Some(selector(&mut s.c, "label")?),
            "pods" => self.pods = pods(&mut s.c)?,
            "endpoint_pod_names" => self.endpoint_pod_names = flag(&mut s.c)?,
            "ttl" => self.ttl = ttl(&mut s.c)?,
            "noendpoints" => self.endpoints = !flag(&mut s.c)?,
            "fallthrough" => self.fallthrough = Fallthrough::from_args(&s.c.remaining_args()),
            "ignore" => match s.c.remaining_args().first() {
                // Without an argument it has no effect; CoreDNS accepts it.
                None => {}
                Some(&"empty_service") => self.ignore_empty_service = true,
                Some(other) => {
                    let error = s.c.bare_err(format_args!("unable to parse ignore value: '{other}'"));
                    return Err(error.help("expected `ignore empty_service`"));
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
                    let error = s.c.err(format_args!("ptr: expected verified, got '{other}'"));
                    return Err(error.help("write `ptr verified`"));
                }
            },
            "stale_ready" => {
                let [text] = exactly(&mut s.c)?;
                let given = GoDuration::parse(text).map_err(|error| s.c.err(error))?;
                let above_zero = given.above_zero();
                let error =
                    || s.c.err(format_args!("stale_ready: expected a duration above zero, got '{text}'"));
                self.stale_ready = Some(above_zero.ok_or_else(error)?);
            }
            "upstream" | "resyncperiod" | "transfer" => warn_removed(s),
            _ => return Err(s.c.unknown_property(PROPERTIES)),
        }
        Ok(())
    }

    /// Checks options against each other.
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
            return Err(error.help(format!("add {zone} to the zones of this plugin")));
        }
        if self.zonal && !self.endpoints {
            return Err(s.c.err("zonal requires the endpoint cache; remove noendpoints"));
        }
        if self.manifests.is_some() && (self.endpoint.is_some() || self.kubeconfig.is_some()) {
            return Err(s.c.err("manifests cannot be set together with endpoint or kubeconfig"));
        }
        if self.tls.is_some() && (self.endpoint.is_none() || self.kubeconfig.is_some()) {
            warn(s, "tls has no effect: it applies to endpoint only".to_owned(), None);
        }
        Ok(())
    }

    /// Where the cluster is read from. `kubeconfig` takes precedence over `endpoint`.
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

    /// The kinds and fields that answers need. `pod_labels`: metadata of pods is in use; `external`: so are external
    /// addresses of Services.
    pub fn want(&self, pod_labels: bool, external: bool) -> Want {
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
            kinds: kinds.into_iter().filter(|(_, needed)| *needed).map(|(kind, _)| kind).collect(),
            selectors: self.labels.clone().into_iter().collect(),
            namespace_selectors: self.namespace_labels.clone().into_iter().collect(),
            pod_names: self.endpoint_pod_names,
            zones: self.zonal,
            pod_labels: verified && pod_labels,
            external,
        }
    }

    /// Whether the option `namespaces` includes this one.
    pub fn includes_namespace(&self, namespace: &[u8]) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|name| name.as_bytes() == namespace)
    }
}

fn at_least_one<'a>(c: &mut Dispenser<'a>) -> Result<Vec<&'a str>, Diagnostic> {
    let args = c.remaining_args();
    if args.is_empty() { Err(c.arg_err()) } else { Ok(args) }
}

fn exactly<'a, const N: usize>(c: &mut Dispenser<'a>) -> Result<[&'a str; N], Diagnostic> {
    <[&str; N]>::try_from(c.remaining_args()).map_err(|_| c.arg_err())
}

/// Reads an option without arguments.
fn flag(c: &mut Dispenser<'_>) -> Result<bool, Diagnostic> {
    exactly::<0>(c).map(|[]| true)
}

/// Checks a limit on requests to the API server. The value has no effect: there are few requests.
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
    let text = at_least_one(c)?.join(" ");
    Selector::parse(&text).map_err(|SelectorError(error)| {
        c.bare_err(format_args!("unable to parse {what} selector value: '{text}': {error}"))
    })
}

fn pods(c: &mut Dispenser<'_>) -> Result<Pods, Diagnostic> {
    match exactly(c)? {
        ["disabled"] => Ok(Pods::Disabled),
        ["insecure"] => Ok(Pods::Insecure),
        ["verified"] => Ok(Pods::Verified),
        // CoreDNS has the two spaces too.
        [other] => Err(c.bare_err(format_args!(
            "wrong value for pods: {other},  must be one of: disabled, verified, insecure"
        ))),
    }
}

fn ttl(c: &mut Dispenser<'_>) -> Result<u32, Diagnostic> {
    // CoreDNS ignores further arguments.
    let text = at_least_one(c)?[0];
    let number = golang::atoi(text).map_err(|error| c.bare_err(error))?;
    match u32::try_from(number) {
        Ok(ttl) if number <= MAX_TTL => Ok(ttl),
        _ => Err(c.err(format_args!("ttl must be in range [0, {MAX_TTL}]: {number}"))),
    }
}

fn startup_timeout(c: &mut Dispenser<'_>) -> Result<Duration, Diagnostic> {
    let text = at_least_one(c)?[0];
    let given = GoDuration::parse(text)
        .map_err(|error| c.bare_err(format_args!("failed to parse startup_timeout: {text}, {error}")))?;
    given.not_negative().ok_or_else(|| c.err(format_args!("startup_timeout must be >= 0: {text}")))
}

/// Accepts options that CoreDNS has removed; old Corefiles still have them.
fn warn_removed(s: &mut Setup<'_>) {
    let (what, instead) = match s.c.val() {
        "upstream" => (
            "upstream has no effect: ExternalName targets are looked up through this server",
            "remove the line; `forward` sets the upstream servers",
        ),
        "resyncperiod" => ("resyncperiod has no effect: watches deliver all changes", "remove the line"),
        _ => (
            "transfer has no effect here: the transfer plugin serves zone transfers",
            "write `transfer ZONES { to ADDRESS }` in the server block",
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
