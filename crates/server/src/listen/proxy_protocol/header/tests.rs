use proptest::prelude::*;

use super::*;

/// The result of parsing, in one line.
fn parsed(bytes: &[u8]) -> String {
    match parse(bytes) {
        Err(why) => format!("{why:?}"),
        Ok(Parsed::Header(header)) => {
            let end = |end: Option<SocketAddr>| end.map_or("-".into(), |end| end.to_string());
            let (client, destination) = (end(header.client()), end(header.client_destination()));
            format!(
                "v{} {client} {destination} len {} tlvs {}",
                header.version,
                header.len,
                header.tlvs.len()
            )
        }
        Ok(other) => format!("{other:?}"),
    }
}

#[test]
fn version_1() {
    for (line, expected) in [
        ("PROXY TCP4 192.0.2.7 192.0.2.1 40000 53\r\n", "v1 192.0.2.7:40000 192.0.2.1:53 len 41 tlvs 0"),
        ("PROXY TCP4 192.0.2.7 192.0.2.1 0 65535\r\nrest", "v1 192.0.2.7:0 192.0.2.1:65535 len 40 tlvs 0"),
        ("PROXY TCP6 2001:db8::1 ::1 1 2\r\n", "v1 [2001:db8::1]:1 [::1]:2 len 32 tlvs 0"),
        ("PROXY TCP6 ::ffff:192.0.2.7 ::1 1 2\r\n", "v1 192.0.2.7:1 [::1]:2 len 37 tlvs 0"),
        ("PROXY UNKNOWN\r\n", "v1 - - len 15 tlvs 0"),
        ("PROXY UNKNOWN whatever stands here\r\n", "v1 - - len 36 tlvs 0"),
        ("PROXY TCP4 192.0.2.7", "Partial"),
        ("PROXY", "Partial"),
        ("PROX", "Unsigned"),
        ("P", "Unsigned"),
        ("", "Unsigned"),
        ("PROSE", "Nothing"),
        ("PROXYTCP4 192.0.2.7 192.0.2.1 1 2\r\n", "Line"),
        ("PROXY\r\n", "Family"),
        ("PROXY  TCP4 192.0.2.7 192.0.2.1 1 2\r\n", "Family"),
        ("PROXY UDP4 192.0.2.7 192.0.2.1 1 2\r\n", "Family"),
        ("PROXY TCP4 192.0.2.7 192.0.2.1 1\r\n", "Family"),
        ("PROXY TCP4 192.0.2.7 192.0.2.1 1 2 \r\n", "Family"),
        ("PROXY TCP4 192.0.2.07 192.0.2.1 1 2\r\n", "Address"),
        ("PROXY TCP4 ::1 ::1 1 2\r\n", "Address"),
        ("PROXY TCP6 192.0.2.7 ::1 1 2\r\n", "Address"),
        ("PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n", "Address"),
        ("PROXY TCP4 192.0.2.7 192.0.2.1 01 2\r\n", "Port"),
        ("PROXY TCP4 192.0.2.7 192.0.2.1 +1 2\r\n", "Port"),
        ("PROXY TCP4 192.0.2.7 192.0.2.1 1 65536\r\n", "Port"),
        ("PROXY TCP4 192.0.2.7 192.0.2.1 1 \r\n", "Port"),
        ("PROXY TCP4 192.0.2.7 192.0.2.1 1 2\n", "LineEnd"),
    ] {
        assert_eq!(parsed(line.as_bytes()), expected, "{line:?}");
    }
    let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(91));
    assert_eq!((long.len(), parsed(long.as_bytes())), (107, "v1 - - len 107 tlvs 0".to_owned()));
    let longer = format!("PROXY UNKNOWN {}\r\n", "x".repeat(92));
    assert_eq!(parsed(longer.as_bytes()), "LineTooLong");
    assert_eq!(parsed(&longer.as_bytes()[..106]), "Partial");
}

/// A header of version 2.
fn binary(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_be_bytes();
    [SIGNATURE_2, &[command, family], &length, body].concat()
}

#[test]
fn version_2() {
    let v4 = [192, 0, 2, 7, 192, 0, 2, 1, 0, 9, 0, 53];
    let mut v6 = [0; 36];
    v6[..2].copy_from_slice(&[0x20, 0x01]);
    (v6[31], v6[33]) = (1, 9);
    let mut mapped = v6;
    mapped[..16].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7]);
    let with_tlv = [&v4[..], &[1, 0, 1, 7]].concat();
    for (command, family, body, expected) in [
        (PROXY, 0x11, &v4[..], "v2 192.0.2.7:9 192.0.2.1:53 len 28 tlvs 0"),
        (PROXY, 0x12, &v4, "v2 192.0.2.7:9 192.0.2.1:53 len 28 tlvs 0"),
        (PROXY, 0x12, &with_tlv, "v2 192.0.2.7:9 192.0.2.1:53 len 32 tlvs 4"),
        (PROXY, 0x22, &v6, "v2 [2001::]:9 [::1]:0 len 52 tlvs 0"),
        (PROXY, 0x21, &mapped, "v2 192.0.2.7:9 [::1]:0 len 52 tlvs 0"),
        (PROXY, 0x31, &[1; 216], "v2 - - len 232 tlvs 0"),
        (PROXY, 0x32, &[1; 215], "Length"),
        (PROXY, 0x00, &[], "Family"),
        (PROXY, 0x13, &v4, "Family"),
        (PROXY, 0x10, &v4, "Family"),
        (PROXY, 0x12, &v4[..11], "Length"),
        (PROXY, 0x22, &v4, "Length"),
        (PROXY, 0x12, &[0; 4096], "v2 0.0.0.0:0 0.0.0.0:0 len 4112 tlvs 4084"),
        (PROXY, 0x12, &[0; 4097], "Length"),
        (LOCAL, 0x00, &[], "v2 - - len 16 tlvs 0"),
        (LOCAL, 0x00, &[1, 0, 0], "v2 - - len 19 tlvs 3"),
        (LOCAL, 0x12, &v4, "v2 - - len 28 tlvs 0"),
        (LOCAL, 0x12, &v4[..5], "v2 - - len 21 tlvs 0"),
        (LOCAL, 0x99, &[], "Family"),
        (LOCAL, 0x00, &[0; 4097], "Length"),
        (0x11, 0x12, &v4, "Command"),
        (0x22, 0x12, &v4, "Command"),
    ] {
        let packet = binary(command, family, body);
        assert_eq!(parsed(&packet), expected, "{command:x} {family:x} {}", body.len());
        let followed = [&packet[..], b"query"].concat();
        assert_eq!(parsed(&followed), expected, "{command:x} {family:x} {} and more", body.len());
    }
    let whole = binary(PROXY, 0x12, &v4);
    for len in 0..whole.len() {
        let expected = if len < SIGNATURE_2.len() { "Unsigned" } else { "Partial" };
        assert_eq!(parsed(&whole[..len]), expected, "{len} octets");
    }
}

#[test]
fn tlvs() {
    for (bytes, whole) in [
        (&[][..], true),
        (&[1, 0, 0], true),
        (&[1, 0, 2, 7, 7, 4, 0, 0], true),
        (&[1], false),
        (&[1, 0], false),
        (&[1, 0, 1], false),
        (&[1, 0, 1, 7, 9], false),
    ] {
        assert_eq!(tlvs_are_whole(bytes), whole, "{bytes:?}");
    }
}

proptest! {
    /// For any input: no panic, and the header lies within the input.
    #[test]
    fn headers_lie_within_their_bytes(
        signed in 0..3usize,
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let bytes = [[&b""[..], SIGNATURE_1, SIGNATURE_2][signed], &bytes].concat();
        if let Ok(Parsed::Header(header)) = parse(&bytes) {
            prop_assert!(header.len <= bytes.len() && header.tlvs.len() < header.len);
            // Octets after the header do not change it.
            prop_assert_eq!(parse(&bytes[..header.len]), Ok(Parsed::Header(header)));
        }
    }

    /// A result for a prefix is also the result for the whole input.
    #[test]
    fn a_prefix_has_the_same_result_or_is_incomplete(
        command in prop_oneof![Just(LOCAL), Just(PROXY), any::<u8>()],
        family in prop_oneof![Just(0x00u8), Just(0x11), Just(0x12), Just(0x21), Just(0x22), any::<u8>()],
        body in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let whole = binary(command, family, &body);
        let verdict = parse(&whole);
        for len in 0..whole.len() {
            match parse(&whole[..len]) {
                Ok(Parsed::Unsigned | Parsed::Partial) => {}
                early => prop_assert_eq!(early, verdict),
            }
        }
    }

    /// Parsing is the inverse of writing.
    #[test]
    fn lines_are_read_as_written(source: SocketAddr4, destination: SocketAddr4) {
        let (source, destination) = (source.0, destination.0);
        let line = format!(
            "PROXY TCP4 {} {} {} {}\r\n",
            source.ip(), destination.ip(), source.port(), destination.port()
        );
        match parse(line.as_bytes()) {
            Ok(Parsed::Header(header)) => {
                prop_assert_eq!((header.client(), header.client_destination()), (Some(source), Some(destination)));
                prop_assert_eq!(header.len, line.len());
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct SocketAddr4(SocketAddr);

impl Arbitrary for SocketAddr4 {
    type Parameters = ();
    type Strategy = BoxedStrategy<SocketAddr4>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        any::<([u8; 4], u16)>().prop_map(|address| SocketAddr4(SocketAddr::from(address))).boxed()
    }
}
