//! `geoip`: the metadata of clients, as seen in the query log.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use testkit::client::Transport;
use testkit::mmdb::{Database, Value, map};
use testkit::peers::Peer;
use testkit::query::{GeneratedQuery, Generator, Options, Pool};
use testkit::random::Random;
use testkit::{DnsServer, Kind, client};

use super::QUERIES;

const LABELS: &str = "{/geoip/city/name}|{/geoip/country/name}|{/geoip/country/code}|{/geoip/country/is_in_european_union}|\
    {/geoip/continent/name}|{/geoip/continent/code}|{/geoip/subdivisions/code}|{/geoip/latitude}|{/geoip/longitude}|\
    {/geoip/timezone}|{/geoip/postalcode}|{/geoip/asn/number}|{/geoip/asn/org}|{/geoip/nosuch}|{/geoip}";

/// A database record for a network; numbers distinguish the records.
fn place(
    city: &str,
    code: &str,
    eu: bool,
    subdivisions: &[&str],
    latitude: Value,
    longitude: Value,
) -> Value {
    let name = |text: &str| map([("de", "anders".into()), ("en", text.into())]);
    let subdivisions =
        subdivisions.iter().map(|code| map([("iso_code", (*code).into()), ("names", name("part"))]));
    map([
        ("city", map([("geoname_id", Value::Uint64(2_653_941)), ("names", name(city))])),
        ("continent", map([("code", "EU".into()), ("names", name("Europe"))])),
        (
            "country",
            map([
                ("iso_code", code.into()),
                ("is_in_european_union", Value::Bool(eu)),
                ("names", name("Land")),
            ]),
        ),
        (
            "location",
            map([
                ("accuracy_radius", Value::Uint16(200)),
                ("latitude", latitude),
                ("longitude", longitude),
                ("time_zone", "Europe/Zürich".into()),
            ]),
        ),
        ("postal", map([("code", "CB4 1".into())])),
        ("subdivisions", Value::List(subdivisions.collect())),
    ])
}

fn cities() -> Vec<(&'static str, Value)> {
    let double = Value::Double;
    vec![
        ("127.0.0.0/8", place("All", "GB", true, &["ENG", "CAM"], double(52.2242), double(0.1315))),
        ("127.1.0.0/16", place("", "CH", false, &[], double(-47.0), double(0.0))),
        ("127.2.0.0/16", place("Genève \"x\"", "FR", false, &["", "A"], double(-0.0), double(1e-7))),
        ("127.3.0.0/16", place("Far", "XX", true, &["ONE"], double(1e21), double(-179.999_999_999_9))),
        ("127.4.0.0/16", place("Float", "XX", true, &["ONE"], Value::Float(52.2242), Value::Float(0.1))),
        ("127.5.0.0/16", map([("country", map([("iso_code", "DE".into())]))])),
        ("127.6.0.0/16", map([])),
        // A malformed record: no metadata.
        ("127.7.0.0/16", place("Whole", "XX", true, &[], Value::Uint32(52), double(1.0))),
        (
            "127.8.0.0/16",
            place("Number", "XX", true, &["A text of more than sixteen"], double(1.0), double(1.0)),
        ),
        ("127.9.0.0/16", map([("city", "no map".into())])),
        ("127.10.0.0/16", map([("country", map([("iso_code", Value::Uint16(7))]))])),
        ("::1/128", place("Six", "GB", true, &["ENG"], double(f64::INFINITY), double(f64::NAN))),
        ("10.0.0.0/9", place("Ten", "US", false, &["NY"], double(40.7), double(-74.0))),
        ("2001:db8::/32", place("Doc", "ZZ", false, &["D"], double(90.0), double(180.0))),
    ]
}

fn networks() -> Vec<(&'static str, Value)> {
    let system = |number: Value, organization: &str| {
        map([("autonomous_system_number", number), ("autonomous_system_organization", organization.into())])
    };
    vec![
        ("127.0.0.0/8", system(Value::Uint64(12345), "Test ASN Organization")),
        ("127.1.0.0/16", system(Value::Uint32(4_294_967_295), "")),
        ("127.2.0.0/16", system(Value::Int32(7), "Signed")),
        ("127.3.0.0/16", system(Value::Int32(-7), "Below zero")),
        ("127.4.0.0/16", system(Value::Uint64(u64::MAX), "Most")),
        ("127.5.0.0/16", system("7".into(), "Text")),
        ("127.6.0.0/16", map([("autonomous_system_organization", "Not routed".into())])),
        ("10.0.0.0/8", system(Value::Uint16(0), "Not routed")),
        ("2001:db8::/32", system(Value::Uint16(1), "Documentation")),
    ]
}

/// Many client addresses; some queries have a client subnet.
fn sources() -> Vec<IpAddr> {
    let mut sources: Vec<IpAddr> =
        (0..=11).map(|second| IpAddr::V4(Ipv4Addr::new(127, second, 0, 1))).collect();
    sources.push("::1".parse().expect("an address"));
    sources
}

fn check(database: &Database, options: &str, others: &str) {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.mmdb");
    std::fs::write(&path, database.bytes()).expect("written");
    let corefile = format!(
        ".:{{port}} {{\n bind 127.0.0.1 ::1\n metadata\n geoip {} {{\n {options}\n }}\n \
         log . \"PLACE {{>id}} {{type}} {{name}} {{remote}} {LABELS}\"\n {others}\n whoami\n}}\n",
        path.display()
    );
    let start = |kind| {
        let port = testkit::ports::free().expect("a free port");
        DnsServer::start(kind, &corefile.replace("{port}", &port.to_string()), port)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let asked = Options { odd_headers: 0.0, edns: 0.8, ..Options::default() };
    let generator = Generator::from_env([Pool::new(1, ["a.example.org", "b.example.org"])], asked);
    let mut random = Random::new(generator.seed());
    let sources = sources();
    for query in generator.take(QUERIES) {
        let source = *random.pick(&sources);
        for server in [&coredns, &rhumb] {
            ask(source, server.addr().port(), &query);
        }
    }
    std::thread::sleep(Duration::from_millis(500));
    let lines = |server: &DnsServer| {
        let lines = server.process().lines();
        let mut lines: Vec<String> = lines.iter().filter(|line| line.contains("PLACE")).cloned().collect();
        lines.sort();
        lines
    };
    let (left, right) = (lines(&coredns), lines(&rhumb));
    let only = |these: &[String], those: &[String]| {
        these.iter().filter(|line| !those.contains(line)).take(5).cloned().collect::<Vec<_>>()
    };
    assert_eq!((only(&left, &right), only(&right, &left)), (vec![], vec![]));
    assert_eq!(left.len(), right.len());
    let places = |line: &String| line.split('|').skip(1).map(str::to_owned).collect::<Vec<_>>();
    let different: std::collections::BTreeSet<_> = left.iter().map(places).collect();
    println!("{}: {} lines, {} different values", database.database_type, left.len(), different.len());
    assert!(left.len() > QUERIES * 9 / 10, "only {} lines", left.len());
}

/// Queries from `source` and waits for the answer, so that the log is complete.
fn ask(source: IpAddr, port: u16, query: &GeneratedQuery) {
    let server = match source {
        IpAddr::V4(_) => SocketAddr::from(([127, 0, 0, 1], port)),
        IpAddr::V6(_) => SocketAddr::new(source, port),
    };
    if query.transport == Transport::Tcp && source.is_ipv6() {
        client::tcp(server, &query.wire, Duration::from_secs(3)).expect("asked");
        return;
    }
    let socket = std::net::UdpSocket::bind((source, 0)).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(3))).expect("set");
    socket.send_to(&query.wire, server).expect("sent");
    let _ = socket.recv_from(&mut [0; 4096]);
}

#[test]
fn geoip_city() {
    check(&Database::new("GeoLite2-City", cities()), "", "errors");
}

/// Uses the client subnet as sent, even if plugins below change it.
#[test]
fn geoip_city_by_client_subnet() {
    let database = Database { record_size: 28, ..Database::new("GeoIP2-Enterprise", cities()) };
    check(&database, "edns-subnet", "rewrite edns0 subnet set 24 56");
}

/// This database lacks IPv4-mapped IPv6 addresses.
#[test]
fn geoip_asn_by_client_subnet() {
    let database = Database { mapped: false, ..Database::new("GeoLite2-ASN", networks()) };
    check(&database, "edns-subnet", "");
}

#[test]
fn geoip_without_ipv6() {
    let four = |networks: Vec<(&'static str, Value)>| {
        networks.into_iter().filter(|(network, _)| !network.contains(':')).collect::<Vec<_>>()
    };
    let asn = Database { ip_version: 4, record_size: 32, ..Database::new("GeoIP2-ISP", four(networks())) };
    check(&asn, "", "");
    let country = Database { ip_version: 4, ..Database::new("GeoLite2-Country", four(cities())) };
    check(&country, "edns-subnet", "");
}

/// Unusable databases are rejected with the same message.
#[test]
fn geoip_rejects_unusable_databases() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let bad = vec![("127.0.0.0/8", map([("city", "no map".into())]))];
    for (database, ours) in [
        (Database::new("UnknownDbType", cities()), false),
        (Database::new("GeoIP2-Domain", cities()), false),
        (Database::new("GeoIP2-Anonymous-IP", Vec::new()), false),
        // The error about the record itself depends on the library.
        (Database::new("GeoLite2-City", bad), true),
    ] {
        let path = folder.path().join("test.mmdb");
        std::fs::write(&path, database.bytes()).expect("written");
        let corefile = format!(".:{{port}} {{\n bind 127.0.0.1\n geoip {}\n whoami\n}}\n", path.display());
        let [left, right] = [Kind::CoreDns, Kind::Rhumb].map(|kind| {
            let error = match DnsServer::start_on_free_port(kind, &corefile) {
                Ok(_) => panic!("{kind:?} takes {}", database.database_type),
                Err(error) => error.to_string(),
            };
            let line = error.lines().find(|line| line.contains("plugin/geoip")).unwrap_or_default();
            if ours {
                line.split("schema \"city\"").next().unwrap_or_default().to_owned()
            } else {
                line.to_owned()
            }
        });
        assert!(left.contains("plugin/geoip"), "{left}");
        assert_eq!(left, right);
    }
}
