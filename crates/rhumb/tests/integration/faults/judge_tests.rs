//! Tests of the check itself: histories, answers and the expected verdicts.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::history::{History, Observation, Verdict};
use super::subject::{Answer, Aspect, Kind, NOERROR, NXDOMAIN, PORT, State, Subject};

const ONE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
const TWO: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 2);
const UNRELATED: Ipv4Addr = Ipv4Addr::new(10, 96, 9, 9);
const SERVFAIL: u16 = 2;

enum Event {
    /// A state is written at a second; without one, the write is unconfirmed.
    Write(State, Option<u64>),
    /// An answer to a query sent at a second, the last fault having ended at another, or not.
    Observe(Aspect, Option<Answer>, u64, Option<u64>, Verdict),
    /// Whether the history is fresh since a second.
    Fresh(u64, bool),
}

use Event::{Fresh, Observe, Write};

fn subject(kind: Kind) -> Subject {
    Subject { kind, namespace: "shop".into(), name: "web".into() }
}

fn addresses(addresses: &[Ipv4Addr]) -> Option<Answer> {
    Some(Answer::new(NOERROR, addresses.iter().map(Ipv4Addr::to_string).collect()))
}

fn denied() -> Option<Answer> {
    Some(Answer::new(NXDOMAIN, Vec::new()))
}

fn reply(rcode: u16, records: &[&str]) -> Option<Answer> {
    Some(Answer::new(rcode, records.iter().map(|record| (*record).to_owned()).collect()))
}

fn check(name: &str, kind: Kind, first: State, events: &[Event]) {
    let mut history = History::new(subject(kind), first);
    let seconds = Duration::from_secs;
    for (n, event) in events.iter().enumerate() {
        match event {
            Write(state, at) => {
                history.begin(state.clone());
                at.iter().for_each(|at| history.written(seconds(*at)));
            }
            Observe(aspect, answer, sent, healthy_since, expected) => {
                let observation = Observation {
                    answer: answer.as_ref(),
                    sent: seconds(*sent),
                    healthy_since: healthy_since.map(seconds),
                };
                let verdict = history.judge(*aspect, observation);
                assert_eq!(verdict, *expected, "{name}, event {n}: {answer:?} of {history}");
            }
            Fresh(since, expected) => {
                assert_eq!(history.is_fresh(seconds(*since)), *expected, "{name}, event {n}: {history}");
            }
        }
    }
}

#[test]
fn verdicts() {
    use Verdict::{Correct, Late, NeverTrue, NoAnswer, Regressed};
    let at = |address| State::At(address);
    let a = Aspect::Addresses;
    let srv = |target: &str| reply(NOERROR, &[&format!("{PORT} {target}")]);
    check(
        "always present",
        Kind::Service,
        at(ONE),
        &[
            Observe(a, addresses(&[ONE]), 1, None, Correct),
            Observe(a, denied(), 2, None, NeverTrue),
            Observe(a, reply(NOERROR, &[]), 2, None, NeverTrue),
            Observe(a, reply(SERVFAIL, &[]), 2, None, NeverTrue),
            Observe(a, addresses(&[UNRELATED]), 2, None, NeverTrue),
            Observe(a, addresses(&[ONE, UNRELATED]), 2, None, NeverTrue),
            Observe(a, addresses(&[ONE, ONE]), 2, None, NeverTrue),
            Observe(a, None, 2, None, NoAnswer),
            Observe(Aspect::Ports, srv("web.shop.svc.cluster.local."), 3, None, Correct),
            Observe(Aspect::Ports, srv("other.shop.svc.cluster.local."), 3, None, NeverTrue),
            Observe(Aspect::Reverse(ONE), reply(NOERROR, &["web.shop.svc.cluster.local."]), 3, None, Correct),
            Observe(Aspect::Reverse(ONE), denied(), 3, None, NeverTrue),
        ],
    );
    check(
        "never present",
        Kind::Service,
        State::Absent,
        &[
            Observe(a, denied(), 1, None, Correct),
            Observe(a, addresses(&[ONE]), 1, None, NeverTrue),
            Observe(a, reply(SERVFAIL, &[]), 1, None, NeverTrue),
            Observe(a, reply(NOERROR, &[]), 1, None, NeverTrue),
        ],
    );
    check(
        "old answers are correct until a newer one",
        Kind::Service,
        at(ONE),
        &[
            Write(State::Absent, Some(1)),
            Write(at(TWO), Some(2)),
            Observe(a, addresses(&[ONE]), 50, None, Correct),
            Observe(a, denied(), 51, None, Correct),
            Observe(a, addresses(&[ONE]), 52, None, Regressed),
            Observe(a, addresses(&[TWO]), 53, None, Correct),
            Observe(a, denied(), 54, None, Regressed),
            Observe(a, addresses(&[ONE]), 55, None, Regressed),
        ],
    );
    check(
        "an answer to one question restricts the others",
        Kind::Service,
        at(ONE),
        &[
            Write(State::Absent, Some(1)),
            Write(at(TWO), Some(2)),
            Observe(Aspect::Reverse(TWO), reply(NOERROR, &["web.shop.svc.cluster.local."]), 3, None, Correct),
            Observe(a, denied(), 4, None, Regressed),
            Observe(
                Aspect::Reverse(ONE),
                reply(NOERROR, &["web.shop.svc.cluster.local."]),
                4,
                None,
                Regressed,
            ),
            Observe(Aspect::Reverse(ONE), denied(), 4, None, Correct),
        ],
    );
    check(
        "a repeated state matches its oldest version",
        Kind::Service,
        State::Absent,
        &[
            Write(at(ONE), Some(1)),
            Write(State::Absent, Some(2)),
            Write(at(TWO), Some(3)),
            Observe(a, denied(), 4, None, Correct),
            Observe(a, addresses(&[ONE]), 5, None, Correct),
            Observe(a, denied(), 6, None, Correct),
            Observe(a, addresses(&[ONE]), 7, None, Regressed),
        ],
    );
    check(
        "an unconfirmed write may be visible or not",
        Kind::Service,
        at(ONE),
        &[
            Write(State::Absent, None),
            Observe(a, addresses(&[ONE]), 50, Some(0), Correct),
            Observe(a, denied(), 51, Some(0), Correct),
            Observe(a, addresses(&[ONE]), 52, Some(0), Regressed),
        ],
    );
    check(
        "a change is visible soon without faults",
        Kind::Service,
        at(ONE),
        &[
            Write(State::Absent, Some(10)),
            Observe(a, addresses(&[ONE]), 15, Some(0), Correct),
            Observe(a, addresses(&[ONE]), 16, None, Correct),
            Observe(a, addresses(&[ONE]), 16, Some(12), Correct),
            Observe(a, addresses(&[ONE]), 16, Some(0), Late),
            Observe(a, addresses(&[ONE]), 18, Some(12), Late),
            Observe(a, denied(), 60, Some(0), Correct),
        ],
    );
    check(
        "a namespace",
        Kind::Namespace,
        State::Present,
        &[
            Observe(a, reply(NOERROR, &[]), 1, None, Correct),
            Observe(a, denied(), 1, None, NeverTrue),
            Write(State::Absent, Some(2)),
            Observe(a, denied(), 3, None, Correct),
            Observe(a, reply(NOERROR, &[]), 4, None, Regressed),
        ],
    );
    check(
        "a pod",
        Kind::Pod,
        State::Absent,
        &[
            Write(at(ONE), Some(1)),
            Observe(Aspect::Endpoint(ONE), denied(), 2, None, Correct),
            Observe(Aspect::Endpoint(ONE), addresses(&[ONE]), 3, None, Correct),
            Observe(Aspect::Endpoint(ONE), denied(), 4, None, Regressed),
            Write(State::Absent, Some(5)),
            Observe(Aspect::Endpoint(ONE), denied(), 6, None, Correct),
        ],
    );
}

#[test]
fn endpoints_are_checked_as_a_whole() {
    use Verdict::{Correct, NeverTrue, Regressed};
    let a = Aspect::Addresses;
    check(
        "endpoints",
        Kind::Headless,
        State::Endpoints(vec![ONE]),
        &[
            Write(State::Endpoints(vec![ONE, TWO]), Some(1)),
            Write(State::Endpoints(vec![TWO]), Some(2)),
            Observe(a, addresses(&[ONE]), 3, None, Correct),
            Observe(a, addresses(&[TWO, ONE]), 4, None, Correct),
            Observe(Aspect::Endpoint(TWO), denied(), 4, None, Regressed),
            Observe(a, addresses(&[ONE]), 5, None, Regressed),
            Observe(a, denied(), 5, None, NeverTrue),
            Observe(Aspect::Reverse(ONE), denied(), 6, None, Correct),
            Observe(Aspect::Endpoint(ONE), addresses(&[ONE]), 7, None, Regressed),
            Observe(a, addresses(&[TWO]), 8, None, Correct),
        ],
    );
}

/// Fresh: each question was answered with the last state, after a time.
#[test]
fn freshness() {
    use Verdict::Correct;
    let name = reply(NOERROR, &["web.shop.svc.cluster.local."]);
    let port = reply(NOERROR, &[&format!("{PORT} web.shop.svc.cluster.local.")]);
    check(
        "fresh",
        Kind::Service,
        State::Absent,
        &[
            Write(State::At(ONE), Some(1)),
            Fresh(0, false),
            Observe(Aspect::Addresses, addresses(&[ONE]), 5, None, Correct),
            Observe(Aspect::Ports, port, 6, None, Correct),
            Fresh(0, false),
            Observe(Aspect::Reverse(ONE), name, 7, None, Correct),
            Fresh(0, true),
            Fresh(5, true),
            Fresh(6, false),
            Write(State::Absent, None),
            Fresh(0, false),
            Observe(Aspect::Addresses, denied(), 8, None, Correct),
            Observe(Aspect::Ports, denied(), 8, None, Correct),
            Observe(Aspect::Reverse(ONE), denied(), 8, None, Correct),
            Fresh(8, false),
        ],
    );
}
