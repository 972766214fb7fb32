use crate::messages::translation::Pref64;
use crate::testing::harness::{answer, ask, configure, refused, service};
use corefile::reverse::Prefix;

const HOSTS: &str = "hosts {
    192.0.2.1 four.example.org both.example.org
    192.0.2.2 four.example.org
    2001:db8::1 six.example.org both.example.org
    ttl 900
}";

fn corefile(options: &str) -> String {
    format!(". {{\ndns64 {options}\nacl six.example.org {{\ndrop type A\n}}\n{HOSTS}\n}}")
}

/// The records of the answer section.
fn records(options: &str, question: &str) -> String {
    let text = answer(&service(&corefile(options)), question);
    text.lines().filter_map(|line| line.strip_prefix("answer: ")).collect::<Vec<_>>().join("; ")
}

#[test]
fn rfc6052_2_4_embedded_addresses() {
    for (prefix, expected) in [
        ("2001:db8::/32", "2001:db8:c000:221::"),
        ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
        ("64:ff9b::1:2/96", "64:ff9b::192.0.2.33"),
    ] {
        let expected: std::net::Ipv6Addr = expected.parse().expect("an address");
        let prefix = Prefix::parse(prefix).as_ref().and_then(Pref64::new).expect("a prefix");
        let embedded = prefix.embed([192, 0, 2, 33]);
        assert_eq!(embedded, expected.octets(), "{prefix}");
        assert_eq!(prefix.extract(embedded), Some([192, 0, 2, 33]), "{prefix}");
        assert_eq!(prefix.extract([0x30; 16]), None, "{prefix}");
    }
}

#[test]
fn aaaa_from_a() {
    let four =
        "four.example.org. 600 IN AAAA 64:ff9b::c000:201; four.example.org. 600 IN AAAA 64:ff9b::c000:202";
    let both = "both.example.org. 900 IN AAAA 2001:db8::1";
    for (options, question, expected) in [
        ("", "four.example.org AAAA from=::1", four),
        ("", "four.example.org AAAA from=2001:db8::1 do", four),
        // Clients over IPv4 use the A records.
        ("", "four.example.org AAAA", ""),
        ("", "four.example.org AAAA from=::ffff:10.0.0.1", ""),
        ("{\nallow_ipv4\n}", "four.example.org AAAA", four),
        ("", "both.example.org AAAA from=::1", both),
        (
            "{\ntranslate_all\n}",
            "both.example.org AAAA from=::1",
            "both.example.org. 600 IN AAAA 64:ff9b::c000:201",
        ),
        ("", "four.example.org MX from=::1", ""),
        ("64:1::/32", "both.example.org A from=::1", "both.example.org. 900 IN A 192.0.2.1"),
        (
            "64:1::/48",
            "Four.example.org A from=::1",
            "four.example.org. 900 IN A 192.0.2.1; four.example.org. 900 IN A 192.0.2.2",
        ),
        (
            "{\nprefix 64:1::/64\n}",
            "both.EXAMPLE.org AAAA from=::1",
            "both.example.org. 900 IN AAAA 2001:db8::1",
        ),
    ] {
        assert_eq!(records(options, question), expected, "{options} {question}");
    }
}

#[test]
fn complete_replies() {
    let service = service(&corefile("64:1::/96"));
    for (question, expected) in [
        (
            "BOTH.example.org AAAA from=::1",
            "NOERROR qr,aa\nanswer: both.example.org. 900 IN AAAA 2001:db8::1\n",
        ),
        ("none.example.org AAAA from=::1", "SERVFAIL qr\n"),
        ("six.example.org A from=::1", "dropped\n"),
        ("six.example.org MX from=::1", "NOERROR qr,aa\n"),
    ] {
        assert_eq!(answer(&service, question), expected, "{question}");
    }
    // acl drops the look-up of A.
    let service = crate::testing::harness::service(&corefile("{\ntranslate_all\n}"));
    let asked = ask(&service, "six.example.org AAAA from=::1");
    assert_eq!(crate::testing::harness::present(&asked), "SERVFAIL qr\n");
    let got = answer(&service, "Four.example.org AAAA from=::1 rd cd size=1400");
    assert!(got.starts_with("NOERROR qr,rd,cd\n"), "{got}");
    assert!(got.contains("four.example.org."), "{got}");
    assert!(got.ends_with("opt: 1400\n"), "{got}");
}

#[test]
fn explain_shows_the_decision() {
    let service = service(&corefile(""));
    for (question, expected) in [
        ("four.example.org AAAA", "reply unchanged: the client uses IPv4, and allow_ipv4 is not set"),
        ("both.example.org AAAA from=::1", "reply unchanged: it has AAAA records"),
        ("four.example.org AAAA from=::1", "looks up A of four.example.org. to synthesize AAAA records"),
    ] {
        let notes = ask(&service, question).notes;
        let found = notes.iter().find(|note| note.plugin == "dns64").map(|note| note.text.as_str());
        assert_eq!(found, Some(expected), "{question}");
    }
}

#[test]
fn translations_are_counted() {
    let service = service(&corefile("").replacen('.', ".:7164", 1));
    for question in
        ["four.example.org AAAA from=::1", "four.example.org AAAA", "both.example.org AAAA from=::1"]
    {
        ask(&service, question);
    }
    let line = "coredns_dns64_requests_translated_total{server=\"dns://:7164\"} 1";
    assert!(metrics::registry().encode().lines().any(|found| found == line));
}

#[test]
fn options() {
    for body in [
        "dns64",
        "dns64\ndns64",
        "dns64 64:1::1/96",
        "dns64 {\n}",
        "dns64 {\nprefix ::ffff:0:0/96\n}",
        "dns64 {\nprefix 64:1::/32\ntranslate_all\nallow_ipv4\n}",
        // The block after a prefix is ignored, as in CoreDNS.
        "dns64 64:1::/96 {\nnonsense\n}",
    ] {
        assert!(configure(&format!(". {{\n{body}\n}}")).is_ok(), "{body}");
    }
    let parsing = "plugin/dns64: Corefile:2 - Error during parsing: ";
    for (body, error) in [
        ("dns64 x", "plugin/dns64: invalid CIDR address: x".to_owned()),
        ("dns64 64:1::", "plugin/dns64: invalid CIDR address: 64:1::".to_owned()),
        ("dns64 10.1.0.0/8", format!("{parsing}invalid netmask 32 IPv6 address: \"10.0.0.0/8\"")),
        ("dns64 64:1::1/33", format!("{parsing}invalid prefix length \"64:1::/33\"")),
        ("dns64 ::ffff:10.1.0.0/104", format!("{parsing}invalid prefix length \"10.0.0.0/8\"")),
    ] {
        assert_eq!(refused(&format!(". {{\n{body}\n}}")), error, "{body}");
    }
    let unknown = refused(". {\ndns64 {\nnosuch\n}\n}");
    assert!(unknown.contains("unknown property 'nosuch'"), "{unknown}");
}
