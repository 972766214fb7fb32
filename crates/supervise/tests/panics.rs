//! Panics in steps, tasks and threads: each is logged with its location, counted, and survived.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn set_up() {
    supervise::set_log(|line| LINES.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned()));
    supervise::install_hook();
}

/// The log lines of a task or thread.
fn lines(about: &str) -> Vec<String> {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().filter(|line| line.starts_with(about)).cloned().collect()
}

#[test]
fn a_panic_in_a_step_ends_that_step_only() {
    set_up();
    let done: Vec<Option<usize>> = (0..4)
        .map(|n| {
            supervise::step("stepping", || {
                assert!(n != 2, "two");
                n
            })
        })
        .collect();
    assert_eq!(done, [Some(0), Some(1), None, Some(3)]);
    assert_eq!(supervise::panics("stepping"), 1);
    let lines = lines("task stepping: ");
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with("task stepping: panic at crates/supervise/tests/panics.rs:"),
        "{}",
        lines[0]
    );
    assert!(lines[0].ends_with(": two"), "{}", lines[0]);
}

#[tokio::test(start_paused = true)]
async fn a_task_restarts_with_backoff() {
    set_up();
    let began = tokio::time::Instant::now();
    let mut runs = 0;
    supervise::run("restarting", || {
        runs += 1;
        let run = runs;
        async move {
            tokio::task::yield_now().await;
            assert!(run == 4, "run {run}");
        }
    })
    .await;
    assert_eq!((runs, began.elapsed().as_millis()), (4, 700));
    assert_eq!(supervise::panics("restarting"), 3);
    let lines = lines("task restarting: ");
    assert!(lines[2].ends_with(": run 3; restarting in 400ms"), "{lines:?}");
}

#[test]
fn a_thread_restarts() {
    set_up();
    let runs = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&runs);
    let thread = supervise::thread("threading", "any".to_owned(), move || {
        assert!(theirs.fetch_add(1, Ordering::Relaxed) == 1, "first");
    });
    thread.expect("a thread").join().expect("it ended well");
    assert_eq!((runs.load(Ordering::Relaxed), supervise::panics("threading")), (2, 1));
}

#[test]
fn a_panic_outside_any_guard_is_logged_and_counted() {
    set_up();
    let thread = std::thread::Builder::new().name("forgotten".to_owned()).spawn(|| panic!("alone"));
    assert!(thread.expect("a thread").join().is_err());
    assert_eq!(supervise::panics("forgotten"), 1);
    assert!(lines("thread forgotten: ")[0].ends_with(": alone"));
}
