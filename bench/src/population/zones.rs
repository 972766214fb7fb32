//! The cluster as static zones: CoreDNS's answers, record by record.

use std::net::{IpAddr, Ipv4Addr};

use super::service::{SERVICES, Service};
use testkit::cluster::names;

/// As in the Corefile.
const TTL: u32 = 30;

/// Names are written without the dot at their end.
pub struct Zone {
    pub name: &'static str,
    pub records: Vec<Record>,
}

pub struct Record {
    pub owner: String,
    pub kind: &'static str,
    pub data: String,
}

impl Record {
    /// A line of a zone file.
    pub fn line(&self) -> String {
        format!("{}. {TTL} IN {} {}", self.owner, self.kind, self.data)
    }
}

impl Zone {
    fn new(name: &'static str, records: Vec<Record>) -> Self {
        let mut zone = Self { name, records: Vec::with_capacity(records.len() + 3) };
        let soa = "ns.dns.cluster.local. hostmaster.cluster.local. 1 7200 1800 86400 30";
        zone.records.push(record(name, "SOA", soa.to_owned()));
        zone.records.push(record(name, "NS", "ns.dns.cluster.local.".to_owned()));
        zone.records.extend(records);
        zone
    }

    /// As a file, SOA first.
    pub fn text(&self) -> String {
        self.records.iter().map(|record| record.line() + "\n").collect()
    }
}

/// The zone of the cluster and the reverse zones of its addresses.
pub fn zones() -> Vec<Zone> {
    let (mut forward, mut reverse4, mut reverse6) = (Vec::new(), Vec::new(), Vec::new());
    forward.push(record("ns.dns.cluster.local", "A", "127.0.0.1".to_owned()));
    for service in (0..SERVICES).map(Service::number) {
        forward.extend(names_of(&service));
        for (address, name) in pointers(&service) {
            let pointer = record(reverse(address), "PTR", format!("{name}."));
            if address.is_ipv4() { &mut reverse4 } else { &mut reverse6 }.push(pointer);
        }
    }
    vec![
        Zone::new("cluster.local", forward),
        Zone::new("10.in-addr.arpa", reverse4),
        Zone::new("0.0.d.f.ip6.arpa", reverse6),
    ]
}

/// The owner of an address's PTR record.
pub fn reverse(address: IpAddr) -> String {
    names::reverse(address)
}

/// The Service's name, its port, and each endpoint's name.
fn names_of(service: &Service) -> Vec<Record> {
    let name = service.name();
    let mut records: Vec<Record> =
        service.addresses().into_iter().map(|address| address_record(&name, address)).collect();
    let targets: Vec<String> = match service.headless() {
        true => service.endpoints().map(|address| endpoint_name(service, address)).collect(),
        false => vec![name.clone()],
    };
    // The weights of one priority add up to about a hundred; each address has one, even with a shared target.
    let weight = (100 / service.addresses().len()).max(1);
    records.extend(
        targets
            .iter()
            .map(|target| record(format!("_http._tcp.{name}"), "SRV", format!("0 {weight} 80 {target}."))),
    );
    records.extend(
        service
            .endpoints()
            .map(|address| address_record(&endpoint_name(service, address), IpAddr::from(address))),
    );
    records
}

/// The addresses and their names.
fn pointers(service: &Service) -> Vec<(IpAddr, String)> {
    let mut pointers: Vec<(IpAddr, String)> =
        service.endpoints().map(|address| (IpAddr::from(address), endpoint_name(service, address))).collect();
    if !service.headless() {
        pointers.extend(service.addresses().into_iter().map(|address| (address, service.name())));
    }
    pointers
}

fn endpoint_name(service: &Service, address: Ipv4Addr) -> String {
    format!("{}.{}", names::dashed(IpAddr::from(address)), service.name())
}

fn address_record(owner: &str, address: IpAddr) -> Record {
    record(owner, if address.is_ipv4() { "A" } else { "AAAA" }, address.to_string())
}

fn record(owner: impl Into<String>, kind: &'static str, data: String) -> Record {
    Record { owner: owner.into(), kind, data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let zones = zones();
        let lines = |name: &str| -> Vec<String> {
            let records = zones.iter().flat_map(|zone| &zone.records);
            records.filter(|record| record.owner == name).map(Record::line).collect()
        };
        for (name, expected) in [
            (
                "service-1.team-1.svc.cluster.local",
                &[
                    "service-1.team-1.svc.cluster.local. 30 IN A 10.96.16.1",
                    "service-1.team-1.svc.cluster.local. 30 IN AAAA fd00:10:96::1001",
                ][..],
            ),
            (
                "_http._tcp.service-1.team-1.svc.cluster.local",
                &[
                    "_http._tcp.service-1.team-1.svc.cluster.local. 30 IN SRV 0 50 80 service-1.team-1.svc.cluster.local.",
                ],
            ),
            (
                "90.0.244.10.in-addr.arpa",
                &["90.0.244.10.in-addr.arpa. 30 IN PTR 10-244-0-90.service-1.team-1.svc.cluster.local."],
            ),
            (
                "1.16.96.10.in-addr.arpa",
                &["1.16.96.10.in-addr.arpa. 30 IN PTR service-1.team-1.svc.cluster.local."],
            ),
        ] {
            assert_eq!(lines(name), expected, "{name}");
        }
        assert_eq!(lines("_http._tcp.service-5.team-5.svc.cluster.local").len(), 3);
        assert_eq!(lines("_http._tcp.service-0.team-0.svc.cluster.local").len(), 90);
    }

    #[test]
    fn every_record_is_in_its_zone() {
        for zone in zones() {
            let outside = zone.records.iter().find(|record| !record.owner.ends_with(zone.name));
            assert!(outside.is_none(), "{} in {}", outside.map_or("", |record| &record.owner), zone.name);
            assert!(zone.text().starts_with(&format!("{}. 30 IN SOA ", zone.name)));
        }
    }
}
