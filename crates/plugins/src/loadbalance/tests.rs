use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use wire::{Class, Flags, Name, NameBuf, Owner, Question, Reply, Rtype, Section};

use super::prefer::{contains, network};
use super::weights::{WeightFile, parse};
use super::{LoadBalance, Policy};
use crate::host_files::polled_file::Failure;
use crate::testing::broken_file;
use crate::testing::harness::{answer, configure, refused, service};

/// A reply from words: `A10.0.0.1` is an address, any other word a type with a number as its data.
fn reply(section: Section, words: &str) -> Reply {
    let mut reply = Reply::new();
    reply.flags = Flags::QR;
    for word in words.split_whitespace() {
        let at = word.find(|c: char| c.is_ascii_digit() || c == ':').unwrap();
        let rtype = Rtype::from_mnemonic(&word[..at]).unwrap();
        let data = match rtype {
            Rtype::A => word[at..].parse::<std::net::Ipv4Addr>().unwrap().octets().to_vec(),
            Rtype::AAAA => word[at..].parse::<std::net::Ipv6Addr>().unwrap().octets().to_vec(),
            _ => vec![word[at..].parse().unwrap()],
        };
        reply.push(section, Owner::Question(0), rtype, 0, &data);
    }
    reply
}

fn words(reply: &Reply, section: Section) -> String {
    let word = |record: &wire::Record| {
        let data = reply.data(record);
        match record.rtype {
            Rtype::A => format!("A{}", std::net::Ipv4Addr::from(<[u8; 4]>::try_from(data).unwrap())),
            Rtype::AAAA => format!("AAAA{}", std::net::Ipv6Addr::from(<[u8; 16]>::try_from(data).unwrap())),
            other => format!("{other}{}", data[0]),
        }
    };
    reply.section(section).iter().map(word).collect::<Vec<_>>().join(" ")
}

fn name(text: &str) -> NameBuf {
    NameBuf::parse(text).unwrap()
}

fn question(qtype: Rtype) -> Question {
    Question::new(name("www.example.com").as_name(), qtype, Class::IN)
}

fn round_robin(prefer: &[&str]) -> LoadBalance {
    let prefer = prefer.iter().map(|text| network(text).unwrap()).collect();
    LoadBalance { policy: Policy::RoundRobin, prefer }
}

#[test]
fn records_are_grouped_by_type() {
    for (before, after) in [
        ("", ""),
        ("TXT1", "TXT1"),
        ("A10.0.0.1 CNAME1", "CNAME1 A10.0.0.1"),
        ("MX1 A10.0.0.1 TXT1 CNAME1 TXT2 CNAME2", "CNAME1 CNAME2 TXT1 TXT2 A10.0.0.1 MX1"),
        ("CNAME3 CNAME1 CNAME2 A10.0.0.1", "CNAME3 CNAME1 CNAME2 A10.0.0.1"),
        ("SRV3 SRV1 SRV2", "SRV3 SRV1 SRV2"),
        ("NS1 MX1 NS2 AAAA::1 NS3", "NS1 NS2 NS3 AAAA::1 MX1"),
    ] {
        for section in [Section::Answer, Section::Authority, Section::Additional] {
            let mut reply = reply(section, before);
            round_robin(&[]).balance(&question(Rtype::A), &mut reply, &mut SmallRng::seed_from_u64(1));
            assert_eq!(words(&reply, section), after, "{before}");
        }
    }
}

#[test]
fn all_orders_are_equally_likely() {
    for (before, orders) in
        [("A10.0.0.1 A10.0.0.2", 2), ("A10.0.0.1 AAAA::2 A10.0.0.3", 6), ("MX1 MX2 MX3 MX4", 24)]
    {
        let mut random = SmallRng::seed_from_u64(7);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for _ in 0..1000 * orders {
            let mut reply = reply(Section::Answer, before);
            round_robin(&[]).balance(&question(Rtype::A), &mut reply, &mut random);
            *counts.entry(words(&reply, Section::Answer)).or_default() += 1;
        }
        assert_eq!(counts.len(), orders, "{counts:?}");
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}

#[test]
fn in_a_chain() {
    let corefile =
        ". {\n loadbalance\n hosts /dev/null {\n 10.0.0.1 a\n 10.0.0.2 a\n 10.0.0.3 a\n 2001:db8::1 a\n }\n}";
    let service = service(corefile);
    let seen: BTreeSet<String> = (0..200).map(|_| answer(&service, "a A")).collect();
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(seen.iter().all(|text| text.lines().count() == 4 && text.starts_with("NOERROR qr,aa\n")));
    // Failures have no records yet.
    assert_eq!(answer(&service, "b A").trim(), "SERVFAIL qr");
}

#[test]
fn preferred_networks() {
    for (networks, before, after) in [
        (&["10.2.0.0/16"][..], "A10.1.0.1 A10.2.0.1", "A10.2.0.1 A10.1.0.1"),
        (&["10.3.0.0/16", "10.2.0.0/16"], "A10.1.0.1 A10.2.0.1 A10.3.0.1", "A10.3.0.1 A10.2.0.1 A10.1.0.1"),
        (&["2001:db8::/32"], "A10.1.0.1 AAAA2001:db8::1 TXT1", "AAAA2001:db8::1 A10.1.0.1 TXT1"),
        // Other records go after the addresses; without `prefer` they go before them.
        (&["10.0.0.0/8"], "TXT1 MX1 TXT2 A10.1.0.1 CNAME1", "CNAME1 A10.1.0.1 MX1 TXT1 TXT2"),
        (&["192.0.2.0/24"], "TXT1 A10.0.0.1", "A10.0.0.1 TXT1"),
    ] {
        let mut random = SmallRng::seed_from_u64(5);
        for _ in 0..20 {
            for section in [Section::Answer, Section::Additional] {
                let mut reply = reply(section, before);
                round_robin(networks).balance(&question(Rtype::A), &mut reply, &mut random);
                assert_eq!(words(&reply, section), after, "{networks:?} {before}");
            }
        }
    }
}

#[test]
fn networks() {
    for (text, address, inside) in [
        ("10.0.0.0/8", "10.255.0.1", true),
        ("10.1.2.3/8", "10.255.0.1", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("0.0.0.0/0", "11.0.0.1", true),
        ("0.0.0.0/0", "::1", false),
        ("10.0.0.1/32", "10.0.0.1", true),
        ("10.0.0.1/32", "10.0.0.2", false),
        ("2001:db8::/32", "2001:db8:1::", true),
        ("::/0", "2001:db8:1::", true),
        ("::/0", "10.0.0.1", false),
        ("::ffff:10.0.0.0/104", "10.1.2.3", true),
        ("::ffff:10.0.0.0/96", "192.0.2.1", true),
        ("::ffff:10.0.0.0/95", "10.0.0.0", false),
    ] {
        assert_eq!(contains(&network(text).unwrap(), address.parse().unwrap()), inside, "{text} {address}");
    }
}

const WEIGHTS: &str = "# a comment
www.example.com
  10.0.0.1 3
10.0.0.2\t1

WWW.Example.com.
10.0.0.1 9
www.example.com.
::ffff:10.0.0.3 2
2001:db8::1 255
";

#[test]
fn weights_by_name() {
    let weights = parse(WEIGHTS, "w").unwrap();
    for (owner, address, weight) in [
        ("www.example.com", "10.0.0.1", 3),
        ("www.example.com", "10.0.0.2", 1),
        ("www.example.com", "10.0.0.3", 2),
        ("www.example.com", "10.0.0.4", 1),
        ("WWW.Example.com", "10.0.0.1", 9),
        ("WWW.EXAMPLE.com", "10.0.0.1", 1),
        ("example.com", "10.0.0.1", 1),
    ] {
        let data = address.parse::<std::net::Ipv4Addr>().unwrap().octets();
        assert_eq!(weights.of(name(owner).as_name(), &data), weight, "{owner} {address}");
    }
    let data = "2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap().octets();
    assert_eq!(weights.of(name("www.example.com").as_name(), &data), 255);
    assert_eq!(weights.of(Name::ROOT, &data), 1);
}

#[test]
fn invalid_weight_files() {
    let long = "x".repeat(65536);
    for (contents, error) in [
        ("10.0.0.1", "wrong domain name:\"10.0.0.1\" in weight file w. (Maybe a missing weight value?)"),
        ("x 3", "wrong IP address:\"x\" in weight file w"),
        ("a\n10.0.0.1 0", "wrong weight value:\"0\" in weight file w"),
        ("a\n10.0.0.1 256", "wrong weight value:\"256\" in weight file w"),
        ("a\n10.0.0.1 +3", "wrong weight value:\"+3\" in weight file w"),
        ("10.0.0.1 2", "missing domain name in weight file w"),
        (" a b  c ", "could not parse weight line:\"a b  c\" in weight file w"),
        (&long, "weight file w parsing error:bufio.Scanner: token too long"),
    ] {
        assert_eq!(parse(contents, "w").unwrap_err(), error);
    }
}

#[test]
fn the_first_address_is_drawn_by_weight() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights");
    std::fs::write(&path, WEIGHTS).unwrap();
    let file = WeightFile::new(path);
    file.read().unwrap();
    let balance = LoadBalance { policy: Policy::Weighted(Arc::new(file)), prefer: Vec::new() };
    let mut random = SmallRng::seed_from_u64(3);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..6000 {
        let mut reply = reply(Section::Answer, "A10.0.0.1 CNAME1 A10.0.0.2 A10.0.0.3");
        balance.balance(&question(Rtype::A), &mut reply, &mut random);
        *counts.entry(words(&reply, Section::Answer)).or_default() += 1;
    }
    for (order, expected) in [
        ("CNAME1 A10.0.0.1 A10.0.0.2 A10.0.0.3", 3000),
        ("CNAME1 A10.0.0.2 A10.0.0.1 A10.0.0.3", 1000),
        ("CNAME1 A10.0.0.3 A10.0.0.2 A10.0.0.1", 2000),
    ] {
        let count = counts.remove(order).unwrap_or(0);
        assert!(count.abs_diff(expected) < 200, "{order}: {count}");
    }
    assert!(counts.is_empty(), "{counts:?}");

    // Other query types, other sections and sections without addresses are unchanged.
    for (qtype, section, before) in [
        (Rtype::MX, Section::Additional, "A10.0.0.1 CNAME1"),
        (Rtype::A, Section::Authority, "A10.0.0.1 CNAME1"),
        (Rtype::A, Section::Answer, "TXT1 CNAME1 MX1"),
    ] {
        let mut reply = reply(section, before);
        balance.balance(&question(qtype), &mut reply, &mut random);
        assert_eq!(words(&reply, section), before);
    }
    let mut additional = reply(Section::Additional, "TXT1 A10.0.0.1 CNAME1");
    balance.balance(&question(Rtype::SRV), &mut additional, &mut random);
    assert_eq!(words(&additional, Section::Additional), "CNAME1 TXT1 A10.0.0.1");
}

#[test]
fn weight_files_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights");
    let file = WeightFile::new(path.clone());
    let weight = || file.weights().of(name("a").as_name(), &[10, 0, 0, 1]);
    assert!(matches!(file.read(), Err(Failure::Open(_))));
    broken_file::check(
        &path,
        |weight| format!("a\n10.0.0.1 {weight}\n"),
        || file.refresh(),
        || Some(weight()),
    );
    // An invalid file leaves the weights unchanged.
    let last = weight();
    std::fs::write(&path, "a\n10.0.0.1 x\n").unwrap();
    file.refresh();
    assert_eq!(weight(), last);
}

#[test]
fn options() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good"), WEIGHTS).unwrap();
    std::fs::write(folder.path().join("bad"), "10.0.0.1\n").unwrap();
    let root = format!("root {}", folder.path().display());
    let corefile = |body: &str| format!(". {{\n{root}\n{body}\n}}");
    for (body, warnings) in [
        ("loadbalance", 0),
        ("loadbalance round_robin", 0),
        ("loadbalance\nloadbalance round_robin", 0),
        ("loadbalance {\n prefer\n}", 0),
        ("loadbalance {\n prefer 10.0.0.0/024 2001:db8::/32\n prefer 10.0.0.0/8\n}", 0),
        ("loadbalance weighted good", 0),
        ("loadbalance weighted good {\n reload 0\n}", 0),
        ("loadbalance weighted nosuch", 1),
    ] {
        let config = configure(&corefile(body)).unwrap();
        assert_eq!(config.warnings.len(), warnings, "{body}");
        if let [warning] = &config.warnings[..] {
            let text = "plugin/loadbalance: Failed to open weight file:weight file open error. Will try again in 30s";
            assert_eq!(warning.to_string(), text);
        }
    }
    let shown = folder.path().display();
    let wrong_name =
        format!("wrong domain name:\"10.0.0.1\" in weight file {shown}/bad. (Maybe a missing weight value?)");
    for (body, error) in [
        ("loadbalance foo", "unknown policy: foo"),
        ("loadbalance round_robin x", "Corefile:3 - Error during parsing: unknown property for round_robin"),
        ("loadbalance weighted", "Corefile:3 - Error during parsing: missing weight file argument"),
        ("loadbalance weighted a b", "Corefile:3 - Error during parsing: unexpected argument(s)"),
        ("loadbalance weighted nosuch {\n reload 0s\n}", "weight file open error"),
        ("loadbalance weighted bad", &wrong_name),
        ("loadbalance weighted bad\nloadbalance", &wrong_name),
        (&format!("loadbalance weighted {shown}"), &format!("read {shown}: is a directory")),
        ("loadbalance weighted /dev/zero", "read /dev/zero: is not a regular file"),
        (
            "loadbalance weighted good {\n reload\n}",
            "Corefile:4 - Error during parsing: reload duration value is missing",
        ),
        (
            "loadbalance weighted good {\n reload a b\n}",
            "Corefile:4 - Error during parsing: unexpected argument",
        ),
        (
            "loadbalance weighted good {\n reload x\n}",
            "Corefile:4 - Error during parsing: invalid reload duration 'x'",
        ),
        (
            "loadbalance weighted good {\n reload -5s\n}",
            "Corefile:4 - Error during parsing: invalid reload duration '-5s'",
        ),
        (
            "loadbalance weighted good {\n prefer 10.0.0.0/8\n}",
            "Corefile:4 - Error during parsing: unknown property 'prefer'",
        ),
        (
            "loadbalance {\n prefer 10.0.0.0\n}",
            "Corefile:4 - Error during parsing: invalid CIDR \"10.0.0.0\": invalid CIDR address: 10.0.0.0",
        ),
        (
            "loadbalance {\n prefer 10.0.0.0/8 2001:db8::/129\n}",
            "Corefile:4 - Error during parsing: invalid CIDR \"2001:db8::/129\": invalid CIDR address: 2001:db8::/129",
        ),
        ("loadbalance {\n reload 5s\n}", "Corefile:4 - Error during parsing: unknown property 'reload'"),
        ("loadbalance {\n foo\n}", "Corefile:4 - Error during parsing: unknown property 'foo'"),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/loadbalance: {error}"), "{body}");
    }
}
