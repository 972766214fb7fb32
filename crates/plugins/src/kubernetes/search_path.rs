//! The search path of a pod: `NAMESPACE.svc.ZONE`, `svc.ZONE`, `ZONE`, then the search path of this process.

use server::{Client, SearchPath};
use wire::Name;

use super::Kubernetes;
use super::options::Pods;

impl SearchPath for Kubernetes {
    /// Needs `pods verified`. The watch reports at once when an address moves to another pod.
    fn search_path(&self, name: Name<'_>, client: &Client, each: &mut dyn FnMut(Name<'_>) -> bool) {
        if self.options.pods != Pods::Verified {
            return;
        }
        let Some((zone, _)) = self.zone_of(name) else { return };
        let Some(cluster) = self.watched.cluster() else { return };
        let snapshot = cluster.snapshot();
        let Some(pod) = self.pod_at(&snapshot, client.remote.ip()) else { return };
        let mut services = zone.name.clone();
        if !services.prepend(b"svc") {
            return;
        }
        let mut own = services.clone();
        if !own.prepend(pod.key.namespace().as_bytes()) {
            return;
        }
        let domains = [&own, &services, &zone.name].into_iter().chain(&self.search);
        let _ = domains.map(|domain| domain.as_name()).chain([Name::ROOT]).all(each);
    }
}
