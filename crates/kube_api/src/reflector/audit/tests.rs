//! Censuses and events in every order.

use super::*;

const LIMITS: fn() -> Limits = || Limits { delivery_grace: Duration::from_secs(10), ..Limits::default() };

/// Steps of a watch and its censuses.
enum Step {
    Ask,
    /// Version and count.
    Answer(u64, Option<u64>),
    /// The watch reaches a version with this count.
    Event(u64, u64),
    Wait(u64),
    Listed,
}
use Step::{Answer, Ask, Event, Listed, Wait};

/// Begins at version 10 with 3 objects; returns the first step that is no census.
fn run(steps: &[Step]) -> Option<AuditStep> {
    let mut now = Instant::now();
    let (mut at, mut audit) = (Position { version: 10, count: 3 }, Audit::new(LIMITS(), now));
    for step in steps {
        let found = match *step {
            Ask => {
                audit.census_sent(Some(at));
                Ok(())
            }
            Answer(version, count) => audit.census_received(Some(Census { version, count }), now),
            Event(version, count) => {
                let before = std::mem::replace(&mut at, Position { version, count }).count;
                audit.watch_advanced(before, at, now)
            }
            Listed => {
                audit.listed(now);
                Ok(())
            }
            Wait(seconds) => {
                now += Duration::from_secs(seconds);
                match audit.due(at.count, now) {
                    AuditStep::Nothing | AuditStep::Census => Ok(()),
                    due => return Some(due),
                }
            }
        };
        if let Err(mismatch) = found {
            return Some(AuditStep::Inconsistent(mismatch));
        }
    }
    None
}

#[test]
fn censuses_are_compared_with_the_watch() {
    let missed =
        |version, server, watch| Some(AuditStep::Inconsistent(Mismatch::Missed { version, server, watch }));
    let cases: &[(&str, &[Step], Option<AuditStep>)] = &[
        ("equal counts", &[Ask, Answer(10, Some(3))], None),
        ("different counts", &[Ask, Answer(10, Some(4))], missed(10, 4, 3)),
        ("a bookmark reaches the version", &[Ask, Answer(12, Some(3)), Event(20, 3), Wait(60)], None),
        (
            "a bookmark reaches the version, an object was missed",
            &[Ask, Answer(12, Some(4)), Event(20, 3)],
            missed(12, 4, 3),
        ),
        ("an event in transit", &[Ask, Answer(12, Some(4)), Wait(9), Event(12, 4), Wait(60)], None),
        (
            "an event in transit, and another after it",
            &[Ask, Answer(12, Some(4)), Event(12, 4), Event(13, 5)],
            None,
        ),
        // The first event beyond the version shows that the count before it was final.
        ("a missed event, and a later one", &[Ask, Answer(12, Some(4)), Event(13, 4)], missed(12, 4, 3)),
        ("a missed event, and silence", &[Ask, Answer(12, Some(4)), Wait(10)], missed(12, 4, 3)),
        (
            "events in slow transit",
            &[Ask, Answer(15, Some(5)), Wait(9), Event(13, 4), Wait(9), Event(14, 5)],
            None,
        ),
        ("the watch was ahead", &[Ask, Event(12, 4), Event(14, 5), Event(15, 4), Answer(14, Some(5))], None),
        (
            "the watch was ahead and missed an event",
            &[Ask, Event(12, 4), Event(15, 5), Answer(14, Some(5))],
            missed(14, 5, 4),
        ),
        ("the server reports no count", &[Ask, Answer(12, None), Wait(60), Event(14, 9)], None),
        (
            "an older server",
            &[Ask, Answer(9, Some(3))],
            Some(AuditStep::Inconsistent(Mismatch::Backwards { version: 9, was: 10 })),
        ),
        ("older than events received meanwhile", &[Ask, Event(12, 4), Answer(11, Some(3))], None),
        (
            "behind",
            &[Ask, Answer(12, Some(3)), Wait(1499), Wait(1)],
            Some(AuditStep::Inconsistent(Mismatch::Behind { version: 12 })),
        ),
        (
            "behind, uncounted",
            &[Ask, Answer(12, None), Event(11, 9), Wait(1500)],
            Some(AuditStep::Inconsistent(Mismatch::Behind { version: 12 })),
        ),
        (
            "always lagging a little",
            &[
                Ask,
                Answer(12, Some(3)),
                Wait(800),
                Ask,
                Answer(14, Some(3)),
                Event(13, 3),
                Wait(800),
                Ask,
                Answer(16, Some(3)),
                Event(15, 3),
                Wait(900),
            ],
            None,
        ),
        ("a list resolves it", &[Ask, Answer(12, Some(4)), Listed, Wait(1500)], None),
        ("the periodic relist", &[Wait(4320)], Some(AuditStep::Relist)),
    ];
    for (name, steps, expected) in cases {
        assert_eq!(run(steps), *expected, "{name}");
    }
}

/// A server that counts wrongly must not cause a relist every half minute.
#[test]
fn counts_that_never_match_are_requested_less_and_less() {
    let now = Instant::now();
    let mut audit = Audit::new(LIMITS(), now);
    let mut pauses = Vec::new();
    for _ in 0..9 {
        audit.census_sent(Some(Position { version: 10, count: 3 }));
        assert!(audit.census_received(Some(Census { version: 10, count: Some(4) }), now).is_err());
        audit.listed(now);
        pauses.push(audit.next_due(3) - now);
    }
    let about = |pause: Duration, seconds: f64| (0.8..=1.2).contains(&(pause.as_secs_f64() / seconds));
    let expected = [25.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0, 1600.0, 1600.0];
    assert!(pauses.iter().zip(expected).all(|(pause, seconds)| about(*pause, seconds)), "{pauses:?}");
    audit.census_sent(Some(Position { version: 10, count: 3 }));
    assert_eq!(audit.census_received(Some(Census { version: 10, count: Some(3) }), now), Ok(()));
    assert!(about(audit.next_due(3) - now, 25.0));
}

/// The number of recorded positions is limited while a census is pending.
#[test]
fn a_census_with_too_many_events_is_skipped() {
    let now = Instant::now();
    let mut audit = Audit::new(LIMITS(), now);
    audit.census_sent(Some(Position { version: 10, count: 0 }));
    for n in 1..=2 * MAX_POSITIONS as u64 {
        assert_eq!(audit.watch_advanced(n - 1, Position { version: 10 + n, count: n }, now), Ok(()));
        assert!(audit.positions.as_ref().is_none_or(|positions| positions.len() <= MAX_POSITIONS));
    }
    assert_eq!(audit.census_received(Some(Census { version: 11, count: Some(7) }), now), Ok(()));
}
