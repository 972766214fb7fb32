//! The measured clusters: Services with their endpoints, as written by the controllers of a cluster.

mod service;

use serde_json::json;
use testkit::cluster::objects::{Object, Resource};

use crate::moving;
pub use service::{Service, ZONE};

/// Every tenth Service is headless.
const HEADLESS: u32 = 10;

/// One cluster.
#[derive(Debug, PartialEq, Eq)]
pub struct Size {
    pub letter: &'static str,
    pub about: &'static str,
    namespaces: u32,
    services: u32,
    endpoints_each: u32,
    /// Endpoints of one more Service, a headless one.
    huge: u32,
    /// Rhumb's memory limit, in octets.
    pub memory_target: Option<u64>,
}

pub const SIZES: [Size; 4] = [
    Size {
        letter: "a",
        about: "5,000 Services with 50,000 endpoints in 250 namespaces",
        namespaces: 250,
        services: 5_000,
        endpoints_each: 10,
        huge: 0,
        memory_target: Some(40_000_000),
    },
    Size {
        letter: "b",
        about: "10,000 Services with 150,000 endpoints in 500 namespaces",
        namespaces: 500,
        services: 10_000,
        endpoints_each: 15,
        huge: 0,
        memory_target: Some(90_000_000),
    },
    Size {
        letter: "c",
        about: "5,000 Services with 50,000 endpoints in one namespace",
        namespaces: 1,
        services: 5_000,
        endpoints_each: 10,
        huge: 0,
        memory_target: None,
    },
    Size {
        letter: "d",
        about: "one headless Service of 5,000 endpoints beside 100 ordinary ones",
        namespaces: 1,
        services: 100,
        endpoints_each: 10,
        huge: 5_000,
        memory_target: None,
    },
];

impl Size {
    /// The cluster of the storm.
    pub fn storm() -> &'static Size {
        &SIZES[0]
    }

    /// All Services, in the order of their names.
    pub fn services(&self) -> impl Iterator<Item = Service> {
        let ordinary = (0..self.services).map(|n| Service {
            namespace: self.namespace(n),
            name: format!("service-{n:05}"),
            headless: n % HEADLESS == HEADLESS - 1,
            number: n,
            first: n * self.endpoints_each,
            endpoints: self.endpoints_each,
        });
        let huge = (self.huge > 0).then(|| Service {
            namespace: self.namespace(self.services - 1),
            name: "zz-huge".to_owned(),
            headless: true,
            number: self.services,
            first: self.services * self.endpoints_each,
            endpoints: self.huge,
        });
        ordinary.chain(huge)
    }

    /// All objects, namespaces first; generated lazily, since they are large together.
    pub fn objects(&self) -> impl Iterator<Item = Object> {
        let namespaces = (0..self.namespaces).map(|n| namespace(&team(n)));
        let moving = [namespace(moving::NAMESPACE), moving::service(), moving::slice(0)];
        namespaces.chain(moving).chain(self.services().flat_map(|service| service.objects()))
    }

    fn namespace(&self, service: u32) -> String {
        team(service / (self.services / self.namespaces))
    }
}

fn team(n: u32) -> String {
    format!("team-{n:03}")
}

fn namespace(name: &str) -> Object {
    Object::new(Resource::Namespace, "", name, json!({"metadata": {"name": name}}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use testkit::cluster::objects::list;

    #[test]
    fn sizes_are_what_they_say() {
        for (size, services, slices, endpoints, namespaces) in [
            (&SIZES[0], 5_000, 5_000, 50_000, 250),
            (&SIZES[1], 10_000, 10_000, 150_000, 500),
            (&SIZES[2], 5_000, 5_000, 50_000, 1),
            (&SIZES[3], 101, 150, 6_000, 1),
        ] {
            let mut addresses = BTreeSet::new();
            let mut counts = [0; 3];
            let mut seen = BTreeSet::new();
            for object in size.objects() {
                assert!(seen.insert(object.path()), "{} is there twice", object.path());
                match object.resource {
                    Resource::Namespace => counts[0] += 1,
                    Resource::Service => counts[1] += 1,
                    _ => counts[2] += 1,
                }
                for endpoint in list(&object.body, "/endpoints") {
                    assert!(addresses.insert(endpoint["addresses"][0].to_string()), "{endpoint}");
                }
            }
            // One more of each moves.
            assert_eq!(counts, [namespaces + 1, services + 1, slices + 1], "{}", size.letter);
            assert_eq!(addresses.len(), endpoints + 1, "{}", size.letter);
        }
    }
}
