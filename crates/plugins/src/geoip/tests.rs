use std::net::IpAddr;

use testkit::mmdb::{self, Value, map};

use super::database::Database;
use super::{load_subnet, store_subnet, subnet};
use crate::testing::harness::{configure, refused};

fn file(database_type: &str, networks: Vec<(&'static str, Value)>) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), mmdb::Database::new(database_type, networks).bytes()).expect("written");
    file
}

fn cambridge() -> Value {
    let name = |text: &str| map([("en", text.into())]);
    map([
        ("city", map([("names", name("Cambridge"))])),
        ("continent", map([("code", "EU".into()), ("names", name("Europe"))])),
        (
            "country",
            map([
                ("iso_code", "GB".into()),
                ("is_in_european_union", Value::Bool(true)),
                ("names", name("UK")),
            ]),
        ),
        (
            "location",
            map([
                ("latitude", Value::Double(52.2242)),
                ("longitude", Value::Double(-0.0000001)),
                ("time_zone", "Europe/London".into()),
            ]),
        ),
        ("postal", map([("code", "CB4".into())])),
        (
            "subdivisions",
            Value::List(["ENG", "", "CAM"].map(|code| map([("iso_code", code.into())])).to_vec()),
        ),
    ])
}

fn value(database: &Database, label: &str, address: &str) -> Option<String> {
    database.value(label, address.parse::<IpAddr>().expect("an address"))
}

#[test]
fn cities() {
    let too_long = map([("city", map([("names", map([("en", "x".repeat(1025).as_str().into())]))]))]);
    let file = file(
        "GeoLite2-City",
        vec![
            ("81.2.69.0/24", cambridge()),
            ("2001:db8::/32", map([("country", map([("iso_code", "ZZ".into())]))])),
            ("10.0.0.0/8", too_long),
            ("10.1.0.0/16", map([("location", map([("latitude", Value::Uint16(1))]))])),
        ],
    );
    let database = Database::open(file.path()).expect("a database");
    for (label, expected) in [
        ("city/name", "Cambridge"),
        ("country/name", "UK"),
        ("country/code", "GB"),
        ("country/is_in_european_union", "true"),
        ("continent/name", "Europe"),
        ("continent/code", "EU"),
        ("subdivisions/code", "ENG,,CAM"),
        ("latitude", "52.2242"),
        ("longitude", "-0.0000001"),
        ("timezone", "Europe/London"),
        ("postalcode", "CB4"),
    ] {
        let empty = if expected == "true" { "false" } else { "" };
        assert_eq!(value(&database, label, "81.2.69.142").as_deref(), Some(expected), "{label}");
        assert_eq!(value(&database, label, "::ffff:81.2.69.142").as_deref(), Some(expected), "{label}");
        // Not in the database.
        assert_eq!(value(&database, label, "203.0.113.1").as_deref(), Some(empty), "{label}");
        // Invalid records.
        assert_eq!(value(&database, label, "10.0.0.1"), None, "{label}");
        assert_eq!(value(&database, label, "10.1.0.1"), None, "{label}");
    }
    assert_eq!(value(&database, "country/code", "2001:db8::1").as_deref(), Some("ZZ"));
    for label in ["asn/number", "city", "", "nosuch"] {
        assert_eq!(value(&database, label, "81.2.69.142"), None, "{label}");
    }
}

#[test]
fn autonomous_systems() {
    let system = |number: Value| {
        map([("autonomous_system_number", number), ("autonomous_system_organization", "Somebody".into())])
    };
    let file = file(
        "GeoIP2-ISP",
        vec![("10.0.0.0/8", system(Value::Uint32(12345))), ("11.0.0.0/8", system(Value::Int32(-1)))],
    );
    let database = Database::open(file.path()).expect("a database");
    for (address, number, organization) in [
        ("10.0.0.1", Some("12345"), Some("Somebody")),
        ("11.0.0.1", None, None),
        ("12.0.0.1", Some("0"), Some("")),
    ] {
        assert_eq!(value(&database, "asn/number", address).as_deref(), number, "{address}");
        assert_eq!(value(&database, "asn/org", address).as_deref(), organization, "{address}");
    }
    assert_eq!(value(&database, "city/name", "10.0.0.1"), None);
}

#[test]
fn subnets() {
    for (option, expected) in [
        (&[0, 1, 24, 0, 10, 1, 2][..], Some("::ffff:10.1.2.0")),
        (&[0, 1, 32, 0, 10, 1, 2, 3], Some("::ffff:10.1.2.3")),
        (&[0, 2, 32, 0, 0x20, 0x01, 0x0d, 0xb8], Some("2001:db8::")),
        (&[0, 0, 0, 0], Some("::ffff:0.0.0.0")),
        (&[], None),
    ] {
        let mut query = wire::Query::ask(wire::Name::ROOT, wire::Rtype::A);
        query.set_options(&[
            wire::EdnsOption { code: 10, data: b"12345678" },
            wire::EdnsOption { code: wire::option::SUBNET, data: option },
        ]);
        let found = subnet(&query);
        assert_eq!(found, expected.map(|text| text.parse().expect("an address")), "{option:?}");
        let mut slot = server::Slot::default();
        assert_eq!(load_subnet(&slot), None);
        store_subnet(&mut slot, found);
        assert_eq!(load_subnet(&slot), Some(found));
    }
}

#[test]
fn options() {
    let city = file("DBIP-City-Lite", Vec::new());
    let path = city.path().display();
    for body in [format!("geoip {path}"), format!("geoip {path} {{\nedns-subnet\nedns-subnet\n}}")] {
        assert!(configure(&format!(". {{\n{body}\n}}")).is_ok(), "{body}");
    }
    let unknown = file("UnknownDbType", Vec::new());
    let domain = file("GeoIP2-Domain", Vec::new());
    let odd = file("GeoLite2-City", vec![("127.0.0.1/32", "no map".into())]);
    let open = "failed to open database file: ";
    for (body, error) in [
        ("geoip".to_owned(), "Wrong argument count or unexpected line ending after 'geoip'".to_owned()),
        ("geoip a b".to_owned(), "Wrong argument count or unexpected line ending after 'b'".to_owned()),
        (format!("geoip {path}\ngeoip {path}"), "configuring multiple databases is not supported".to_owned()),
        (format!("geoip {path} {{\nx\n}}"), "unknown property \"x\"".to_owned()),
        ("geoip /nonexistent".to_owned(), format!("{open}open /nonexistent: no such file or directory")),
        ("geoip /".to_owned(), format!("{open}read /: is a directory")),
        ("geoip /dev/null".to_owned(), format!("{open}file is empty")),
        ("geoip /etc/passwd".to_owned(), format!("{open}error opening database: invalid MaxMind DB file")),
        (
            format!("geoip {}", unknown.path().display()),
            format!("{open}geoip2: reader does not support the \"UnknownDbType\" database type"),
        ),
        (
            format!("geoip {}", domain.path().display()),
            "database does not provide any supported schema (city, asn)".to_owned(),
        ),
        (format!("geoip {}", odd.path().display()), "unexpected failure looking up database \"".to_owned()),
    ] {
        let got = refused(&format!(". {{\n{body}\n}}"));
        let parsing = " - Error during parsing: ";
        let words = got.split_once(parsing).map_or(got.as_str(), |(_, words)| words);
        assert!(got.starts_with("plugin/geoip: ") && words.starts_with(&error), "{body}\n{got}\n{error}");
    }
}

#[test]
fn unsuitable_files_are_refused() {
    let file = file("GeoLite2-City", vec![("81.2.69.0/24", cambridge())]);
    let corefile = format!(". {{\n geoip {}\n}}", file.path().display());
    crate::testing::broken_file::check_at_setup(file.path(), || configure(&corefile).map(drop));
}
