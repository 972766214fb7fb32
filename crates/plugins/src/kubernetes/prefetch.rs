//! Prefetches index entries for a batch of queries, so that their cache misses overlap.
//!
//! It reads the packets unparsed. A name with capitals, in another zone or of another form is not recognized and is
//! answered without prefetch.

use server::Prefetch;
use smallvec::SmallVec;
use wire::{HEADER_LEN, octets};

use super::Kubernetes;

impl Prefetch for Kubernetes {
    fn prefetch(&self, queries: &mut dyn Iterator<Item = &[u8]>) {
        let Some(cluster) = self.watched.cluster() else { return };
        let snapshot = cluster.snapshot();
        let zone = self.primary_zone().wire();
        let services = queries.filter_map(|packet| service_in(packet, zone));
        let hashes: SmallVec<[u64; 32]> = services.map(|labels| snapshot.hash(labels)).collect();
        snapshot.prefetch(&hashes);
    }
}

/// The labels `name.namespace` of the Service that a packet queries.
fn service_in<'p>(packet: &'p [u8], zone: &[u8]) -> Option<&'p [u8]> {
    let name = packet.get(HEADER_LEN..)?;
    // Offsets of the last three labels before the zone.
    let (mut starts, mut count, mut at) = ([0; 3], 0, 0);
    loop {
        let len = *name.get(at)?;
        if len == zone[0] && octets::equal(name.get(at..at + zone.len())?, zone) {
            break;
        }
        if !(1..64).contains(&len) {
            return None;
        }
        starts = [starts[1], starts[2], at];
        count += 1;
        at += usize::from(len) + 1;
    }
    let [service, _, kind] = starts;
    (count >= 3 && name.get(kind..at)? == b"\x03svc").then(|| name.get(service..kind)).flatten()
}

#[cfg(test)]
mod tests {
    use wire::{NameBuf, Query, Rtype};

    use super::*;

    #[test]
    fn services_are_recognized() {
        let zone = NameBuf::parse("cluster.local").unwrap();
        for (queried, expected) in [
            ("web.shop.svc.cluster.local", Some(&b"\x03web\x04shop"[..])),
            ("_http._tcp.web.shop.svc.cluster.local", Some(b"\x03web\x04shop")),
            ("cluster.cluster.svc.cluster.local", Some(b"\x07cluster\x07cluster")),
            ("shop.svc.cluster.local", None),
            ("1-2-3-4.shop.pod.cluster.local", None),
            ("web.shop.svc.cluster.locale", None),
            ("WEB.shop.SVC.cluster.local", None),
            ("www.example.org", None),
            (".", None),
        ] {
            let name = NameBuf::parse(queried).unwrap();
            let packet = Query::ask(name.as_name(), Rtype::A).to_packet();
            assert_eq!(service_in(&packet, zone.wire()), expected, "{queried}");
            let whole = HEADER_LEN + name.wire().len();
            assert!(
                (0..whole).all(|len| service_in(&packet[..len], zone.wire()).is_none()),
                "{queried}, cut"
            );
        }
    }
}
