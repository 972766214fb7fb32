use super::*;

fn parse_to_text(text: &str) -> String {
    match ZoneRecord::parse(text.as_bytes()) {
        Err(error) => error.to_string(),
        Ok(None) => "no record".into(),
        Ok(Some(ZoneRecord { data: None, .. })) => "unwritable".into(),
        Ok(Some(record)) => {
            let data: String = record.data.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
            format!("{} {} {} {} {data}", record.owner, record.ttl, record.class, record.rtype)
        }
    }
}

/// Results of miekg/dns for the same text.
#[test]
fn records_from_text() {
    for (text, expected) in [
        ("a.b. 60 IN A 10.0.0.1", "a.b. 60 IN A 0a000001"),
        ("a.b IN 60 a 10.0.0.1", "a.b. 60 IN A 0a000001"),
        ("A.b 1h30m AAAA ::1 ; why", "A.b. 5400 IN AAAA 00000000000000000000000000000001"),
        ("a. CNAME @", "a. 3600 IN CNAME 00"),
        ("$TTL 5\n$ORIGIN ex.\nw NS ns", "w.ex. 5 IN NS 026e7302657800"),
        ("a. CH TXT \"a b\" c", "a. 3600 CH TXT 036120620163"),
        (
            "a. SOA n. m. (1 1h\n 2 3 4)",
            "a. 3600 IN SOA 016e00016d000000000100000e10000000020000000300000004",
        ),
        ("a. CAA 0 issue \"x\"", "a. 3600 IN CAA 0005697373756578"),
        ("a. HTTPS 1 . port=443 alpn=h2", "a. 3600 IN HTTPS 000100000100030268320003000201bb"),
        ("a. TYPE65280 \\# 2 00ff", "a. 3600 IN TYPE65280 00ff"),
        ("a. A", "a. 3600 IN A "),
        ("a. TLSA 3 1 1 zz", "unwritable"),
        (
            "a. NSEC b. A TXT TYPE1234",
            "a. 3600 IN NSEC 0162000003400080041b000000000000000000000000000000000000000000000000000020",
        ),
        ("", "no record"),
        ("; only a comment", "no record"),
        ("a. 60 IN A 1.2.3", "dns: bad A A: \"1.2.3\" at line: 1:16"),
        ("a. 60 IN A 1.2.3.4 x", "dns: garbage after rdata: \"x\" at line: 1:20"),
        ("a..b 60 IN A 1.2.3.4", "dns: bad owner name: \"a..b\" at line: 1:5"),
        ("a. soon IN A 1.2.3.4", "dns: not a TTL: \"soon\" at line: 1:8"),
        ("a. SOA n. m. (1 2 3 4 5", "dns: garbage after rdata: \"unbalanced brace\" at line: 1:23"),
        ("$INCLUDE /etc/passwd\n", "dns: $INCLUDE directive not allowed: \"$INCLUDE\" at line: 1:9"),
    ] {
        assert_eq!(parse_to_text(text).replace(' ', ""), expected.replace(' ', ""), "{text}");
    }
}
