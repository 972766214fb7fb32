//! Objects with the names that depend on them alone, so that an object's history determines its names' answers.

use std::fmt;
use std::net::Ipv4Addr;

use wire::Rtype;

/// The state of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Absent,
    /// A namespace.
    Present,
    /// A Service or a pod.
    At(Ipv4Addr),
    /// A headless Service, always with endpoints.
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
    /// The Service always exists; its EndpointSlice changes.
    Headless,
    Pod,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub kind: Kind,
    /// For a namespace, its own name.
    pub namespace: String,
    pub name: String,
}

/// A question, and the aspect of a subject that it queries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    pub name: String,
    pub aspect: Aspect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    Addresses,
    Ports,
    /// The name of one endpoint.
    Endpoint(Ipv4Addr),
    Reverse(Ipv4Addr),
}

impl Question {
    pub fn rtype(&self) -> Rtype {
        match self.aspect {
            Aspect::Addresses | Aspect::Endpoint(_) => Rtype::A,
            Aspect::Ports => Rtype::SRV,
            Aspect::Reverse(_) => Rtype::PTR,
        }
    }
}

pub const NOERROR: u16 = 0;
pub const NXDOMAIN: u16 = 3;

/// A response code, and the data of the records, sorted.
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

    fn from_records(records: Vec<String>) -> Self {
        let rcode = if records.is_empty() { NXDOMAIN } else { NOERROR };
        Self::new(rcode, records)
    }
}

pub const PORT: u16 = 8080;

impl Subject {
    /// All questions about it, given its current and former addresses.
    pub fn questions(&self, addresses: &[Ipv4Addr]) -> Vec<Question> {
        let question = |aspect| Question { name: self.query_name(aspect), aspect };
        match self.kind {
            Kind::Namespace => vec![question(Aspect::Addresses)],
            // Its name contains its address.
            Kind::Pod => addresses.iter().map(|address| question(Aspect::Endpoint(*address))).collect(),
            Kind::Service => {
                let reverse = addresses.iter().map(|address| question(Aspect::Reverse(*address)));
                [question(Aspect::Addresses), question(Aspect::Ports)].into_iter().chain(reverse).collect()
            }
            Kind::Headless => {
                let each = addresses.iter().flat_map(|a| [Aspect::Endpoint(*a), Aspect::Reverse(*a)]);
                [Aspect::Addresses, Aspect::Ports].into_iter().chain(each).map(question).collect()
            }
        }
    }

    fn query_name(&self, aspect: Aspect) -> String {
        match aspect {
            Aspect::Addresses => self.domain(),
            Aspect::Ports => format!("_http._tcp.{}", self.domain()),
            Aspect::Endpoint(address) => self.endpoint(address),
            Aspect::Reverse(address) => {
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

    /// The correct answer in this state.
    pub fn answer(&self, aspect: Aspect, state: &State) -> Answer {
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
        match aspect {
            // An empty non-terminal.
            Aspect::Addresses if *state == State::Present => Answer::new(NOERROR, Vec::new()),
            Aspect::Addresses => Answer::from_records(all(&|address| address.to_string())),
            Aspect::Ports => Answer::from_records(all(&|address| format!("{PORT} {}", target(address)))),
            Aspect::Endpoint(address) => Answer::from_records(if_there(address, address.to_string())),
            Aspect::Reverse(address) => Answer::from_records(if_there(address, target(address))),
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
