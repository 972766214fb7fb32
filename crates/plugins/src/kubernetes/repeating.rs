//! Answers hold while the entry they were made of does.

use cluster::Basis;
use cluster::object::ServiceType;
use server::{Again, Lasting, Repeating, Sent};
use wire::Rtype;

use super::Kubernetes;
use super::find::Ask;
use super::request::Request;
use super::wildcards;

impl Repeating for Kubernetes {
    fn lasting(&self, sent: &mut Sent<'_>) -> Lasting {
        let number = sent.slot().words[0];
        let Some((zone, at)) = self.zone_of(sent.query.question.lower()) else { return Lasting::Always };
        let Some(cluster) = self.watched.cluster().filter(|_| number != 0) else { return Lasting::Never };
        let snapshot = cluster.snapshot();
        let basis = self.ask(sent.query, &snapshot, zone, at).basis();
        let serial = sent.reply.records().iter().any(|record| record.rtype == Rtype::SOA);
        let mark = cluster.mark(basis, serial);
        // Had another snapshot come since the answer, the mark could be that one's.
        if cluster.snapshot().number() == number { Lasting::While(mark) } else { Lasting::Never }
    }

    fn holds(&self, kept: [u64; 2], _: &mut Again<'_>) -> bool {
        self.watched.cluster().is_some_and(|cluster| cluster.is_unchanged(kept))
    }
}

impl Ask<'_> {
    /// What of the cluster can change the answer.
    fn basis(&self) -> Basis {
        let Request::Service(asked) = self.request() else { return Basis::Everything };
        let is_wildcard = self.plugin.options.wildcards && wildcards::is_asked(&asked);
        if self.zone.is_reverse || asked.name.is_empty() || is_wildcard {
            return Basis::Everything;
        }
        let service = self.snapshot.entry(asked.key).and_then(|entry| entry.service.as_ref());
        match service.map(|service| &service.kind) {
            // The name it stands for may be another Service's.
            Some(ServiceType::ExternalName(_)) => Basis::Everything,
            _ => Basis::Entry(self.snapshot.hash(asked.key)),
        }
    }
}
