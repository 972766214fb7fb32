use super::*;

const SENDER: &str = "127.0.0.1:4000";

fn sender() -> SocketAddr {
    SENDER.parse().expect("an address")
}

fn proxy_protocol(policy: ProxyPolicy, sessions: bool) -> ProxyProtocol {
    let limits = SessionLimits { time: Duration::from_secs(30), count: 2 };
    ProxyProtocol { policy: Arc::new(move |_| policy), sessions: sessions.then_some(limits), tlvs: true }
}

/// A header of version 2 for the client 192.0.2.7:9, and a payload.
fn packet(command: u8, family: u8, tlvs: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    bytes.extend([command, family]);
    bytes.extend((12 + tlvs.len() as u16).to_be_bytes());
    bytes.extend([192, 0, 2, 7, 192, 0, 2, 1, 0, 9, 0, 53]);
    bytes.extend(tlvs);
    bytes.extend(payload);
    bytes
}

/// The client's address (`-` for the sender's), TLVs and payload of a packet; or the error.
fn unwrapped(proxy_protocol: &ProxyProtocol, sessions: &mut Sessions, packet: &[u8]) -> String {
    match proxy_protocol.unwrap(packet, sender(), Instant::now(), sessions) {
        Ok(Some(UnwrappedPacket { client, tlvs, payload })) => {
            let client = client.map_or("-".into(), |client| client.to_string());
            format!("{client} {tlvs:?} {}", String::from_utf8_lossy(payload))
        }
        Ok(None) => "nothing".into(),
        Err(why) => format!("{why:?}"),
    }
}

#[test]
fn policies_of_datagrams() {
    use ProxyPolicy::{Ignore, Reject, Skip, Use};
    let whole = packet(0x21, 0x12, &[1, 0, 1, 7], b"query");
    let cut = packet(0x21, 0x12, &[1, 0, 9, 7], b"query");
    let local = packet(0x20, 0x12, &[1, 0, 1, 7], b"query");
    let stream = packet(0x21, 0x11, &[], b"query");
    let line = b"PROXY TCP4 192.0.2.7 192.0.2.1 9 53\r\nquery";
    for (policy, packet, expected) in [
        (Use, &whole[..], "192.0.2.7:9 [1, 0, 1, 7] query"),
        (Use, &cut, "192.0.2.7:9 [] query"),
        (Use, &local, "- [] query"),
        (Use, &stream, "NotUdp"),
        (Use, line, "Version1"),
        (Use, b"query", "- [] query"),
        (Use, b"\r\n", "- [] \r\n"),
        (Use, &whole[..20], "Short"),
        (Ignore, &whole, "- [] query"),
        (Ignore, &stream, "NotUdp"),
        (Ignore, b"query", "- [] query"),
        (Reject, &whole, "Rejected"),
        (Reject, &stream, "NotUdp"),
        (Reject, b"query", "- [] query"),
        (Skip, b"query", "- [] query"),
    ] {
        let got = unwrapped(&proxy_protocol(policy, false), &mut Sessions::default(), packet);
        assert_eq!(got, expected, "{policy:?} {packet:?}");
    }
    let skipped =
        proxy_protocol(Skip, true).unwrap(&whole, sender(), Instant::now(), &mut Sessions::default())
            == Ok(Some(UnwrappedPacket { client: None, tlvs: &[], payload: &whole }));
    assert!(skipped);
}

#[test]
fn a_header_applies_to_the_packets_that_follow() {
    let (used, ignored) = (proxy_protocol(ProxyPolicy::Use, true), proxy_protocol(ProxyPolicy::Ignore, true));
    let mut sessions = Sessions::default();
    assert_eq!(unwrapped(&used, &mut sessions, b"query"), "- [] query");
    assert_eq!(unwrapped(&ignored, &mut sessions, &packet(0x21, 0x12, &[], b"")), "- [] ");
    assert_eq!(unwrapped(&used, &mut sessions, &packet(0x20, 0x12, &[], b"")), "nothing");
    assert_eq!(unwrapped(&used, &mut sessions, b"query"), "- [] query");
    assert_eq!(unwrapped(&used, &mut sessions, &packet(0x21, 0x12, &[4, 0, 0], b"")), "nothing");
    assert_eq!(unwrapped(&used, &mut sessions, b"query"), "192.0.2.7:9 [4, 0, 0] query");
    assert_eq!(unwrapped(&ignored, &mut sessions, b"query"), "- [] query");
    // A header before a query starts a session as well, and replaces an earlier one.
    assert_eq!(unwrapped(&used, &mut sessions, &packet(0x21, 0x12, &[], b"query")), "192.0.2.7:9 [] query");
    assert_eq!(unwrapped(&used, &mut sessions, b"query"), "192.0.2.7:9 [] query");
}
