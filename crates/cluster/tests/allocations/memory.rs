//! Memory of a cluster, in allocated bytes, which are the same on every machine.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::PoisonError;

use cluster::object::{Details, EndpointSlice, Port, Service, ServiceType};
use cluster::{Change, Index, Key, Kind, Object, SelectorSet};
use testkit::alloc;

use super::ALONE;

const SERVICES: u32 = 5_000;
const NAMESPACES: u32 = 100;
const EACH: u32 = 10;

/// Budgets in bytes: a Service with two ports, a slice of it without endpoints, an endpoint among ten of a slice, and the
/// same among a hundred; an endpoint with a host name of ten letters.
const SERVICE: f64 = 422.0;
const SLICE: f64 = 204.0;
const ENDPOINT_OF_TEN: f64 = 24.7;
const ENDPOINT_OF_HUNDRED: f64 = 25.9;
const NAMED_ENDPOINT: f64 = 108.0;

/// Hash seeds are random, so the size of tables varies a little.
const SLACK: f64 = 0.03;

/// Compares counts with budgets; fails after all were counted.
#[derive(Default)]
struct BudgetCheck {
    wrong: Vec<String>,
}

impl BudgetCheck {
    /// Fails above the budget, and so far below it that the budget should be lowered.
    fn check(&mut self, what: &str, bytes: u64, among: u32, budget: f64) {
        let each = bytes as f64 / f64::from(among);
        println!("{what}: {each:.1} bytes, the budget is {budget}");
        if each > budget * (1.0 + SLACK) {
            self.wrong.push(format!("{what}: {each:.1} bytes, and the budget is {budget}"));
        }
        if each < budget * 0.9 {
            self.wrong.push(format!("{what}: only {each:.1} bytes, so lower the budget of {budget}"));
        }
    }
}

impl Drop for BudgetCheck {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.wrong.is_empty(), "{}", self.wrong.join("\n"));
    }
}

fn key(n: u32, rest: &str) -> Key {
    Key::new(&format!("team-{:02}", n % NAMESPACES), &format!("checkout-{n}{rest}")).expect("short names")
}

fn address(net: u32, n: u32) -> IpAddr {
    Ipv4Addr::from_bits((net << 24) + n).into()
}

fn port(name: &str, number: u16) -> Port {
    Port { name: name.into(), protocol: "TCP".into(), number: Some(number) }
}

fn service(n: u32) -> Object {
    Object::Service(Service {
        key: key(n, ""),
        kind: ServiceType::ClusterIp([address(10, n)].into()),
        ports: [port("http", 80), port("metrics", 9090)].into(),
        external: Box::default(),
        selected: SelectorSet::default(),
    })
}

/// Slice `m` of Service `n`, of `each` endpoints from the address `first` on.
fn slice(n: u32, m: u32, first: u32, each: u32, details: &Details) -> Object {
    Object::EndpointSlice(EndpointSlice {
        key: key(n, &format!("-x7k{m:02}")),
        service: Some(key(n, "")),
        imported: None,
        ports: [port("http", 8080), port("metrics", 9090)].into(),
        endpoints: (first..first + each).map(|at| (address(11, at), details.clone())).collect(),
        selected: SelectorSet::default(),
    })
}

/// The bytes that the index allocates for these objects.
fn bytes_of(index: &mut Index, objects: impl Iterator<Item = Object>) -> u64 {
    let before = alloc::live().bytes;
    objects.for_each(|object| {
        index.apply(Change::Apply(object), 1);
    });
    alloc::live().bytes.saturating_sub(before)
}

#[test]
fn many_services() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let plain = Details::default();
    let mut count = BudgetCheck::default();
    let start = alloc::live().bytes;
    let mut index = Index::new();
    let slices = |each| (0..SERVICES).map(move |n| slice(n, 0, n * each, each, &Details::default()));
    count.check("a Service", bytes_of(&mut index, (0..SERVICES).map(service)), SERVICES, SERVICE);
    count.check("a slice", bytes_of(&mut index, slices(0)), SERVICES, SLICE);
    count.check("an endpoint of ten", bytes_of(&mut index, slices(EACH)), SERVICES * EACH, ENDPOINT_OF_TEN);

    // A list of known objects leaks nothing.
    let full = alloc::live().bytes;
    for kind in [Kind::Service, Kind::EndpointSlice] {
        index.apply(Change::ListBegins(kind), 1);
        (0..SERVICES).for_each(|n| {
            let object = if kind == Kind::Service { service(n) } else { slice(n, 0, n * EACH, EACH, &plain) };
            index.apply(Change::Apply(object), 1);
        });
        index.apply(Change::ListEnds(kind), 1);
    }
    assert_eq!(alloc::live().bytes, full, "a list of known objects");

    // Nor do deleted objects.
    for kind in [Kind::EndpointSlice, Kind::Service] {
        index.apply(Change::ListBegins(kind), 1);
        index.apply(Change::ListEnds(kind), 1);
    }
    let left = alloc::live().bytes - start;
    assert!(left <= 16 << 10, "{left} bytes are left of an index that was emptied");
}

#[test]
fn one_headless_service_of_many_endpoints() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let named = Details { hostname: Some("database-0".into()), ..Details::default() };
    let mut count = BudgetCheck::default();
    for (what, details, budget) in [
        ("an endpoint of a hundred", Details::default(), ENDPOINT_OF_HUNDRED),
        ("an endpoint with a name", named, NAMED_ENDPOINT),
    ] {
        let mut index = Index::new();
        let slices = (0..500).map(|m| slice(0, m, m * 100, 100, &details));
        count.check(what, bytes_of(&mut index, slices), 50_000, budget);
    }
}
