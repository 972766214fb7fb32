use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::{Registry, buckets, registry};
use server::Server;

use super::legacy;
use super::web::tests::{CERTIFICATE, folder_with};
use crate::testing::harness::{answer, ask, configure, page, refused, service};

/// `|` stands for a new line. Every test has a port of its own, and so metrics of its own.
fn corefile(port: u16, body: &str) -> String {
    format!(".:{port} {{\n{}\nwhoami\n}}\n", body.replace('|', "\n"))
}

/// The lines of the exposition with this prefix.
fn lines(start: &str) -> Vec<String> {
    registry().encode().lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect()
}

/// The value of the only series with this prefix.
fn value(start: &str) -> f64 {
    let found = lines(start);
    let [line] = &found[..] else { panic!("{start}: {found:?}") };
    line.rsplit_once(' ').and_then(|(_, value)| value.parse().ok()).expect("a value")
}

/// Published metrics are global to the process: one test at a time.
fn publishing() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn forms() {
    for (body, addr) in [
        ("prometheus", "localhost:9153"),
        ("prometheus {|}", "localhost:9153"),
        ("prometheus :9253", ":9253"),
        ("prometheus [::1]:9253", "[::1]:9253"),
        ("prometheus localhost:9253 {| runtime_metrics|}", "localhost:9253"),
        ("prometheus localhost:9253 {| runtime_metrics| runtime_metrics|}", "localhost:9253"),
        ("prometheus localhost:9253 {| legacy_forward_metrics|}", "localhost:9253"),
    ] {
        let config = configure(&corefile(53, body)).unwrap_or_else(|error| panic!("{body}: {error}"));
        let routes: Vec<(&str, &str)> =
            config.routes().iter().map(|route| (&*route.addr, route.path)).collect();
        assert_eq!(routes, [(addr, "/metrics")], "{body}");
    }
}

#[test]
fn refused_forms() {
    let count = "Error during parsing: Wrong argument count or unexpected line ending after";
    for (body, error) in [
        ("prometheus 9253", "address 9253: missing port in address".into()),
        ("prometheus ::1", "address ::1: too many colons in address".into()),
        ("prometheus \"\"", "missing port in address".into()),
        ("prometheus :1 :2", format!("Corefile:2 - {count} ':2'")),
        ("prometheus {| runtime_metrics x|}", format!("Corefile:3 - {count} 'x'")),
        ("prometheus {| legacy_forward_metrics x|}", format!("Corefile:3 - {count} 'x'")),
        ("prometheus {| tls|}", format!("Corefile:3 - {count} 'tls'")),
        ("prometheus {| tls a b|}", format!("Corefile:3 - {count} 'b'")),
        (
            "prometheus {| tls a| tls b|}",
            "Corefile:4 - Error during parsing: tls block already specified".into(),
        ),
        (
            "prometheus {| tls /no/such|}",
            "Invalid TLS config: open /no/such: no such file or directory".into(),
        ),
        ("prometheus {| foo bar|}", "Corefile:3 - Error during parsing: unknown option: foo".into()),
        (
            "prometheus :9253|prometheus :9254",
            "this plugin can only be used once per Server Block".to_owned(),
        ),
    ] {
        assert_eq!(refused(&corefile(53, body)), format!("plugin/prometheus: {error}"), "{body}");
    }
}

#[test]
fn queries_and_replies_are_counted() {
    let service = service(
        "example.org:7001 b.example.org:7001 {\n prometheus\n errors\n hosts {\n  10.0.0.1 a.example.org\n  fallthrough b.example.org\n }\n whoami\n}\n",
    );
    answer(&service, "a.example.org A");
    answer(&service, "A.Example.org A tcp do");
    answer(&service, "a.example.org A from=2001:db8::7");
    answer(&service, "x.b.example.org LOC");
    answer(&service, "missing.example.org A");
    answer(&service, "elsewhere.net A do");
    answer(&service, "a.example.org TXT class=CH");

    let requests = "coredns_dns_requests_total{";
    let at = "server=\"dns://:7001\"";
    let got: Vec<String> = lines(requests).into_iter().filter(|line| line.contains(at)).collect();
    let expected = [
        ("1", "tcp", "A", "example.org.", 1),
        ("1", "udp", "A", "dropped", 1),
        ("1", "udp", "A", "example.org.", 2),
        ("1", "udp", "TXT", "dropped", 1),
        ("1", "udp", "other", "b.example.org.", 1),
        ("2", "udp", "A", "example.org.", 1),
    ]
    .map(|(family, proto, qtype, zone, count)| {
        format!(
            "{requests}family=\"{family}\",proto=\"{proto}\",{at},type=\"{qtype}\",view=\"\",zone=\"{zone}\"}} {count}"
        )
    });
    assert_eq!(got, expected);

    let responses = "coredns_dns_responses_total{";
    let got: Vec<String> = lines(responses).into_iter().filter(|line| line.contains(at)).collect();
    let expected = [
        ("", "REFUSED", "dropped", 2),
        ("", "SERVFAIL", "example.org.", 1),
        ("hosts", "NOERROR", "example.org.", 3),
        ("whoami", "NOERROR", "b.example.org.", 1),
    ]
    .map(|(plugin, rcode, zone, count)| {
        format!("{responses}plugin=\"{plugin}\",rcode=\"{rcode}\",{at},view=\"\",zone=\"{zone}\"}} {count}")
    });
    assert_eq!(got, expected);

    let zone = "view=\"\",zone=\"example.org.\"";
    assert_eq!(value(&format!("coredns_dns_do_requests_total{{{at},{zone}}}")), 1.0);
    assert_eq!(value(&format!("coredns_dns_do_requests_total{{{at},view=\"\",zone=\"dropped\"}}")), 1.0);
    assert_eq!(value(&format!("coredns_dns_request_duration_seconds_count{{{at},{zone}}}")), 4.0);
    let size = |kind: &str| value(&format!("coredns_dns_{kind}_size_bytes_sum{{proto=\"udp\",{at},{zone}}}"));
    // Two of 12 + 15 + 4, one with a longer name; the failure's reply has size 0.
    assert_eq!(size("request"), 31.0 + 31.0 + 37.0);
    assert_eq!(size("response"), 2.0 * (31.0 + 15.0 + 14.0));
}

#[test]
fn sizes_of_refused_queries_lack_options() {
    let service = service("example.org:7002 {\n prometheus\n whoami\n}\n");
    answer(&service, "elsewhere.net A nsid");
    for kind in ["request", "response"] {
        let sum = value(&format!(
            "coredns_dns_{kind}_size_bytes_sum{{proto=\"udp\",server=\"dns://:7002\",view=\"\",zone=\"dropped\"}}"
        ));
        assert_eq!(sum, 12.0 + 15.0 + 4.0 + 11.0, "{kind}");
    }
}

#[test]
fn dropped_queries_count_as_noerror_without_a_plugin() {
    let service = service(".:7003 {\n prometheus\n erratic {\n  drop 1\n }\n}\n");
    assert!(ask(&service, "example.org A").packet.is_none());
    let labels = "plugin=\"\",rcode=\"NOERROR\",server=\"dns://:7003\",view=\"\",zone=\".\"";
    assert_eq!(value(&format!("coredns_dns_responses_total{{{labels}}}")), 1.0);
    let labels = "proto=\"udp\",server=\"dns://:7003\",view=\"\",zone=\".\"";
    assert_eq!(value(&format!("coredns_dns_response_size_bytes_sum{{{labels}}}")), 0.0);
}

#[test]
fn metrics_exist_before_their_first_use() {
    let config = configure(&corefile(7004, "prometheus")).unwrap();
    let answer = page(&config.routes()[0]);
    assert_eq!(answer.status, 200);
    let body = answer.body;
    assert_eq!(body.content_type, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
    let text = String::from_utf8(body.bytes).unwrap();
    for name in [
        "coredns_build_info{goversion=\"rust\",revision=\"\",version=",
        "coredns_forward_healthcheck_broken_total ",
        "coredns_forward_max_concurrent_rejects_total ",
        "coredns_health_request_duration_seconds_count ",
        "coredns_health_request_failures_total ",
        "coredns_hosts_reload_timestamp_seconds ",
        "coredns_local_localhost_requests_total ",
        "go_goroutines ",
        "go_threads ",
        "process_cpu_seconds_total ",
        "process_max_fds ",
        "process_network_receive_bytes_total ",
        "process_network_transmit_bytes_total ",
        "process_open_fds ",
        "process_resident_memory_bytes ",
        "process_start_time_seconds ",
        "process_virtual_memory_bytes ",
        "process_virtual_memory_max_bytes ",
    ] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}");
    }
    let age = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64() - value("process_start_time_seconds ");
    assert!((-2.0..3600.0).contains(&age), "{age}");
}

#[test]
fn plugin_enabled_follows_the_serving_configuration() {
    let _alone = publishing();
    let start = |text: &str| {
        let config = configure(text).unwrap();
        config.each_lifecycle("test", |plugin| plugin.start());
    };
    let enabled = || {
        let text = lines("coredns_plugin_enabled{").join(" ");
        text.replace("coredns_plugin_enabled", "").replace(",view=\"\"", "").replace('"', "")
    };
    start(
        "a.org:7005 b.org:7005 {\n bind 127.0.0.1 ::1\n metadata\n prometheus {\n runtime_metrics\n legacy_forward_metrics\n }\n}\n\
         c.org:7005 {\n prometheus\n header {\n response set ra\n }\n}\nd.org:7005 {\n whoami\n}\n",
    );
    // Only the first key of a block, plugins in the chain, and blocks with prometheus.
    assert_eq!(
        enabled(),
        "{name=header,server=dns://:7005,zone=c.org.} 1 {name=metadata,server=dns://127.0.0.1:7005,zone=a.org.} 1 \
         {name=metadata,server=dns://[::1]:7005,zone=a.org.} 1 {name=prometheus,server=dns://127.0.0.1:7005,zone=a.org.} 1 \
         {name=prometheus,server=dns://:7005,zone=c.org.} 1 {name=prometheus,server=dns://[::1]:7005,zone=a.org.} 1"
    );
    for name in ["rhumb_waiting_queries ", "rhumb_tokio_tasks "] {
        assert_eq!(lines(name).len(), 1, "{name}");
    }
    start(&corefile(7006, "prometheus"));
    assert_eq!(
        enabled(),
        "{name=prometheus,server=dns://:7006,zone=.} 1 {name=whoami,server=dns://:7006,zone=.} 1"
    );
    assert!(lines("rhumb_tokio_tasks").is_empty());
}

#[test]
fn legacy_names_of_forward() {
    let registry = Arc::new(Registry::new());
    let labels = &["proxy_name", "to", "rcode"];
    let durations = registry
        .histograms("coredns_proxy_request_duration_seconds", "Time.", labels, buckets::SLIM_TIME)
        .unwrap();
    durations.with(&["forward", "1.1.1.1:53", "NOERROR"]).observe(0.001);
    durations.with(&["forward", "1.1.1.1:53", "NOERROR"]).observe(0.002);
    durations.with(&["forward", "1.1.1.1:53", "NXDOMAIN"]).observe(0.003);
    durations.with(&["forward", "9.9.9.9:53", "NOERROR"]).observe(0.004);
    durations.with(&["grpc", "9.9.9.9:53", "NOERROR"]).observe(0.005);
    let failures = registry
        .counters("coredns_proxy_healthcheck_failures_total", "Failed.", &["proxy_name", "to"])
        .unwrap();
    failures.with(&["forward", "9.9.9.9:53"]).add(7);
    let source = Arc::clone(&registry);
    registry.set_collector("legacy", move |found| legacy::collect(&source, found));
    let text = registry.encode();
    let got: Vec<&str> = text
        .lines()
        .filter(|line| {
            line.starts_with("coredns_forward_") && !line.contains("_bucket") && !line.contains("_sum")
        })
        .collect();
    assert_eq!(
        got,
        [
            "coredns_forward_healthcheck_failures_total{to=\"9.9.9.9:53\"} 7",
            "coredns_forward_request_duration_seconds_count{rcode=\"NOERROR\",to=\"1.1.1.1:53\"} 2",
            "coredns_forward_request_duration_seconds_count{rcode=\"NOERROR\",to=\"9.9.9.9:53\"} 1",
            "coredns_forward_request_duration_seconds_count{rcode=\"NXDOMAIN\",to=\"1.1.1.1:53\"} 1",
            "coredns_forward_requests_total{to=\"1.1.1.1:53\"} 3",
            "coredns_forward_requests_total{to=\"9.9.9.9:53\"} 1",
            "coredns_forward_responses_total{rcode=\"NOERROR\",to=\"1.1.1.1:53\"} 2",
            "coredns_forward_responses_total{rcode=\"NOERROR\",to=\"9.9.9.9:53\"} 1",
            "coredns_forward_responses_total{rcode=\"NXDOMAIN\",to=\"1.1.1.1:53\"} 1",
        ]
    );
}

#[test]
fn over_tls() {
    let _alone = publishing();
    let (folder, made) = folder_with(CERTIFICATE);
    let (server, http) = serve(&folder);

    let (head, body) = get(over(http, made.cert.der(), &[]), "");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(contains(&body, "\ncoredns_build_info{"), "{head}");

    // A replaced certificate is used within a second.
    let (other, made) = folder_with(CERTIFICATE);
    for file in ["cert.pem", "key.pem"] {
        std::fs::copy(other.path().join(file), folder.path().join(file)).unwrap();
    }
    wait_until(|| handshake(http, made.cert.der()).is_ok());
    let (head, _) = get(over(http, made.cert.der(), &[b"http/1.1"]), "");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");

    let mut plain = TcpStream::connect(("127.0.0.1", http)).unwrap();
    plain.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 200"));

    // A file that lost its certificate is an error, not a request for plain HTTP.
    std::fs::write(folder.path().join("web.yml"), "").unwrap();
    wait_until(|| {
        let mut plain = TcpStream::connect(("127.0.0.1", http)).unwrap();
        plain.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let _ = plain.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
        answer.is_empty()
    });
    server.stop();
}

/// Replaces the pair 120 times, by rename and in place, while clients connect: no handshake fails.
#[test]
fn certificates_are_replaced_under_load() {
    let _alone = publishing();
    let (folder, first) = folder_with(CERTIFICATE);
    let (server, http) = serve(&folder);
    let made: Vec<_> = (0..8).map(|_| folder_with(CERTIFICATE).1).collect();
    let trusted: Vec<_> = made.iter().chain([&first]).map(|made| made.cert.der().clone()).collect();
    let (done, failed, connected) = (AtomicBool::new(false), Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    match handshake_trusting(http, &trusted) {
                        Ok(()) => _ = connected.fetch_add(1, Ordering::Relaxed),
                        Err(error) => failed.lock().unwrap().push(error),
                    }
                }
            });
        }
        for round in 0..120 {
            let pair = &made[round % made.len()];
            for (file, text) in [("cert.pem", pair.cert.pem()), ("key.pem", pair.signing_key.serialize_pem())]
            {
                let path = folder.path().join(file);
                if round % 2 == 0 {
                    std::fs::write(&path, text).unwrap();
                } else {
                    std::fs::write(path.with_extension("new"), text).unwrap();
                    std::fs::rename(path.with_extension("new"), &path).unwrap();
                }
                // Connections are made between certificate and key, too, in some rounds after a check for changes.
                let (before, start) = (connected.load(Ordering::Relaxed), Instant::now());
                let pause = Duration::from_millis(if round % 20 == 0 { 300 } else { 0 });
                wait_until(|| {
                    let failures = failed.lock().unwrap().len();
                    start.elapsed() >= pause && connected.load(Ordering::Relaxed) > before + 1 || failures > 0
                });
            }
            if round % 10 == 9 {
                wait_until(|| handshake(http, pair.cert.der()).is_ok());
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} failed: {:?}", failed.len(), failed.first());
    let last = made[119 % made.len()].cert.der();
    wait_until(|| handshake(http, last).is_ok());
    server.stop();
}

#[test]
fn over_http2() {
    let _alone = publishing();
    let (folder, made) = folder_with(CERTIFICATE);
    let (server, http) = serve(&folder);
    let mut stream = over(http, made.cert.der(), &[b"h2", b"http/1.1"]);
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"h2"[..]));
    // No settings, then the only stream: GET, https, a path and an authority (RFC 7541, appendix A).
    frame(&mut stream, 4, 0, 0, b"");
    frame(&mut stream, 1, 0x5, 1, b"\x82\x87\x04\x08/metrics\x01\x09localhost");
    let mut status = None;
    let mut body = Vec::new();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut payload).unwrap();
        match (head[3], head[8]) {
            (1, 1) => status = payload.first().copied(),
            (0, 1) => {
                body.extend(&payload);
                // WINDOW_UPDATE for the connection and the stream.
                let credit = &(payload.len() as u32 + 1).to_be_bytes();
                [0, 1].into_iter().for_each(|id| frame(&mut stream, 8, 0, id, credit));
                if head[4] & 1 != 0 {
                    break;
                }
            }
            _ => {}
        }
    }
    // 0x88 is `:status: 200`.
    assert_eq!(status, Some(0x88));
    assert!(contains(&body, "\ncoredns_build_info{"));

    std::fs::write(
        folder.path().join("web.yml"),
        format!("{CERTIFICATE}http_server_config:\n  http2: false\n"),
    )
    .unwrap();
    wait_until(|| {
        let mut stream = over(http, made.cert.der(), &[b"h2", b"http/1.1"]);
        stream.conn.complete_io(&mut stream.sock).unwrap();
        stream.conn.alpn_protocol() == Some(&b"http/1.1"[..])
    });
    server.stop();
}

fn frame(to: &mut impl Write, kind: u8, flags: u8, stream: u8, payload: &[u8]) {
    let head = [0, (payload.len() >> 8) as u8, payload.len() as u8, kind, flags, 0, 0, 0, stream];
    to.write_all(&[&head, payload].concat()).unwrap();
}

/// They need no TLS, and may change at any time.
#[test]
fn passwords_headers_and_limits() {
    let _alone = publishing();
    // me:secret
    let users = "basic_auth_users:\n  me: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n";
    let headers = "http_server_config:\n  headers:\n    X-Frame-Options: deny\n";
    let (folder, _) = folder_with(&format!("{users}{headers}"));
    let (server, http) = serve(&folder);
    let ask = |headers: &str| get(TcpStream::connect(("127.0.0.1", http)).unwrap(), headers);
    let me = "Authorization: Basic bWU6c2VjcmV0\r\n";

    let (head, body) = ask("");
    assert!(head.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{head}");
    assert!(head.contains("\r\nwww-authenticate: Basic"), "{head}");
    assert!(head.contains("\r\nx-frame-options: deny"), "{head}");
    assert_eq!(body, b"Unauthorized\n");
    assert!(ask("Authorization: Basic bWU6d3Jvbmc=\r\n").0.starts_with("HTTP/1.1 401 "));
    let (head, body) = ask(me);
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.contains("\r\nx-frame-options: deny"), "{head}");
    assert!(contains(&body, "\ncoredns_build_info{"));

    let write = |text: &str| std::fs::write(folder.path().join("web.yml"), text).unwrap();
    write("rate_limit:\n  interval: 1h\n  burst: 1\n");
    assert!(ask("").0.starts_with("HTTP/1.1 200 "));
    assert!(ask("").0.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
    write("nonsense");
    assert!(ask(me).0.starts_with("HTTP/1.1 500 "));
    write("");
    assert!(ask("").0.starts_with("HTTP/1.1 200 "));
    server.stop();
}

#[test]
fn as_protobuf() {
    let _alone = publishing();
    let (folder, _) = folder_with("");
    let (server, http) = serve(&folder);
    let ask = |headers: &str| get(TcpStream::connect(("127.0.0.1", http)).unwrap(), headers);
    let kind = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
    let (head, body) = ask(&format!("Accept: {kind};q=0.9, */*;q=0.1\r\n"));
    assert!(head.contains(&format!("\r\ncontent-type: {kind}; escaping=underscores\r\n")), "{head}");
    // The length of the first family in one octet or two, its name's field and length, and the name.
    let octets = if body[0] < 0x80 { 1 } else { 2 };
    let (first, rest) = body.split_at(octets);
    let length = first.iter().rev().fold(0, |length, octet| length << 7 | usize::from(octet & 0x7f));
    assert!(rest.len() > length, "{length}");
    assert_eq!((rest[0], rest.get(2..10)), (0x0a, Some(&b"coredns_"[..])));
    assert!(contains(&body, "coredns_health_request_duration_seconds"));
    server.stop();
}

/// A server with the folder's web configuration, and the port of its metrics.
fn serve(folder: &tempfile::TempDir) -> (Server, u16) {
    let (dns, http) = (testkit::ports::free().unwrap(), testkit::ports::free().unwrap());
    let web = folder.path().join("web.yml");
    let body = format!("bind 127.0.0.1|prometheus 127.0.0.1:{http} {{| tls {}|}}", web.display());
    (Server::start(configure(&corefile(dns, &body)).unwrap()).unwrap(), http)
}

type Secure = rustls::StreamOwned<rustls::ClientConnection, TcpStream>;

type Certificate = rustls::pki_types::CertificateDer<'static>;

fn over(port: u16, trusted: &Certificate, protocols: &[&[u8]]) -> Secure {
    over_trusting(port, std::slice::from_ref(trusted), protocols)
}

fn over_trusting(port: u16, trusted: &[Certificate], protocols: &[&[u8]]) -> Secure {
    let mut roots = rustls::RootCertStore::empty();
    trusted.iter().for_each(|trusted| roots.add(trusted.clone()).unwrap());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let client = rustls::ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    rustls::StreamOwned::new(client, TcpStream::connect(("127.0.0.1", port)).unwrap())
}

fn handshake(port: u16, trusted: &Certificate) -> Result<(), String> {
    handshake_trusting(port, std::slice::from_ref(trusted))
}

fn handshake_trusting(port: u16, trusted: &[Certificate]) -> Result<(), String> {
    let mut stream = over_trusting(port, trusted, &[]);
    stream.conn.complete_io(&mut stream.sock).map(drop).map_err(|error| error.to_string())
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "it never came true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Head and body of the response.
fn get(mut stream: impl Read + Write, headers: &str) -> (String, Vec<u8>) {
    let request = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap_or_else(|error| panic!("{error}"));
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let body = answer.split_off(end + 4);
    (String::from_utf8(answer).unwrap(), body)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
