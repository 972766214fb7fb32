//! CoreDNS and Rhumb send the same dnstap messages, as printed by golang-dnstap's reader.
//!
//! ```text
//! queries ────→ CoreDNS ──dnstap──→ reader ──JSON or YAML─┐
//!          └──→ Rhumb   ──dnstap──→ reader ──JSON or YAML─┴─→ compared
//! ```
//!
//! The reader only listens, on a Unix socket or over TCP. Where the server listens too, or uses TLS, a relay of
//! ours between them copies bytes both ways, without parsing frames.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::Value;
use testkit::certificate::Authority;
use testkit::client::{query_both, udp};
use testkit::peers::Peer;
use testkit::process::{Process, Signal};
use testkit::query::{Generator, Options, Pool};
use testkit::{DnsServer, Kind, ports};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::runtime::Runtime;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const MANY: usize = 2_000;
const FEW: usize = 100;

const NAMES: &[&str] = &[
    "a.example.org",
    "many.example.org",
    "x.fwd.org",
    "y.fwd.org",
    "old.org",
    "x.dead.org",
    "nowhere.net",
    "blocked.net",
    "1.0.0.10.in-addr.arpa",
];

/// Plugins below dnstap: local and forwarded answers, failures, refusals, long replies.
const PLUGINS: &str = "
    acl blocked.net {
        block type A
        filter type AAAA
    }
    rewrite name exact old.org x.fwd.org
    hosts {
        10.0.0.1 a.example.org
        ADDRESSES
        fallthrough
    }
    forward fwd.org 127.0.0.1:UPSTREAM {
        max_fails 0
    }
    forward dead.org 127.0.0.1:9 {
        max_fails 0
    }
";

const UPSTREAM: &str =
    "fwd.org:{port} {\n bind 127.0.0.1\n hosts {\n 10.1.0.1 x.fwd.org\n 2001:db8::1 x.fwd.org\n }\n}\n";

/// How a server and its reader connect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Connection {
    Unix,
    Tcp,
    /// The server connects over TLS.
    Tls,
    /// The server listens on a Unix socket.
    ListenUnix,
    ListenTcp,
    /// The server listens for TLS and requires a client certificate.
    ListenTls,
}

struct Case {
    connection: Connection,
    /// The format of the reader's output.
    format: &'static str,
    full: bool,
    questions: usize,
}

#[test]
fn over_a_unix_socket() {
    check(&Case { connection: Connection::Unix, format: "-j", full: true, questions: MANY });
}

#[test]
fn over_tcp() {
    check(&Case { connection: Connection::Tcp, format: "-y", full: true, questions: FEW });
}

#[test]
fn without_the_bytes() {
    check(&Case { connection: Connection::Unix, format: "-j", full: false, questions: FEW });
}

/// The real reader does not print it, so this test has its own reader.
#[test]
fn extra_field() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let upstream =
        DnsServer::start_on_free_port(Kind::CoreDns, UPSTREAM).unwrap_or_else(|error| panic!("{error}"));
    let tapped = [Kind::CoreDns, Kind::Rhumb].map(|kind| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("reader.sock");
        let listener = UnixListener::bind(&path).expect("bound");
        let reading = std::thread::spawn(move || read_stream(&listener));
        let port = ports::free().expect("a free port");
        let corefile = corefile(port, &path.display().to_string(), "", upstream.addr().port());
        let server = DnsServer::start(kind, &corefile, port).unwrap_or_else(|error| panic!("{error}"));
        (server, reading, folder)
    });
    // For a rewritten query CoreDNS sends the new name with the reply; see docs/differences.md.
    let names = NAMES.iter().copied().filter(|name| *name != "old.org");
    let mut generator = Generator::from_env([Pool::new(1, names)], Options::default());
    let seed = generator.seed();
    for _ in 0..FEW {
        let query = generator.next().expect("generators do not end");
        let servers = [tapped[0].0.addr(), tapped[1].0.addr()];
        query_both(servers, None, query.transport, &query.wire, Duration::from_secs(3)).expect("asked");
    }
    let [left, right] = tapped.map(|(_server, reading, _folder)| {
        let mut extras = extras(&reading.join().expect("read"));
        extras.sort();
        extras
    });
    assert!(left.len() > FEW, "too few messages: {}", left.len());
    assert!(left.iter().any(|extra| extra.contains("127.0.0.1:")), "no upstream in {left:?}");
    assert_eq!(left, right, "seed {seed}");
}

/// Completes the handshake and reads until nothing has arrived for a while.
fn read_stream(listener: &UnixListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().expect("a connection");
    stream.read_exact(&mut [0; 42]).expect("READY");
    let words = [0, 34, 1, 1, 22u32].map(u32::to_be_bytes).concat();
    stream.write_all(&[&words[..], b"protobuf:dnstap.Dnstap"].concat()).expect("ACCEPT");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    bytes
}

#[test]
fn over_tls() {
    check(&Case { connection: Connection::Tls, format: "-j", full: true, questions: FEW });
}

#[test]
fn listening_on_a_unix_socket() {
    check(&Case { connection: Connection::ListenUnix, format: "-j", full: true, questions: FEW });
}

#[test]
fn listening_on_tcp() {
    check(&Case { connection: Connection::ListenTcp, format: "-q", full: true, questions: FEW });
}

#[test]
fn listening_for_tls_with_client_certificates() {
    check(&Case { connection: Connection::ListenTls, format: "-j", full: true, questions: FEW });
}

impl Case {
    fn is_listening(&self) -> bool {
        matches!(self.connection, Connection::ListenUnix | Connection::ListenTcp | Connection::ListenTls)
    }
}

/// The configurations before and after a reload send over one connection.
#[test]
fn reload_keeps_the_connection() {
    if Peer::Dnstap.for_test().is_none() {
        return;
    }
    let case = Case { connection: Connection::Unix, format: "-j", full: true, questions: 2 };
    let tapped = TappedServer::start(Kind::Rhumb, &case, 9);
    let question = |id: u8| {
        [&[0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &b"\x01a\x07example\x03org\0\0\x01\0\x01"[..]].concat()
    };
    let ask = |id| udp(tapped.server.addr(), &question(id), Duration::from_secs(3), 0).expect("asked");
    ask(1);
    tapped.server.process().signal(Signal::USR1).expect("signalled");
    let reloaded = tapped.server.process().wait_for_line("Reloading complete", Duration::from_secs(20));
    reloaded.unwrap_or_else(|error| panic!("{error}"));
    ask(2);
    let ids: Vec<u32> = tapped.messages(&case).iter().map(|message| id(message)).collect();
    assert_eq!(ids, [1, 1, 2, 2]);
    let connections =
        tapped.reader.lines().iter().filter(|line| line.contains("accepted connection")).count();
    assert_eq!(connections, 1);
}

fn check(case: &Case) {
    if Peer::CoreDns.for_test().is_none() || Peer::Dnstap.for_test().is_none() {
        return;
    }
    let upstream =
        DnsServer::start_on_free_port(Kind::CoreDns, UPSTREAM).unwrap_or_else(|error| panic!("{error}"));
    let port = upstream.addr().port();
    let (coredns, rhumb) = both(
        || TappedServer::start(Kind::CoreDns, case, port),
        || TappedServer::start(Kind::Rhumb, case, port),
    );

    let options = Options { odd_headers: 0.0, ..Options::default() };
    let mut generator = Generator::from_env([Pool::new(1, NAMES.iter().copied())], options);
    let seed = generator.seed();
    let servers = [coredns.server.addr(), rhumb.server.addr()];
    for _ in 0..case.questions {
        let query = generator.next().expect("generators do not end");
        query_both(servers, None, query.transport, &query.wire, Duration::from_secs(3)).expect("asked");
        // CoreDNS sends the message of a reply after the reply. Where readers connect to it, the next query must wait:
        // CoreDNS would write both messages at once, and the reader would get interleaved frames.
        std::thread::sleep(if case.is_listening() { Duration::from_millis(10) } else { Duration::ZERO });
    }
    let (left, right) = both(|| coredns.messages(case), || rhumb.messages(case));
    println!("seed {seed}: {} questions, {} messages", case.questions, left.len());
    assert!(left.len() > case.questions, "too few messages: {}", left.len());
    for (at, (left, right)) in left.iter().zip(&right).enumerate() {
        assert_eq!(left, right, "message {at}, seed {seed}");
    }
    assert_eq!(left.len(), right.len(), "seed {seed}");
}

/// Runs both concurrently, since both mostly wait.
fn both<T: Send>(left: impl FnOnce() -> T + Send, right: impl FnOnce() -> T) -> (T, T) {
    std::thread::scope(|scope| {
        let left = scope.spawn(left);
        let right = right();
        (left.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), right)
    })
}

fn corefile(port: u16, socket: &str, option: &str, upstream: u16) -> String {
    let addresses: String = (1..60).map(|n| format!("10.0.1.{n} many.example.org\n")).collect();
    let behind = PLUGINS.replace("ADDRESSES", &addresses).replace("UPSTREAM", &upstream.to_string());
    format!(
        ".:{port} {{\n bind 127.0.0.1\n metadata\n dnstap {socket} {{\n identity tapped\n version 1\n \
         extra \"{{name}} {{/forward/upstream}}\"\n {option}\n }}\n{behind}\n}}\n"
    )
}

/// A server with its reader.
struct TappedServer {
    server: DnsServer,
    reader: Process,
    _relay: Option<Runtime>,
    _folder: tempfile::TempDir,
}

impl TappedServer {
    fn start(kind: Kind, case: &Case, upstream: u16) -> TappedServer {
        let folder = tempfile::tempdir().expect("a folder");
        let certificates = Certificates::make(folder.path());
        let to_reader = folder.path().join("reader.sock");
        let [port, free] = [(); 2].map(|()| ports::free().expect("a free port"));
        let tcp = SocketAddr::from(([127, 0, 0, 1], free));
        let at_server = folder.path().join("server.sock");

        let mut command = Command::new(Peer::Dnstap.locate().expect("the reader"));
        match case.connection {
            Connection::Tcp => command.args(["-l", &tcp.to_string()]),
            _ => command.arg("-u").arg(&to_reader),
        };
        command.arg(case.format);
        let reader = Process::start("dnstap", command).unwrap_or_else(|error| panic!("{error}"));
        let connections = if case.connection == Connection::Tcp {
            // The reader prints nothing about this socket before a connection.
            let end = Instant::now() + Duration::from_secs(20);
            while std::net::TcpStream::connect(tcp).is_err() {
                assert!(Instant::now() < end, "the reader does not listen on {tcp}");
                std::thread::sleep(Duration::from_millis(20));
            }
            2
        } else {
            let opened = reader.wait_for_line("opened input socket", Duration::from_secs(20));
            opened.unwrap_or_else(|error| panic!("{error}"));
            1
        };

        let tls = format!("tls {}", certificates.files());
        let (socket, option) = match case.connection {
            Connection::Unix => (format!("unix://{}", to_reader.display()), ""),
            Connection::Tcp => (format!("tcp://{tcp}"), ""),
            Connection::Tls => (format!("tls://{tcp}"), "skipverify"),
            Connection::ListenUnix => (format!("listen {}", at_server.display()), ""),
            Connection::ListenTcp => (format!("listen tcp://{tcp}"), ""),
            Connection::ListenTls => (format!("listen tls://{tcp}"), tls.as_str()),
        };
        let full = if case.full { "full" } else { "" };
        let runtime = Runtime::new().expect("a runtime");
        if case.connection == Connection::Tls {
            let acceptor = certificates.acceptor();
            let listener = runtime.block_on(TcpListener::bind(tcp)).expect("bound");
            let to_reader = to_reader.clone();
            runtime.spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let Ok(mut from) = acceptor.accept(stream).await else { continue };
                    let mut to = UnixStream::connect(&to_reader).await.expect("the reader listens");
                    let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                }
            });
        }
        let corefile = corefile(port, &format!("{socket} {full}"), option, upstream);
        let server = DnsServer::start(kind, &corefile, port).unwrap_or_else(|error| panic!("{error}"));
        match case.connection {
            Connection::Unix | Connection::Tcp | Connection::Tls => {}
            connection => {
                let connector = certificates.connector();
                runtime.spawn(relay(connection, tcp, at_server, connector, to_reader));
            }
        }
        reader
            .wait_for_line(&format!("accepted connection {connections}"), Duration::from_secs(20))
            .unwrap_or_else(|error| panic!("{error}\n{}", server.output()));
        // CoreDNS registers a connecting reader only after the handshake.
        std::thread::sleep(Duration::from_millis(500));
        TappedServer { server, reader, _relay: Some(runtime), _folder: folder }
    }

    /// The reader's output, without times and source ports.
    fn messages(&self, case: &Case) -> Vec<String> {
        let shown = || -> Vec<String> {
            let lines = self.reader.lines();
            let lines = lines.iter().filter(|line| !is_log_line(line));
            match case.format {
                "-j" => lines.map(|line| plain_json(line)).collect(),
                "-y" => {
                    let text: String =
                        lines.filter(|line| !is_time_or_port(line)).map(|line| format!("{line}\n")).collect();
                    text.split("---\n").map(str::to_owned).filter(|message| !message.is_empty()).collect()
                }
                _ => lines.map(|line| plain_text(line)).collect(),
            }
        };
        // CoreDNS flushes once a second; after two silent seconds the output is complete.
        let end = Instant::now() + Duration::from_secs(60);
        let (mut known, mut since) = (shown().len(), Instant::now());
        while since.elapsed() < Duration::from_millis(2500) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(100));
            let count = shown().len();
            if count != known {
                (known, since) = (count, Instant::now());
            }
        }
        let mut messages = shown();
        // CoreDNS sends the message of a reply after the reply, so the next query may overtake it. The messages of one
        // query keep their order, where they have its id.
        if case.full && case.format == "-j" {
            messages.sort_by_key(|message| id(message));
        } else {
            messages.sort();
        }
        messages
    }
}

/// Identity, version and extra of all messages in a stream: the fields 1 to 3, which are texts.
fn extras(stream: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = stream;
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        if length == 0 {
            // A control frame has its own length.
            let (length, after) = after.split_first_chunk().expect("a length");
            rest = &after[u32::from_be_bytes(*length) as usize..];
            continue;
        }
        let (mut payload, next) = after.split_at(length);
        let mut texts = Vec::new();
        while let [key @ (0x0a | 0x12 | 0x1a), rest @ ..] = payload {
            // A varint of at most two octets.
            let (length, text) = match rest {
                [low @ 0x80..=0xff, high, text @ ..] => {
                    (usize::from(low & 0x7f) | usize::from(*high) << 7, text)
                }
                [length, text @ ..] => (usize::from(*length), text),
                [] => panic!("a field without a length"),
            };
            let (text, after) = text.split_at(length);
            texts.push(format!("{}={}", key >> 3, String::from_utf8_lossy(text)));
            payload = after;
        }
        found.push(texts.join(" "));
        rest = next;
    }
    found
}

/// The id of the DNS message in a dnstap message.
fn id(message: &str) -> u32 {
    let digits = message.split("id: ").nth(1).unwrap_or_default();
    digits.chars().map_while(|digit| digit.to_digit(10)).fold(0, |id, digit| id * 10 + digit)
}

/// Connects to the server like a reader, and relays everything to the real one.
async fn relay(
    connection: Connection,
    tcp: SocketAddr,
    unix: PathBuf,
    connector: TlsConnector,
    reader: PathBuf,
) {
    let mut to = UnixStream::connect(&reader).await.expect("the reader listens");
    loop {
        match connection {
            Connection::ListenUnix => {
                if let Ok(mut from) = UnixStream::connect(&unix).await {
                    let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                    return;
                }
            }
            _ => {
                if let Ok(mut from) = TcpStream::connect(tcp).await {
                    if connection == Connection::ListenTls {
                        let name = ServerName::try_from("127.0.0.1").expect("an address");
                        let mut from = connector.connect(name, from).await.expect("TLS");
                        let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                    } else {
                        let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                    }
                    return;
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Log lines of the reader itself.
fn is_log_line(line: &str) -> bool {
    line.contains("opened input socket")
        || line.contains("accepted connection")
        || line.contains("closed connection")
        || line.contains("open input from")
        || line.contains("FrameStreamInput")
}

fn plain_json(line: &str) -> String {
    let mut value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let message = value["message"].as_object_mut().expect("a message");
    let kind = message["type"].as_str().unwrap_or_default().to_owned();
    assert!(message.remove("query_time").is_some(), "{line}");
    assert_eq!(message.remove("response_time").is_some(), kind.ends_with("RESPONSE"), "{line}");
    if kind.starts_with("FORWARDER") {
        // Without a connection there is no port.
        message.remove("query_port");
    }
    value.to_string()
}

/// In YAML, times and ports are on separate lines; comments inside messages contain no times.
fn is_time_or_port(line: &str) -> bool {
    ["query_time", "response_time", "query_port"].iter().any(|key| line.trim_start().starts_with(key))
}

/// `15:04:05.000000 CQ 127.0.0.1 UDP 35b "a.example.org." IN A`: what follows the time. The size of a reply depends
/// on the compression of names.
fn plain_text(line: &str) -> String {
    let words = line.split_whitespace().skip(1);
    words
        .filter(|word| !word.ends_with('b') || word[..word.len() - 1].parse::<u32>().is_err())
        .collect::<Vec<_>>()
        .join(" ")
}

/// An authority and a certificate for both ends.
struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    fn make(folder: &Path) -> Certificates {
        let authority = Authority::new("compare_dnstap").expect("an authority");
        let issued = authority.issue(&["127.0.0.1"]).expect("a certificate");
        for (name, text) in
            [("ca.pem", authority.pem()), ("cert.pem", &issued.cert), ("key.pem", &issued.key)]
        {
            std::fs::write(folder.join(name), text).expect("written");
        }
        Certificates { folder: folder.to_owned() }
    }

    fn files(&self) -> String {
        ["cert.pem", "key.pem", "ca.pem"].map(|name| self.folder.join(name).display().to_string()).join(" ")
    }

    fn own(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let chain = CertificateDer::pem_file_iter(self.folder.join("cert.pem")).expect("PEM");
        let key = PrivateKeyDer::from_pem_file(self.folder.join("key.pem")).expect("a key");
        (chain.collect::<Result<_, _>>().expect("certificates"), key)
    }

    fn acceptor(&self) -> TlsAcceptor {
        let (chain, key) = self.own();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a pair");
        TlsAcceptor::from(Arc::new(config))
    }

    fn connector(&self) -> TlsConnector {
        let (chain, key) = self.own();
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(self.folder.join("ca.pem")).expect("PEM") {
            roots.add(certificate.expect("a certificate")).expect("a root");
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .expect("a pair");
        TlsConnector::from(Arc::new(config))
    }
}
