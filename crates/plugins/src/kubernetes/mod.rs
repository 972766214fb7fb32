//! `kubernetes`: answers for the Services, endpoints and pods of a cluster, as the Kubernetes DNS specification says.
//!
//! ```text
//! question ─request─→ Service, part ─find─→ what is behind it ─answer─→ records
//!                                     │                      └external_name→ another name
//!                                     └ on a snapshot of the cluster, which others keep up to date
//! ```
//!
//! The usual queries take no lock and allocate nothing: names are compared as they stand in the packet.

mod answer;
mod apex;
mod behind;
mod decide;
mod endpoint_name;
mod explain;
mod external_name;
mod filter;
mod find;
mod foresight;
mod kubeconfig;
mod metadata;
mod number;
mod options;
mod outside;
mod pods;
mod request;
mod reverse;
mod search_path;
mod setup;
mod target;
#[cfg(test)]
pub(crate) mod tests;
mod unknown;
mod watched;
mod wildcards;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use cluster::{Kind, SelectorNumbers, Snapshot, Staleness, Unlisted};
use server::log::{self, Logger};
use server::{FirstData, Foresight, Link, Metadata, Outside, Plugin, Ready, SearchPath, Step, Visit};
use wire::{Name, NameBuf, Query, Rcode};

use apex::Soa;
use decide::Verdict;
use find::Ask;
pub use kubeconfig::Kubeconfig;
use options::Options;
pub(crate) use setup::setup;
use watched::{Clusters, Watched};

const NAME: &str = "kubernetes";
const LOG: Logger = log::plugin(NAME);

/// One `kubernetes` line.
pub(crate) struct Kubernetes {
    /// The longest first, so that the first a name is in is the right one.
    zones: Vec<Zone>,
    /// The zone that PTR records point into.
    primary: usize,
    options: Options,
    /// The kinds of objects that answers need.
    kinds: Vec<Kind>,
    joined: SelectorNumbers,
    /// All clusters of the configuration; they are waited for together.
    clusters: Arc<Clusters>,
    watched: Arc<Watched>,
    /// The addresses the block listens on; None is all.
    bound: OnceLock<Vec<Option<IpAddr>>>,
    local: OnceLock<Vec<IpAddr>>,
    /// The search path of this process, which clients are taken to have behind that of their namespace.
    search: Vec<NameBuf>,
}

/// A zone we answer for.
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
                visit.note_unless_unknown(vec![unknown::not_opened(self)], true, |_| String::new());
            }
            return Step::error(Rcode::SERVFAIL, "the cluster is not watched yet");
        };
        let snapshot = cluster.snapshot();
        let (query, reply) = (&*visit.query, &mut *visit.reply);
        let verdict = decide::decide(&self.ask(query, &snapshot, zone, at), query, reply);
        if visit.is_explained() {
            let ask = self.ask(visit.query, &snapshot, zone, at);
            let why = explain::explain(&ask, visit.query.question.qtype, cluster, &verdict);
            visit.note_unless_unknown(why.unknown, why.is_false, |_| why.reason);
        }
        let denial = match verdict {
            Verdict::Answered => return Step::Answer,
            Verdict::Refused => return Step::fail(Rcode::REFUSED),
            Verdict::Elsewhere(chain) => {
                let soa = Soa::of(&self.ask(visit.query, &snapshot, zone, at));
                return chain.ask(visit, self.options.ttl, soa);
            }
            Verdict::NoData => Rcode::NOERROR,
            Verdict::NoName if self.options.fallthrough.through(visit.query.question.lower()) => {
                visit.note(|_| "falls through".to_owned());
                return Step::Next;
            }
            // What is missing may only be late.
            Verdict::NoName if !self.is_synced(&snapshot) => Rcode::SERVFAIL,
            Verdict::NoName => Rcode::NXDOMAIN,
        };
        Soa::of(&self.ask(visit.query, &snapshot, zone, at)).deny(visit.query, visit.reply, denial);
        Step::Answer
    }

    fn as_ready(&self) -> Option<&dyn Ready> {
        Some(self)
    }

    fn as_metadata(&self) -> Option<&dyn Metadata> {
        Some(self)
    }

    fn as_search_path(&self) -> Option<&dyn SearchPath> {
        Some(self)
    }

    fn as_outside(&self) -> Option<&dyn Outside> {
        Some(self)
    }

    fn as_foresight(&self) -> Option<&dyn Foresight> {
        Some(self)
    }

    fn link(&self, link: &Link<'_>) {
        let bound = link.served().iter().map(|(server, _)| {
            let address = server.strip_prefix("dns://").unwrap_or(server);
            address.parse::<SocketAddr>().ok().map(|address| address.ip())
        });
        // Only the first counts, if a plugin were linked twice.
        let _ = self.bound.set(bound.collect());
    }

    fn prepare(&self) -> Result<(), String> {
        let began = self.clusters.begin();
        let cluster = self.watched.begun().map_err(|error| error.to_string())?;
        let bound = self.bound.get().map_or(&[][..], Vec::as_slice);
        let _ = self.local.set(apex::local_addresses(bound));
        watched::wait_until(began + self.options.startup_timeout, || self.is_synced(&cluster.snapshot()));
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
    /// The longest of our zones the name is in, and where it begins.
    fn zone_of(&self, name: Name<'_>) -> Option<(&Zone, usize)> {
        self.zones.iter().find_map(|zone| Some((zone, name.offset_of(zone.name.as_name())?)))
    }

    fn ask<'a>(&'a self, query: &'a Query, snapshot: &'a Snapshot, zone: &'a Zone, at: usize) -> Ask<'a> {
        Ask { plugin: self, snapshot, zone, name: query.question.lower(), at }
    }

    fn primary_zone(&self) -> Name<'_> {
        self.zones.get(self.primary).map_or(Name::ROOT, |zone| zone.name.as_name())
    }

    fn multicluster_zone(&self) -> Option<Name<'_>> {
        self.zones.iter().find(|zone| zone.is_multicluster).map(|zone| zone.name.as_name())
    }

    /// Whether a namespace is there and shown.
    fn exposes(&self, snapshot: &Snapshot, namespace: &[u8]) -> bool {
        self.options.names(namespace)
            && snapshot
                .namespace(namespace)
                .is_some_and(|selected| selected.by(self.joined.namespace_selector))
    }

    /// How stale the cluster is, if that is more than `stale_ready` allows.
    fn stale(&self) -> Option<Staleness> {
        let limit = self.options.stale_ready?;
        self.watched.cluster()?.stale().filter(|stale| stale.age >= limit)
    }

    /// Whether all that answers need was listed once. Other blocks may wait for more.
    fn is_synced(&self, snapshot: &Snapshot) -> bool {
        self.kinds.iter().all(|kind| snapshot.has_synced(*kind))
    }

    fn local_addresses(&self) -> &[IpAddr] {
        self.local.get().map_or(&[], Vec::as_slice)
    }
}

/// Makes the metrics known before any cluster is watched.
pub(crate) fn register_metrics() {
    cluster::register_metrics();
}
