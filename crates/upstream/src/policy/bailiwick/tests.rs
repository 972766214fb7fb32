//! Replies as text: a question, then one record per line; records after a dash must be removed.

use testkit::alloc::assert_no_alloc;
use wire::{Class, Rdata};

use super::*;

/// `SECTION OWNER TYPE [TARGET]`; the target of a signature is the type covered.
fn push(reply: &mut Reply, qname: Name<'_>, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [section, owner, kind, rest @ ..] = &words[..] else { panic!("{line}") };
    let section = match *section {
        "answer" => Section::Answer,
        "authority" => Section::Authority,
        "additional" => Section::Additional,
        other => panic!("{other}"),
    };
    let owner = NameBuf::parse(owner).expect("an owner");
    let owner = if owner.as_name() == qname { Owner::Question(0) } else { reply.store(owner.as_name()) };
    let rtype = Rtype::from_mnemonic(kind).expect("a type");
    let target = rest.first().copied().unwrap_or("192.0.2.1");
    reply.push_with(section, owner, rtype, Class::IN, 60, |out| data(out, rtype, target));
}

fn data(out: &mut Rdata<'_>, rtype: Rtype, target: &str) {
    let name = NameBuf::parse(target).expect("a target");
    match rtype {
        Rtype::A => out.bytes(&[192, 0, 2, 1]),
        Rtype::AAAA => out.bytes(&[0; 16]),
        Rtype::MX | Rtype::HTTPS => out.u16(1).name(name.as_name()),
        Rtype::SRV => out.bytes(&[0; 6]).name(name.as_name()),
        Rtype::NAPTR => out.bytes(&[0; 4]).text(b"s").text(b"SIP").text(b"").name(name.as_name()),
        Rtype::SOA => out.name(name.as_name()).name(Name::ROOT).bytes(&[0; 20]),
        Rtype::RRSIG => out.u16(Rtype::from_mnemonic(target).expect("a type").0).bytes(&[0; 40]),
        Rtype::TXT | Rtype::NSEC | Rtype::NSEC3 | Rtype::DS => out.text(target.as_bytes()),
        _ => out.name(name.as_name()),
    };
}

fn question(text: &str) -> Question {
    let (name, qtype) = text.split_once(' ').expect("a name and a type");
    let name = NameBuf::parse(name).expect("a name");
    Question::new(name.as_name(), Rtype::from_mnemonic(qtype).expect("a type"), Class::IN)
}

fn remaining(reply: &Reply, question: &Question) -> Vec<String> {
    let sections = [Section::Answer, Section::Authority, Section::Additional];
    let lines = sections.iter().flat_map(|&section| {
        reply.section(section).iter().map(move |record| {
            let owner = reply.owner(record, question.name());
            format!("{section:?} {owner} {}", record.rtype).to_lowercase()
        })
    });
    lines.collect()
}

fn check(asked: &str, rcode: Rcode, lines: &str) {
    let question = question(asked);
    let mut reply = Reply::new();
    reply.rcode = rcode;
    let lines: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut expected = Vec::new();
    for line in &lines {
        push(&mut reply, question.name(), line.trim_start_matches('-'));
        if !line.starts_with('-') {
            let words: Vec<&str> = line.split_whitespace().take(3).collect();
            expected.push(words.join(" ").to_lowercase());
        }
    }
    let removed = BailiwickFilter::default().filter(&mut reply, &question);
    assert_eq!(remaining(&reply, &question), expected, "{asked}\n{}", lines.join("\n"));
    assert_eq!(removed, expected.len() < lines.len(), "{asked}");
}

#[test]
fn answers_belong_to_the_question_or_its_aliases() {
    for (asked, lines) in [
        ("www.example. A", ""),
        ("www.example. A", "answer www.example. A"),
        ("www.example. A", "answer WWW.Example. A"),
        ("www.example. A", "answer www.example. A\n -answer bank.example. A\n answer www.example. A"),
        ("www.example. A", "-answer example. A\n -answer x.www.example. A\n -answer . NS ns.example."),
        // Only a forged record.
        ("www.example. A", "-answer bank.example. A"),
        (
            "www.example. A",
            "answer www.example. CNAME a.example.
             answer a.example. CNAME b.test.
             answer b.test. A
             answer B.Test. AAAA
             -answer c.test. A",
        ),
        // In any order.
        (
            "www.example. A",
            "answer b.test. A
             answer A.example. CNAME B.test.
             -answer c.test. CNAME b.test.
             answer www.example. CNAME a.example.",
        ),
        // A loop, and two aliases of one name.
        (
            "www.example. A",
            "answer www.example. CNAME a.example.
             answer a.example. CNAME www.example.
             answer www.example. CNAME b.example.
             answer b.example. A",
        ),
        ("www.example. CNAME", "answer www.example. CNAME a.example.\n answer a.example. A"),
        (
            "www.example. ANY",
            "answer www.example. A\n answer www.example. MX mail.example.\n -answer mail.example. A",
        ),
        ("www.example. PTR", "answer www.example. PTR a.test.\n -answer a.test. A"),
        // A name above is redirected; the CNAME made from that may be missing.
        (
            "a.b.old.example. A",
            "answer old.example. DNAME new.test.
             answer old.example. RRSIG DNAME
             answer a.b.old.example. CNAME a.b.new.test.
             answer a.b.new.test. A",
        ),
        (
            "a.b.old.example. A",
            "answer a.b.NEW.test. A\n -answer b.new.test. A\n answer OLD.example. DNAME new.test.",
        ),
        ("a.old.example. A", "-answer other.example. DNAME new.test.\n -answer a.new.test. A"),
        ("old.example. A", "answer old.example. DNAME new.test.\n -answer new.test. A"),
        // Signatures are treated like the records they sign.
        (
            "www.example. A",
            "answer www.example. A
             answer www.example. RRSIG A
             -answer example. RRSIG A
             -answer bank.example. RRSIG A",
        ),
        ("example. AXFR", "answer example. SOA ns.example.\n answer a.b.example. A\n -answer a.test. A"),
        (". NS", "answer . NS a.root-servers.test.\n -answer test. NS a.test."),
    ] {
        check(asked, Rcode::NOERROR, lines);
    }
}

#[test]
fn authority_is_above_the_question() {
    for (asked, rcode, lines) in [
        (
            "www.example.test. A",
            Rcode::NOERROR,
            "answer www.example.test. A
             authority example.test. NS ns.example.test.
             authority test. NS ns.test.
             authority . NS ns.root.
             authority www.example.test. NS ns.example.test.
             -authority x.www.example.test. NS ns.example.test.
             -authority bank.test. NS ns.evil.
             -authority bank.test. A",
        ),
        // A delegation.
        (
            "www.example.test. A",
            Rcode::NOERROR,
            "authority Example.test. NS ns.example.test.
             authority example.test. DS
             authority example.test. RRSIG DS
             -authority bank.test. DS",
        ),
        // Of any name in the chain.
        (
            "www.example. A",
            Rcode::NOERROR,
            "answer www.example. CNAME a.test.
             authority test. NS ns.test.
             authority example. NS ns.example.",
        ),
        // A negative answer with its proofs.
        (
            "www.example.test. A",
            Rcode::NXDOMAIN,
            "authority example.test. SOA ns.example.test.
             authority example.test. RRSIG SOA
             authority a.example.test. NSEC
             authority a.example.test. RRSIG NSEC
             authority example.test. NSEC
             authority 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example.test. NSEC3
             authority 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example.test. RRSIG NSEC3
             -authority 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.bank.test. NSEC3
             -authority a.example.elsewhere. NSEC",
        ),
        ("www.nosuchtop. A", Rcode::NXDOMAIN, "authority . NSEC\n authority norway. NSEC"),
        // Filtering resolvers put an SOA of their own into a negative answer, and only there.
        ("ads.example. A", Rcode::NXDOMAIN, "authority rpz.filter. SOA ns.filter."),
        ("ads.example. A", Rcode::NOERROR, "authority rpz.filter. SOA ns.filter."),
        ("ads.example. A", Rcode::NOERROR, "answer ads.example. A\n -authority rpz.filter. SOA ns.filter."),
        // Without the forged record the answer is negative.
        ("a.example. A", Rcode::NOERROR, "-answer b.example. A\n authority rpz.filter. SOA ns.filter."),
    ] {
        check(asked, rcode, lines);
    }
}

#[test]
fn additional_addresses_are_referred_to() {
    for (asked, lines) in [
        ("www.example. A", "additional www.example. A\n additional _udp.www.example. SRV ."),
        (
            "www.example. A",
            "answer www.example. A\n -additional bank.example. A\n -additional bank.example. AAAA",
        ),
        ("www.example. A", "-additional bank.example. RRSIG A\n additional bank.example. TXT hello"),
        (
            "www.example. A",
            "authority example. NS ns1.example.
             authority example. NS ns2.test.
             additional NS1.example. A
             additional ns1.example. RRSIG A
             additional ns2.test. AAAA
             -additional ns3.test. AAAA",
        ),
        // Removed records refer to nothing.
        ("www.example. A", "-authority bank.test. NS ns.bank.test.\n -additional ns.bank.test. A"),
        ("www.example. A", "-answer bank.test. MX mail.bank.test.\n -additional mail.bank.test. A"),
        ("example. MX", "answer example. MX mail.example.\n additional mail.example. A"),
        ("_s._tcp.a. SRV", "answer _s._tcp.a. SRV b.\n additional b. A\n additional b. AAAA"),
        ("example. SOA", "answer example. SOA ns.example.\n additional ns.example. A"),
        ("example. CNAME", "answer example. CNAME a.test.\n additional a.test. A"),
        // Further references: service discovery (RFC 6763 §12), SVCB aliases (RFC 9460 §4.2), targets that are aliases.
        (
            "_s._tcp.a. PTR",
            "answer _s._tcp.a. PTR i._s._tcp.a.
             additional host.a. A
             additional i._s._tcp.a. TXT hello
             additional i._s._tcp.a. SRV host.a.",
        ),
        (
            "example. HTTPS",
            "answer example. HTTPS pool.test.
             additional pool.test. HTTPS backend.test.
             additional backend.test. A
             additional pool.test. AAAA",
        ),
        (
            "example. NAPTR",
            "answer example. NAPTR _sip._udp.example.
             additional _sip._udp.example. SRV sip.test.
             additional sip.test. CNAME sip2.test.
             additional sip2.test. A",
        ),
        // A record refers to a forged one, but no record refers to it.
        ("www.example. A", "additional x.test. SRV bank.test.\n -additional bank.test. A"),
    ] {
        check(asked, Rcode::NOERROR, lines);
    }
}

#[test]
fn other_opcodes_are_left_alone() {
    let question = question("example. SOA");
    let mut reply = Reply::new();
    reply.opcode = Opcode::NOTIFY;
    push(&mut reply, question.name(), "answer elsewhere. A");
    assert!(!BailiwickFilter::default().filter(&mut reply, &question));
}

#[test]
fn an_alias_target_that_is_too_long_is_ignored() {
    let long = format!("{}example.", "a23456789.".repeat(23));
    let asked = format!("{long} A");
    let lines = format!("answer example. DNAME {}\n answer {long} A", "b23456789.".repeat(20));
    check(&asked, Rcode::YXDOMAIN, &lines);
}

/// As many records as one message can have: a chain of aliases, and a reference to every name.
#[test]
fn the_work_is_bounded() {
    let question = question("0.example. A");
    let mut reply = Reply::new();
    for number in (0..3000).rev() {
        push(&mut reply, question.name(), &format!("answer {number}.example. CNAME {}.example.", number + 1));
    }
    let start = std::time::Instant::now();
    assert!(BailiwickFilter::default().filter(&mut reply, &question));
    assert_eq!(reply.section(Section::Answer).len(), 32);
    let mut reply = Reply::new();
    for number in 0..3000 {
        push(&mut reply, question.name(), &format!("answer 0.example. SRV {number}.example."));
        push(&mut reply, question.name(), &format!("additional {}.example. A", 2999 - number));
    }
    assert!(!BailiwickFilter::default().filter(&mut reply, &question));
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn valid_replies_allocate_nothing() {
    let question = question("www.example. A");
    let mut reply = Reply::new();
    for line in [
        "answer www.example. CNAME a.test.",
        "answer a.test. A",
        "authority test. NS ns.test.",
        "additional ns.test. A",
    ] {
        push(&mut reply, question.name(), line);
    }
    let mut filter = BailiwickFilter::default();
    filter.filter(&mut reply, &question);
    assert!(!assert_no_alloc(|| filter.filter(&mut reply, &question)));
}
