//! The grammar of query names: the labels left of the zone.
//!
//! ```text
//! (nothing), svc, pod                      empty non-terminals
//! NAMESPACE.svc                            the same, if the namespace is exposed
//! SERVICE.NAMESPACE.svc                    a Service
//! ENDPOINT.SERVICE.NAMESPACE.svc           one of its endpoints
//! PORT.PROTOCOL.SERVICE.NAMESPACE.svc      a port; underscores are optional
//! ENDPOINT.CLUSTER.SERVICE.NAMESPACE.svc   an endpoint of the cluster set; multicluster zones only
//! ZONE.pin|prefer._zone.SERVICE.NAMESPACE.svc   endpoints in a topology zone; `zonal` only
//! [X.[Y.]]POD.NAMESPACE.pod                a pod by its address; X and Y are ignored
//! ```
//!
//! Zones of `k8s_external` have Services only, without `svc`: `PORT.PROTOCOL.SERVICE.NAMESPACE`.
//!
//! All parts are slices of the lower-case name in wire format.

/// A parsed query name.
#[derive(Debug, PartialEq)]
pub(super) enum Request<'q> {
    /// The zone, `svc` or `pod`.
    Apex,
    Service(ObjectRef<'q>),
    Pod(ObjectRef<'q>),
    /// No name of this grammar.
    Invalid,
}

/// A Service or pod, by namespace and name.
#[derive(Debug, PartialEq)]
pub(super) struct ObjectRef<'q> {
    pub namespace: &'q [u8],
    /// The Service's name or the pod's address; empty if the query name is the namespace's.
    pub name: &'q [u8],
    /// `name` and `namespace` in wire format: the key of an index entry.
    pub key: &'q [u8],
    pub part: Part<'q>,
}

/// The part of a Service that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part<'q> {
    All,
    Endpoint(&'q [u8]),
    /// Without underscores; an empty label matches any.
    Port {
        port: &'q [u8],
        protocol: &'q [u8],
    },
    ClusterEndpoint {
        endpoint: &'q [u8],
        cluster: &'q [u8],
    },
    /// The labels of a topology zone; one zone name may be several labels.
    Zone {
        labels: &'q [u8],
        prefer: bool,
    },
}

/// The name forms that the zone and the options allow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grammar {
    pub multicluster: bool,
    pub zonal: bool,
}

/// Capacity of the ring of label offsets, from the right; a power of two.
const KEPT_STARTS: usize = 8;

/// The labels of a name left of its zone, counted from the right.
struct Labels<'q> {
    front: &'q [u8],
    starts: [u8; KEPT_STARTS],
    count: usize,
}

impl<'q> Labels<'q> {
    fn new(front: &'q [u8]) -> Self {
        let (mut starts, mut count, mut at) = ([0; KEPT_STARTS], 0, 0);
        while let Some(len) = front.get(at) {
            starts[count % KEPT_STARTS] = at as u8;
            count += 1;
            at += usize::from(*len) + 1;
        }
        Self { front, starts, count }
    }

    /// Offset of the length octet of label `n`, counted from the right.
    fn start(&self, n: usize) -> usize {
        usize::from(self.starts[(self.count - 1 - n) % KEPT_STARTS])
    }

    fn get(&self, n: usize) -> &'q [u8] {
        let start = self.start(n);
        let end = if n == 0 { self.front.len() } else { self.start(n - 1) };
        self.front.get(start + 1..end).unwrap_or_default()
    }

    /// The octets from label `from` up to label `to`, length octets included.
    fn between(&self, from: usize, to: usize) -> &'q [u8] {
        self.front.get(self.start(from)..self.start(to)).unwrap_or_default()
    }
}

impl<'q> Request<'q> {
    /// Parses the octets of a lower-case name left of its zone.
    pub fn parse(front: &'q [u8], grammar: Grammar) -> Self {
        let labels = Labels::new(front);
        if labels.count == 0 {
            return Request::Apex;
        }
        let kind = labels.get(0);
        let is_pod = kind == b"pod";
        if !is_pod && kind != b"svc" {
            return Request::Invalid;
        }
        if labels.count == 1 {
            return Request::Apex;
        }
        let mut object = ObjectRef { namespace: labels.get(1), name: b"", key: b"", part: Part::All };
        if labels.count > 2 {
            object.name = labels.get(2);
            object.key = labels.between(2, 0);
        }
        match Part::parse(&labels, grammar) {
            Some(Part::Zone { .. }) if is_pod => return Request::Invalid,
            Some(part) => object.part = part,
            None => return Request::Invalid,
        }
        if is_pod { Request::Pod(object) } else { Request::Service(object) }
    }
}

impl<'q> ObjectRef<'q> {
    /// Parses the octets left of a `k8s_external` zone. None: too many labels.
    pub fn parse_external(front: &'q [u8]) -> Option<Self> {
        let labels = Labels::new(front);
        let part = match labels.count {
            1 | 2 => Part::All,
            3 => match without_underscore(labels.get(2)) {
                b"" => Part::All,
                endpoint => Part::Endpoint(endpoint),
            },
            4 => Part::Port {
                port: without_underscore(labels.get(3)),
                protocol: without_underscore(labels.get(2)),
            },
            _ => return None,
        };
        let (name, key): (&[u8], &[u8]) = match labels.count {
            1 => (b"", b""),
            _ => (labels.get(1), front.get(labels.start(1)..)?),
        };
        Some(ObjectRef { namespace: labels.get(0), name, key, part })
    }
}

impl<'q> Part<'q> {
    /// None: too many labels.
    fn parse(labels: &Labels<'q>, grammar: Grammar) -> Option<Self> {
        match labels.count {
            ..=3 => Some(Part::All),
            4 => Some(Part::Endpoint(labels.get(3))),
            5 => {
                let (left, right) = (labels.get(4), labels.get(3));
                let is_port = left.starts_with(b"_") || right.starts_with(b"_");
                Some(if !grammar.multicluster || is_port {
                    Part::Port { port: without_underscore(left), protocol: without_underscore(right) }
                } else {
                    Part::ClusterEndpoint { endpoint: left, cluster: right }
                })
            }
            _ if !grammar.zonal || grammar.multicluster || labels.get(3) != b"_zone" => None,
            _ => {
                let prefer = match labels.get(4) {
                    b"pin" => false,
                    b"prefer" => true,
                    _ => return None,
                };
                let zone = labels.front.get(..labels.start(4))?;
                Some(Part::Zone { labels: zone, prefer })
            }
        }
    }
}

fn without_underscore(label: &[u8]) -> &[u8] {
    label.strip_prefix(b"_").unwrap_or(label)
}

#[cfg(test)]
mod tests {
    use wire::NameBuf;

    use super::*;

    const PLAIN: Grammar = Grammar { multicluster: false, zonal: false };

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn request_text(request: &Request<'_>) -> String {
        match request {
            Request::Apex => "apex".into(),
            Request::Invalid => "invalid".into(),
            Request::Service(object) => format!("svc {}", object_text(object)),
            Request::Pod(object) => format!("pod {}", object_text(object)),
        }
    }

    fn object_text(object: &ObjectRef<'_>) -> String {
        let part = match object.part {
            Part::All => String::new(),
            Part::Endpoint(endpoint) => format!(" endpoint={}", text(endpoint)),
            Part::Port { port, protocol } => format!(" port={} protocol={}", text(port), text(protocol)),
            Part::ClusterEndpoint { endpoint, cluster } => {
                format!(" endpoint={} cluster={}", text(endpoint), text(cluster))
            }
            Part::Zone { labels, prefer } => format!(" zone={} prefer={prefer}", text(labels)),
        };
        format!("{}/{}{part}", text(object.namespace), text(object.name))
    }

    fn check(front: &str, grammar: Grammar, expected: &str) {
        let name = NameBuf::parse(front).unwrap();
        let front_octets = &name.wire()[..name.wire().len() - 1];
        assert_eq!(request_text(&Request::parse(front_octets, grammar)), expected, "{front} {grammar:?}");
    }

    #[test]
    fn name_forms() {
        for (front, expected) in [
            ("", "apex"),
            ("svc", "apex"),
            ("pod", "apex"),
            ("dns", "invalid"),
            ("x.dns", "invalid"),
            ("shop.svc", "svc shop/"),
            ("shop.pod", "pod shop/"),
            ("web.shop.svc", "svc shop/web"),
            ("web-0.web.shop.svc", "svc shop/web endpoint=web-0"),
            ("_http._tcp.web.shop.svc", "svc shop/web port=http protocol=tcp"),
            ("http.tcp.web.shop.svc", "svc shop/web port=http protocol=tcp"),
            ("_._.web.shop.svc", "svc shop/web port= protocol="),
            ("__http.tcp.web.shop.svc", "svc shop/web port=_http protocol=tcp"),
            ("a.b.c.web.shop.svc", "invalid"),
            ("zone-a.pin._zone.web.shop.svc", "invalid"),
            ("1-2-3-4.shop.pod", "pod shop/1-2-3-4"),
            ("x.1-2-3-4.shop.pod", "pod shop/1-2-3-4 endpoint=x"),
            ("x.y.1-2-3-4.shop.pod", "pod shop/1-2-3-4 port=x protocol=y"),
            ("x.y.z.1-2-3-4.shop.pod", "invalid"),
            ("a.b.c.d.e.f.g.h.i.j.k.web.shop.svc", "invalid"),
        ] {
            check(front, PLAIN, expected);
        }
    }

    #[test]
    fn multicluster_name_forms() {
        let grammar = Grammar { multicluster: true, zonal: true };
        for (front, expected) in [
            ("web-0.east.web.shop.svc", "svc shop/web endpoint=web-0 cluster=east"),
            ("_http._tcp.web.shop.svc", "svc shop/web port=http protocol=tcp"),
            ("_http.tcp.web.shop.svc", "svc shop/web port=http protocol=tcp"),
            ("http._tcp.web.shop.svc", "svc shop/web port=http protocol=tcp"),
            ("zone-a.pin._zone.web.shop.svc", "invalid"),
        ] {
            check(front, grammar, expected);
        }
    }

    #[test]
    fn zonal_name_forms() {
        let grammar = Grammar { multicluster: false, zonal: true };
        for (front, expected) in [
            ("a.pin._zone.web.shop.svc", "svc shop/web zone=\u{1}a prefer=false"),
            ("a.b.prefer._zone.web.shop.svc", "svc shop/web zone=\u{1}a\u{1}b prefer=true"),
            (
                "a.b.c.d.e.f.g.pin._zone.w.s.svc",
                "svc s/w zone=\u{1}a\u{1}b\u{1}c\u{1}d\u{1}e\u{1}f\u{1}g prefer=false",
            ),
            ("a.other._zone.web.shop.svc", "invalid"),
            ("a.pin.zone.web.shop.svc", "invalid"),
            ("pin._zone.web.shop.svc", "svc shop/web port=pin protocol=zone"),
            ("a.pin._zone.web.shop.pod", "invalid"),
        ] {
            check(front, grammar, expected);
        }
    }

    #[test]
    fn external_name_forms() {
        for (front, expected) in [
            ("shop", Some("shop/")),
            ("web.shop", Some("shop/web")),
            ("db-0.web.shop", Some("shop/web endpoint=db-0")),
            ("_db-0.web.shop", Some("shop/web endpoint=db-0")),
            ("_.web.shop", Some("shop/web")),
            ("_http._tcp.web.shop", Some("shop/web port=http protocol=tcp")),
            ("http.tcp.web.shop", Some("shop/web port=http protocol=tcp")),
            ("a.b.c.web.shop", None),
            ("", None),
        ] {
            let name = NameBuf::parse(front).unwrap();
            let octets = &name.wire()[..name.wire().len() - 1];
            let object = ObjectRef::parse_external(octets);
            assert_eq!(object.as_ref().map(object_text).as_deref(), expected, "{front}");
            let is_named = object.filter(|object| !object.name.is_empty());
            assert!(is_named.is_none_or(|object| object.key == b"\x03web\x04shop"), "{front}");
        }
    }

    #[test]
    fn keys_are_in_wire_format() {
        let name = NameBuf::parse("_http._tcp.web.shop.svc").unwrap();
        let front = &name.wire()[..name.wire().len() - 1];
        let Request::Service(object) = Request::parse(front, PLAIN) else { panic!("a Service") };
        assert_eq!(object.key, b"\x03web\x04shop");
    }
}
