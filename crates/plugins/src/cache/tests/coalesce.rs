//! Identical concurrent queries are sent once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use server::{Client, ExplainedReply, Service, Transport};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use wire::{Edns, Flags, NameBuf, Query, Rtype};

use super::super::coalesce::{FlightResult, Flights, FollowerEvent, Role};
use super::fixture::{Fixture, advance_clock};
use crate::testing::harness::present;

const TIMEOUT: Duration = Duration::from_secs(10);

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime")
}

fn client(transport: Transport) -> Client {
    let here = SocketAddr::from(([127, 0, 0, 1], 53));
    Client { remote: here, local: here, transport }
}

fn query(name: &str) -> Query {
    let mut query = Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::A);
    query.flags = Flags::default();
    query
}

fn send(runtime: &Runtime, service: &Arc<Service>, query: &Query) -> JoinHandle<ExplainedReply> {
    send_over(runtime, service, query, Transport::Udp)
}

fn send_over(
    runtime: &Runtime,
    service: &Arc<Service>,
    query: &Query,
    over: Transport,
) -> JoinHandle<ExplainedReply> {
    let (service, packet) = (service.clone(), query.to_packet());
    runtime.spawn(async move { service.answer(&packet, client(over), server::Purpose::Serve).await })
}

fn texts(runtime: &Runtime, sent: Vec<JoinHandle<ExplainedReply>>) -> Vec<String> {
    let answers = sent.into_iter().map(|one| runtime.block_on(one).expect("no panic"));
    answers.map(|answered| present(&answered).trim().replace('\n', " / ")).collect()
}

#[test]
fn a_thousand_misses_are_one_query() {
    let (fixture, runtime) = (Fixture::new(""), runtime());
    fixture.set_delay(Duration::from_millis(300));
    let sent = (0..1000).map(|_| send(&runtime, &fixture.service, &query("slow.example."))).collect();
    let answers = texts(&runtime, sent);
    assert_eq!(answers.len(), 1000);
    for answer in answers {
        assert_eq!(answer, "NOERROR qr / answer: slow.example. 30 IN A 10.0.0.1");
    }
    assert_eq!(fixture.queries(), 1);
}

#[test]
fn quick_misses_are_one_query_per_name() {
    let (fixture, runtime) = (Fixture::new(""), runtime());
    for round in 0..50 {
        let name = format!("n{round}.example.");
        let sent = (0..40).map(|_| send(&runtime, &fixture.service, &query(&name))).collect();
        texts(&runtime, sent);
        assert_eq!(fixture.queries(), round + 1);
    }
}

#[test]
fn a_cancelled_leader_is_followed_by_one_other() {
    let (fixture, runtime) = (Fixture::new(""), runtime());
    fixture.set_delay(Duration::from_millis(300));
    let leader = send(&runtime, &fixture.service, &query("slow.example."));
    fixture.wait_for_queries(1);
    let sent: Vec<_> = (0..999).map(|_| send(&runtime, &fixture.service, &query("slow.example."))).collect();
    std::thread::sleep(Duration::from_millis(50));
    leader.abort();
    let answers = texts(&runtime, sent);
    assert!(answers.iter().all(|answer| answer == "NOERROR qr / answer: slow.example. 30 IN A 10.0.0.1"));
    assert_eq!((answers.len(), fixture.queries()), (999, 2));
}

#[test]
fn a_leader_that_panics_is_followed_by_one_other() {
    let (fixture, runtime) = (Fixture::new(""), runtime());
    fixture.set_reply("panic");
    fixture.set_delay(Duration::from_millis(100));
    let leader = send(&runtime, &fixture.service, &query("slow.example."));
    fixture.wait_for_queries(1);
    let sent: Vec<_> = (0..50).map(|_| send(&runtime, &fixture.service, &query("slow.example."))).collect();
    std::thread::sleep(Duration::from_millis(20));
    fixture.set_reply("a 30 10.0.0.1");
    assert_eq!(texts(&runtime, vec![leader]), ["SERVFAIL qr"]);
    let answers = texts(&runtime, sent);
    assert!(answers.iter().all(|answer| answer.starts_with("NOERROR")), "{answers:?}");
    assert_eq!(fixture.queries(), 2);
}

#[test]
fn followers_share_every_result() {
    for (reply, expected) in [
        ("refused", "REFUSED qr"),
        ("nxdomain-alone", "NXDOMAIN qr"),
        ("alias 30", "NOERROR qr / answer: slow.example. 30 IN CNAME target.example."),
        ("servfail", "SERVFAIL qr"),
        ("fail", "SERVFAIL qr"),
        ("fail-silent", "SERVFAIL qr"),
        ("drop", "dropped"),
        ("tc 30", "NOERROR qr,tc / answer: slow.example. 30 IN A 10.0.0.1"),
    ] {
        let (fixture, runtime) = (Fixture::new(""), runtime());
        fixture.set_reply(reply);
        fixture.set_delay(Duration::from_millis(100));
        let sent = (0..50).map(|_| send(&runtime, &fixture.service, &query("slow.example."))).collect();
        let answers = texts(&runtime, sent);
        assert!(answers.iter().all(|answer| answer == expected), "{reply}: {answers:?}");
        assert_eq!(fixture.queries(), 1, "{reply}");
        // A failure without a reason is shared with followers, not with later queries.
        if reply == "fail-silent" {
            texts(&runtime, vec![send(&runtime, &fixture.service, &query("slow.example."))]);
            assert_eq!(fixture.queries(), 2);
        }
    }
}

#[test]
fn followers_share_the_error_text() {
    let (fixture, runtime) = (Fixture::new(""), runtime());
    fixture.set_reply("fail");
    fixture.set_delay(Duration::from_millis(50));
    let sent: Vec<_> = (0..3).map(|_| send(&runtime, &fixture.service, &query("slow.example."))).collect();
    for one in sent {
        let answered = runtime.block_on(one).expect("no panic");
        assert_eq!(answered.error.as_deref(), Some("the source is down"));
    }
}

#[test]
fn truncated_replies_are_shared_only_with_clients_of_the_same_limit() {
    let (fixture, runtime) = (Fixture::new(""), runtime());
    fixture.set_reply("tc 30");
    fixture.set_delay(Duration::from_millis(100));
    let small = send(&runtime, &fixture.service, &query("slow.example."));
    fixture.wait_for_queries(1);
    let mut large = query("slow.example.");
    large.edns = Some(Edns { udp_size: 4096, version: 0, extended_rcode: 0, flags: 0 });
    let others = vec![
        small,
        send(&runtime, &fixture.service, &query("slow.example.")),
        send(&runtime, &fixture.service, &large),
        send_over(&runtime, &fixture.service, &query("slow.example."), Transport::Tcp),
    ];
    texts(&runtime, others);
    assert_eq!(fixture.queries(), 3);
}

#[test]
fn different_questions_are_not_coalesced() {
    let (fixture, runtime) = (Fixture::new(""), runtime());
    fixture.set_delay(Duration::from_millis(100));
    let plain = query("slow.example.");
    let mut dnssec = plain.clone();
    dnssec.edns = Some(Edns { udp_size: 1232, version: 0, extended_rcode: 0, flags: Edns::DO });
    let mut unchecked = plain.clone();
    unchecked.flags.set(Flags::CD, true);
    let mut other = plain.clone();
    other.question.qtype = Rtype::AAAA;
    let spelled = query("SLOW.example.");
    let all = [&plain, &dnssec, &unchecked, &other, &spelled];
    let sent = all.iter().flat_map(|q| (0..10).map(|_| send(&runtime, &fixture.service, q))).collect();
    texts(&runtime, sent);
    assert_eq!(fixture.queries(), 4);
}

#[test]
fn a_lookup_never_waits_for_its_own_leader() {
    let (fixture, runtime) = (Fixture::with(". {|cache|lookup|source|}"), runtime());
    fixture.set_delay(Duration::from_millis(50));
    let start = Instant::now();
    let sent = (0..20).map(|_| send(&runtime, &fixture.service, &query("self.example."))).collect();
    let answers = texts(&runtime, sent);
    assert!(answers.iter().all(|answer| answer.starts_with("NOERROR")), "{answers:?}");
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(fixture.queries(), 1);
}

#[test]
fn the_probe_of_loop_is_not_coalesced() {
    let (fixture, runtime) = (Fixture::new(""), runtime());
    fixture.set_delay(Duration::from_millis(50));
    let mut probe = query("1.2.");
    probe.question.qtype = Rtype::HINFO;
    let sent = (0..3).map(|_| send(&runtime, &fixture.service, &probe)).collect();
    texts(&runtime, sent);
    assert_eq!(fixture.queries(), 3);
}

#[test]
fn concurrent_queries_verify_a_stale_entry_once() {
    for (reply, expected) in [("a 60 10.0.0.2", "60 IN A 10.0.0.2"), ("fail", "0 IN A 10.0.0.1")] {
        let (fixture, runtime) = (Fixture::new("{|serve_stale 1h verify|}"), runtime());
        texts(&runtime, vec![send(&runtime, &fixture.service, &query("slow.example."))]);
        advance_clock(40);
        fixture.set_reply(reply);
        fixture.set_delay(Duration::from_millis(100));
        let sent = (0..100).map(|_| send(&runtime, &fixture.service, &query("slow.example."))).collect();
        let answers = texts(&runtime, sent);
        assert!(answers.iter().all(|answer| answer.ends_with(expected)), "{reply}: {answers:?}");
        assert_eq!(fixture.queries(), 2, "{reply}");
    }
}

#[test]
fn every_flight_is_removed() {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let flights = Arc::new(Flights::default());
    let query = query("a.example.");
    let lead = || match flights.join(7, &query) {
        Role::Leader(leader) => leader,
        Role::Follower(_) => panic!("there is a leader"),
    };
    let follow = || match flights.join(7, &query) {
        Role::Follower(follower) => follower,
        Role::Leader(_) => panic!("there is no leader"),
    };
    // Ended, alone and with a follower.
    lead().end(|| panic!("there are no followers"));
    assert_eq!(flights.len(), 0);
    let (leader, follower) = (lead(), follow());
    leader.end(|| FlightResult::Drop);
    assert!(matches!(runtime.block_on(follower.wait()), FollowerEvent::Ended(_)));
    assert_eq!(flights.len(), 0);
    // Dropped, alone and with followers that are dropped too.
    drop(lead());
    assert_eq!(flights.len(), 0);
    let (leader, first, second) = (lead(), follow(), follow());
    drop((first, leader));
    assert_eq!(flights.len(), 1);
    drop(second);
    assert_eq!(flights.len(), 0);
    // A new query takes an orphaned flight over; so does a follower.
    let (leader, follower) = (lead(), follow());
    drop(leader);
    let leader = lead();
    drop(leader);
    let FollowerEvent::Promoted(leader) = runtime.block_on(follower.wait()) else { panic!("nobody leads") };
    drop(follow());
    leader.end(|| FlightResult::Drop);
    assert_eq!(flights.len(), 0);
    // A leader that panics while making the result is replaced by a follower.
    let (leader, follower) = (lead(), follow());
    assert!(supervise::catch("leader", || leader.end(|| panic!("half made"))).is_err());
    let event = runtime.block_on(async { tokio::time::timeout(TIMEOUT, follower.wait()).await });
    let Ok(FollowerEvent::Promoted(leader)) = event else { panic!("nobody leads") };
    leader.end(|| FlightResult::Drop);
    assert_eq!(flights.len(), 0);
}
