//! The judge judged: histories, answers, and what is to be said of them.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::history::{Heard, History, Verdict};
use super::subject::{About, Answer, Kind, NOERROR, NXDOMAIN, PORT, State, Subject};

const ONE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
const TWO: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 2);
const STRANGER: Ipv4Addr = Ipv4Addr::new(10, 96, 9, 9);
const SERVFAIL: u16 = 2;

/// What happens, in order.
enum Event {
    /// A state is written at a second; without one, it is only begun.
    Write(State, Option<u64>),
    /// Something is heard at a second, while all was well since another, or not.
    Hear(About, Option<Answer>, u64, Option<u64>, Verdict),
    /// Whether all is fresh, asked since a second.
    Fresh(u64, bool),
}

use Event::{Fresh, Hear, Write};

fn subject(kind: Kind) -> Subject {
    Subject { kind, namespace: "shop".into(), name: "web".into() }
}

fn addresses(addresses: &[Ipv4Addr]) -> Option<Answer> {
    Some(Answer::new(NOERROR, addresses.iter().map(Ipv4Addr::to_string).collect()))
}

fn denied() -> Option<Answer> {
    Some(Answer::new(NXDOMAIN, Vec::new()))
}

fn said(rcode: u16, records: &[&str]) -> Option<Answer> {
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
            Hear(about, answer, asked, calm, expected) => {
                let heard =
                    Heard { answer: answer.as_ref(), asked: seconds(*asked), calm: calm.map(seconds) };
                let verdict = history.judge(*about, heard);
                assert_eq!(verdict, *expected, "{name}, event {n}: {answer:?} of {history}");
            }
            Fresh(since, expected) => {
                assert_eq!(history.is_fresh(seconds(*since)), *expected, "{name}, event {n}: {history}");
            }
        }
    }
}

#[test]
fn what_is_wrong_is_called_wrong() {
    use Verdict::{Back, Late, Never, Right, Silent};
    let at = |address| State::At(address);
    let a = About::Addresses;
    let srv = |target: &str| said(NOERROR, &[&format!("{PORT} {target}")]);
    check(
        "it was there all the time",
        Kind::Service,
        at(ONE),
        &[
            Hear(a, addresses(&[ONE]), 1, None, Right),
            Hear(a, denied(), 2, None, Never),
            Hear(a, said(NOERROR, &[]), 2, None, Never),
            Hear(a, said(SERVFAIL, &[]), 2, None, Never),
            Hear(a, addresses(&[STRANGER]), 2, None, Never),
            Hear(a, addresses(&[ONE, STRANGER]), 2, None, Never),
            Hear(a, addresses(&[ONE, ONE]), 2, None, Never),
            Hear(a, None, 2, None, Silent),
            Hear(About::Ports, srv("web.shop.svc.cluster.local."), 3, None, Right),
            Hear(About::Ports, srv("other.shop.svc.cluster.local."), 3, None, Never),
            Hear(About::Reverse(ONE), said(NOERROR, &["web.shop.svc.cluster.local."]), 3, None, Right),
            Hear(About::Reverse(ONE), denied(), 3, None, Never),
        ],
    );
    check(
        "it never was there",
        Kind::Service,
        State::Absent,
        &[
            Hear(a, denied(), 1, None, Right),
            Hear(a, addresses(&[ONE]), 1, None, Never),
            Hear(a, said(SERVFAIL, &[]), 1, None, Never),
            Hear(a, said(NOERROR, &[]), 1, None, Never),
        ],
    );
    check(
        "old answers are right until a new one was given",
        Kind::Service,
        at(ONE),
        &[
            Write(State::Absent, Some(1)),
            Write(at(TWO), Some(2)),
            Hear(a, addresses(&[ONE]), 50, None, Right),
            Hear(a, denied(), 51, None, Right),
            Hear(a, addresses(&[ONE]), 52, None, Back),
            Hear(a, addresses(&[TWO]), 53, None, Right),
            Hear(a, denied(), 54, None, Back),
            Hear(a, addresses(&[ONE]), 55, None, Back),
        ],
    );
    check(
        "what one question has shown binds the others",
        Kind::Service,
        at(ONE),
        &[
            Write(State::Absent, Some(1)),
            Write(at(TWO), Some(2)),
            Hear(About::Reverse(TWO), said(NOERROR, &["web.shop.svc.cluster.local."]), 3, None, Right),
            Hear(a, denied(), 4, None, Back),
            Hear(About::Reverse(ONE), said(NOERROR, &["web.shop.svc.cluster.local."]), 4, None, Back),
            Hear(About::Reverse(ONE), denied(), 4, None, Right),
        ],
    );
    check(
        "a state that comes again claims no more than it must",
        Kind::Service,
        State::Absent,
        &[
            Write(at(ONE), Some(1)),
            Write(State::Absent, Some(2)),
            Write(at(TWO), Some(3)),
            Hear(a, denied(), 4, None, Right),
            Hear(a, addresses(&[ONE]), 5, None, Right),
            Hear(a, denied(), 6, None, Right),
            Hear(a, addresses(&[ONE]), 7, None, Back),
        ],
    );
    check(
        "what is being written may be seen or not",
        Kind::Service,
        at(ONE),
        &[
            Write(State::Absent, None),
            Hear(a, addresses(&[ONE]), 50, Some(0), Right),
            Hear(a, denied(), 51, Some(0), Right),
            Hear(a, addresses(&[ONE]), 52, Some(0), Back),
        ],
    );
    check(
        "a change shows soon while all is well",
        Kind::Service,
        at(ONE),
        &[
            Write(State::Absent, Some(10)),
            Hear(a, addresses(&[ONE]), 15, Some(0), Right),
            Hear(a, addresses(&[ONE]), 16, None, Right),
            Hear(a, addresses(&[ONE]), 16, Some(12), Right),
            Hear(a, addresses(&[ONE]), 16, Some(0), Late),
            Hear(a, addresses(&[ONE]), 18, Some(12), Late),
            Hear(a, denied(), 60, Some(0), Right),
        ],
    );
    check(
        "a namespace",
        Kind::Namespace,
        State::Present,
        &[
            Hear(a, said(NOERROR, &[]), 1, None, Right),
            Hear(a, denied(), 1, None, Never),
            Write(State::Absent, Some(2)),
            Hear(a, denied(), 3, None, Right),
            Hear(a, said(NOERROR, &[]), 4, None, Back),
        ],
    );
    check(
        "a pod",
        Kind::Pod,
        State::Absent,
        &[
            Write(at(ONE), Some(1)),
            Hear(About::Endpoint(ONE), denied(), 2, None, Right),
            Hear(About::Endpoint(ONE), addresses(&[ONE]), 3, None, Right),
            Hear(About::Endpoint(ONE), denied(), 4, None, Back),
            Write(State::Absent, Some(5)),
            Hear(About::Endpoint(ONE), denied(), 6, None, Right),
        ],
    );
}

#[test]
fn endpoints_are_judged_as_a_whole() {
    use Verdict::{Back, Never, Right};
    let a = About::Addresses;
    check(
        "endpoints",
        Kind::Headless,
        State::Endpoints(vec![ONE]),
        &[
            Write(State::Endpoints(vec![ONE, TWO]), Some(1)),
            Write(State::Endpoints(vec![TWO]), Some(2)),
            Hear(a, addresses(&[ONE]), 3, None, Right),
            Hear(a, addresses(&[TWO, ONE]), 4, None, Right),
            Hear(About::Endpoint(TWO), denied(), 4, None, Back),
            Hear(a, addresses(&[ONE]), 5, None, Back),
            Hear(a, denied(), 5, None, Never),
            Hear(About::Reverse(ONE), denied(), 6, None, Right),
            Hear(About::Endpoint(ONE), addresses(&[ONE]), 7, None, Back),
            Hear(a, addresses(&[TWO]), 8, None, Right),
        ],
    );
}

/// Fresh is who has answered each question with the last state, after a time.
#[test]
fn freshness() {
    use Verdict::Right;
    let name = said(NOERROR, &["web.shop.svc.cluster.local."]);
    let port = said(NOERROR, &[&format!("{PORT} web.shop.svc.cluster.local.")]);
    check(
        "fresh",
        Kind::Service,
        State::Absent,
        &[
            Write(State::At(ONE), Some(1)),
            Fresh(0, false),
            Hear(About::Addresses, addresses(&[ONE]), 5, None, Right),
            Hear(About::Ports, port, 6, None, Right),
            Fresh(0, false),
            Hear(About::Reverse(ONE), name, 7, None, Right),
            Fresh(0, true),
            Fresh(5, true),
            Fresh(6, false),
            Write(State::Absent, None),
            Fresh(0, false),
            Hear(About::Addresses, denied(), 8, None, Right),
            Hear(About::Ports, denied(), 8, None, Right),
            Hear(About::Reverse(ONE), denied(), 8, None, Right),
            Fresh(8, false),
        ],
    );
}
