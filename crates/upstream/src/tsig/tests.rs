use wire::message::{Header, Writer};
use wire::{Class, Flags, Opcode, Rtype};

use super::*;

const NOW: u64 = 1_800_000_000;

fn key(secret: &[u8]) -> Key {
    Key::new(&NameBuf::parse("Key.Example.").expect("a name"), Algorithm::HmacSha256, secret)
}

fn message(id: u16) -> Vec<u8> {
    let header = Header { id, opcode: Opcode::QUERY, flags: Flags::QR, rcode: Rcode::NOERROR };
    let mut writer = Writer::new(header);
    writer.question(NameBuf::parse("example.").expect("a name").as_name(), Rtype::AXFR, Class::IN);
    writer.finish().expect("a short message")
}

/// Both ends after a request.
fn ends() -> (MacChain, MacChain) {
    let (mut client, mut server) = (MacChain::new(key(b"secret")), MacChain::new(key(b"secret")));
    let mut request = message(1);
    client.sign(&mut request, NOW);
    assert_eq!(server.verify(&mut request, NOW), Ok(true));
    assert_eq!(request, message(1));
    (client, server)
}

#[test]
fn a_stream_may_have_99_messages_in_a_row_without_signature() {
    for (unsigned, expected) in [(0, Ok(true)), (99, Ok(true)), (100, Err(TsigError::TooManyUnsigned))] {
        let (mut client, mut server) = ends();
        let mut first = message(1);
        server.sign(&mut first, NOW);
        assert_eq!(client.verify(&mut first, NOW), Ok(true));
        let mut results = Vec::new();
        for _ in 0..unsigned {
            let mut plain = message(1);
            server.skip(&plain).ok();
            results.push(client.verify(&mut plain, NOW));
        }
        let mut last = message(1);
        server.sign(&mut last, NOW);
        results.push(client.verify(&mut last, NOW));
        if unsigned == 100 {
            assert_eq!(results[99], expected);
        } else {
            assert_eq!(results.pop(), Some(expected), "{unsigned}");
            assert!(results.iter().all(|result| *result == Ok(false)));
        }
    }
}

#[test]
fn what_is_not_believed() {
    type Change = fn(&mut Vec<u8>);
    let cases: [(&str, Change, u64, Result<bool, TsigError>); 7] = [
        ("as sent", |_| {}, NOW, Ok(true)),
        ("another id, as forwarders set", |m| m[0] = 9, NOW, Ok(true)),
        ("within the fudge", |_| {}, NOW + 300, Ok(true)),
        ("late", |_| {}, NOW + 301, Err(TsigError::BadTime { signed: NOW, now: NOW + 301 })),
        ("an octet changed", |m| m[14] ^= 1, NOW, Err(TsigError::BadSignature)),
        ("unsigned", |m| drop(Signature::remove(m)), NOW, Err(TsigError::Unsigned(Rcode::NOERROR))),
        ("cut", |m| m.truncate(40), NOW, Err(TsigError::Malformed)),
    ];
    for (what, change, now, expected) in cases {
        let (mut client, mut server) = ends();
        let mut reply = message(1);
        server.sign(&mut reply, NOW);
        change(&mut reply);
        assert_eq!(client.verify(&mut reply, now), expected, "{what}");
    }
    let (mut client, _) = ends();
    let mut other = MacChain::new(key(b"another secret"));
    let mut reply = message(1);
    other.sign(&mut reply, NOW);
    assert_eq!(client.verify(&mut reply, NOW), Err(TsigError::BadSignature));
}

#[test]
fn a_rejection_is_told() {
    let (mut client, _) = ends();
    let mut reply = message(1);
    Signature { key: key(b"").name, error: Rcode::BADKEY, ..Signature::default() }.append(&mut reply);
    assert_eq!(client.verify(&mut reply, NOW), Err(TsigError::Rejected(Rcode::BADKEY)));
}
