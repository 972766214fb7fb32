use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa};
use upstream::Network::{Tcp, Udp};
use upstream::{DohMethod, Options, Scheme, Upstream, tls_config};

use crate::ask::{ask, summary};
use crate::secure_server::{Protocol, SecureServer, self_signed};

fn to(server: &SecureServer, change: impl FnOnce(&mut Options)) -> Arc<Upstream> {
    let mut options = Options::new(Scheme::Https, server.addr);
    options.tls = Some(Arc::new(tls_config(&[server.ca()]).unwrap()));
    change(&mut options);
    Upstream::new(options)
}

#[tokio::test]
async fn both_versions_and_both_methods() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for method in [DohMethod::Post, DohMethod::Get] {
            for name in [None, Some("dns.test")] {
                let server = SecureServer::start(protocol).await;
                let upstream = to(&server, |options| {
                    options.doh_method = method;
                    options.server_name = name.map(str::to_owned);
                });
                for _ in 0..3 {
                    let answer = ask(&upstream, "www.example.", Udp).await;
                    assert_eq!(summary(&answer), "0 qr,rd,ra");
                    let answer = answer.unwrap();
                    assert!(answer.network == Tcp && answer.local.is_some());
                }
                assert_eq!(server.state.connections.load(Ordering::SeqCst), 1);
                assert_eq!(server.state.last.lock().unwrap()[..2], [0, 0], "the id on the wire");
            }
        }
    }
}

#[tokio::test]
async fn a_burst_shares_a_connection_where_it_can() {
    let server = SecureServer::start(Protocol::Http2).await;
    let upstream = to(&server, |_| {});
    let all: Vec<_> = (0..50)
        .map(|i| {
            let upstream = upstream.clone();
            tokio::spawn(async move { ask(&upstream, &format!("{i}."), Tcp).await.unwrap() })
        })
        .collect();
    for one in all {
        one.await.unwrap();
    }
    assert_eq!(server.state.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn connections_end() {
    // The server closes the connections.
    let server = SecureServer::start(Protocol::Http1).await;
    server.state.close.store(true, Ordering::SeqCst);
    let upstream = to(&server, |_| {});
    for _ in 0..3 {
        assert_eq!(summary(&ask(&upstream, "x.", Tcp).await), "0 qr,rd,ra");
    }
    // The client closes them when they are idle.
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let server = SecureServer::start(protocol).await;
        let upstream = to(&server, |options| options.expire = Duration::from_millis(20));
        for _ in 0..2 {
            ask(&upstream, "x.", Tcp).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(server.state.connections.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn a_trusted_certificate_may_be_the_servers_own() {
    let authority = |parameters: &mut CertificateParams| {
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    };
    let server = SecureServer::with(Protocol::Http2, self_signed(authority)).await;
    assert_eq!(summary(&ask(&to(&server, |_| {}), "x.", Tcp).await), "0 qr,rd,ra");
}

#[tokio::test]
async fn failures() {
    let server = SecureServer::start(Protocol::Http2).await;
    server.state.fail.store(true, Ordering::SeqCst);
    let upstream = to(&server, |_| {});
    let text = "Post \"https://HOST/dns-query\": unexpected HTTP status 503 Service Unavailable";
    assert_eq!(summary(&ask(&upstream, "x.", Tcp).await), text);

    let nobody = testkit::ports::free_addr().unwrap();
    let upstream = to(&server, |options| options.addr = nobody);
    let text = "Post \"https://HOST/dns-query\": dial tcp HOST: connect: connection refused";
    assert_eq!(summary(&ask(&upstream, "x.", Tcp).await), text);

    // Accepts connections and never answers.
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = to(&server, |options| {
        options.addr = deaf.local_addr().unwrap();
        options.read_timeout = Duration::from_millis(100);
    });
    let answer = ask(&upstream, "x.", Tcp).await;
    assert_eq!(summary(&answer), "Post \"https://HOST/dns-query\": context deadline exceeded");
    assert!(answer.unwrap_err().is_timeout());
}

#[tokio::test]
async fn probes_over_https() {
    let server = SecureServer::start(Protocol::Http2).await;
    let upstream = to(&server, |_| {});
    upstream.check_health();
    for _ in 0..200 {
        if server.state.queries.load(Ordering::SeqCst) > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no probe came");
}
