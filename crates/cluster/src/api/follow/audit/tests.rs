//! Answers and versions in every order they can come in.

use super::*;

const LIMITS: fn() -> Limits = || Limits { grace: Duration::from_secs(10), ..Limits::default() };

/// What happens, in seconds after the beginning.
enum Step {
    Ask,
    /// Version and count.
    Answer(u64, Option<u64>),
    /// The watch goes to a version; the count is then this.
    Event(u64, u64),
    Wait(u64),
    Listed,
}
use Step::{Answer, Ask, Event, Listed, Wait};

/// Begins at version 10 with 3 objects; gives the first doubt or thing to do that is none of asking.
fn run(steps: &[Step]) -> Option<Due> {
    let mut now = Instant::now();
    let (mut at, mut audit) = (Mark { version: 10, count: 3 }, Audit::new(LIMITS(), now));
    for step in steps {
        let found = match *step {
            Ask => {
                audit.asks(Some(at));
                Ok(())
            }
            Answer(version, count) => audit.answered(Some(Census { version, count }), now),
            Event(version, count) => {
                let before = std::mem::replace(&mut at, Mark { version, count }).count;
                audit.passes(before, at, now)
            }
            Listed => {
                audit.listed(now);
                Ok(())
            }
            Wait(seconds) => {
                now += Duration::from_secs(seconds);
                match audit.due(at.count, now) {
                    Due::Nothing | Due::Ask => Ok(()),
                    due => return Some(due),
                }
            }
        };
        if let Err(doubt) = found {
            return Some(Due::Doubt(doubt));
        }
    }
    None
}

#[test]
fn what_is_believed() {
    let missed = |version, has, told| Some(Due::Doubt(Doubt::Missed { version, has, told }));
    let cases: &[(&str, &[Step], Option<Due>)] = &[
        ("the same", &[Ask, Answer(10, Some(3))], None),
        ("not the same", &[Ask, Answer(10, Some(4))], missed(10, 4, 3)),
        ("a bookmark gets there", &[Ask, Answer(12, Some(3)), Event(20, 3), Wait(60)], None),
        (
            "a bookmark gets there, an object did not",
            &[Ask, Answer(12, Some(4)), Event(20, 3)],
            missed(12, 4, 3),
        ),
        ("on its way", &[Ask, Answer(12, Some(4)), Wait(9), Event(12, 4), Wait(60)], None),
        ("on its way, and another after it", &[Ask, Answer(12, Some(4)), Event(12, 4), Event(13, 5)], None),
        // The first event beyond tells what was so before.
        ("not on its way", &[Ask, Answer(12, Some(4)), Event(13, 4)], missed(12, 4, 3)),
        ("never on its way", &[Ask, Answer(12, Some(4)), Wait(10)], missed(12, 4, 3)),
        (
            "slowly on its way",
            &[Ask, Answer(15, Some(5)), Wait(9), Event(13, 4), Wait(9), Event(14, 5)],
            None,
        ),
        ("the watch was faster", &[Ask, Event(12, 4), Event(14, 5), Event(15, 4), Answer(14, Some(5))], None),
        ("faster, but not there", &[Ask, Event(12, 4), Event(15, 5), Answer(14, Some(5))], missed(14, 5, 4)),
        ("the server does not count", &[Ask, Answer(12, None), Wait(60), Event(14, 9)], None),
        (
            "an older server",
            &[Ask, Answer(9, Some(3))],
            Some(Due::Doubt(Doubt::Backwards { version: 9, was: 10 })),
        ),
        ("older than what came meanwhile", &[Ask, Event(12, 4), Answer(11, Some(3))], None),
        (
            "behind",
            &[Ask, Answer(12, Some(3)), Wait(1499), Wait(1)],
            Some(Due::Doubt(Doubt::Behind { version: 12 })),
        ),
        (
            "behind, uncounted",
            &[Ask, Answer(12, None), Event(11, 9), Wait(1500)],
            Some(Due::Doubt(Doubt::Behind { version: 12 })),
        ),
        (
            "always a little behind",
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
        ("a list settles it", &[Ask, Answer(12, Some(4)), Listed, Wait(1500)], None),
        ("once in a while", &[Wait(4320)], Some(Due::Relist)),
    ];
    for (name, steps, expected) in cases {
        assert_eq!(run(steps), *expected, "{name}");
    }
}

/// Servers may count as they like; that must not become a list every half minute.
#[test]
fn numbers_that_never_fit_are_asked_for_less_and_less() {
    let now = Instant::now();
    let mut audit = Audit::new(LIMITS(), now);
    let mut pauses = Vec::new();
    for _ in 0..9 {
        audit.asks(Some(Mark { version: 10, count: 3 }));
        assert!(audit.answered(Some(Census { version: 10, count: Some(4) }), now).is_err());
        audit.listed(now);
        pauses.push(audit.wakes(3) - now);
    }
    let about = |pause: Duration, seconds: f64| (0.8..=1.2).contains(&(pause.as_secs_f64() / seconds));
    let expected = [25.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0, 1600.0, 1600.0];
    assert!(pauses.iter().zip(expected).all(|(pause, seconds)| about(*pause, seconds)), "{pauses:?}");
    audit.asks(Some(Mark { version: 10, count: 3 }));
    assert_eq!(audit.answered(Some(Census { version: 10, count: Some(3) }), now), Ok(()));
    assert!(about(audit.wakes(3) - now, 25.0));
}

/// A watch of many events is not remembered without end while an answer takes its time.
#[test]
fn a_long_trail_is_given_up() {
    let now = Instant::now();
    let mut audit = Audit::new(LIMITS(), now);
    audit.asks(Some(Mark { version: 10, count: 0 }));
    for n in 1..=2 * LONGEST_TRAIL as u64 {
        assert_eq!(audit.passes(n - 1, Mark { version: 10 + n, count: n }, now), Ok(()));
        assert!(audit.trail.as_ref().is_none_or(|trail| trail.len() <= LONGEST_TRAIL));
    }
    assert_eq!(audit.answered(Some(Census { version: 11, count: Some(7) }), now), Ok(()));
}
