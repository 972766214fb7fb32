use super::mapping::Mapping;
use crate::messages::translation::Pref64;
use crate::testing::harness::{answer, ask, configure, refused, service};

const HOSTS: &str = "hosts {
    192.0.2.1 four.example.org both.example.org
    2001:db8::1 six.example.org both.example.org
    64:ff9b::192.0.2.7 nat.example.org six.example.org
    ::ffff:192.0.2.9 mapped.example.org
    ttl 900
}";

fn corefile(options: &str) -> String {
    format!(". {{\nsiit {options}\n{HOSTS}\n}}")
}

#[test]
fn mappings() {
    let octets = |text: &str| text.parse::<std::net::Ipv6Addr>().expect("an address").octets();
    let explicit = vec![
        (octets("2001:db8::2"), [192, 0, 2, 2]),
        (octets("64:ff9b::192.0.2.3"), [192, 0, 2, 33]),
        (octets("2001:db8::1"), [192, 0, 2, 1]),
        (octets("2001:db8::2"), [192, 0, 2, 22]),
    ];
    let mapping = Mapping::new(Pref64::WELL_KNOWN, explicit);
    for (ipv6, ipv4) in [
        ("2001:db8::1", Some([192, 0, 2, 1])),
        // The last mapping counts, and precedes the prefix.
        ("2001:db8::2", Some([192, 0, 2, 22])),
        ("64:ff9b::192.0.2.3", Some([192, 0, 2, 33])),
        ("64:ff9b::192.0.2.4", Some([192, 0, 2, 4])),
        ("2001:db8::3", None),
        ("::ffff:192.0.2.1", None),
        ("64:ff9b::100:0:0:1", None),
    ] {
        assert_eq!(mapping.ipv4(octets(ipv6)), ipv4, "{ipv6}");
    }
    assert_eq!(Mapping::new(Pref64::WELL_KNOWN, Vec::new()).ipv4(octets("64:ff9b:0:0:100::1")), None);
}

#[test]
fn a_from_aaaa() {
    for (options, question, expected) in [
        ("", "nat.example.org A", "NOERROR qr,aa\nanswer: nat.example.org. 600 IN A 192.0.2.7\n"),
        ("", "Nat.Example.org A rd", "NOERROR qr,aa,rd\nanswer: nat.example.org. 600 IN A 192.0.2.7\n"),
        // AAAA records without a mapping are left out.
        ("", "six.example.org A", "NOERROR qr,aa\nanswer: six.example.org. 600 IN A 192.0.2.7\n"),
        ("", "both.example.org A", "NOERROR qr,aa\nanswer: both.example.org. 900 IN A 192.0.2.1\n"),
        ("", "mapped.example.org A", "NOERROR qr,aa\nanswer: mapped.example.org. 900 IN A 192.0.2.9\n"),
        ("{\nipv6_prefix 64:1::/96\n}", "nat.example.org A", "NOERROR qr,aa\n"),
        (
            "{\neam 192.0.2.10 2001:db8::1\n}",
            "six.example.org A",
            "NOERROR qr,aa\nanswer: six.example.org. 600 IN A 192.0.2.10\nanswer: six.example.org. 600 IN A 192.0.2.7\n",
        ),
        ("", "none.example.org A", "SERVFAIL qr\n"),
        ("", "nat.example.org MX", "NOERROR qr,aa\n"),
    ] {
        let got = answer(&service(&corefile(options)), question);
        assert_eq!(got, expected, "{options} {question}");
    }
}

/// Each plugin's look-up is one that the other would translate.
#[test]
fn look_ups_with_dns64_do_not_recurse_without_end() {
    let service = service(&format!(". {{\ndns64 {{\nallow_ipv4\n}}\nsiit\n{HOSTS}\n}}"));
    assert_eq!(answer(&service, "four.example.org MX"), "NOERROR qr,aa\n");
    assert!(answer(&service, "four.example.org AAAA").contains("64:ff9b::c000:201"));
    assert!(answer(&service, "nat.example.org A").contains("192.0.2.7"));
    let notes = ask(&service, "mapped.example.org AAAA").notes;
    assert!(notes.iter().all(|note| note.depth <= 3), "{notes:?}");
}

#[test]
fn translations_are_counted() {
    let service = service(&corefile("").replacen('.', ".:7165", 1));
    for question in
        ["nat.example.org A", "both.example.org A", "mapped.example.org AAAA", "four.example.org A"]
    {
        ask(&service, question);
    }
    let line = "coredns_siit_requests_translated_total{server=\"dns://:7165\"} 1";
    assert!(metrics::registry().encode().lines().any(|found| found == line));
}

#[test]
fn options() {
    for body in [
        "siit",
        "siit\nsiit",
        "siit {\nipv6_prefix 64:1::1/32\nipv6_prefix 64:1::/96\n}",
        "siit {\neam 10.0.0.1 2001:db8::1\neam ::ffff:10.0.0.2 2001:db8::1\n}",
    ] {
        assert!(configure(&format!(". {{\n{body}\n}}")).is_ok(), "{body}");
    }
    let lengths = "must be one of /32, /40, /48, /56, /64, /96";
    for (line, error) in [
        ("ipv6_prefix 10.0.0.1/8", "invalid netmask 32 IPv6 address: \"10.0.0.0/8\"".to_owned()),
        ("ipv6_prefix 64:1::/72", format!("invalid prefix length \"64:1::/72\": {lengths}")),
        (
            "ipv6_prefix 2001:db8:122:344:ff00::/96",
            "invalid prefix \"2001:db8:122:344:ff00::/96\": reserved octet (byte 8) must be zero".to_owned(),
        ),
        ("eam x 2001:db8::1", "invalid IP address: \"<nil>\"".to_owned()),
        ("eam 10.0.0.1 x", "invalid IP address: \"<nil>\"".to_owned()),
        ("eam 2001:db8::1 10.0.0.1", "invalid IPv4 address: \"2001:db8::1\"".to_owned()),
        ("eam 10.0.0.1 ::ffff:10.0.0.2", "invalid IPv6 address: \"10.0.0.2\"".to_owned()),
        ("nosuch", "unknown property 'nosuch'".to_owned()),
    ] {
        let at = "plugin/siit: Corefile:3 - Error during parsing: ";
        assert_eq!(refused(&format!(". {{\nsiit {{\n{line}\n}}\n}}")), format!("{at}{error}"), "{line}");
    }
    let no_network = refused(". {\nsiit {\nipv6_prefix x\n}\n}");
    assert_eq!(no_network, "plugin/siit: invalid CIDR address: x");
}
