//! Replies that are given again are those that would be made: in every state of a cluster, and at once after a change.

use std::fs;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use server::{Client, Exchange, Replied, Transport};
use wire::{NameBuf, Query, Rtype};

use super::{Served, serve};

const COREFILE: &str = ".:53 {
    errors
    prometheus 127.0.0.1:0
    loadbalance
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        manifests FOLDER
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
    cache 30 {
        disable success cluster.local
        disable denial cluster.local
    }
}
";

/// Each state differs from the one before it in what the comment says.
const STATES: [(&str, &str); 8] = [
    ("a Service", SERVICE),
    ("another address", "SERVICE 10.96.0.8"),
    ("no Service", "NAMESPACE"),
    ("a headless one with an endpoint", "HEADLESS 10.244.0.1"),
    ("another endpoint", "HEADLESS 10.244.0.2"),
    ("another name", "ALIAS www.example.org"),
    ("a Service again", SERVICE),
    ("no namespace", "NOTHING"),
];
const SERVICE: &str = "SERVICE 10.96.0.7";

const QUESTIONS: [(&str, Rtype); 12] = [
    ("web.shop.svc.cluster.local.", Rtype::A),
    ("Web.shop.svc.cluster.local.", Rtype::A),
    ("web.shop.svc.cluster.local.", Rtype::AAAA),
    ("web.shop.svc.cluster.local.", Rtype::TXT),
    ("_http._tcp.web.shop.svc.cluster.local.", Rtype::SRV),
    ("10-244-0-1.web.shop.svc.cluster.local.", Rtype::A),
    ("other.shop.svc.cluster.local.", Rtype::A),
    ("shop.svc.cluster.local.", Rtype::A),
    ("cluster.local.", Rtype::SOA),
    ("7.0.96.10.in-addr.arpa.", Rtype::PTR),
    ("8.0.96.10.in-addr.arpa.", Rtype::PTR),
    ("1.0.244.10.in-addr.arpa.", Rtype::PTR),
];

fn manifests(state: &str) -> String {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: { name: NAME }\n";
    let here = format!("{}---\n{}", namespace.replace("NAME", "shop"), namespace.replace("NAME", "other"));
    let (kind, value) = state.split_once(' ').unwrap_or((state, ""));
    let service = |spec: &str| {
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{ name: web, namespace: shop }}\nspec: {{ {spec}, \
             ports: [{{ name: http, port: 80 }}] }}\n"
        )
    };
    let slice = format!(
        "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{ name: web-1, namespace: shop, \
         labels: {{ kubernetes.io/service-name: web }} }}\naddressType: IPv4\nports: [{{ name: http, port: 80, \
         protocol: TCP }}]\nendpoints: [{{ addresses: [{value}] }}]\n"
    );
    match kind {
        "SERVICE" => here + &service(&format!("clusterIP: {value}")),
        "HEADLESS" => here + &service("clusterIP: None") + &slice,
        "ALIAS" => here + &service(&format!("type: ExternalName, externalName: {value}")),
        "NAMESPACE" => here,
        _ => namespace.replace("NAME", "other"),
    }
}

/// One that gives replies again, and one that never does.
struct Both {
    repeating: Exchange,
    walking: Exchange,
}

impl Both {
    /// What each says to all questions.
    fn answers(&mut self, served: &Served) -> [Vec<Vec<u8>>; 2] {
        [&mut self.repeating, &mut self.walking].map(|exchange| all(exchange, served))
    }
}

fn all(exchange: &mut Exchange, served: &Served) -> Vec<Vec<u8>> {
    let here = SocketAddr::from(([127, 0, 0, 1], 53));
    let client = Client { remote: here, local: here, transport: Transport::Udp };
    let answer = |(name, qtype): &(&str, Rtype)| {
        let packet = Query::ask(NameBuf::parse(name).unwrap().as_name(), *qtype).to_packet();
        let mut out = Vec::new();
        // A name that stands for another one waits for that; nothing of it is given again.
        match exchange.answer(served.service(), client, &packet, &mut out) {
            Replied::Yes => out,
            Replied::No | Replied::Later => Vec::new(),
        }
    };
    QUESTIONS.iter().map(answer).collect()
}

#[test]
fn changes_show_in_replies_that_were_given_before() {
    let served = serve(COREFILE, &manifests(STATES[0].1));
    let mut both = Both { repeating: Exchange::new(), walking: Exchange::walking() };
    let mut before = both.answers(&served)[1].clone();
    for (what, state) in STATES.into_iter().cycle().skip(1).take(2 * STATES.len()) {
        // By now everything that can be is given again. Times to live of what is in the cache change by themselves.
        for _ in 0..3 {
            let [again, made] = both.answers(&served);
            for ((question, again), made) in QUESTIONS.iter().zip(&again).zip(&made) {
                let differ = again != made && question.1 != Rtype::PTR;
                assert!(!differ, "before {what}: {question:?}: {again:?} instead of {made:?}");
            }
        }
        fs::write(served.folder.path().join("cluster.yaml"), manifests(state)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while both.answers(&served)[1] == before {
            assert!(Instant::now() < deadline, "{what} never shows");
            sleep(Duration::from_millis(5));
        }
        // The snapshot is shown before it is told what changed; there are microseconds between them.
        before = loop {
            let [again, made] = both.answers(&served);
            let both = again.iter().zip(&made);
            let other = QUESTIONS
                .iter()
                .zip(both)
                .find(|((_, qtype), (again, made))| again != made && *qtype != Rtype::PTR);
            let Some((question, (again, made))) = other else { break made };
            let late = Instant::now() > deadline;
            assert!(!late, "{what}: {question:?}: {again:?} instead of {made:?}");
            sleep(Duration::from_millis(1));
        };
    }
}

/// Metrics do not tell apart how a reply came about.
#[test]
fn what_is_given_again_is_counted() {
    let served = serve(&COREFILE.replace(".:53", ".:5391"), &manifests(SERVICE));
    for mut exchange in [Exchange::walking(), Exchange::new()] {
        (0..10).for_each(|_| drop(all(&mut exchange, &served)));
    }
    let text = metrics::registry().encode();
    let sum = |name: &str, label: &str| -> f64 {
        let ours = |line: &&str| line.starts_with(name) && line.contains(":5391\"") && line.contains(label);
        text.lines().filter(ours).filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    };
    let questions = |wanted: Rtype| QUESTIONS.iter().filter(|(_, qtype)| *qtype == wanted).count() as f64;
    let asked = 20.0 * QUESTIONS.len() as f64;
    for (name, label, expected) in [
        ("coredns_dns_requests_total{", "", asked),
        ("coredns_dns_requests_total{", "type=\"A\"", 20.0 * questions(Rtype::A)),
        ("coredns_dns_requests_total{", "type=\"PTR\"", 20.0 * questions(Rtype::PTR)),
        ("coredns_dns_responses_total{", "", asked),
        ("coredns_dns_responses_total{", "plugin=\"kubernetes\",rcode=\"NXDOMAIN\"", 40.0),
        ("coredns_dns_request_duration_seconds_count{", "", asked),
        ("coredns_dns_request_size_bytes_count{", "", asked),
        ("coredns_dns_response_size_bytes_count{", "", asked),
        ("coredns_cache_requests_total{", "", asked),
    ] {
        assert_eq!(sum(name, label), expected, "{name}{label}\n{text}");
    }
    let sizes = |name: &str| sum(name, "") / asked;
    let (sent, received) =
        (sizes("coredns_dns_response_size_bytes_sum{"), sizes("coredns_dns_request_size_bytes_sum{"));
    assert!(received > 40.0 && sent > received, "{received} {sent}");
}
