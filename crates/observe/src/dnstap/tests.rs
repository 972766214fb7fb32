use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};

use super::frames::{self, CONTENT_TYPE, Control};
use super::schema::{Dnstap, Message as Tapped};
use super::{ConnectMode, Dial, Endpoint, Kind, Listen, Output, Protocol, Record, head};

fn record() -> Record<'static> {
    Record {
        kind: Kind::ClientQuery,
        protocol: Protocol::Udp,
        query_address: Some(SocketAddr::from(([10, 0, 0, 1], 40212))),
        response_address: None,
        query_time: UNIX_EPOCH + Duration::new(1_794_759_633, 891_308_001),
        response_time: None,
        query_message: None,
        response_message: None,
    }
}

fn payload(frame: &[u8]) -> Dnstap {
    let (length, payload) = frame.split_at(4);
    assert_eq!(u32::from_be_bytes(length.try_into().unwrap()) as usize, payload.len());
    let decoded = Dnstap::decode(payload).unwrap();
    // A protobuf library writes the same bytes.
    assert_eq!(decoded.encode_to_vec(), payload);
    decoded
}

#[test]
fn record_encodes_as_dnstap_proto() {
    let got = payload(&record().encode(&head(b"me", b"v1"), None));
    let expected = Dnstap {
        identity: Some(b"me".to_vec()),
        version: Some(b"v1".to_vec()),
        extra: None,
        message: Some(Tapped {
            kind: 5,
            socket_family: Some(1),
            socket_protocol: Some(1),
            query_address: Some(vec![10, 0, 0, 1]),
            query_port: Some(40212),
            query_time_sec: Some(1_794_759_633),
            query_time_nsec: Some(891_308_001),
            ..Tapped::default()
        }),
        kind: 1,
    };
    assert_eq!(got, expected);
}

#[test]
fn forwarder_records_have_both_addresses() {
    let record = Record {
        kind: Kind::ForwarderResponse,
        protocol: Protocol::Tcp,
        query_address: Some("[2001:db8::1]:1".parse().unwrap()),
        response_address: Some("[2001:db8::2]:53".parse().unwrap()),
        response_time: Some(UNIX_EPOCH + Duration::new(7, 8)),
        response_message: Some(&[0; 300]),
        ..record()
    };
    let got = payload(&record.encode(&[], Some(b"extra")));
    assert_eq!((got.identity, got.extra), (None, Some(b"extra".to_vec())));
    let message = got.message.unwrap();
    assert_eq!((message.socket_family, message.socket_protocol), (Some(2), Some(2)));
    assert_eq!((message.query_port, message.response_port), (Some(1), Some(53)));
    assert_eq!(message.response_address.unwrap().len(), 16);
    assert_eq!((message.response_time_sec, message.response_time_nsec), (Some(7), Some(8)));
    assert_eq!(message.response_message.unwrap().len(), 300);
}

#[test]
fn ipv4_mapped_addresses_are_recorded_as_ipv4() {
    let record = Record { query_address: Some("[::ffff:10.0.0.1]:1".parse().unwrap()), ..record() };
    let message = payload(&record.encode(&[], None)).message.unwrap();
    assert_eq!((message.socket_family, message.query_address), (Some(1), Some(vec![10, 0, 0, 1])));
}

#[test]
fn control_frames() {
    let ready = Control::Ready.encode();
    assert_eq!(ready[..12], [0, 0, 0, 0, 0, 0, 0, 34, 0, 0, 0, 4]);
    assert_eq!(&ready[20..], CONTENT_TYPE);
    assert_eq!(Control::Finish.encode(), [0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5]);
}

/// A minimal reader; `rhumb/tests/integration/compare_dnstap.rs` has the real one.
async fn read_stream(mut bytes: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin) -> usize {
    frames::read_control(&mut bytes, Control::Ready).await.unwrap();
    bytes.write_all(&Control::Accept.encode()).await.unwrap();
    frames::read_control(&mut bytes, Control::Start).await.unwrap();
    let mut messages = 0;
    loop {
        let length = bytes.read_u32().await.unwrap();
        if length == 0 {
            // The rest of STOP.
            let mut rest = [0; 8];
            bytes.read_exact(&mut rest).await.unwrap();
            assert_eq!(rest[7], Control::Stop as u8);
            bytes.write_all(&Control::Finish.encode()).await.unwrap();
            return messages;
        }
        let mut payload = vec![0; length as usize];
        bytes.read_exact(&mut payload).await.unwrap();
        Dnstap::decode(&*payload).unwrap();
        messages += 1;
    }
}

/// Serializes tests that start tasks: an injected panic hits the first task that runs.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn dial(endpoint: Endpoint) -> Output {
    Output::new(ConnectMode::Dial(Dial { endpoint, skip_verify: false, write_buffer: 1 << 20 }), 1)
}

#[test]
fn stop_sends_everything_queued() {
    let _lock = one_at_a_time();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let runtime = server::runtime::handle();
    let _entered = runtime.enter();
    let listener = UnixListener::bind(&path).unwrap();
    let reading = runtime.spawn(async move { read_stream(listener.accept().await.unwrap().0).await });
    let output = dial(Endpoint::Unix(path));
    output.start();
    (0..500).for_each(|_| output.push(record().encode(&[], None)));
    output.stop();
    assert_eq!(runtime.block_on(reading).unwrap(), 500);
}

/// A reader that starts late, and one that reconnects, receive the queued messages.
#[test]
fn messages_wait_for_a_disconnected_reader() {
    let _lock = one_at_a_time();
    let runtime = server::runtime::handle();
    let address =
        runtime.block_on(async { TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap() });
    let output = dial(Endpoint::Tcp(address.to_string()));
    output.start();
    output.push(record().encode(&[], None));
    std::thread::sleep(Duration::from_millis(100));
    let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
    let reading = runtime.spawn(async move {
        // The first connection closes during the handshake.
        let (mut first, _) = listener.accept().await.unwrap();
        frames::read_control(&mut first, Control::Ready).await.unwrap();
        drop(first);
        read_stream(listener.accept().await.unwrap().0).await
    });
    std::thread::sleep(Duration::from_millis(2500));
    output.stop();
    assert_eq!(runtime.block_on(reading).unwrap(), 1);
}

#[test]
fn a_full_queue_counts_lost_messages() {
    let output = dial(Endpoint::Unix("/nowhere".into()));
    (0..super::QUEUE_UNIT + 7).for_each(|_| output.push(Vec::new()));
    assert_eq!(output.lost(), 7);
}

/// Without readers the output needs no messages; a reader receives those pushed after it connected.
#[test]
fn readers_connect_to_a_listener() {
    let _lock = one_at_a_time();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    let endpoint = Endpoint::Unix(path.clone());
    let output = Output::new(ConnectMode::Listen(Listen { endpoint, tls: None, skip_verify: false }), 1);
    let runtime = server::runtime::handle();
    output.start();
    assert!(!output.has_readers());
    let reading = runtime.spawn(async move {
        loop {
            if let Ok(stream) = tokio::net::UnixStream::connect(&path).await {
                return read_stream(stream).await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    while !output.has_readers() {
        std::thread::sleep(Duration::from_millis(1));
    }
    (0..10).for_each(|_| output.push(record().encode(&[], None)));
    output.stop();
    assert_eq!(runtime.block_on(reading).unwrap(), 10);
    assert!(!folder.path().join("sock").exists(), "the listener removes its socket file");
}

/// Counts messages until the stream ends or breaks.
async fn count_messages(mut bytes: UnixStream, seen: &AtomicUsize) -> io::Result<()> {
    frames::read_control(&mut bytes, Control::Ready).await?;
    bytes.write_all(&Control::Accept.encode()).await?;
    frames::read_control(&mut bytes, Control::Start).await?;
    loop {
        let length = bytes.read_u32().await?;
        if length == 0 {
            return bytes.write_all(&Control::Finish.encode()).await;
        }
        bytes.read_exact(&mut vec![0; length as usize]).await?;
        seen.fetch_add(1, Ordering::Relaxed);
    }
}

fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_true() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A panic is counted, and messages reach the reader again, possibly after a reconnect.
#[test]
fn messages_flow_again_after_a_panic() {
    let _lock = one_at_a_time();
    let runtime = server::runtime::handle();
    let _entered = runtime.enter();
    for (task, listens) in [("dnstap", false), ("dnstap", true), ("dnstap-reader", true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let seen = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&seen);
        let (output, reading) = if listens {
            let listen = Listen { endpoint: Endpoint::Unix(path.clone()), tls: None, skip_verify: false };
            let reading = runtime.spawn(async move {
                loop {
                    if let Ok(stream) = UnixStream::connect(&path).await {
                        let _ = count_messages(stream, &counted).await;
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            (Output::new(ConnectMode::Listen(listen), 1), reading)
        } else {
            let listener = UnixListener::bind(&path).unwrap();
            let reading = runtime.spawn(async move {
                loop {
                    let _ = count_messages(listener.accept().await.unwrap().0, &counted).await;
                }
            });
            (dial(Endpoint::Unix(path)), reading)
        };
        output.start();
        let flows = |when: &str| {
            let before = seen.load(Ordering::Relaxed);
            wait_until(&format!("{task}: messages {when}"), || {
                output.push(record().encode(&[], None));
                seen.load(Ordering::Relaxed) > before
            });
        };
        flows("before");
        let panics = supervise::panics(task);
        supervise::inject::arm(task, 1);
        wait_until(&format!("{task}: a panic"), || {
            output.push(record().encode(&[], None));
            supervise::panics(task) == panics + 1
        });
        flows("after");
        wait_until(&format!("{task}: a reader"), || output.has_readers());
        output.stop();
        reading.abort();
    }
}

#[test]
fn losses_are_logged_after_a_panic() {
    let _lock = one_at_a_time();
    let output = dial(Endpoint::Unix("/nowhere".into()));
    (0..super::QUEUE_UNIT + 1).for_each(|_| output.push(Vec::new()));
    supervise::inject::arm("dnstap-losses", 1);
    output.start();
    wait_until("losses that are logged", || output.lost() == 0);
    assert_eq!(supervise::panics("dnstap-losses"), 1);
    output.stop();
}

/// The error names a certificate that is not a regular file, without reading it.
#[test]
fn certificates_must_be_regular_files() {
    let folder = tempfile::tempdir().unwrap();
    let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&certificate, generated.cert.pem()).unwrap();
    std::fs::write(&key, generated.signing_key.serialize_pem()).unwrap();
    let bad = std::path::PathBuf::from("/dev/zero");
    for (certificate, key, client_ca, error) in [
        (&certificate, &key, Some(&certificate), None),
        (&bad, &key, None, Some("/dev/zero: is not a regular file")),
        (&certificate, &bad, None, Some("/dev/zero: is not a regular file")),
        (&certificate, &key, Some(&bad), Some("/dev/zero: is not a regular file")),
    ] {
        let files = super::TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            client_ca: client_ca.cloned(),
        };
        assert_eq!(files.config(false).err().as_deref(), error);
    }
}
