//! Replays every kept input, among them all that once found a bug.

use std::cell::Cell;
use std::path::Path;
use std::sync::Once;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{fs, panic, thread};

use fuzz::targets::{self, Check};

/// A check takes microseconds. Generous, since the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(20);

thread_local! {
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

#[test]
fn kept_inputs_pass() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, check) in targets::ALL {
        let folder = corpus.join(name);
        let mut replayed = 0;
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            let input = fs::read(&path).unwrap();
            replay(check, input, DEADLINE).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            replayed += 1;
        }
        assert!(replayed > 0, "{} has no inputs", folder.display());
    }
}

#[test]
fn replay_reports_panics_and_timeouts() {
    let cases: [(Check, Duration, &str); 4] = [
        (|_| (), DEADLINE, ""),
        (|_| panic!("loud"), DEADLINE, "panicked"),
        (|_| drop(panic::catch_unwind(|| panic!("caught"))), DEADLINE, "recovered from a panic"),
        (|_| thread::sleep(DEADLINE), Duration::from_millis(10), "still running after 10ms"),
    ];
    for (check, deadline, expected) in cases {
        assert_eq!(replay(check, Vec::new(), deadline).err().unwrap_or_default(), expected);
    }
}

/// Runs a check on its own thread, so that an endless one fails too. A panic fails it even if the code recovered: the
/// server would answer SERVFAIL.
fn replay(check: Check, input: Vec<u8>, deadline: Duration) -> Result<(), String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICKED.set(true);
            default(info);
        }));
    });
    let (done, outcome) = channel();
    thread::spawn(move || {
        check(&input);
        let _ = done.send(PANICKED.get());
    });
    match outcome.recv_timeout(deadline) {
        Ok(false) => Ok(()),
        Ok(true) => Err("recovered from a panic".to_owned()),
        Err(RecvTimeoutError::Disconnected) => Err("panicked".to_owned()),
        Err(RecvTimeoutError::Timeout) => Err(format!("still running after {deadline:?}")),
    }
}
