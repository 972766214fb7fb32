//! Transfers, updates and NOTIFY with the real Knot DNS and BIND, signed with TSIG.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use testkit::authority::{Authority, AuthorityKey, AuthorityKind, SECONDARY_ZONE};
use upstream::dial::{Dialer, Endpoint};
use upstream::request::{Edit, Prerequisite, RequestError, notify, serial, update};
use upstream::session::{MessageLimits, Session};
use upstream::transfer::{Change, Outcome, TransferLimits, axfr, ixfr};
use upstream::tsig::{Algorithm, Key, SignedSession, TsigError};
use upstream::{Error, Network, Options, Scheme, Upstream};
use wire::message::Record;
use wire::{Class, NameBuf, Rcode, Rtype};

use crate::ask::{query, without_ports};
use crate::faulty_proxy::{self, Fault};

const ZONE: &str = "example.test.";
const SECRET: &[u8] = b"a secret of thirty-two octets...";
const KEY: &str = "transfer-key.";
/// With the SOA.
const RECORDS: usize = 100_000;
const SOON: Duration = Duration::from_secs(30);

fn name(text: &str) -> NameBuf {
    NameBuf::parse(text).unwrap()
}

fn key(name_of_key: &str, algorithm: &str, secret: &[u8]) -> Key {
    Key::new(&name(name_of_key), Algorithm::from_name(algorithm).unwrap(), secret)
}

/// A server with a zone of this many records; None if it is not installed.
fn server(kind: AuthorityKind, records: usize, algorithm: &str) -> Option<Authority> {
    let binary = kind.for_test()?;
    let mut text = format!(
        "$ORIGIN {ZONE}\n$TTL 300\n@ SOA ns hostmaster 7 3600 600 86400 300\n@ NS ns\nns A 192.0.2.1\n"
    );
    for i in 3..records {
        writeln!(text, "host-{i} A 10.{}.{}.{}", i >> 16, i >> 8 & 255, i & 255).unwrap();
    }
    let key = AuthorityKey { name: KEY, algorithm, secret: &STANDARD.encode(SECRET) };
    Some(Authority::start(&binary, kind, ZONE, &text, key).unwrap())
}

async fn session(addr: SocketAddr) -> Session {
    let connection = Dialer::Tcp(Endpoint { addr, source: None }).dial(SOON).await.unwrap();
    Session::new(connection, MessageLimits::new(SOON, SOON))
}

async fn signed(addr: SocketAddr, key: Key) -> SignedSession<Session> {
    SignedSession::new(session(addr).await, key)
}

/// A transferred zone, or an error: never a part.
async fn transfer(addr: SocketAddr, key: Key) -> Result<(Outcome, Vec<(String, u16)>), RequestError> {
    let mut records = Vec::new();
    let sink = |change: Change<'_>| {
        match change {
            Change::Replace => records.clear(),
            Change::Add(record) => records.push((record.owner.to_string(), record.rtype.0)),
            Change::Delete(record) => return Err(format!("{record:?}")),
        }
        Ok(())
    };
    let outcome =
        axfr(&mut signed(addr, key).await, name(ZONE).as_name(), &TransferLimits::default(), sink).await?;
    Ok((outcome, records))
}

async fn transfers(kind: AuthorityKind) {
    let Some(server) = server(kind, RECORDS, "hmac-sha256") else { return };
    let good = || key(KEY, "hmac-sha256", SECRET);
    let (outcome, mut records) = transfer(server.addr(), good()).await.unwrap();
    assert_eq!(outcome, Outcome::Replaced { serial: 7 });
    assert_eq!(records.first(), Some(&(ZONE.to_owned(), Rtype::SOA.0)));
    assert_eq!(records.len(), RECORDS);
    records.sort();
    records.dedup();
    assert_eq!(records.len(), RECORDS, "each record once");

    let rejected = |code| RequestError::Session(Error::Tsig(TsigError::Rejected(code)));
    let cases = [
        ("another secret", key(KEY, "hmac-sha256", b"wrong"), rejected(Rcode::BADSIG)),
        ("an unknown key", key("other-key.", "hmac-sha256", SECRET), rejected(Rcode::BADKEY)),
    ];
    for (what, key, expected) in cases {
        assert_eq!(transfer(server.addr(), key).await, Err(expected), "{what}");
    }
    let mut plain = session(server.addr()).await;
    let refused = axfr(&mut plain, name(ZONE).as_name(), &TransferLimits::default(), |_| Ok(())).await;
    assert!(matches!(refused, Err(RequestError::Rcode(Rcode::REFUSED | Rcode::NOTAUTH))), "{refused:?}");

    for number in [1, 3] {
        let proxy = faulty_proxy::start(server.addr(), Fault::Flip(number));
        let flipped = transfer(proxy, good()).await;
        assert!(
            matches!(
                flipped,
                Err(RequestError::Session(Error::Tsig(TsigError::BadSignature | TsigError::Malformed)))
            ),
            "{number}: {:?}",
            flipped.map(|(outcome, _)| outcome)
        );
        for fault in [Fault::Cut(number), Fault::Close(number)] {
            let cut = transfer(faulty_proxy::start(server.addr(), fault), good()).await;
            let cut = cut.map(|(outcome, _)| outcome).unwrap_err();
            let text = without_ports(&cut.to_string());
            assert!(text == "EOF" || text.ends_with("connection reset by peer"), "{fault:?}: {text}");
        }
    }
}

async fn updates(kind: AuthorityKind, algorithm: &str) {
    let Some(server) = server(kind, 10, algorithm) else { return };
    let zone = name(ZONE);
    let mut session = signed(server.addr(), key(KEY, algorithm, SECRET)).await;
    let (new, old) = (name("new.example.test."), name("host-4.example.test."));
    let address =
        Record { owner: new.as_name(), rtype: Rtype::A, class: Class::IN, ttl: 60, data: &[192, 0, 2, 99] };
    let absent = [Prerequisite::NameNotInUse(new.as_name())];
    let edits = [Edit::Add(address), Edit::DeleteName(old.as_name())];
    update(&mut session, zone.as_name(), &absent, &edits).await.unwrap_or_else(|error| {
        panic!("{error}\n{}", server.output());
    });
    let again = update(&mut session, zone.as_name(), &absent, &edits).await;
    assert_eq!(again, Err(RequestError::Rcode(Rcode::YXDOMAIN)));

    let upstream = Upstream::new(Options::new(Scheme::Dns, server.addr()));
    let answer = upstream.exchange(&query("new.example.test."), Network::Tcp, 512).await.unwrap();
    assert!(answer.message.ends_with(&[192, 0, 2, 99]) && answer.message[7] == 1, "{answer:?}");

    let mut changes = Vec::new();
    let limits = TransferLimits::default();
    let outcome = ixfr(&mut session, zone.as_name(), 7, &limits, |change| {
        changes.push(match change {
            Change::Replace => "=".to_owned(),
            Change::Add(record) => format!("+{} {}", record.owner, record.rtype),
            Change::Delete(record) => format!("-{} {}", record.owner, record.rtype),
        });
        Ok(())
    })
    .await
    .unwrap();
    let Outcome::Updated { from: 7, to } = outcome else { panic!("{outcome:?}: {changes:?}") };
    let expected =
        ["-example.test. SOA", "-host-4.example.test. A", "+example.test. SOA", "+new.example.test. A"];
    assert_eq!(changes, expected);
    assert_eq!(serial(&mut session, zone.as_name()).await, Ok(to));
    let nothing = ixfr(&mut session, zone.as_name(), to, &limits, |change| Err(format!("{change:?}"))).await;
    assert_eq!(nothing, Ok(Outcome::UpToDate { serial: to }));
    let unknown = ixfr(&mut session, zone.as_name(), 1, &limits, |_| Ok(())).await;
    assert_eq!(unknown, Ok(Outcome::Replaced { serial: to }), "an unknown version is answered with the zone");

    notify(&mut session, name(SECONDARY_ZONE).as_name(), None).await.unwrap_or_else(|error| {
        panic!("{error}\n{}", server.output());
    });
    let wrong = notify(&mut session, name("unknown.test.").as_name(), None).await;
    // Knot does not sign what it says of zones that it does not have.
    let unsigned = RequestError::Session(Error::Tsig(TsigError::Unsigned(Rcode::NOTAUTH)));
    assert!(wrong == Err(RequestError::Rcode(Rcode::NOTAUTH)) || wrong == Err(unsigned), "{wrong:?}");
}

#[tokio::test]
async fn knot_transfers_100_000_records() {
    transfers(AuthorityKind::Knot).await;
}

#[tokio::test]
async fn bind_transfers_100_000_records() {
    transfers(AuthorityKind::Bind).await;
}

#[tokio::test]
async fn knot_accepts_updates_of_every_algorithm() {
    for algorithm in ["hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"] {
        updates(AuthorityKind::Knot, algorithm).await;
    }
}

#[tokio::test]
async fn bind_accepts_updates_of_every_algorithm() {
    for algorithm in ["hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"] {
        updates(AuthorityKind::Bind, algorithm).await;
    }
}
