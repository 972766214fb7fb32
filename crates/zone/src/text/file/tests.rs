use std::collections::HashMap;

use proptest::prelude::*;
use wire::present_data;

use super::*;
use crate::text::write::write_zone;

/// Files by path; `$INCLUDE` is relative to the folder of the file that holds it.
struct Files(HashMap<&'static str, &'static str>);

impl Source for Files {
    fn read(&mut self, path: &str, from: &str) -> Result<(String, Vec<u8>), String> {
        let name = match from.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{path}"),
            None => path.to_owned(),
        };
        let text = self.0.get(name.as_str()).ok_or("no such file")?;
        Ok((name, text.as_bytes().to_vec()))
    }
}

/// The records in presentation format, then the errors.
fn read_with(text: &[u8], source: &mut dyn Source) -> String {
    let origin = NameBuf::parse("ex.").unwrap();
    let mut out = String::new();
    let result = ZoneFile { name: "z", text, origin: &origin }.read(source, &mut |record, _| {
        let data = present_data(record.rtype, record.data);
        out += &format!(
            "{} {} {} {} {data}\n",
            record.owner,
            record.ttl,
            record.class,
            record.rtype.zone_name()
        );
        Ok(())
    });
    for error in result.err().unwrap_or_default() {
        out += &format!("{error}\n");
    }
    out.trim_end().to_owned()
}

fn read(text: &str) -> String {
    read_with(text.as_bytes(), &mut NoIncludes)
}

#[test]
fn lines_of_a_file() {
    for (text, expected) in [
        // Owners, TTLs and classes.
        ("@ 60 IN A 10.0.0.1\n  A 10.0.0.2", "ex. 60 IN A 10.0.0.1\nex. 60 IN A 10.0.0.2"),
        ("a IN 60 A 10.0.0.1\nb. 1h30m A 10.0.0.2", "a.ex. 60 IN A 10.0.0.1\nb. 5400 IN A 10.0.0.2"),
        ("$TTL 1h\na 60 A 10.0.0.1\nb A 10.0.0.2", "a.ex. 60 IN A 10.0.0.1\nb.ex. 3600 IN A 10.0.0.2"),
        ("a 60 A 10.0.0.1\nb A 10.0.0.2", "a.ex. 60 IN A 10.0.0.1\nb.ex. 60 IN A 10.0.0.2"),
        ("a A 10.0.0.1", "a.ex. 3600 IN A 10.0.0.1"),
        (
            "@ SOA n m 1 2 3 4 5m\na A 10.0.0.1",
            "ex. 300 IN SOA n.ex. m.ex. 1 2 3 4 300\na.ex. 300 IN A 10.0.0.1",
        ),
        ("a CLASS1 TYPE1 10.0.0.1\n", "a.ex. 3600 IN A 10.0.0.1"),
        ("a CH TXT x\nb TXT y", "a.ex. 3600 CH TXT \"x\"\nb.ex. 3600 CH TXT \"y\""),
        ("$ORIGIN sub\na NS @\n$ORIGIN .\nb NS c", "a.sub.ex. 3600 IN NS sub.ex.\nb. 3600 IN NS c."),
        // Line ends, comments, parentheses.
        ("; only a comment", ""),
        ("\r\n \t\r\na A 10.0.0.1 ; why\r\n", "a.ex. 3600 IN A 10.0.0.1"),
        (
            "a A;why\n 10.0.0.1",
            "z:1:4: A: expected the data of the record, got the end of the line\nz:2:2: expected a TTL such as 3600 or 1h, got '10.0.0.1'",
        ),
        ("@ SOA(n m\n1\n2;(\n3\n4 5)\n", "ex. 5 IN SOA n.ex. m.ex. 1 2 3 4 5"),
        ("a (A\n10.0.0.1)\nb A 10.0.0.2", "a.ex. 3600 IN A 10.0.0.1\nb.ex. 3600 IN A 10.0.0.2"),
        ("a NSEC b ( A ; address\n TXT )", "a.ex. 3600 IN NSEC b.ex. A TXT"),
        // Strings and escapes.
        (r#"a TXT "a;(b" c\"d "" \101 "\\""#, r#"a.ex. 3600 IN TXT "a;(b" "c\"d" "" "e" "\\""#),
        (r"a\.b\032c A 10.0.0.1", r"a\.b\ c.ex. 3600 IN A 10.0.0.1"),
        (r"\$x A 10.0.0.1", r"$x.ex. 3600 IN A 10.0.0.1"),
        // Unknown types.
        (r"a TYPE65280 \# 3 0102 03", r"a.ex. 3600 IN TYPE65280 \# 3 010203"),
        (r"a A \# 4 0a000001", "a.ex. 3600 IN A 10.0.0.1"),
        (r"a TYPE65280 \# 0", r"a.ex. 3600 IN TYPE65280 \# 0"),
        ("$GENERATE 1-2 h$ 60 A 10.0.0.$", "h1.ex. 60 IN A 10.0.0.1\nh2.ex. 60 IN A 10.0.0.2"),
        ("$GENERATE 0-1 $ TXT \"n $\" ; c", "0.ex. 3600 IN TXT \"n 0\"\n1.ex. 3600 IN TXT \"n 1\""),
        ("$GENERATE 1-1 ${0,3,n} PTR a", "1.0.ex. 3600 IN PTR a.ex."),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn errors_have_a_position() {
    for (text, expected) in [
        ("a A 1.2.3", "z:1:5: A: expected an IPv4 address, got '1.2.3'"),
        ("\n\na  IN\tMX x y", "z:3:10: MX Pref: expected a number from 0 to 65535, got 'x'"),
        ("a MX 10", "z:1:8: MX Mx: expected a domain name, got the end of the line"),
        ("a A 1.2.3.4 x", "z:1:13: expected the end of the line, got 'x'"),
        ("a..b A 1.2.3.4", "z:1:1: expected an owner name, got 'a..b'"),
        (" A 1.2.3.4", "z:1:1: expected an owner name: there is no record before"),
        ("a B", "z:1:3: expected a TTL, a class or a record type, got 'B'"),
        ("a 1 IN B", "z:1:8: expected a record type, got 'B'"),
        ("a 1x A 1.2.3.4", "z:1:3: expected a TTL such as 3600 or 1h, got '1x'"),
        (
            "a 99999999999999999999 A 1.2.3.4",
            "z:1:3: expected a TTL such as 3600 or 1h, got '99999999999999999999'",
        ),
        ("$FOO x", "z:1:1: expected $ORIGIN, $TTL, $INCLUDE or $GENERATE, got '$FOO'"),
        ("$TTL soon", "z:1:6: expected a TTL such as 3600 or 1h, got 'soon'"),
        ("$ORIGIN a b", "z:1:11: expected the end of the line, got 'b'"),
        ("$INCLUDE x", "z:1:10: $INCLUDE x: $INCLUDE is not allowed here"),
        (
            "a TXT \"b\nc A 1.2.3.4 x",
            "z:1:7: the string has no closing quote on its line\nz:2:13: expected the end of the line, got 'x'",
        ),
        ("a TXT b\\300", "z:1:8: expected \\ and a character, or three digits from \\000 to \\255"),
        (
            "a SOA n m (1 2 3\n4 5\nb A 1.2.3.4\n",
            "z:3:1: expected the end of the line, got 'b'\nz:1:11: the parenthesis is never closed",
        ),
        (
            "a A 1.2.3.4)\nb A 1",
            "z:1:12: a closing parenthesis without an opening one\nz:2:5: A: expected an IPv4 address, got '1'",
        ),
        ("a DS 1 8 2 zz", "z:1:12: DS Digest: expected pairs of hexadecimal digits, got 'zz'"),
        ("a DS 1 8 2", "z:1:11: DS Digest: expected pairs of hexadecimal digits, got the end of the line"),
        ("a DNSKEY 1 3 8 ====", "z:1:16: DNSKEY PublicKey: expected base 64, got '===='"),
        ("a TYPE65280 x", "z:1:13: TYPE65280: expected \\# and a length, got 'x'"),
        ("a TYPE65280 \\# 2 01", "z:1:16: expected 4 hexadecimal digits, got 2"),
        ("a MX \\# 2 0001", ""),
        ("a MX \\# 3 000103", "z:1:6: the data is not of type MX"),
        (
            "a HTTPS 1 . prot=1",
            "z:1:13: HTTPS values: expected a parameter name of RFC 9460 or keyNNNNN, got 'prot=1'",
        ),
        ("a HTTPS 1 . port=x", "z:1:13: port: expected a number from 0 to 65535"),
        (
            "$GENERATE 1-99999999 a A 1.2.3.4",
            "z:1:11: $GENERATE: the range '1-99999999' has more than 65536 numbers",
        ),
        ("$GENERATE 1-300 a A 1.2.3.$", "z:1:11: A: expected an IPv4 address, got '1.2.3.256'"),
        ("$GENERATE 1-2 a$", "z:1:11: expected a TTL, a class or a record type, got the end of the line"),
    ] {
        let found: Vec<_> =
            read(text).lines().filter(|line| line.starts_with("z:")).map(str::to_owned).collect();
        assert_eq!(found.join("\n"), expected, "{text}");
    }
    let many = "a A x\n".repeat(100);
    assert_eq!(read(&many).lines().count(), MAX_ERRORS);
}

#[test]
fn included_files() {
    let mut files = Files(HashMap::from([
        ("sub/a", "$TTL 9\n$ORIGIN other.\nx A 10.0.0.1\n$INCLUDE b"),
        ("sub/b", "y A 10.0.0.2"),
        ("bad", "\n a A 1\nb A 1\n"),
        ("loop", "$INCLUDE loop2"),
        ("loop2", "$INCLUDE loop"),
    ]));
    for (text, expected) in [
        (
            "$TTL 5\n$INCLUDE sub/a\nz A 10.0.0.3",
            "x.other. 9 IN A 10.0.0.1\ny.other. 9 IN A 10.0.0.2\nz.ex. 5 IN A 10.0.0.3",
        ),
        ("$INCLUDE \"sub/b\" in", "y.in.ex. 3600 IN A 10.0.0.2"),
        (
            "$INCLUDE bad ; c\n$INCLUDE no",
            "bad:2:1: expected an owner name: there is no record before\nbad:3:5: A: expected an IPv4 address, got '1'\n\
             z:2:10: $INCLUDE no: no such file",
        ),
        ("$INCLUDE loop", "loop2:1:10: $INCLUDE loop: the file includes itself"),
        ("$INCLUDE", "z:1:9: expected the path of a file, got the end of the line"),
    ] {
        assert_eq!(read_with(text.as_bytes(), &mut files), expected, "{text}");
    }
}

/// Types with a text in their own form; it is also what is written.
const EVERY_TYPE: &[&str] = &[
    "A 10.0.0.1",
    "NS a.b.",
    "MD a.",
    "MF a.",
    "CNAME a.",
    "SOA a. b. 1 2 3 4 5",
    "MB a.",
    "MG a.",
    "MR a.",
    r"NULL \# 2 0102",
    "PTR a.",
    r#"HINFO "cpu" "os""#,
    "MINFO a. b.",
    "MX 10 a.",
    r#"TXT "a" "b\"\001""#,
    "RP a. b.",
    "AFSDB 1 a.",
    r#"X25 "311061700956""#,
    r#"ISDN "150862028003217" "004""#,
    r#"ISDN "150862028003217""#,
    "RT 10 a.",
    "NSAP 0x47000580FFFF000000321099991111222233334444",
    "NSAP-PTR a.",
    "SIG A 8 2 3600 20240229000000 20240101000000 1 a. Zm9v",
    "KEY 256 3 8 Zm9v",
    "PX 10 a. b.",
    r#"GPOS "-32.6882" "116.8652" "10.0""#,
    "AAAA 2001:db8::1",
    "LOC 42 21 54.000 N 71 6 18.000 W -24.00m 30.00m 10000.00m 10.00m",
    "NXT a. A TXT",
    "EID E32C6F78163A9348",
    "NIMLOC 32251A030067",
    "SRV 1 2 3 a.",
    r#"NAPTR 1 2 "U" "E2U+sip" "!^.*$!sip:a@b!" ."#,
    "KX 10 a.",
    "CERT 1 2 8 Zm9v",
    "DNAME a.",
    "APL 1:192.168.32.0/21 !1:192.168.38.0/28 2:ff00::/8",
    "DS 1 8 2 0102",
    "SSHFP 1 2 0102",
    "IPSECKEY 10 1 2 192.0.2.38 Zm9v",
    "IPSECKEY 10 3 2 a.b. Zm9v",
    "IPSECKEY 10 0 0 .",
    "RRSIG TYPE65280 8 2 3600 20240229000000 20240101000000 1 a. Zm9v",
    "NSEC a. A TXT TYPE65280",
    "DNSKEY 257 3 8 Zm9v",
    "DHCID Zm9v",
    "NSEC3 1 0 10 ABCD 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR A RRSIG",
    "NSEC3 1 0 10 - 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR",
    "NSEC3PARAM 1 0 10 -",
    "TLSA 3 1 1 0102",
    "SMIMEA 3 1 1 0102",
    "HIP 2 200100107B1A74DF365639CC39F1D578 Zm9v a. b.",
    r#"NINFO "a""#,
    "RKEY 0 1 8 Zm9v",
    "TALINK a. b.",
    "CDS 0 0 0 00",
    "CDNSKEY 0 3 0 AA==",
    "OPENPGPKEY Zm9v",
    "CSYNC 66 3 A NS AAAA",
    "ZONEMD 2018031500 1 1 0102",
    r#"SVCB 1 a. mandatory=alpn,key667 alpn="h2,h3" port=443 ipv4hint=10.0.0.1,10.0.0.2 key667="x y""#,
    r#"HTTPS 1 . alpn="f\\\\oo\\,bar,h2" no-default-alpn ech=Zm9v ipv6hint=2001:db8::1 dohpath="/q{?dns}" ohttp"#,
    "HTTPS 0 a.",
    "DSYNC CDS 1 53 a.",
    r#"SPF "v=spf1""#,
    r#"UINFO "a""#,
    "UID 1",
    "GID 1",
    "NID 10 0014:4fff:ff20:ee64",
    "L32 10 10.1.2.0",
    "L64 10 2001:0db8:1140:1000",
    "LP 10 a.",
    "EUI48 00-00-5e-00-53-2a",
    "EUI64 00-00-5e-ef-10-00-00-2a",
    r#"URI 10 1 "ftp://a/b""#,
    r#"CAA 0 issue "ca.example""#,
    r#"AVC "a""#,
    "AMTRELAY 10 0 1 203.0.113.15",
    "AMTRELAY 10 1 3 a.",
    "AMTRELAY 10 1 0 .",
    r#"RESINFO "qnamemin""#,
    r#"WALLET "BTC" "x""#,
    r#"CLA "x""#,
    "IPN 12345678901",
    "TA 1 8 2 0102",
    "DLV 1 8 2 0102",
];

#[test]
fn every_type_in_its_own_form() {
    for text in EVERY_TYPE {
        assert_eq!(read(&format!("$TTL 3600\na {text}")), format!("a.ex. 3600 IN {text}"));
    }
}

/// Forms that are read but written in another way.
#[test]
fn other_forms() {
    for (text, written) in [
        ("RRSIG a RSASHA256 2 1h 20240229000000 1704067200 1 a. Zm 9v", ""),
        (
            "RRSIG a RSASHA256 2 3600 1709164800 1704067200 1 a. Zm 9v",
            "RRSIG A 8 2 3600 20240229000000 20240101000000 1 a. Zm9v",
        ),
        ("DNSKEY 257 3 ecdsap256sha256 Zm9v", "DNSKEY 257 3 13 Zm9v"),
        ("NSEC b TXT A TXT", "NSEC b.ex. A TXT"),
        ("LOC 52 14 05 N 00 08 50 E 10m", "LOC 52 14 5.000 N 0 8 50.000 E 10.00m 1.00m 10000.00m 10.00m"),
        ("LOC 52 14 N 8 E 10", "LOC 52 14 0.000 N 8 0 0.000 E 10.00m 1.00m 10000.00m 10.00m"),
        ("NSAP 0x47.0005.80", "NSAP 0x47000580"),
        ("NAPTR 1 2 u e2u a .", r#"NAPTR 1 2 "u" "e2u" "a" ."#),
        ("CAA 0 \"issue\" ca", r#"CAA 0 issue "ca""#),
        ("CAA 0 is-sue ca", ""),
        ("CERT PKIX 1 rsasha256 Zm9v", "CERT 1 1 8 Zm9v"),
        ("SOA a b 1 1h 2m 3 4", "SOA a.ex. b.ex. 1 3600 120 3 4"),
        (r"\# 4 0a000001", ""),
        ("NID 1 14:4FFF:0:ee64", "NID 1 0014:4fff:0000:ee64"),
        ("NID 1 14:4FFF:0", ""),
        ("SVCB 1 . key3=\"\\001\\187\"", "SVCB 1 . port=443"),
        ("SVCB 1 . mandatory=x", ""),
        ("SVCB 1 . alpn=", ""),
        ("SVCB 1 . port=443 alpn=h2", r#"SVCB 1 . alpn="h2" port=443"#),
    ] {
        let found = read(&format!("$TTL 3600\na {text}"));
        let expected = if written.is_empty() { "" } else { &format!("a.ex. 3600 IN {written}") };
        assert_eq!(if found.starts_with("z:") { "" } else { &found }, expected, "{text}: {found}");
    }
}

#[test]
fn refusals_of_the_zone_have_a_position() {
    let soa = "@ SOA a b 1 2 3 4 5\n";
    for (text, expected) in [
        ("", "z: zone ex. has no SOA record"),
        ("@ SOA a b 1 2 3 4 5\na.other. A 10.0.0.1", "z:2:1: a.other. is not in zone ex."),
        (
            &format!("{soa}A CNAME b\na A 10.0.0.1\nc A 10.0.0.1"),
            "z:3:1: a.ex.: CNAME and A at the same name",
        ),
        (&format!("{soa}a CNAME b\n  CNAME c"), "z:3:1: a.ex.: more than one CNAME record"),
        (&format!("{soa}a CH A 10.0.0.1"), "z:2:1: a.ex.: class CH is not the zone's"),
    ] {
        let origin = NameBuf::parse("ex").unwrap();
        let errors =
            ZoneFile { name: "z", text: text.as_bytes(), origin: &origin }.load(&mut NoIncludes).unwrap_err();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors.join("\n"), expected, "{text}");
    }
}

#[test]
fn warnings_of_a_zone() {
    let soa = "@ 5 SOA a b 1 2 3 4 5\n";
    for (text, expected) in [
        ("@ NS ns\nns A 10.0.0.1\n@ NS ns.other.", ""),
        ("@ NS ns", "z:2:1: ex.: NS ns.ex. has no address in the zone"),
        ("@ NS ns.w\n*.w AAAA ::1", ""),
        (
            "c NS ns.c\nc NS ns.d\nd NS ns.d\nns.d A 10.0.0.1",
            "z:2:1: c.ex.: NS ns.c.ex. has no address in the zone",
        ),
        ("c NS ns.d\nd NS ns.other.", ""),
        ("@ MX 10 a\na CNAME b\nb A 10.0.0.1", "z:2:1: ex.: MX a.ex. is an alias (RFC 2181 §10.3)"),
        ("a CNAME b\nb CNAME c\nc A 10.0.0.1", "z:2:1: a.ex.: CNAME b.ex. is an alias"),
        ("a 5 A 10.0.0.1\na 6 A 10.0.0.2", "z:3:1: a.ex.: TTL 6 is not used: the first A record has TTL 5"),
    ] {
        let origin = NameBuf::parse("ex").unwrap();
        let text = format!("{soa}{text}");
        let file = ZoneFile { name: "z", text: text.as_bytes(), origin: &origin };
        let warnings = file.warnings(&file.load(&mut NoIncludes).unwrap(), &mut NoIncludes);
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.join("\n"), expected, "{text}");
    }
}

#[test]
fn the_origin_may_be_in_the_file() {
    for (text, expected) in [
        ("ex.org. SOA a b 1 2 3 4 5", Some("ex.org.")),
        ("$ORIGIN ex.org.\na A x\n@ SOA a b 1 2 3 4 5", Some("ex.org.")),
        ("@ SOA a b 1 2 3 4 5", None),
        ("$ORIGIN org\nex SOA a b 1 2 3 4 5", None),
        ("", None),
    ] {
        let origin = ZoneFile::absolute_origin("z", text.as_bytes(), &mut NoIncludes);
        assert_eq!(origin.map(|origin| origin.to_string()).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_written_zone_reads_back() {
    let lines: String = EVERY_TYPE.iter().enumerate().map(|(i, text)| format!("t{i} {text}\n")).collect();
    let lines = lines.replace("SOA a. b.", "A 10.0.0.2 ;").replace("$", "\\$");
    let text = format!("@ 5 SOA a b 1 2 3 4 5\n{lines}\\$x A 10.0.0.1\n* A 10.0.0.1\n\\@ A 10.0.0.1\n");
    let origin = NameBuf::parse("ex").unwrap();
    let load = |text: &str| {
        let file = ZoneFile { name: "z", text: text.as_bytes(), origin: &origin };
        file.load(&mut NoIncludes).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
    };
    let zone = load(&text);
    let mut written = String::new();
    write_zone(&zone, &mut written).unwrap();
    assert!(
        written.starts_with("$ORIGIN ex.\n@                            5 IN SOA    a.ex. b.ex. 1 2 3 4 5\n"),
        "{written}"
    );
    let mut again = String::new();
    write_zone(&load(&written), &mut again).unwrap();
    assert_eq!(again, written);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Any RDATA that a zone may have reads back from its text.
    #[test]
    fn data_reads_back(which in 0..EVERY_TYPE.len(), start in 0usize..40, noise in proptest::collection::vec(any::<u8>(), 0..60), insert in any::<bool>()) {
        let origin = NameBuf::parse("ex").unwrap();
        let line = format!("a {}", EVERY_TYPE[which]);
        let mut found = None;
        ZoneFile { name: "z", text: line.as_bytes(), origin: &origin }
            .read(&mut NoIncludes, &mut |record, _| { found = Some((record.rtype, record.data.to_vec())); Ok(()) })
            .unwrap();
        let (rtype, mut data) = found.unwrap();
        // Change a valid record somewhere.
        let start = start.min(data.len());
        let end = if insert { start } else { data.len().min(start + noise.len()) };
        data.splice(start..end, noise);
        let text = present_data(rtype, &data);
        let generic = text.starts_with("\\#");
        let line = format!("a {} {text}", rtype.zone_name());
        let mut again = None;
        let result = ZoneFile { name: "z", text: line.as_bytes(), origin: &origin }
            .read(&mut NoIncludes, &mut |record, _| { again = Some(record.data.to_vec()); Ok(()) });
        prop_assert!(generic || result.is_ok(), "{} {:?}", line, result);
        // Names in generic RDATA may be compressed.
        prop_assert!(generic || again.as_ref() == Some(&data), "{}", line);
    }

    #[test]
    fn any_text_is_read(text in "[\\PC\n\"();\\\\$ a-c0-9.]{0,200}") {
        let _ = read(&text);
    }
}
