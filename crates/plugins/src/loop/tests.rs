use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use server::Lifecycle;
use wire::NameBuf;

use super::probe::{name, target};
use super::{Loop, ProbeState};
use crate::testing::harness::{answer, configure, refused, service};

#[test]
fn accepted_and_rejected_lines() {
    assert!(configure(". {\n loop\n}").is_ok());
    assert_eq!(
        refused(". {\n loop x\n}"),
        "plugin/loop: Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'x'"
    );
    assert_eq!(
        refused(". {\n loop\n loop\n}"),
        "plugin/loop: this plugin can only be used once per Server Block"
    );
}

#[test]
fn names_are_two_random_numbers_under_the_zone() {
    let zone = NameBuf::parse("example.org").expect("a zone");
    let (first, second) = (name(&zone).expect("room"), name(&zone).expect("room"));
    assert_ne!(first, second);
    let text = first.to_string();
    let labels: Vec<&str> = text.split('.').collect();
    assert_eq!(labels[2..], ["example", "org", ""]);
    assert!(
        labels[..2].iter().all(|label| label.parse::<u64>().is_ok_and(|number| number < 1 << 62)),
        "{text}"
    );
    let long = NameBuf::parse(&["a".repeat(60), "b".repeat(60), "c".repeat(60), "d".repeat(60)].join("."));
    assert_eq!(name(&long.expect("a long zone")), None);
}

#[test]
fn the_third_arrival_is_a_loop() {
    let state = ProbeState::new(NameBuf::parse("Example.org").expect("a zone"), "dns://:53");
    let (own, other) = (state.name.clone(), NameBuf::parse("a.example.org").expect("a name"));
    let seen: Vec<bool> = [&own, &own, &other, &own].map(|name| state.is_loop(name.as_name())).to_vec();
    assert_eq!(seen, [false, false, false, true]);
    assert_eq!(
        state.message("127.0.0.1:4711"),
        format!(
            "Loop (127.0.0.1:4711 -> :53) detected for zone \"Example.org.\", see \
             https://coredns.io/plugins/loop#troubleshooting. Query: \"HINFO {own}\""
        )
    );
    state.off.store(true, Ordering::Relaxed);
    assert!(!state.is_loop(own.as_name()));
}

#[test]
fn probe_destination() {
    for (address, expected) in [
        (":53", Some("127.0.0.1:53")),
        ("0.0.0.0:1053", Some("127.0.0.1:1053")),
        ("[::]:53", Some("127.0.0.1:53")),
        ("127.0.0.2:53", Some("127.0.0.2:53")),
        ("[::1]:53", Some("[::1]:53")),
        ("", None),
    ] {
        assert_eq!(target(address).map(|addr| addr.to_string()).as_deref(), expected, "{address}");
    }
}

#[test]
fn other_queries_pass() {
    let service = service(". {\n loop\n whoami\n}");
    for question in ["example.org A", "1.2 HINFO"] {
        assert!(answer(&service, question).starts_with("NOERROR"), "{question}");
    }
}

#[test]
fn the_probe_survives_a_panic() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    let address = socket.local_addr().expect("an address").to_string();
    let state = ProbeState::new(NameBuf::parse("example.org").expect("a zone"), &address);
    let plugin = Loop { probe: Arc::new(state) };
    supervise::inject::arm("loop-probe", 1);
    plugin.start();
    let mut packet = [0; 512];
    assert!(socket.recv(&mut packet).is_ok_and(|length| length > 12));
    assert_eq!(supervise::panics("loop-probe"), 1);
    plugin.stop();
}
