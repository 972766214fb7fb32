use wire::{Class, NameBuf, Owner, Question, Reply, Rtype, Section};

use super::cname::Cname;
use super::pattern::Pattern;
use super::revert::{Answer, Message, Revert, Target};
use crate::testing::harness::{answer, check, configure, refused, service};

const HOSTS: &str = "hosts {\n10.0.0.1 a.example.org\n10.0.0.2 new.example.net\n10.0.0.3 b.new.example.net\n2001:db8::1 a.example.org\nttl 60\n}";

fn corefile(rules: &str) -> String {
    format!(". {{\n{rules}\n{HOSTS}\n}}\n")
}

#[test]
fn accepted_and_rejected_rules() {
    for rule in [
        "rewrite name a b",
        "rewrite stop name exact a b",
        "rewrite continue {\nname suffix a b\nanswer auto\n}",
        "rewrite name regex (.*)\\.a {1}.b answer name (.*)\\.b {1}.a value (.*) {1}",
        "rewrite name regex (.*)\\.a {1}.{kubernetes/client-namespace}.b metadata answer auto",
        "rewrite type any hinfo",
        "rewrite class ch in",
        "rewrite ttl a 30",
        "rewrite ttl regex a -30",
        "rewrite ttl prefix a 30-",
        "rewrite rcode a SERVFAIL 0",
        "rewrite rcode substring a 23 notimpl",
        "rewrite cname a b",
        "rewrite cname regex (a) b",
        "rewrite edns0 local set 0xffee abcd",
        "rewrite edns0 local append 65000 0x61 revert",
        "rewrite edns0 local replace 0o17 {client_ip}",
        "rewrite edns0 local set 1 {a/b}",
        "rewrite edns0 local unset 1",
        "rewrite edns0 nsid set revert",
        "rewrite edns0 subnet set 24 56",
        "rewrite edns0 subnet unset",
    ] {
        configure(&corefile(rule)).unwrap_or_else(|error| panic!("{rule}: {error}"));
    }
    for (rule, error) in [
        ("rewrite", "no rule type specified for rewrite"),
        ("rewrite stop", "stop rule must begin with a rule type"),
        ("rewrite continue", "continue rule must begin with a rule type"),
        ("rewrite x y", "invalid rule type \"x\""),
        ("rewrite answer a b", "response rewrites must begin with a name rule"),
        ("rewrite name a", "too few arguments for a name rule"),
        (
            "rewrite name x a b",
            "name rule supports only exact, prefix, suffix, substring, and regex name matching, received: x",
        ),
        ("rewrite name regex ( b", "invalid regex matching pattern: ("),
        (
            "rewrite name regex a {1}",
            "the rewrite regex pattern ({1}) uses more subexpressions than its corresponding matching regex pattern (a)",
        ),
        ("rewrite name suffix a b answer", "invalid arguments for suffix rule"),
        ("rewrite name suffix a b answer x", "invalid type \"x\" for answer rule for suffix rule"),
        (
            "rewrite name suffix a b auto answer",
            "exceeded the number of arguments for a non-answer rule argument for suffix rule",
        ),
        (
            "rewrite name suffix a b answer auto name a b",
            "auto name answer rule cannot be combined with explicit name anwer rules",
        ),
        ("rewrite name suffix a b metadata", "metadata is only supported for regex name rules"),
        ("rewrite name regex a {b metadata", "unclosed placeholder in metadata name replacement"),
        ("rewrite name regex a {1} metadata", "capture group 1 does not exist in name matching pattern"),
        ("rewrite type a", "type rules must have exactly two arguments"),
        ("rewrite type a nope", "invalid type \"NOPE\""),
        ("rewrite class in nope", "invalid class \"NOPE\""),
        ("rewrite ttl a", "too few (1) arguments for a ttl rule"),
        ("rewrite ttl a -", "invalid TTL '-' for a ttl rule"),
        ("rewrite ttl a 5-4", "invalid TTL '5-4' for a ttl rule"),
        (
            "rewrite ttl x a 5",
            "ttl rule supports only exact, prefix, suffix, substring, and regex name matching",
        ),
        ("rewrite ttl regex ( 5", "invalid regex pattern in a ttl rule: ("),
        ("rewrite rcode a 0", "too few (2) arguments for a rcode rule"),
        ("rewrite rcode a 24 0", "invalid matching RCODE '24' for a rcode rule"),
        ("rewrite rcode a 0 x", "invalid replacement RCODE 'x' for a rcode rule"),
        ("rewrite cname a", "too few (1) arguments for a cname rule"),
        ("rewrite cname x a b", "unknown cname rewrite type: x"),
        ("rewrite edns0 local", "too few arguments for an EDNS0 rule"),
        ("rewrite edns0 local x y", "invalid action: \"x\""),
        ("rewrite edns0 local set 1", "EDNS0 local rules require three or four args"),
        ("rewrite edns0 local set x y", "strconv.ParseUint: parsing \"x\": invalid syntax"),
        ("rewrite edns0 local set 65536 y", "strconv.ParseUint: parsing \"65536\": value out of range"),
        ("rewrite edns0 local set 1 0xabc", "encoding/hex: odd length hex string"),
        ("rewrite edns0 local set 1 {x}", "unsupported variable name \"{x}\""),
        ("rewrite edns0 nsid set x", "EDNS0 NSID rules can accept no more than one arg"),
        ("rewrite edns0 subnet set 33 1", "invalid IPv4 bit mask length 33"),
        ("rewrite edns0 subnet set 3 129", "invalid IPv6 bit mask length 129"),
        ("rewrite edns0 x set", "invalid rule type \"x\""),
    ] {
        assert_eq!(refused(&corefile(rule)), format!("plugin/rewrite: {error}"), "{rule}");
    }
}

/// A rule, a question, and the owners and data in the reply.
fn rewritten(rules: &str, question: &str, expected: &str) {
    let got = answer(&service(&corefile(rules)), question);
    assert_eq!(got.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{rules}: {question}");
}

#[test]
fn names() {
    let aa = |owner: &str, address: &str| format!("NOERROR qr,aa answer: {owner} 60 IN A {address}");
    for (rule, asked, reply) in [
        ("name old.example.org new.example.net", "old.example.org", aa("old.example.org.", "10.0.0.2")),
        ("name old.example.org new.example.net", "OLD.example.org", aa("old.example.org.", "10.0.0.2")),
        ("name prefix x a", "x.example.org", aa("a.example.org.", "10.0.0.1")),
        ("name prefix x a answer auto", "x.example.org", aa("x.example.org.", "10.0.0.1")),
        ("name suffix .old.org .new.example.net", "b.old.org", aa("b.new.example.net.", "10.0.0.3")),
        ("name suffix .old.org .new.example.net answer auto", "b.old.org", aa("b.old.org.", "10.0.0.3")),
        ("name substring old. new. answer auto", "b.old.example.net", aa("b.old.example.net.", "10.0.0.3")),
        (
            "name regex (.*)-(x)\\.org {1}.new.example.net answer name (.*)\\.new\\.example\\.net {1}-x.org",
            "b-x.org",
            aa("b-x.org.", "10.0.0.3"),
        ),
    ] {
        rewritten(&format!("rewrite {rule}"), &format!("{asked} A"), &reply);
    }
}

#[test]
fn a_rule_stops_or_continues() {
    let both = "name old.org mid.org\nrewrite name mid.org new.example.net";
    let stop = answer(&service(&corefile(&format!("rewrite {both}"))), "old.org A");
    assert!(stop.starts_with("SERVFAIL") || stop.starts_with("NXDOMAIN"), "{stop}");
    let found = "NOERROR qr,aa answer: old.org. 60 IN A 10.0.0.2";
    rewritten(&format!("rewrite continue {both}"), "old.org A", found);
}

#[test]
fn an_invalid_name_after_rewrite_fails() {
    rewritten("rewrite name regex (.*) {1}", "a.example.org A", "SERVFAIL qr");
}

#[test]
fn types_ttls_and_rcodes() {
    let a = "NOERROR qr,aa answer: a.example.org. 60 IN A 10.0.0.1";
    rewritten("rewrite type TXT A", "a.example.org TXT", a);
    rewritten("rewrite ttl a.example.org 5", "a.example.org A", &a.replace(" 60 ", " 5 "));
    rewritten("rewrite ttl suffix org 100-200", "a.example.org A", &a.replace(" 60 ", " 100 "));
    rewritten("rewrite ttl suffix org -10", "a.example.org A", &a.replace(" 60 ", " 10 "));
    rewritten("rewrite ttl suffix org 10-100", "a.example.org A", a);
    rewritten("rewrite ttl b.example.org 5", "a.example.org A", a);
    rewritten("rewrite rcode a.example.org 0 REFUSED", "a.example.org A", &a.replace("NOERROR", "REFUSED"));
    check(". {\nrewrite rcode regex .* SERVFAIL NXDOMAIN\n}\n", "x A", "NXDOMAIN qr");
}

#[test]
fn edns_options() {
    let local = "rewrite edns0 local set 0xffee abcd";
    let a = "NOERROR qr,aa answer: a.example.org. 60 IN A 10.0.0.1 opt: 4096";
    rewritten(local, "a.example.org A size=4096", &format!("{a} 65518:abcd"));
    rewritten(&format!("{local} revert"), "a.example.org A size=4096", a);
    rewritten(
        "rewrite edns0 local set 0xffee {protocol}",
        "a.example.org A do",
        &format!("{a} do 65518:udp"),
    );
    rewritten(
        "rewrite continue edns0 local set 0xffee abcd\nrewrite edns0 local replace 0xffee bcde revert",
        "a.example.org A size=4096",
        &format!("{a} 65518:abcd"),
    );
    rewritten("rewrite edns0 subnet set 24 56", "a.example.org A size=4096", a);
}

#[test]
fn regex_groups() {
    for (pattern, text, to, expected) in [
        ("(a|ab)(c|bcd)(d*)", "abcd", "{1}-{2}-{3}", Some("a-bcd-")),
        ("(a*)(ab)*(b*)", "abb", "{1}-{2}-{3}", Some("a--bb")),
        ("(.*?)\\.(.*)", "a.b.c.", "{1}|{2}", Some("a|b.c.")),
        ("(?U)(.*)\\.(.*)$", "a.b.c.", "{1}|{2}", Some("a|b.c.")),
        ("^(?P<x>[^.]+)\\.(?:b|c)\\.(?i)(ORG)\\.$", "a.c.org.", "{1}|{2}", Some("a|org")),
        ("([[:alpha:]-]{2,3})(\\d+)", "xx-ab12", "{0}|{1}|{2}", Some("-ab12|-ab|12")),
        ("(\\w{2})(\\d+)", "xx-ab12", "{0}|{1}|{2}", Some("ab12|ab|12")),
        ("(a){2}", "xaa", "{0}|{1}", Some("aa|a")),
        ("\\bb(\\Q.+\\E)", "a b.+", "{1}", Some(".+")),
        ("()|a", "a", "{0}|{1}", Some("|")),
        ("($)", "..a", "{0}|{1}", Some("|")),
        ("(((?:(b|[ab]))*?(\\d)*)+)", "ba", "{0}|{1}", Some("|")),
        ("b", "a", "", None),
    ] {
        let compiled = Pattern::compile(pattern).unwrap_or_else(|_| panic!("{pattern}"));
        assert_eq!(compiled.expand(text, to).as_deref(), expected, "{pattern}");
    }
}

#[test]
fn cname_targets_are_rewritten() {
    let args: Vec<String> = ["suffix", "old.", "new."].iter().map(|word| (*word).to_owned()).collect();
    let rule = Cname::parse(&args).expect("a rule");
    let reverts = [Revert::Ttl { min: 7, max: 7 }, Revert::Cname(rule.into())];
    let name = |text: &str| NameBuf::parse(text).expect("a name");
    let question = Question::new(name("a.").as_name(), Rtype::A, Class::IN);
    let mut reply = Reply::new();
    reply.push(Section::Answer, Owner::Question(0), Rtype::CNAME, 30, name("b.").wire());
    let owner = reply.store(name("b.").as_name());
    reply.push(Section::Answer, owner, Rtype::CNAME, 30, name("c.old.").wire());
    let owner = reply.store(name("c.old.").as_name());
    reply.push(Section::Answer, owner, Rtype::A, 30, &[10, 0, 0, 1]);
    // The first try returns the name to look up.
    let asked = Message::reverted(&reply, question.name(), &reverts, &[], true).err();
    assert_eq!(asked.as_deref(), Some(&name("c.new.")));
    let mut found = Reply::new();
    found.push(Section::Answer, Owner::Question(0), Rtype::A, 40, &[10, 0, 0, 2]);
    let answer = Some(Answer::new(&found, name("c.new.").as_name()));
    let targets = [Target { name: name("c.new."), answer }];
    let message = Message::reverted(&reply, question.name(), &reverts, &targets, true);
    let Ok(message) = message else { panic!("nothing more to look up") };
    message.write(&mut reply, question.name());
    let text = reply.present(&question).split_whitespace().collect::<Vec<_>>().join(" ");
    // The target's records went through the rules in their own lookup.
    let records = "answer: a. 7 IN CNAME b. answer: b. 7 IN CNAME c.new. answer: c.new. 40 IN A 10.0.0.2";
    assert!(text.contains(records), "{text}");
}
