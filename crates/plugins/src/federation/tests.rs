use std::sync::Arc;
use std::time::Duration;

use server::{Availability, Input, Plugin, PluginSpec, Service, SetupFn, Step, Visit, config, task};
use wire::{NameBuf, Owner, Rcode, Rtype, Section};

use crate::testing::harness::{answer, configure, refused};

/// A cluster with a few services in the namespace `shop`; any other name is NXDOMAIN.
struct Cluster;

impl Plugin for Cluster {
    fn name(&self) -> &'static str {
        "cluster"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let name = visit.query.question.lower().to_string();
        let other = NameBuf::parse("www.example.").expect("a name");
        let reply = visit.begin();
        let (section, owner) = (Section::Answer, Owner::Question(0));
        match name.trim_end_matches(".shop.svc.cluster.local.") {
            "web" | "ep-1.web" => reply.push(section, owner, Rtype::A, 5, &[10, 0, 0, 1]),
            "_http._tcp.web" => {
                // The target is the local name, and so is the owner of its address.
                let target = NameBuf::parse("web.shop.svc.cluster.local.").expect("a name");
                reply.push_with(section, owner, Rtype::SRV, wire::Class::IN, 5, |data| {
                    data.u16(0).u16(100).u16(80).name(target.as_name());
                });
                reply.push(Section::Additional, Owner::Question(11), Rtype::A, 5, &[10, 0, 0, 1]);
            }
            "elsewhere" => {
                reply.push(section, owner, Rtype::CNAME, 5, other.wire());
                let owner = reply.store(other.as_name());
                reply.push(section, owner, Rtype::A, 60, &[192, 0, 2, 80]);
            }
            "empty" => {}
            "broken" => return Step::error(Rcode::SERVFAIL, "not synced"),
            _ => reply.rcode = Rcode::NXDOMAIN,
        }
        Step::Answer
    }
}

/// Answers every name with 192.0.2.1, but not at once.
struct Slow;

impl Plugin for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn query(&self, _visit: &mut Visit<'_>) -> Step {
        Step::Wait(task(tokio::time::sleep(Duration::from_millis(1)), |(), visit| {
            visit.begin().push(Section::Answer, Owner::Question(0), Rtype::A, 30, &[192, 0, 2, 1]);
            Step::Answer
        }))
    }
}

static PLUGINS: &[PluginSpec] = &[
    spec("hosts", crate::hosts::setup),
    spec("federation", super::setup),
    spec("cluster", |s| {
        s.add(Cluster);
        Ok(())
    }),
    spec("slow", |s| {
        s.add(Slow);
        Ok(())
    }),
];

const fn spec(name: &'static str, setup: SetupFn) -> PluginSpec {
    PluginSpec { name, about: "", availability: Availability::Available(setup) }
}

/// The cluster with these options, and the domains `fed.example` (one service) and `slow.example` (all).
fn service(options: &str) -> Arc<Service> {
    let corefile = format!(
        "cluster.local {{\n federation {{\n{options}\n}}\n cluster\n}}\n\
         fed.example {{\n hosts {{\n 192.0.2.9 mail.shop.prod.svc.fed.example\n ttl 40\n}}\n}}\n\
         slow.example {{\n slow\n}}"
    );
    let input = Input { name: "Corefile".into(), contents: corefile.into(), dns_port: "53".into() };
    let config =
        config::build(&input, PLUGINS, &corefile::Disk).unwrap_or_else(|errors| panic!("{errors:?}"));
    config.services().next().expect("a service").1.clone()
}

#[track_caller]
fn check(service: &Arc<Service>, question: &str, expected: &str) {
    assert_eq!(answer(service, question).trim().replace('\n', " / "), expected, "{question}");
}

#[test]
fn services_of_this_cluster() {
    let service = service("prod fed.example");
    for (question, expected) in [
        (
            "Web.shop.PROD.svc.cluster.local",
            "NOERROR qr / answer: Web.shop.PROD.svc.cluster.local. 5 IN A 10.0.0.1",
        ),
        (
            "ep-1.web.shop.prod.svc.cluster.local",
            "NOERROR qr / answer: ep-1.web.shop.prod.svc.cluster.local. 5 IN A 10.0.0.1",
        ),
        (
            "_http._tcp.web.shop.prod.svc.cluster.local SRV",
            "NOERROR qr / answer: _http._tcp.web.shop.prod.svc.cluster.local. 5 IN SRV \
             0 100 80 web.shop.svc.cluster.local. / additional: web.shop.svc.cluster.local. 5 IN A 10.0.0.1",
        ),
        // Only the first owner of a chain is restored.
        (
            "elsewhere.shop.prod.svc.cluster.local",
            "NOERROR qr / answer: elsewhere.shop.prod.svc.cluster.local. 5 IN CNAME www.example. / \
             answer: www.example. 60 IN A 192.0.2.80",
        ),
        ("empty.shop.prod.svc.cluster.local", "NOERROR qr"),
        ("broken.shop.prod.svc.cluster.local", "SERVFAIL qr"),
    ] {
        check(&service, question, expected);
    }
}

#[test]
fn services_of_other_clusters() {
    let near = service("prod fed.example\nStaging Slow.Example.\nzone az-1\nregion eu");
    let far = service("prod fed.example");
    for (service, question, expected) in [
        // The name does not exist in fed.example, and hosts then fails: the answer is the CNAME alone.
        (
            &near,
            "Mail.shop.prod.svc.cluster.local",
            "NOERROR qr,aa / answer: Mail.shop.prod.svc.cluster.local. 0 IN CNAME mail.shop.prod.svc.az-1.eu.fed.example.",
        ),
        (
            &near,
            "mail.shop.staging.svc.cluster.local",
            "NOERROR qr,aa / answer: mail.shop.staging.svc.cluster.local. 0 IN CNAME \
             mail.shop.staging.svc.az-1.eu.slow.example. / \
             answer: mail.shop.staging.svc.az-1.eu.slow.example. 30 IN A 192.0.2.1",
        ),
        (
            &far,
            "mail.shop.prod.svc.cluster.local",
            "NOERROR qr,aa / answer: mail.shop.prod.svc.cluster.local. 0 IN CNAME mail.shop.prod.svc.fed.example. / \
             answer: mail.shop.prod.svc.fed.example. 40 IN A 192.0.2.9",
        ),
        (
            &far,
            "mail.shop.prod.svc.cluster.local CNAME",
            "NOERROR qr,aa / answer: mail.shop.prod.svc.cluster.local. 0 IN CNAME mail.shop.prod.svc.fed.example.",
        ),
        (
            &far,
            "ep-7.mail.shop.prod.svc.cluster.local CNAME",
            "NOERROR qr,aa / answer: ep-7.mail.shop.prod.svc.cluster.local. 0 IN CNAME ep-7.mail.shop.prod.svc.fed.example.",
        ),
        (
            &far,
            "_smtp._tcp.mail.shop.prod.svc.cluster.local CNAME",
            "NOERROR qr,aa / answer: _smtp._tcp.mail.shop.prod.svc.cluster.local. 0 IN CNAME mail.shop.prod.svc.fed.example.",
        ),
    ] {
        check(service, question, expected);
    }
}

#[test]
fn other_names_are_not_federated() {
    let service = service("prod fed.example");
    for name in [
        "cluster.local",
        "svc.cluster.local",
        "prod.svc.cluster.local",
        "shop.prod.svc.cluster.local",
        "mail.shop.svc.cluster.local",
        "mail.shop.other.svc.cluster.local",
        "mail.shop.prod.pod.cluster.local",
        "1.2.3.mail.shop.prod.svc.cluster.local",
    ] {
        check(&service, name, "NXDOMAIN qr");
    }
}

#[test]
fn a_cname_target_that_is_too_long_is_nxdomain() {
    let domain = format!("{0}.{0}.{0}", "d".repeat(60));
    let service = service(&format!("prod {domain}"));
    let name = format!("{}.shop.prod.svc.cluster.local", "s".repeat(63));
    check(&service, &name, "NXDOMAIN qr");
}

#[test]
fn the_longest_zone_matches() {
    let corefile = ". {\n federation . svc.cluster.local {\n prod fed.example\n }\n cluster\n}";
    let input = Input { name: "Corefile".into(), contents: corefile.into(), dns_port: "53".into() };
    let config =
        config::build(&input, PLUGINS, &corefile::Disk).unwrap_or_else(|errors| panic!("{errors:?}"));
    let service = config.services().next().expect("a service").1.clone();
    // Neither in svc.cluster.local nor in the root zone is this a service name.
    check(&service, "web.shop.prod.svc.cluster.local", "NXDOMAIN qr");
    check(
        &service,
        "a.b.prod.svc.svc.cluster.local CNAME",
        "NOERROR qr,aa / answer: a.b.prod.svc.svc.cluster.local. 0 IN CNAME a.b.prod.svc.fed.example.",
    );
}

#[test]
fn options() {
    for body in [
        "a b.example",
        "a b.example\nA c.example",
        "a b.example\nupstream",
        "a b.example\nupstream 8.8.8.8 /etc/resolv.conf",
        "a b.example\nzone z\nregion r",
        "a b.example\nzone {$RHUMB_TEST_NOT_SET}\nregion {$RHUMB_TEST_NOT_SET}",
        "a b.example\nzone z",
    ] {
        let config = configure(&format!(". {{\nfederation cluster.local {{\n{body}\n}}\n}}"));
        let config = config.unwrap_or_else(|error| panic!("{error}\n{body}"));
        let warned = body.contains("upstream") || body == "a b.example\nzone z";
        assert_eq!(config.warnings.len(), usize::from(warned), "{body}");
    }
    let place = "Corefile:3 - Error during parsing: ";
    for (body, error) in [
        ("federation", "at least one name to zone federation expected".to_owned()),
        ("federation {\n upstream\n}", "at least one name to zone federation expected".to_owned()),
        ("federation {\n a\n}", "need two arguments for federation, got 0".to_owned()),
        ("federation {\n a b c\n}", "need two arguments for federation, got 2".to_owned()),
        ("federation {\n a b..c\n}", format!("{place}federation domain 'b..c': a label is empty")),
        ("federation {\n a.b c\n}", format!("{place}federation name: expected one label, got 'a.b'")),
        (
            "federation {\n zone\n}",
            format!("{place}Wrong argument count or unexpected line ending after 'zone'"),
        ),
        ("federation {\n region a..b\n}", format!("{place}region 'a..b': a label is empty")),
    ] {
        assert_eq!(refused(&format!(". {{\n{body}\n}}")), format!("plugin/federation: {error}"));
    }
}
