//! `kubernetes`: answers for the Services, endpoints and pods of a cluster, by the Kubernetes DNS specification.
//!
//! ```text
//! question ─request─→ ObjectRef ─find─→ ServiceMatch ─answer─→ records
//!                                 │                 └external_name→ CNAME target
//!                                 └ on a snapshot of the cluster, which its watches keep up to date
//! ```
//!
//! Ordinary queries take no lock and allocate nothing: names are compared in their wire format.

mod answer;
mod apex;
mod clusters;
mod decide;
mod endpoint_name;
mod explain;
mod external_name;
mod external_services;
mod filter;
mod find;
mod kubeconfig;
mod metadata;
mod number;
mod options;
mod pods;
mod prefetch;
mod request;
mod reverse;
mod search_path;
mod service_match;
mod setup;
mod target;
#[cfg(test)]
pub(crate) mod tests;
mod unlisted;
mod wildcards;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use cluster::{Kind, SelectorNumbers, Snapshot, Staleness, Unlisted};
use server::log::{self, Logger};
use server::{FirstData, Lifecycle, Plugin, Ready, Step, Visit};
use wire::{Name, NameBuf, Query, Rcode};

use apex::Soa;
use clusters::{Clusters, WatchedCluster};
use decide::Verdict;
use find::NameLookup;
pub use kubeconfig::Kubeconfig;
use options::Options;
pub(crate) use setup::setup;

const NAME: &str = "kubernetes";
const LOG: Logger = log::plugin(NAME);

/// One `kubernetes` directive.
pub(crate) struct Kubernetes {
    /// Longest first, so that the first match is the closest zone.
    zones: Vec<Zone>,
    /// Index of the zone that PTR records point into.
    primary: usize,
    options: Options,
    /// The kinds of objects that answers need.
    kinds: Vec<Kind>,
    joined: SelectorNumbers,
    /// All clusters of the configuration; startup waits for them together.
    clusters: Arc<Clusters>,
    watched: Arc<WatchedCluster>,
    /// The addresses the block listens on; None is all.
    bound: Vec<Option<IpAddr>>,
    /// The addresses of this host at which it is reached, known when the plugin is prepared.
    local: OnceLock<Vec<IpAddr>>,
    /// The search path of this process; clients are assumed to have it after that of their namespace.
    search: Vec<NameBuf>,
}

/// A zone this plugin answers for.
#[derive(Debug)]
struct Zone {
    name: NameBuf,
    is_multicluster: bool,
    is_reverse: bool,
}

impl Plugin for Kubernetes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let Some((zone, at)) = self.zone_of(visit.query.question.lower()) else { return Step::Next };
        let Some(cluster) = self.watched.cluster() else {
            if visit.is_explained() {
                visit.note_unless_unknown(vec![unlisted::not_opened(self)], true, |_| String::new());
            }
            return Step::error(Rcode::SERVFAIL, "the watch of the cluster has not started yet");
        };
        let snapshot = cluster.snapshot();
        let (query, reply) = (&*visit.query, &mut *visit.reply);
        let verdict = decide::decide(&self.name_lookup(query, &snapshot, zone, at), query, reply);
        if visit.is_explained() {
            let lookup = self.name_lookup(visit.query, &snapshot, zone, at);
            let why = explain::explain(&lookup, visit.query.question.qtype, cluster, &verdict);
            visit.note_unless_unknown(why.unknown, why.is_false, |_| why.reason);
        }
        let denial = match verdict {
            Verdict::Answered => return Step::Answer,
            Verdict::Refused => return Step::fail(Rcode::REFUSED),
            Verdict::External(chain) => {
                let soa = Soa::of(&self.name_lookup(visit.query, &snapshot, zone, at));
                return chain.lookup(visit, self.options.ttl, soa);
            }
            Verdict::NoData => Rcode::NOERROR,
            Verdict::NxDomain if self.options.fallthrough.through(visit.query.question.lower()) => {
                visit.note(|_| "falls through to the next plugin".to_owned());
                return Step::Next;
            }
            // A missing object may not be listed yet.
            Verdict::NxDomain if !self.is_synced(&snapshot) => Rcode::SERVFAIL,
            Verdict::NxDomain => Rcode::NXDOMAIN,
        };
        Soa::of(&self.name_lookup(visit.query, &snapshot, zone, at)).deny(visit.query, visit.reply, denial);
        Step::Answer
    }
}

impl Lifecycle for Kubernetes {
    fn prepare(&self) -> Result<(), String> {
        let started = self.clusters.start_all();
        let cluster = self.watched.start().map_err(|error| error.to_string())?;
        let _ = self.local.set(apex::local_addresses(&self.bound));
        clusters::wait_until(started + self.options.startup_timeout, || self.is_synced(&cluster.snapshot()));
        Ok(())
    }
}

impl Ready for Kubernetes {
    fn ready(&self) -> bool {
        self.watched
            .cluster()
            .is_some_and(|cluster| self.stale().is_none() && self.is_synced(&cluster.snapshot()))
    }

    /// `https://10.0.0.1:443 stale for 42s: services: connection refused`
    fn why_not(&self) -> Option<String> {
        self.stale().map(|stale| format!("{} {stale}", self.watched.source()))
    }

    fn first_data(&self) -> FirstData {
        let Some(cluster) = self.watched.cluster() else { return FirstData::Pending };
        let state = |why: Unlisted| if why.is_error() { FirstData::Failing } else { FirstData::Pending };
        let unlisted = cluster.unlisted(&cluster.snapshot());
        let mine = unlisted.into_iter().filter(|(kind, _)| self.kinds.contains(kind));
        mine.map(|(_, why)| state(why)).max().unwrap_or(FirstData::Complete)
    }
}

impl Kubernetes {
    /// The closest of our zones, and its offset in the name.
    fn zone_of(&self, name: Name<'_>) -> Option<(&Zone, usize)> {
        self.zones.iter().find_map(|zone| Some((zone, name.offset_of(zone.name.as_name())?)))
    }

    fn name_lookup<'a>(
        &'a self,
        query: &'a Query,
        snapshot: &'a Snapshot,
        zone: &'a Zone,
        at: usize,
    ) -> NameLookup<'a> {
        NameLookup { plugin: self, snapshot, zone, name: query.question.lower(), at }
    }

    fn primary_zone(&self) -> Name<'_> {
        self.zones.get(self.primary).map_or(Name::ROOT, |zone| zone.name.as_name())
    }

    fn multicluster_zone(&self) -> Option<Name<'_>> {
        self.zones.iter().find(|zone| zone.is_multicluster).map(|zone| zone.name.as_name())
    }

    /// Whether a namespace exists and the options expose it.
    fn exposes(&self, snapshot: &Snapshot, namespace: &[u8]) -> bool {
        self.options.includes_namespace(namespace)
            && snapshot
                .namespace(namespace)
                .is_some_and(|selected| selected.by(self.joined.namespace_selector))
    }

    /// How stale the cluster is, if that is more than `stale_ready` allows.
    fn stale(&self) -> Option<Staleness> {
        let limit = self.options.stale_ready?;
        self.watched.cluster()?.stale().filter(|stale| stale.age >= limit)
    }

    /// Whether all kinds this block needs have been listed. Other blocks may need more.
    fn is_synced(&self, snapshot: &Snapshot) -> bool {
        self.kinds.iter().all(|kind| snapshot.has_synced(*kind))
    }

    fn local_addresses(&self) -> &[IpAddr] {
        self.local.get().map_or(&[], Vec::as_slice)
    }
}

/// Registers the metrics before any watch starts.
pub(crate) fn register_metrics() {
    cluster::register_metrics();
}
