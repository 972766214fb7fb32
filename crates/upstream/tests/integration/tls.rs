use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedKey, DnType, IsCa, Issuer, KeyPair, date_time_ymd,
};
use testkit::scripted_upstream::ScriptedUpstream;
use upstream::Network::{Tcp, Udp};
use upstream::{Options, Scheme, Upstream, tls_config};

use crate::ask::{ask, query, summary};
use crate::secure_server::{Protocol, SecureServer, parameters, self_signed};

fn to(server: &SecureServer, name: Option<&str>, files: &[PathBuf]) -> Arc<Upstream> {
    let mut options = Options::new(Scheme::Tls, server.addr);
    options.server_name = name.map(str::to_owned);
    options.tls = Some(Arc::new(tls_config(files).unwrap()));
    Upstream::new(options)
}

#[tokio::test]
async fn dns_over_tls() {
    let server = SecureServer::start(Protocol::Dns).await;
    for name in [None, Some("dns.test"), Some("dns.test.")] {
        let upstream = to(&server, name, &[server.ca()]);
        for network in [Udp, Tcp] {
            let answer = ask(&upstream, "x.", network).await;
            assert_eq!(summary(&answer), "0 qr,rd,ra", "{name:?}");
            assert_eq!(answer.unwrap().network, Tcp);
        }
    }
    assert_eq!(server.state.connections.load(Ordering::SeqCst), 3, "one for each upstream");

    // A client certificate is sent if there is one; this server does not request it.
    let upstream = to(&server, None, &[server.ca(), server.key(), server.ca()]);
    assert!(ask(&upstream, "x.", Tcp).await.is_ok());
}

#[tokio::test]
async fn closed_connections_are_replaced() {
    let server = SecureServer::start(Protocol::Dns).await;
    server.state.close.store(true, Ordering::SeqCst);
    let upstream = to(&server, None, &[server.ca()]);
    for _ in 0..3 {
        assert_eq!(summary(&ask(&upstream, "x.", Tcp).await), "0 qr,rd,ra");
        // The close may have arrived or not: both must work.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(server.state.connections.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn untrusted_servers_receive_no_query() {
    let server = SecureServer::start(Protocol::Dns).await;
    let other = SecureServer::start(Protocol::Dns).await;
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let cases = [(None, vec![other.ca()], unknown), (None, vec![], unknown)];
    for (name, files, expected) in cases {
        let upstream = to(&server, name, &files);
        assert_eq!(summary(&ask(&upstream, "x.", Tcp).await), expected);
    }
    for (name, text) in [
        ("elsewhere.test", "certificate is valid for dns.test, not elsewhere.test"),
        ("192.0.2.1", "certificate is valid for 127.0.0.1, not 192.0.2.1"),
    ] {
        let upstream = to(&server, Some(name), &[server.ca()]);
        let error = summary(&ask(&upstream, "x.", Tcp).await);
        assert_eq!(error.strip_prefix("tls: failed to verify certificate: x509: "), Some(text), "{error}");
    }
    assert_eq!(server.state.queries.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_trusted_certificate_may_be_the_servers_own() {
    let authority = |parameters: &mut CertificateParams| {
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    };
    let outdated = |parameters: &mut CertificateParams| {
        authority(parameters);
        parameters.not_after = date_time_ymd(2020, 1, 1);
    };
    // Signed by an unknown issuer.
    let issued = |by: &str| {
        let mut issuer = CertificateParams::default();
        issuer.distinguished_name.push(DnType::CommonName, by);
        let (issuer, key) = (Issuer::new(issuer, KeyPair::generate().unwrap()), KeyPair::generate().unwrap());
        let mut own = parameters();
        own.distinguished_name.push(DnType::CommonName, "server");
        CertifiedKey { cert: own.signed_by(&key, &issuer).unwrap(), signing_key: key }
    };
    let other = self_signed(authority).cert.pem();
    let good = "0 qr,rd,ra";
    let unknown = "certificate signed by unknown authority";
    let is_authority = "certificate is a CA certificate and not one of the trusted certificates";
    let cases = [
        ("an authority's", self_signed(authority), None, "dns.test", good),
        ("an authority's, by address", self_signed(authority), None, "127.0.0.1", good),
        ("a server's", issued("somebody"), None, "dns.test", good),
        ("a server's whose issuer has its name", issued("server"), None, "dns.test", good),
        (
            "for another name",
            self_signed(authority),
            None,
            "elsewhere.test",
            "certificate is valid for dns.test, not elsewhere.test",
        ),
        ("outdated", self_signed(outdated), None, "dns.test", "certificate has expired or is not yet valid"),
        ("not the one that is trusted", self_signed(authority), Some(&other), "dns.test", is_authority),
        ("a server's that is not trusted", self_signed(|_| {}), Some(&other), "dns.test", unknown),
    ];
    for (what, certificate, trusted, name, expected) in cases {
        let pem = trusted.cloned().unwrap_or_else(|| certificate.cert.pem());
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca.pem");
        std::fs::write(&ca, pem).unwrap();
        let server = SecureServer::with(Protocol::Dns, certificate).await;
        let answer = summary(&ask(&to(&server, Some(name), &[ca]), "x.", Tcp).await);
        let text = answer.strip_prefix("tls: failed to verify certificate: x509: ").unwrap_or(&answer);
        assert_eq!(text, expected, "{what}");
    }
}

#[tokio::test]
async fn a_handshake_that_stalls_ends_with_the_time_to_connect() {
    // The server takes the handshake for a long query and waits for the rest of it.
    let server = ScriptedUpstream::start().unwrap();
    let mut options = Options::new(Scheme::Tls, server.addr());
    options.tls = Some(Arc::new(tls_config(&[]).unwrap()));
    let upstream = Upstream::new(options);
    let limit = Duration::from_millis(200);
    let start = Instant::now();
    let asked = upstream.exchange_by(&query("x."), Tcp, 512, Some(start + limit)).await;
    assert_eq!(summary(&asked), "context deadline exceeded");
    assert!(asked.unwrap_err().is_timeout());
    assert!((limit..5 * limit).contains(&start.elapsed()), "{:?}", start.elapsed());
}

#[tokio::test]
async fn probes_over_tls() {
    let server = SecureServer::start(Protocol::Dns).await;
    let upstream = to(&server, None, &[server.ca()]);
    upstream.check_health();
    for _ in 0..200 {
        if server.state.queries.load(Ordering::SeqCst) > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no probe came");
}

#[test]
fn files_are_checked() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(SecureServer::start(Protocol::Dns));
    let (ca, key) = (server.ca(), server.key());
    let missing = Path::new("/nonexistent.pem").to_owned();
    for good in
        [vec![], vec![ca.clone()], vec![ca.clone(), key.clone()], vec![ca.clone(), key.clone(), ca.clone()]]
    {
        assert!(tls_config(&good).is_ok(), "{good:?}");
    }
    let no_file = "open /nonexistent.pem: no such file or directory";
    for (bad, text) in [
        (vec![missing.clone()], format!("error reading /nonexistent.pem: {no_file}")),
        (vec![key.clone()], "could not read root certs: %!s(<nil>)".into()),
        (vec![missing, key.clone()], format!("could not load TLS cert: {no_file}")),
        (
            vec![key.clone(), key.clone()],
            "could not load TLS cert: tls: failed to find any PEM data in certificate input".into(),
        ),
        (
            vec![ca.clone(), ca.clone()],
            "could not load TLS cert: tls: failed to find any PEM data in key input".into(),
        ),
        (vec![ca; 4], "maximum of three arguments allowed for TLS config, found 4".into()),
    ] {
        assert_eq!(tls_config(&bad).unwrap_err(), text);
    }
}

#[test]
fn renewed_files_have_another_hash() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let [first, second] = ["a", "a"].map(|name| testkit::certificate::Authority::new(name).unwrap());
    let print = |files: &[std::path::PathBuf]| upstream::load_tls(files).unwrap().1;
    let before = print(&[file("ca.pem", first.pem())]);
    assert_eq!(before, print(&[file("ca.pem", first.pem())]));
    assert_ne!(before, print(&[file("ca.pem", second.pem())]));
    assert_ne!(before, print(&[]));
    let own = first.issue(&["x.test"]).unwrap();
    let (cert, key) = (file("cert.pem", &own.cert), file("key.pem", &own.key));
    assert_ne!(print(&[cert.clone(), key.clone()]), print(&[cert, key, file("ca.pem", first.pem())]));
}
