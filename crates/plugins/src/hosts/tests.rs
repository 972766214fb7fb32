use std::fs;
use std::net::IpAddr;
use std::path::Path;

use server::{Config, Input, config, log};
use wire::NameBuf;

use super::lines::LineParser;
use super::table::Table;
use crate::messages::reverse;
use crate::testing::broken_file;
use crate::testing::harness::{answer, ask, configure, refused, service};

/// Valid and invalid lines.
const HOSTS: &str = r"# comment
10.0.0.1 a.example.org A2.Example.ORG.  # trailing other.example.org
10.0.0.2	a.example.org
10.0.0.1 a.example.org
2001:db8::1 a.example.org six.example.org
fe80::1%eth0 zone.example.org
10.0.0.9%x zone4.example.org
::ffff:10.0.0.3 mapped.example.org
010.0.0.4 octal.example.org
10.0.0.5 foo#bar.example.org baz.example.org
10.0.0.6 outside.example.net
10.0.0.7 *.wild.example.org
2001:db8::7 *.wild.example.org
10.0.0.8 exact.wild.example.org
2001:db8::8 sixonly.wild.example.org
10.0.0.10 * *.org
10.0.0.11 a@b.example.org a\065c.example.org dot\.ted.example.org UMLÄUT.example.org
10.0.0.12 .bad.example.org a..b.example.org good.example.org
notanip x.example.org
10.0.0.13
10.0.0.14 both.example.org
";

/// Checks a table of questions, each followed by its answer, which is CoreDNS's.
fn check_all(options: &str, table: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hosts"), HOSTS).unwrap();
    let service = service(&format!(". {{\n root {}\n {options}\n}}", folder.path().display()));
    let mut cases: Vec<(&str, String)> = Vec::new();
    for line in table.lines() {
        match (line.strip_prefix("    "), cases.last_mut()) {
            (Some(expected), Some((_, answer))) => answer.push_str(&format!("{expected}\n")),
            _ => cases.push((line, String::new())),
        }
    }
    assert!(!cases.is_empty());
    for (question, expected) in cases {
        let got: String =
            answer(&service, question).lines().map(|line| format!("{}\n", line.trim())).collect();
        assert_eq!(got, expected, "{question}");
    }
}

#[test]
fn file_and_inline() {
    let options = "hosts hosts example.org {
        10.0.1.1 inline.example.org both.example.org
        10.0.1.7 *.wild.example.org
        10.0.1.8 new.wild.example.org
        10.0.1.9 outside.example.net
        ttl 60
    }";
    check_all(options, FILE_AND_INLINE);
}

const FILE_AND_INLINE: &str = r"a.example.org A
    NOERROR qr,aa
    answer: a.example.org. 60 IN A 10.0.0.1
    answer: a.example.org. 60 IN A 10.0.0.2
    answer: a.example.org. 60 IN A 10.0.0.1
A.EXAMPLE.org A
    NOERROR qr,aa
    answer: a.example.org. 60 IN A 10.0.0.1
    answer: a.example.org. 60 IN A 10.0.0.2
    answer: a.example.org. 60 IN A 10.0.0.1
a.example.org AAAA
    NOERROR qr,aa
    answer: a.example.org. 60 IN AAAA 2001:db8::1
a2.example.org A
    NOERROR qr,aa
    answer: a2.example.org. 60 IN A 10.0.0.1
a2.example.org AAAA
    NOERROR qr,aa
a2.example.org TXT
    NOERROR qr,aa
other.example.org A
    SERVFAIL qr
six.example.org A
    NOERROR qr,aa
zone.example.org AAAA
    NOERROR qr,aa
    answer: zone.example.org. 60 IN AAAA fe80::1
zone4.example.org A
    NOERROR qr,aa
    answer: zone4.example.org. 60 IN A 10.0.0.9
mapped.example.org A
    NOERROR qr,aa
    answer: mapped.example.org. 60 IN A 10.0.0.3
mapped.example.org AAAA
    NOERROR qr,aa
octal.example.org A
    SERVFAIL qr
foo.example.org A
    SERVFAIL qr
baz.example.org A
    SERVFAIL qr
outside.example.net A
    SERVFAIL qr
x.wild.example.org A
    NOERROR qr,aa
    answer: x.wild.example.org. 60 IN A 10.0.0.7
    answer: x.wild.example.org. 60 IN A 10.0.1.7
x.wild.example.org AAAA
    NOERROR qr,aa
    answer: x.wild.example.org. 60 IN AAAA 2001:db8::7
X.Wild.example.org AAAA
    NOERROR qr,aa
    answer: x.wild.example.org. 60 IN AAAA 2001:db8::7
*.wild.example.org A
    NOERROR qr,aa
    answer: *.wild.example.org. 60 IN A 10.0.0.7
    answer: *.wild.example.org. 60 IN A 10.0.1.7
x.y.wild.example.org A
    SERVFAIL qr
wild.example.org A
    SERVFAIL qr
exact.wild.example.org A
    NOERROR qr,aa
    answer: exact.wild.example.org. 60 IN A 10.0.0.8
    answer: exact.wild.example.org. 60 IN A 10.0.1.7
exact.wild.example.org AAAA
    NOERROR qr,aa
    answer: exact.wild.example.org. 60 IN AAAA 2001:db8::7
sixonly.wild.example.org A
    NOERROR qr,aa
    answer: sixonly.wild.example.org. 60 IN A 10.0.0.7
    answer: sixonly.wild.example.org. 60 IN A 10.0.1.7
new.wild.example.org A
    NOERROR qr,aa
    answer: new.wild.example.org. 60 IN A 10.0.0.7
    answer: new.wild.example.org. 60 IN A 10.0.1.8
new.wild.example.org AAAA
    NOERROR qr,aa
    answer: new.wild.example.org. 60 IN AAAA 2001:db8::7
example.org A
    SERVFAIL qr
org A
    SERVFAIL qr
a@b.example.org A
    SERVFAIL qr
a\065c.example.org A
    SERVFAIL qr
aac.example.org A
    SERVFAIL qr
dot\.ted.example.org A
    NOERROR qr,aa
    answer: dot\.ted.example.org. 60 IN A 10.0.0.11
good.example.org A
    NOERROR qr,aa
    answer: good.example.org. 60 IN A 10.0.0.12
both.example.org A
    NOERROR qr,aa
    answer: both.example.org. 60 IN A 10.0.0.14
    answer: both.example.org. 60 IN A 10.0.1.1
inline.example.org A
    NOERROR qr,aa
    answer: inline.example.org. 60 IN A 10.0.1.1
1.0.0.10.in-addr.arpa PTR
    NOERROR qr,aa
    answer: 1.0.0.10.in-addr.arpa. 60 IN PTR a.example.org.
    answer: 1.0.0.10.in-addr.arpa. 60 IN PTR a2.example.org.
    answer: 1.0.0.10.in-addr.arpa. 60 IN PTR a.example.org.
1.0.0.10.IN-ADDR.arpa PTR
    NOERROR qr,aa
    answer: 1.0.0.10.in-addr.arpa. 60 IN PTR a.example.org.
    answer: 1.0.0.10.in-addr.arpa. 60 IN PTR a2.example.org.
    answer: 1.0.0.10.in-addr.arpa. 60 IN PTR a.example.org.
11.0.0.10.in-addr.arpa PTR
    NOERROR qr,aa
    answer: 11.0.0.10.in-addr.arpa. 60 IN PTR a\@b.example.org.
    answer: 11.0.0.10.in-addr.arpa. 60 IN PTR aAc.example.org.
    answer: 11.0.0.10.in-addr.arpa. 60 IN PTR dot\.ted.example.org.
    answer: 11.0.0.10.in-addr.arpa. 60 IN PTR uml\195\164ut.example.org.
6.0.0.10.in-addr.arpa PTR
    SERVFAIL qr
7.0.0.10.in-addr.arpa PTR
    SERVFAIL qr
8.1.0.10.in-addr.arpa PTR
    NOERROR qr,aa
    answer: 8.1.0.10.in-addr.arpa. 60 IN PTR new.wild.example.org.
99.0.0.10.in-addr.arpa PTR
    SERVFAIL qr
01.0.0.10.in-addr.arpa PTR
    SERVFAIL qr
1.0.0.10.in-addr.arpa A
    SERVFAIL qr
in-addr.arpa PTR
    SERVFAIL qr
0.0.10.in-addr.arpa PTR
    SERVFAIL qr
1.0.0.::ffff:10.in-addr.arpa PTR
    NOERROR qr,aa
    answer: 1.0.0.::ffff:10.in-addr.arpa. 60 IN PTR a.example.org.
    answer: 1.0.0.::ffff:10.in-addr.arpa. 60 IN PTR a2.example.org.
    answer: 1.0.0.::ffff:10.in-addr.arpa. 60 IN PTR a.example.org.
::ffff:a00:1.in-addr.arpa PTR
    NOERROR qr,aa
    answer: ::ffff:a00:1.in-addr.arpa. 60 IN PTR a.example.org.
    answer: ::ffff:a00:1.in-addr.arpa. 60 IN PTR a2.example.org.
    answer: ::ffff:a00:1.in-addr.arpa. 60 IN PTR a.example.org.
2001:db8::1.in-addr.arpa PTR
    SERVFAIL qr
1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa PTR
    NOERROR qr,aa
    answer: 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 60 IN PTR a.example.org.
    answer: 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 60 IN PTR six.example.org.
1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.B.D.0.1.0.0.2.ip6.arpa PTR
    NOERROR qr,aa
    answer: 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 60 IN PTR a.example.org.
    answer: 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 60 IN PTR six.example.org.
foo.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa PTR
    NOERROR qr,aa
    answer: foo.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 60 IN PTR a.example.org.
    answer: foo.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 60 IN PTR six.example.org.
3.0.0.0.0.0.a.0.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa PTR
    NOERROR qr,aa
    answer: 3.0.0.0.0.0.a.0.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa. 60 IN PTR mapped.example.org.
1.:.:.8bd0:.1002.ip6.arpa PTR
    SERVFAIL qr
1.0.0.0.:.:.ip6.arpa PTR
    SERVFAIL qr
a.example.org PTR
    SERVFAIL qr
. A
    SERVFAIL qr
";

#[test]
fn no_reverse_and_fallthrough_of_zones() {
    let options = "hosts hosts example.org {
        10.0.1.1 inline.example.org
        no_reverse
        fallthrough fall.example.org in-addr.arpa
    }
    erratic {
        drop 0
    }";
    check_all(options, FALLTHROUGH_OF_ZONES);
}

const FALLTHROUGH_OF_ZONES: &str = "a.example.org A
    NOERROR qr,aa
    answer: a.example.org. 3600 IN A 10.0.0.1
    answer: a.example.org. 3600 IN A 10.0.0.2
    answer: a.example.org. 3600 IN A 10.0.0.1
a.example.org TXT
    NOERROR qr,aa
1.0.0.10.in-addr.arpa PTR
    SERVFAIL qr
x.fall.example.org A
    NOERROR qr,aa
    answer: x.fall.example.org. 0 IN A 192.0.2.53
x.example.org A
    SERVFAIL qr
x.example.org AAAA
    SERVFAIL qr
outside.example.net A
    NOERROR qr,aa
    answer: outside.example.net. 0 IN A 192.0.2.53
";

#[test]
fn fallthrough_of_all() {
    let options = "hosts hosts {
        fallthrough
        fallthrough_unsupported
    }
    erratic {
        drop 0
    }";
    check_all(options, FALLTHROUGH_OF_ALL);
}

const FALLTHROUGH_OF_ALL: &str = "a.example.org A
    NOERROR qr,aa
    answer: a.example.org. 3600 IN A 10.0.0.1
    answer: a.example.org. 3600 IN A 10.0.0.2
    answer: a.example.org. 3600 IN A 10.0.0.1
a.example.org TXT
    SERVFAIL qr
a.example.org AAAA
    NOERROR qr,aa
    answer: a.example.org. 3600 IN AAAA 2001:db8::1
a2.example.org AAAA
    NOERROR qr,aa
nosuch.example.org AAAA
    NOERROR qr,aa
    answer: nosuch.example.org. 0 IN AAAA 2001:db8::53
1.0.0.10.in-addr.arpa PTR
    NOERROR qr,aa
    answer: 1.0.0.10.in-addr.arpa. 3600 IN PTR a.example.org.
    answer: 1.0.0.10.in-addr.arpa. 3600 IN PTR a2.example.org.
    answer: 1.0.0.10.in-addr.arpa. 3600 IN PTR a.example.org.
99.0.0.10.in-addr.arpa PTR
    SERVFAIL qr
outside.example.net A
    NOERROR qr,aa
    answer: outside.example.net. 3600 IN A 10.0.0.6
x.org A
    NOERROR qr,aa
    answer: x.org. 3600 IN A 10.0.0.10
";

#[test]
fn fallthrough_of_types_in_zones() {
    let options = "hosts hosts {
        fallthrough_unsupported
        fallthrough six.example.org
    }
    whoami";
    check_all(options, FALLTHROUGH_OF_TYPES);
}

const FALLTHROUGH_OF_TYPES: &str = "six.example.org TXT
    NOERROR qr,aa
    additional: six.example.org. 0 IN A 10.240.0.1
    additional: _udp.six.example.org. 0 IN SRV 0 0 40212 .
a.example.org TXT
    NOERROR qr,aa
nosuch.example.org TXT
    SERVFAIL qr
";

fn table(text: &str, zone: &str, reverse: bool) -> Table {
    let zones = vec![NameBuf::parse(zone).unwrap()];
    LineParser { zones, reverse }.read(text.as_bytes(), "test", log::plugin("hosts")).unwrap()
}

#[test]
fn entries_are_counted() {
    for (text, zone, reverse, entries) in [
        ("", ".", true, 0),
        ("10.0.0.1 a b", ".", true, 4),
        ("10.0.0.1 a b", ".", false, 2),
        ("10.0.0.1 a.x b", "x.", true, 2),
        ("10.0.0.1 *.a *", ".", true, 2),
        ("10.0.0.1\n# 10.0.0.1 a\nx a", ".", true, 0),
    ] {
        assert_eq!(table(text, zone, reverse).entries(), entries, "{text}");
    }
}

#[test]
fn long_fields_are_ignored() {
    let long = "x".repeat(1025);
    let text = format!("{long} a\n10.0.0.1 {long} b {}\n10.0.0.2 c", "y".repeat(1024));
    let table = table(&text, ".", true);
    assert_eq!(table.entries(), 4);
    for name in ["b", "c"] {
        assert_eq!(table.v4(NameBuf::parse(name).unwrap().as_name()).len(), 1, "{name}");
    }
}

#[test]
fn many_names() {
    let text: String =
        (0..10_000).map(|n| format!("10.0.{}.{} host-{n}.x host-{}.x\n", n / 256, n % 256, n / 2)).collect();
    let table = table(&text, ".", true);
    assert_eq!(table.entries(), 40_000);
    let of = |name: String| table.v4(NameBuf::parse(&name).unwrap().as_name()).len();
    for n in 0..10_000 {
        assert_eq!(of(format!("host-{n}.x")), if n < 5_000 { 3 } else { 1 });
    }
    assert_eq!(of("host-10000.x".into()), 0);
    assert_eq!(table.names("10.0.1.1".parse().unwrap()).len(), 2);
}

/// Names beyond the size of any message are not written.
#[test]
fn one_address_of_very_many_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    fs::write(&path, (0..70_000).map(|n| format!("0.0.0.0 n{n}\n")).collect::<String>()).unwrap();
    let service = service(&format!(". {{\n hosts {}\n}}", path.display()));
    let answered = ask(&service, "0.0.0.0.in-addr.arpa PTR tcp");
    let packet = answered.packet.unwrap();
    assert!(packet.len() > 60_000, "{}", packet.len());
    assert_eq!(packet[2] & 2, 2, "truncated");
}

#[test]
fn reverse_names() {
    for (name, address) in [
        ("4.3.2.1.in-addr.arpa", Some("1.2.3.4")),
        ("5.4.3.2.1.in-addr.arpa", None),
        ("3.2.1.in-addr.arpa", None),
        ("256.3.2.1.in-addr.arpa", None),
        ("04.3.2.1.in-addr.arpa", None),
        (r"4\.3.2.1.in-addr.arpa", None),
        ("x.in-addr.arpa", None),
        ("in-addr.arpa", None),
        ("4.3.2.::ffff:1.in-addr.arpa", Some("1.2.3.4")),
        ("::1.in-addr.arpa", None),
        ("ip6.arpa", None),
        ("1.2.3.4", None),
        (".", None),
        (r"4\.3\.2\.1.in-addr.arpa", None),
        ("2.1.:.:.ip6.arpa", Some("::12")),
        ("x.y.z.2.1.:.:.ip6.arpa", Some("::12")),
        ("w.x.y.z.2.1.:.:.ip6.arpa", None),
        ("4.0.3.0.2.0.1.0.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa", Some("1.2.3.4")),
    ] {
        let expected: Option<IpAddr> = address.map(|text| text.parse().unwrap());
        let found = reverse::address(NameBuf::parse(name).unwrap().as_name());
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_file_is_read_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    let config = configure(&format!(". {{\n hosts {} {{\n 10.0.1.1 a\n }}\n}}", path.display())).unwrap();
    assert_eq!(config.warnings.len(), 1);
    assert_eq!(
        config.warnings[0].to_string(),
        format!("plugin/hosts: File does not exist: {}", path.display())
    );
    let service = config.services().next().unwrap().1;
    let [task] = config.tasks() else { panic!("one task") };
    assert_eq!(task.interval.as_secs(), 5);
    let addresses = || {
        (task.work)();
        answer(service, "a A")
            .split_whitespace()
            .filter(|word| word.starts_with("10."))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(addresses(), "10.0.1.1");
    fs::write(&path, "10.0.0.1 a\n").unwrap();
    assert_eq!(addresses(), "10.0.0.1 10.0.1.1");
    fs::write(&path, "10.0.0.1 a\n10.0.0.2 a\n").unwrap();
    assert_eq!(addresses(), "10.0.0.1 10.0.0.2 10.0.1.1");
    let metric = |text: &str| metrics::registry().encode().lines().any(|line| line == text);
    assert!(metric(&format!("coredns_hosts_entries{{hostsfile=\"{}\"}} 6", path.display())));
    let last = || addresses().split(' ').next()?.strip_prefix("10.0.0.")?.parse().ok();
    broken_file::check(&path, |version| format!("10.0.0.{version} a\n"), || (task.work)(), last);
}

/// A file that cannot be read at setup gives one warning.
#[test]
fn unsuitable_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    let shown = path.display();
    let long = format!("10.0.0.1 a\n10.0.0.2 {}\n", "b".repeat(1 << 20));
    for (contents, warning) in [
        (None, format!("File does not exist: {shown}")),
        (Some(long), format!("Hosts file {shown}: line 2 is longer than 1048576 bytes")),
    ] {
        contents.into_iter().for_each(|contents| fs::write(&path, contents).unwrap());
        let config = configure(&format!(". {{\n hosts {shown}\n}}")).unwrap();
        let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, [format!("plugin/hosts: {warning}")]);
    }
    let config = configure(". {\n hosts /dev/zero\n}").unwrap();
    assert_eq!(config.warnings[0].to_string(), "plugin/hosts: Hosts file /dev/zero: is not a regular file");
    let config = configure(". {\n hosts /dev/null\n}").unwrap();
    assert!(config.warnings.is_empty());
}

/// Contents survive a reload if the file cannot be read then.
#[test]
fn contents_survive_a_reload() {
    let folder = tempfile::tempdir().unwrap();
    let [hosts, weights] = ["hosts", "weights"].map(|name| folder.path().join(name));
    fs::write(&hosts, "10.0.0.1 a\n").unwrap();
    fs::write(&weights, "a\n10.0.0.1 1\n").unwrap();
    let text = format!(". {{\n loadbalance weighted {}\n hosts {}\n}}", weights.display(), hosts.display());
    let running = configure(&text).unwrap();
    let next = |running: &Config| {
        let input = Input { name: "Corefile".into(), contents: text.clone().into(), dns_port: "53".into() };
        let parsed = config::parse(&input, crate::PLUGINS, &corefile::Disk).unwrap();
        config::set_up(parsed, crate::PLUGINS, running).unwrap()
    };
    let address = |config: &Config| answer(config.services().next().unwrap().1, "a A");
    fs::remove_file(&hosts).unwrap();
    fs::remove_file(&weights).unwrap();
    let after = next(&running);
    assert_eq!((after.warnings.len(), address(&after).contains("10.0.0.1")), (2, true));
    fs::write(&hosts, "10.0.0.2 a\n").unwrap();
    let last = next(&after);
    assert!(address(&last).contains("10.0.0.2"));
}

#[test]
fn explain_names_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    fs::write(&path, "10.0.0.1 a b\n").unwrap();
    let shown = path.display();
    let service =
        service(&format!(". {{\n hosts {shown} {{\n 10.0.1.1 b c\n fallthrough d\n }}\n whoami\n}}"));
    for (question, note) in [
        ("a A", format!("records: 1 from {shown}")),
        ("b A", format!("records: 1 from {shown}, 1 from the Corefile")),
        ("c A", "records: 1 from the Corefile".to_owned()),
        ("c TXT", format!("the name exists in {shown} or the Corefile, but has no records of this type")),
        ("d A", format!("not in {shown} nor in the Corefile; falls through")),
        ("e A", format!("not in {shown} nor in the Corefile")),
    ] {
        let notes = ask(&service, question).notes;
        assert!(notes.iter().any(|n| n.plugin == "hosts" && n.text == note), "{question}: {notes:?}");
    }
}

fn corefile(folder: &Path, body: &str) -> String {
    format!(". {{\nroot {}\n{body}\n}}", folder.display())
}

#[test]
fn accepted_options() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), HOSTS).unwrap();
    for (body, tasks, warnings) in [
        ("hosts", 1, 0),
        ("hosts f", 1, 0),
        ("hosts nosuch", 1, 1),
        ("hosts .", 1, 1),
        ("hosts f a..b", 1, 0),
        ("hosts f {\n fallthrough a..b\n 10.0.0.1 foo\n}", 1, 0),
        ("hosts f {\n fallthrough_unsupported\n fallthrough\n}", 1, 0),
        ("hosts f {\n no_reverse x y\n}", 1, 0),
        ("hosts f {\n ttl 65535 x\n}", 1, 0),
        ("hosts f {\n ttl +5\n}", 1, 0),
        ("hosts f {\n reload 0\n}", 0, 0),
        ("hosts f {\n reload 300ms\n}", 1, 0),
        ("hosts f {\n foo bar\n}", 1, 0),
    ] {
        let config = configure(&corefile(folder.path(), body)).unwrap();
        assert_eq!((config.tasks().len(), config.warnings.len()), (tasks, warnings), "{body}");
    }
}

#[test]
fn rejected_options() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), HOSTS).unwrap();
    let f = folder.path().join("f").display().to_string();
    let access =
        format!("3 - Error during parsing: unable to access hosts file '{f}/x': stat {f}/x: not a directory");
    for (body, error) in [
        ("hosts f/x", access.as_str()),
        ("hosts f {\n fallthrough\n foo\n}", "5 - Error during parsing: unknown property 'foo'"),
        (
            "hosts f {\n fallthrough_unsupported\n}",
            "5 - Error during parsing: fallthrough_unsupported requires fallthrough",
        ),
        (
            "hosts f {\n fallthrough_unsupported x\n}",
            "4 - Error during parsing: Wrong argument count or unexpected line ending after 'x'",
        ),
        ("hosts f {\n fallthrough\n no_reverse x\n}", "5 - Error during parsing: unknown property 'x'"),
        ("hosts f {\n ttl\n}", "4 - Error during parsing: ttl needs a time in second"),
        ("hosts f {\n ttl x\n}", "4 - Error during parsing: ttl needs a number of second"),
        ("hosts f {\n ttl 99999999999999999999\n}", "4 - Error during parsing: ttl needs a number of second"),
        ("hosts f {\n ttl 0\n}", "4 - Error during parsing: ttl provided is invalid"),
        ("hosts f {\n ttl -1\n}", "4 - Error during parsing: ttl provided is invalid"),
        ("hosts f {\n ttl 65536\n}", "4 - Error during parsing: ttl provided is invalid"),
        (
            "hosts f {\n reload\n}",
            "4 - Error during parsing: reload needs a duration (zero seconds to disable)",
        ),
        (
            "hosts f {\n reload 1s 2s\n}",
            "4 - Error during parsing: reload needs a duration (zero seconds to disable)",
        ),
        ("hosts f {\n reload x\n}", "4 - Error during parsing: invalid duration for reload 'x'"),
        ("hosts f {\n reload -1s\n}", "4 - Error during parsing: invalid negative duration for reload '-1s'"),
    ] {
        assert_eq!(
            refused(&corefile(folder.path(), body)),
            format!("plugin/hosts: Corefile:{error}"),
            "{body}"
        );
    }
    let twice = corefile(folder.path(), "hosts f\nhosts f");
    assert_eq!(refused(&twice), "plugin/hosts: this plugin can only be used once per Server Block");
}
