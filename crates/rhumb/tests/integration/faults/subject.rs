//! Names in a cluster that follow from one object each, so that the history of the object is the history of its names.

use std::fmt;
use std::net::Ipv4Addr;

use wire::Rtype;

/// What an object is like at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Absent,
    /// A namespace.
    Present,
    /// A Service or a pod.
    At(Ipv4Addr),
    /// A headless Service, never without any.
    Endpoints(Vec<Ipv4Addr>),
}

impl State {
    pub fn addresses(&self) -> &[Ipv4Addr] {
        match self {
            Self::Absent | Self::Present => &[],
            Self::At(address) => std::slice::from_ref(address),
            Self::Endpoints(addresses) => addresses,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Namespace,
    Service,
    /// The Service is always there; its EndpointSlice is what changes.
    Headless,
    Pod,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub kind: Kind,
    /// Its own name for a namespace.
    pub namespace: String,
    pub name: String,
}

/// A question, and what of a subject it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    pub name: String,
    pub about: About,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    Addresses,
    Ports,
    /// The name of one endpoint.
    Endpoint(Ipv4Addr),
    Reverse(Ipv4Addr),
}

impl Question {
    pub fn rtype(&self) -> Rtype {
        match self.about {
            About::Addresses | About::Endpoint(_) => Rtype::A,
            About::Ports => Rtype::SRV,
            About::Reverse(_) => Rtype::PTR,
        }
    }
}

pub const NOERROR: u16 = 0;
pub const NXDOMAIN: u16 = 3;

/// What is said: a code, and the data of the records in order of their text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub rcode: u16,
    pub records: Vec<String>,
}

impl Answer {
    pub fn new(rcode: u16, mut records: Vec<String>) -> Self {
        records.sort_unstable();
        Self { rcode, records }
    }

    fn of(records: Vec<String>) -> Self {
        let rcode = if records.is_empty() { NXDOMAIN } else { NOERROR };
        Self::new(rcode, records)
    }
}

pub const PORT: u16 = 8080;

impl Subject {
    /// All that can be asked about it, if it has these addresses or had them once.
    pub fn questions(&self, addresses: &[Ipv4Addr]) -> Vec<Question> {
        let question = |about| Question { name: self.asked(about), about };
        match self.kind {
            Kind::Namespace => vec![question(About::Addresses)],
            // Its name says its address.
            Kind::Pod => addresses.iter().map(|address| question(About::Endpoint(*address))).collect(),
            Kind::Service => {
                let reverse = addresses.iter().map(|address| question(About::Reverse(*address)));
                [question(About::Addresses), question(About::Ports)].into_iter().chain(reverse).collect()
            }
            Kind::Headless => {
                let each = addresses.iter().flat_map(|a| [About::Endpoint(*a), About::Reverse(*a)]);
                [About::Addresses, About::Ports].into_iter().chain(each).map(question).collect()
            }
        }
    }

    fn asked(&self, about: About) -> String {
        match about {
            About::Addresses => self.domain(),
            About::Ports => format!("_http._tcp.{}", self.domain()),
            About::Endpoint(address) => self.endpoint(address),
            About::Reverse(address) => {
                let [a, b, c, d] = address.octets();
                format!("{d}.{c}.{b}.{a}.in-addr.arpa.")
            }
        }
    }

    fn domain(&self) -> String {
        let Self { name, namespace, .. } = self;
        match self.kind {
            Kind::Namespace => format!("{namespace}.svc.cluster.local."),
            Kind::Service | Kind::Headless => format!("{name}.{namespace}.svc.cluster.local."),
            Kind::Pod => format!("{namespace}.pod.cluster.local."),
        }
    }

    fn endpoint(&self, address: Ipv4Addr) -> String {
        format!("{}.{}", address.to_string().replace('.', "-"), self.domain())
    }

    /// The one right answer while it is in this state.
    pub fn answer(&self, about: About, state: &State) -> Answer {
        let addresses = state.addresses();
        let all =
            |text: &dyn Fn(Ipv4Addr) -> String| addresses.iter().map(|address| text(*address)).collect();
        let if_there = |address: Ipv4Addr, text: String| {
            addresses.contains(&address).then_some(text).into_iter().collect()
        };
        let target = |address| match self.kind {
            Kind::Headless => self.endpoint(address),
            _ => self.domain(),
        };
        match about {
            // It has no records of its own, but others are below it.
            About::Addresses if *state == State::Present => Answer::new(NOERROR, Vec::new()),
            About::Addresses => Answer::of(all(&|address| address.to_string())),
            About::Ports => Answer::of(all(&|address| format!("{PORT} {}", target(address)))),
            About::Endpoint(address) => Answer::of(if_there(address, address.to_string())),
            About::Reverse(address) => Answer::of(if_there(address, target(address))),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}/{}", self.kind, self.namespace, self.name)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.rtype())
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.rcode, self.records.is_empty()) {
            (NOERROR, false) => f.write_str(&self.records.join(", ")),
            (NOERROR, true) => f.write_str("no records"),
            (NXDOMAIN, true) => f.write_str("NXDOMAIN"),
            (rcode, _) => write!(f, "rcode {rcode} {:?}", self.records),
        }
    }
}
