//! With the same scripted upstreams CoreDNS and Rhumb send the same replies and the same number of upstream queries:
//! policies, failover, health, stale answers, negative caching.
//!
//! A case is a server block, a script per upstream, and timed queries. The events are recorded as text for each server
//! and compared.

use std::time::Duration;

use testkit::client;
use testkit::peers::Peer;
use testkit::scripted_upstream::{Reply, ScriptedUpstream, Step};
use testkit::{DnsServer, Kind};
use wire::{NameBuf, Query, Rtype, Section};

struct Case {
    name: &'static str,
    /// Inside the server block; `{up0}` and `{up1}` are the upstreams' addresses.
    block: &'static str,
    scripts: fn(&[ScriptedUpstream; 2]),
    steps: &'static [Event],
}

enum Event {
    Ask(&'static str),
    Wait(u64),
    Off(usize),
    On(usize),
}

use Event::{Ask, Off, On, Wait};

fn address(last: u8, ttl: u32) -> Step {
    Step::address(&format!("192.0.2.{last}"), ttl).expect("an address")
}

fn denial(rcode: u16) -> Step {
    let soa = "example. 60 IN SOA ns.example. host.example. 1 2 3 4 30";
    Step::Reply(Reply::rcode(rcode).authority(soa).expect("an SOA"))
}

const CASES: &[Case] = &[
    Case {
        name: "a silent upstream is left for the other",
        block: "forward . {up0} {up1} {\n policy sequential\n read_timeout 200ms\n max_fails 0\n }",
        scripts: |[first, second]| {
            first.otherwise([Step::Silence]);
            second.otherwise([address(2, 60)]);
        },
        steps: &[Ask("a.example."), Ask("b.example.")],
    },
    Case {
        name: "all silent",
        block: "forward . {up0} {\n read_timeout 200ms\n max_connect_attempts 3\n max_fails 0\n }",
        scripts: |[first, _]| first.otherwise([Step::Silence]),
        steps: &[Ask("a.example.")],
    },
    Case {
        name: "failover on codes",
        block: "forward . {up0} {up1} {\n policy sequential\n failover SERVFAIL REFUSED\n }",
        scripts: |[first, second]| {
            first.on("a.example.", [Step::Servfail]);
            first.on("b.example.", [Step::Refused]);
            first.on("c.example.", [denial(3)]);
            second.otherwise([address(2, 60)]);
        },
        steps: &[Ask("a.example."), Ask("b.example."), Ask("c.example.")],
    },
    Case {
        name: "the next forward on NXDOMAIN and on nothing",
        block: "forward . {up0} {\n next NXDOMAIN\n next_on_nodata\n }\n forward . {up1}",
        scripts: |[first, second]| {
            first.on("a.example.", [denial(3)]);
            first.on("b.example.", [Step::Lame]);
            first.on("c.example.", [address(1, 60)]);
            second.otherwise([address(2, 60)]);
        },
        steps: &[Ask("a.example."), Ask("b.example."), Ask("c.example.")],
    },
    Case {
        name: "round robin",
        block: "forward . {up0} {up1} {\n policy round_robin\n }",
        scripts: |[first, second]| {
            first.otherwise([address(1, 60)]);
            second.otherwise([address(2, 60)]);
        },
        steps: &[Ask("a.example."), Ask("b.example."), Ask("c.example."), Ask("d.example.")],
    },
    Case {
        name: "truncated replies",
        block: "forward . {up0}",
        scripts: |[first, _]| first.otherwise([address(1, 60).truncated()]),
        steps: &[Ask("a.example.")],
    },
    Case {
        name: "truncated replies are fetched again over TCP",
        block: "forward . {up0} {\n prefer_udp\n }",
        scripts: |[first, _]| first.otherwise([address(1, 60).truncated(), address(1, 60)]),
        steps: &[Ask("a.example.")],
    },
    Case {
        name: "wrong ids are not believed",
        block: "forward . {up0} {\n read_timeout 200ms\n max_connect_attempts 1\n max_fails 0\n }",
        scripts: |[first, _]| {
            first.on("a.example.", [Step::WrongId]);
            first.on("b.example.", [Step::All(vec![Step::WrongId, address(1, 60)])]);
        },
        steps: &[Ask("a.example."), Ask("b.example.")],
    },
    Case {
        name: "a wrong question is an error",
        block: "forward . {up0}",
        scripts: |[first, _]| first.otherwise([Step::WrongQuestion]),
        steps: &[Ask("a.example.")],
    },
    Case {
        name: "what belongs to the question stays, in any order",
        block: "forward . {up0}",
        scripts: |[first, _]| {
            let step = |reply: testkit::Result<Reply>| [Step::Reply(reply.expect("records"))];
            let aliases = "other.example. 60 IN A 192.0.2.1\n@ 60 IN CNAME Other.Example.";
            first.on(
                "alias.example.",
                step(
                    Reply::rcode(0)
                        .answer(aliases)
                        .and_then(|reply| reply.authority("example. 60 IN NS ns.elsewhere."))
                        .and_then(|reply| reply.additional("ns.elsewhere. 60 IN A 192.0.2.2")),
                ),
            );
            let moved = "old.example. 60 IN DNAME new.example.\n@ 60 IN CNAME a.new.example.\na.new.example. 60 IN A 192.0.2.3";
            first.on("a.old.example.", step(Reply::rcode(0).answer(moved)));
            let policy = "rpz.filter. 60 IN SOA ns.filter. host.filter. 1 2 3 4 30";
            first.on("filtered.example.", step(Reply::rcode(3).authority(policy)));
            let referral = Reply::rcode(0).authority("sub.example. 60 IN NS ns.sub.example.");
            first.on(
                "a.sub.example.",
                step(referral.and_then(|reply| reply.additional("ns.sub.example. 60 IN A 192.0.2.4"))),
            );
        },
        steps: &[
            Ask("alias.example."),
            Ask("a.old.example."),
            Ask("filtered.example."),
            Ask("a.sub.example."),
        ],
    },
    Case {
        name: "an upstream that comes back",
        block: "forward . {up0} {\n read_timeout 200ms\n health_check 50ms\n max_connect_attempts 1\n failfast_all_unhealthy_upstreams\n }",
        scripts: |[first, _]| first.otherwise([address(1, 60)]),
        steps: &[
            Ask("a.example."),
            Off(0),
            Ask("b.example."),
            Wait(1500),
            Ask("c.example."),
            On(0),
            Wait(1500),
            Ask("d.example."),
        ],
    },
    Case {
        name: "what is cached and what is not",
        block: "cache\n forward . {up0}",
        scripts: |[first, _]| {
            first.on("a.example.", [address(1, 60)]);
            first.on("nx.example.", [denial(3)]);
            first.on("nodata.example.", [denial(0)]);
            first.on("servfail.example.", [Step::Servfail]);
            first.on("refused.example.", [Step::Refused]);
            first.on("nosoa.example.", [Step::Rcode(3)]);
        },
        steps: &[
            Ask("a.example."),
            Ask("a.example."),
            Ask("nx.example."),
            Ask("nx.example."),
            Ask("nodata.example."),
            Ask("nodata.example."),
            Ask("servfail.example."),
            Ask("servfail.example."),
            Ask("refused.example."),
            Ask("refused.example."),
            Ask("nosoa.example."),
            Ask("nosoa.example."),
        ],
    },
    Case {
        name: "stale answers at once",
        block: "cache {\n success 100 60 1\n serve_stale 1h immediate\n }\n forward . {up0} {\n read_timeout 200ms\n max_connect_attempts 1\n max_fails 0\n }",
        scripts: |[first, _]| first.on("a.example.", [address(1, 1), Step::Silence]),
        // The refresh continues after the reply; the last one needs time, too.
        steps: &[Ask("a.example."), Wait(2200), Ask("a.example."), Wait(600), Ask("a.example."), Wait(600)],
    },
    Case {
        name: "stale answers after asking",
        block: "cache {\n success 100 60 1\n serve_stale 1h verify\n }\n forward . {up0} {\n read_timeout 200ms\n max_connect_attempts 1\n max_fails 0\n }",
        scripts: |[first, _]| first.on("a.example.", [address(1, 1), Step::Silence, address(2, 30)]),
        steps: &[
            Ask("a.example."),
            Wait(2200),
            Ask("a.example."),
            Wait(300),
            Ask("a.example."),
            Ask("a.example."),
        ],
    },
    Case {
        name: "expired failures are asked again",
        block: "cache {\n servfail 1s\n }\n forward . {up0}",
        scripts: |[first, _]| first.otherwise([Step::Servfail, address(1, 60)]),
        steps: &[Ask("a.example."), Ask("a.example."), Wait(1300), Ask("a.example."), Ask("a.example.")],
    },
];

/// Runs a case on one server; returns a line per query, then the queries of each upstream.
fn run_case(kind: Kind, case: &Case) -> String {
    let upstreams = [0, 1].map(|_| ScriptedUpstream::start().unwrap_or_else(|error| panic!("{error}")));
    (case.scripts)(&upstreams);
    let block = case
        .block
        .replace("{up0}", &upstreams[0].addr().to_string())
        .replace("{up1}", &upstreams[1].addr().to_string());
    let corefile = format!(".:{{port}} {{\n bind 127.0.0.1\n {block}\n}}\n");
    let server = DnsServer::start_on_free_port(kind, &corefile)
        .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let mut events = String::new();
    for step in case.steps {
        match step {
            Wait(millis) => std::thread::sleep(Duration::from_millis(*millis)),
            Off(number) => upstreams[*number].switch_off(),
            On(number) => upstreams[*number].switch_on().unwrap_or_else(|error| panic!("{error}")),
            Ask(name) => events += &ask(&server, name),
        }
    }
    for (number, upstream) in upstreams.iter().enumerate() {
        // Health checks query the root, in varying number.
        let asked: Vec<String> =
            upstream.seen().iter().filter(|seen| seen.name != ".").map(|seen| seen.name.clone()).collect();
        events += &format!("upstream {number} saw {}\n", asked.join(" ").to_ascii_lowercase());
    }
    events
}

fn ask(server: &DnsServer, name: &str) -> String {
    let query = Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::A).to_packet();
    let outcome = client::udp(server.addr(), &query, Duration::from_secs(8), 0)
        .unwrap_or_else(|error| panic!("{error}"));
    let Some(bytes) = outcome.reply() else { return format!("{name} no answer\n") };
    let mut reply = wire::Reply::new();
    let Some((_, question)) = reply.decode(bytes) else { return format!("{name} malformed\n") };
    let records: Vec<String> = [Section::Answer, Section::Authority, Section::Additional]
        .iter()
        .flat_map(|section| reply.section(*section))
        .map(|record| {
            let ttl = if record.ttl == 0 { "ttl 0" } else { "ttl" };
            let text = reply.present_record(record, question.name());
            let data = text.splitn(5, ' ').last().unwrap_or_default().to_owned();
            format!("[{} {ttl} {data}]", record.rtype)
        })
        .collect();
    format!("{name} {} {:04x} {}\n", reply.rcode, reply.flags.0, records.join(" "))
}

#[test]
fn equal_replies_and_upstream_queries() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let mut failed = Vec::new();
    for case in CASES {
        let (coredns, rhumb) = (run_case(Kind::CoreDns, case), run_case(Kind::Rhumb, case));
        if coredns != rhumb {
            println!("{}\n--- CoreDNS\n{coredns}+++ Rhumb\n{rhumb}", case.name);
            failed.push(case.name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// docs/differences.md, "records that have nothing to do with the question".
#[test]
fn unrelated_records_are_forwarded_by_coredns_and_dropped_by_rhumb() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let case = Case {
        name: "a liar",
        block: "cache\n forward . {up0}",
        scripts: |[first, _]| {
            let lie = "@ 60 IN A 192.0.2.1\nbank.example. 60 IN A 203.0.113.66";
            first.on("a.example.", [Step::answer(lie).expect("records")]);
            first.on("bank.example.", [address(80, 60)]);
        },
        // The second reply comes from the cache.
        steps: &[Ask("a.example."), Ask("a.example."), Ask("bank.example.")],
    };
    let (coredns, rhumb) = (run_case(Kind::CoreDns, &case), run_case(Kind::Rhumb, &case));
    assert_eq!(coredns.matches("203.0.113.66").count(), 2, "{coredns}");
    assert_eq!(coredns.replace(" [A ttl 203.0.113.66]", ""), rhumb);
}
