//! Builders of objects. Addresses are the last number of `10.0.0.N`, of `fd00::N` above 199.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::index::Change;
use crate::key::Key;
use crate::object::{
    Details, EndpointSlice, External, ImportOrigin, Namespace, Object, Pod, Port, Ports, Service,
    ServiceImport, ServiceType,
};
use crate::want::SelectorSet;

impl Object {
    pub fn apply(&self) -> Change {
        Change::Apply(self.clone())
    }

    pub fn delete(&self) -> Change {
        Change::Delete(self.clone())
    }
}

/// From `shop/web`.
pub fn key(text: &str) -> Key {
    let (namespace, name) = text.split_once('/').expect("NAMESPACE/NAME");
    Key::new(namespace, name).expect("short names")
}

pub fn address(n: u8) -> IpAddr {
    match n {
        200.. => Ipv6Addr::from_bits((0xfd << 120) | u128::from(n)).into(),
        _ => Ipv4Addr::new(10, 0, 0, n).into(),
    }
}

fn addresses(all: &[u8]) -> Box<[IpAddr]> {
    all.iter().map(|n| address(*n)).collect()
}

pub fn namespace(name: &str, selected: u32) -> Object {
    Object::Namespace(Namespace { name: name.into(), selected: SelectorSet(selected) })
}

pub fn service(name: &str, ips: &[u8]) -> Object {
    external(name, ips, &[])
}

pub fn external(name: &str, ips: &[u8], external: &[u8]) -> Object {
    Object::Service(Service {
        key: key(name),
        kind: ServiceType::ClusterIp(addresses(ips).into_vec().into()),
        ports: Ports::default(),
        external: external.iter().map(|n| External::Address(address(*n))).collect(),
        selected: SelectorSet::default(),
    })
}

pub fn port(number: u16) -> Ports {
    [Port { name: "http".into(), protocol: "TCP".into(), number: Some(number) }].into()
}

pub fn slice(name: &str, service: &str, endpoints: &[u8]) -> Object {
    Object::EndpointSlice(EndpointSlice { service: Some(key(service)), ..bare_slice(name, endpoints) })
}

/// A slice without a Service.
pub fn orphan(name: &str, endpoints: &[u8]) -> Object {
    Object::EndpointSlice(bare_slice(name, endpoints))
}

pub fn imported(name: &str, service: Option<&str>, import: &str, endpoints: &[u8]) -> Object {
    Object::EndpointSlice(EndpointSlice {
        service: service.map(key),
        imported: Some(Box::new(ImportOrigin { service: key(import), cluster: "west".into() })),
        ..bare_slice(name, endpoints)
    })
}

pub fn bare_slice(name: &str, endpoints: &[u8]) -> EndpointSlice {
    EndpointSlice {
        key: key(name),
        service: None,
        imported: None,
        ports: Ports::default(),
        endpoints: endpoints.iter().map(|n| (address(*n), Details::default())).collect(),
        selected: SelectorSet::default(),
    }
}

pub fn pod(name: &str, ips: &[u8]) -> Object {
    Object::Pod(Pod {
        key: key(name),
        ips: addresses(ips),
        labels: Box::default(),
        selected: SelectorSet::default(),
    })
}

pub fn import(name: &str, ips: &[u8]) -> Object {
    Object::ServiceImport(ServiceImport {
        key: key(name),
        headless: ips.is_empty(),
        ips: addresses(ips),
        ports: Ports::default(),
        selected: SelectorSet::default(),
    })
}
