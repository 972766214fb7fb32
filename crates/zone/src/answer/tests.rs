//! Answers as tables: zone text and questions in, replies in presentation format out.

use wire::{Edns, NameBuf, Query, Reply, Rtype};

use super::answer;
use crate::{Contents, NoIncludes, ZoneFile};

fn zone(origin: &str, text: &str) -> Contents {
    let origin = NameBuf::parse(origin).unwrap();
    ZoneFile { name: "zone", text: text.as_bytes(), origin: &origin }.load(&mut NoIncludes).unwrap()
}

/// Asks `NAME TYPE`, with `+do` for DNSSEC, and compares the lines of the reply after the flags.
#[track_caller]
fn check(zone: &Contents, question: &str, expected: &str) {
    let words: Vec<&str> = question.split(' ').collect();
    let name = NameBuf::parse(words[0]).unwrap();
    let mut query = Query::ask(name.as_name(), Rtype::from_mnemonic(words[1]).unwrap());
    if words.get(2) == Some(&"+do") {
        query.edns = Some(Edns { udp_size: 1232, version: 0, extended_rcode: 0, flags: Edns::DO });
    }
    let mut reply = Reply::new();
    let alias = answer(zone, &query, &mut reply);
    let mut text = reply.present(&query.question);
    if let Some(target) = alias {
        text.push_str(&format!("alias: {target}\n"));
    }
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines(text.trim()), lines(expected.trim()), "{question}\n{text}");
}

/// The zone of RFC 4592 §2.2.1.
fn rfc4592() -> Contents {
    zone(
        "example.",
        "$ORIGIN example.
@ 3600 IN SOA ns.example.com. admin.example.com. 1 2 3 4 600
@ 3600 NS ns.example.com.
@ 3600 NS ns.example.net.
*.example. 3600 TXT \"this is a wildcard\"
*.example. 3600 MX 10 host1.example.
sub.*.example. 3600 TXT \"this is not a wildcard\"
host1.example. 3600 A 192.0.2.1
_ssh._tcp.host1.example. 3600 SRV 0 0 22 host1.example.
_ssh._tcp.host2.example. 3600 SRV 0 0 22 host1.example.
subdel.example. 3600 NS ns.example.com.
subdel.example. 3600 NS ns.example.net.
",
    )
}

const SOA_4592: &str = "authority: example. 600 IN SOA ns.example.com. admin.example.com. 1 2 3 4 600";

#[test]
fn rfc4592_2_2_1_wildcards() {
    let zone = rfc4592();
    let nodata = format!("NOERROR qr,aa,rd\n{SOA_4592}");
    let missing = format!("NXDOMAIN qr,aa,rd\n{SOA_4592}");
    for (question, expected) in [
        (
            "host3.example. MX",
            "NOERROR qr,aa,rd
            answer: host3.example. 3600 IN MX 10 host1.example.
            additional: host1.example. 3600 IN A 192.0.2.1",
        ),
        ("host3.example. A", &nodata),
        (
            "foo.bar.example. TXT",
            "NOERROR qr,aa,rd\nanswer: foo.bar.example. 3600 IN TXT \"this is a wildcard\"",
        ),
        // Names that exist are not covered by the wildcard, with or without records.
        ("host1.example. MX", &nodata),
        ("sub.*.example. MX", &nodata),
        ("_telnet._tcp.host1.example. SRV", &missing),
        ("_tcp.host1.example. A", &nodata),
        ("host2.example. TXT", &nodata),
        ("ghost.*.example. MX", &missing),
        ("*.example. TXT", "NOERROR qr,aa,rd\nanswer: *.example. 3600 IN TXT \"this is a wildcard\""),
        (
            "host.subdel.example. A",
            "NOERROR qr,rd
            authority: subdel.example. 3600 IN NS ns.example.com.
            authority: subdel.example. 3600 IN NS ns.example.net.",
        ),
    ] {
        check(&zone, question, expected);
    }
}

#[test]
fn rfc1034_4_3_2_aliases_and_referrals() {
    let zone = zone(
        "example.org.",
        "@ 300 SOA ns hostmaster 7 3600 600 86400 60
@ NS ns
@ NS ns.elsewhere.net.
ns A 192.0.2.53
www CNAME web
web A 192.0.2.80
web AAAA 2001:db8::80
out CNAME host.example.net.
dangling CNAME nothing
loop1 CNAME loop2
loop2 CNAME loop1
into CNAME host.child
*.w CNAME web
child NS ns.child
child NS ns2.sibling
child DS 1 8 2 00
ns.child A 192.0.2.54
sibling NS ns2.sibling
ns2.sibling AAAA 2001:db8::54
mail MX 5 web
mail MX 10 web
",
    );
    let soa = "authority: example.org. 60 IN SOA ns.example.org. hostmaster.example.org. 7 3600 600 86400 60";
    for (question, expected) in [
        (
            "wWw.example.org. A",
            "NOERROR qr,aa,rd
            answer: wWw.example.org. 300 IN CNAME web.example.org.
            answer: web.example.org. 300 IN A 192.0.2.80"
                .to_owned(),
        ),
        ("www.example.org. CNAME", "NOERROR qr,aa,rd\nanswer: www.example.org. 300 IN CNAME web.example.org.".into()),
        (
            "www.example.org. TXT",
            format!("NOERROR qr,aa,rd\nanswer: www.example.org. 300 IN CNAME web.example.org.\n{soa}"),
        ),
        (
            "out.example.org. A",
            "NOERROR qr,aa,rd\nanswer: out.example.org. 300 IN CNAME host.example.net.\nalias: host.example.net.".into(),
        ),
        (
            "dangling.example.org. A",
            format!("NXDOMAIN qr,aa,rd\nanswer: dangling.example.org. 300 IN CNAME nothing.example.org.\n{soa}"),
        ),
        (
            "x.y.w.example.org. AAAA",
            "NOERROR qr,aa,rd
            answer: x.y.w.example.org. 300 IN CNAME web.example.org.
            answer: web.example.org. 300 IN AAAA 2001:db8::80"
                .into(),
        ),
        (
            "a.child.example.org. A",
            "NOERROR qr,rd
            authority: child.example.org. 300 IN NS ns.child.example.org.
            authority: child.example.org. 300 IN NS ns2.sibling.example.org.
            additional: ns.child.example.org. 300 IN A 192.0.2.54
            additional: ns2.sibling.example.org. 300 IN AAAA 2001:db8::54"
                .into(),
        ),
        ("child.example.org. DS", "NOERROR qr,aa,rd\nanswer: child.example.org. 300 IN DS 1 8 2 00".into()),
        ("sibling.example.org. DS", format!("NOERROR qr,aa,rd\n{soa}")),
        (
            "into.example.org. A",
            "NOERROR qr,aa,rd
            answer: into.example.org. 300 IN CNAME host.child.example.org.
            authority: child.example.org. 300 IN NS ns.child.example.org.
            authority: child.example.org. 300 IN NS ns2.sibling.example.org.
            additional: ns.child.example.org. 300 IN A 192.0.2.54
            additional: ns2.sibling.example.org. 300 IN AAAA 2001:db8::54"
                .into(),
        ),
        (
            "example.org. NS",
            "NOERROR qr,aa,rd
            answer: example.org. 300 IN NS ns.example.org.
            answer: example.org. 300 IN NS ns.elsewhere.net.
            additional: ns.example.org. 300 IN A 192.0.2.53"
                .into(),
        ),
        (
            "mail.example.org. MX",
            "NOERROR qr,aa,rd
            answer: mail.example.org. 300 IN MX 5 web.example.org.
            answer: mail.example.org. 300 IN MX 10 web.example.org.
            additional: web.example.org. 300 IN A 192.0.2.80
            additional: web.example.org. 300 IN AAAA 2001:db8::80"
                .into(),
        ),
        ("nothing.example.org. A", format!("NXDOMAIN qr,aa,rd\n{soa}")),
        ("w.example.org. A", format!("NOERROR qr,aa,rd\n{soa}")),
    ] {
        check(&zone, question, &expected);
    }
}

#[test]
fn rfc6672_3_2_dname() {
    let zone = zone(
        "example.org.",
        "@ 300 SOA ns hostmaster 7 3600 600 86400 60
@ NS ns.example.net.
old DNAME new
old A 192.0.2.9
host.new A 192.0.2.10
away DNAME example.net.
long DNAME abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.net.
",
    );
    let long = "abcdefghijklmnopqrstuvwxyz.".repeat(8);
    for (question, expected) in [
        (
            "host.old.example.org. A",
            "NOERROR qr,aa,rd
            answer: old.example.org. 300 IN DNAME new.example.org.
            answer: host.old.example.org. 300 IN CNAME host.new.example.org.
            answer: host.new.example.org. 300 IN A 192.0.2.10"
                .to_owned(),
        ),
        ("old.example.org. A", "NOERROR qr,aa,rd\nanswer: old.example.org. 300 IN A 192.0.2.9".into()),
        (
            "a.b.away.example.org. A",
            "NOERROR qr,aa,rd
            answer: away.example.org. 300 IN DNAME example.net.
            answer: a.b.away.example.org. 300 IN CNAME a.b.example.net.
            alias: a.b.example.net."
                .into(),
        ),
        (
            &format!("{}.long.example.org. A", "x".repeat(40)),
            format!("YXDOMAIN qr,aa,rd\nanswer: long.example.org. 300 IN DNAME {long}net."),
        ),
    ] {
        check(&zone, question, &expected);
    }
}

#[test]
fn rfc4035_3_1_3_denial_with_nsec() {
    let zone = zone(
        "example.",
        "@ 300 SOA ns h 7 3600 600 86400 60
@ RRSIG SOA 8 1 300 20300101000000 20200101000000 1 example. AAAA
@ NS ns
@ NSEC a NS SOA RRSIG NSEC
a A 192.0.2.1
a RRSIG A 8 2 300 20300101000000 20200101000000 1 example. AAAA
a NSEC *.w A RRSIG NSEC
*.w TXT wild
*.w NSEC z TXT RRSIG NSEC
z NS ns.z
z NSEC example. NS RRSIG NSEC
ns.z A 192.0.2.2
",
    );
    let soa = "authority: example. 60 IN SOA ns.example. h.example. 7 3600 600 86400 60
        authority: example. 300 IN RRSIG \\# 29 0006080100 0000012c70dbd880";
    let soa = soa.lines().next().unwrap();
    let text = |question: &str| {
        let words: Vec<&str> = question.split(' ').collect();
        let name = NameBuf::parse(words[0]).unwrap();
        let mut query = Query::ask(name.as_name(), Rtype::from_mnemonic(words[1]).unwrap());
        query.edns = Some(Edns { udp_size: 1232, version: 0, extended_rcode: 0, flags: Edns::DO });
        let mut reply = Reply::new();
        answer(&zone, &query, &mut reply);
        let kept = |line: &&str| line.split(' ').nth(4) != Some("RRSIG");
        let owner_and_type = |line: &str| line.split(' ').take(5).collect::<Vec<_>>().join(" ");
        reply.present(&query.question).lines().filter(kept).map(owner_and_type).collect::<Vec<_>>().join("\n")
    };
    let soa = soa.split(' ').take(5).collect::<Vec<_>>().join(" ");
    for (question, expected) in [
        ("a.example. TXT", format!("NOERROR qr,aa,rd\n{soa}\nauthority: a.example. 300 IN NSEC")),
        (
            "b.example. A",
            format!(
                "NXDOMAIN qr,aa,rd\n{soa}\nauthority: a.example. 300 IN NSEC\nauthority: example. 300 IN NSEC"
            ),
        ),
        ("w.example. A", format!("NOERROR qr,aa,rd\n{soa}\nauthority: a.example. 300 IN NSEC")),
        (
            "q.w.example. TXT",
            "NOERROR qr,aa,rd\nanswer: q.w.example. 300 IN TXT\nauthority: *.w.example. 300 IN NSEC".into(),
        ),
        (
            "x.z.example. A",
            "NOERROR qr,rd
authority: z.example. 300 IN NS
authority: z.example. 300 IN NSEC
additional: ns.z.example. 300 IN A"
                .into(),
        ),
    ] {
        let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
        assert_eq!(lines(&text(question)), lines(&expected), "{question}");
    }
}
