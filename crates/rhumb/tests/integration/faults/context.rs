//! State shared by the threads that change, break and query the cluster.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::history::{History, Observation, Verdict};
use super::plan::Plan;
use super::subject::{Answer, Question};

/// Maximum number of errors kept.
const MAX_ERRORS: usize = 12;

pub struct Context {
    started: Instant,
    ended: AtomicBool,
    progress: Mutex<Progress>,
}

#[derive(Default)]
pub struct Progress {
    pub histories: Vec<History>,
    /// The time since which there is no fault; none during faults.
    pub healthy_since: Option<Duration>,
    pub queries: usize,
    pub changes: usize,
    pub errors: Errors,
    /// All actions so far, for messages.
    pub faults: Vec<String>,
}

/// The number of errors and the first messages.
#[derive(Default)]
pub struct Errors {
    pub count: usize,
    pub first: Vec<String>,
}

impl Errors {
    pub fn add(&mut self, message: String) {
        self.count += 1;
        if self.first.len() < MAX_ERRORS {
            self.first.push(message);
        }
    }
}

impl Context {
    pub fn new(plan: &Plan) -> Self {
        let histories =
            plan.subjects.iter().map(|(subject, state)| History::new(subject.clone(), state.clone()));
        let progress = Progress {
            histories: histories.collect(),
            healthy_since: Some(Duration::ZERO),
            ..Progress::default()
        };
        Self { started: Instant::now(), ended: AtomicBool::new(false), progress: Mutex::new(progress) }
    }

    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Sleeps until `at` or the end; false if it ended.
    pub fn sleep_until(&self, at: Duration) -> bool {
        while !self.has_ended() && self.now() < at {
            std::thread::sleep((at - self.now().min(at)).min(Duration::from_millis(50)));
        }
        !self.has_ended()
    }

    pub fn questions(&self) -> Vec<(usize, Question)> {
        let progress = self.progress();
        let all = progress.histories.iter().enumerate();
        all.flat_map(|(n, history)| history.questions().into_iter().map(move |question| (n, question)))
            .collect()
    }

    /// Checks an answer and records an error if it is wrong.
    pub fn judge(&self, subject: usize, question: &Question, answer: Option<&Answer>, sent: Duration) {
        let mut progress = self.progress();
        progress.queries += 1;
        let healthy_since = progress.healthy_since;
        let verdict =
            progress.histories[subject].judge(question.aspect, Observation { answer, sent, healthy_since });
        if verdict == Verdict::Correct {
            return;
        }
        let shown = answer.map_or("nothing".to_owned(), ToString::to_string);
        let (history, faults) = (&progress.histories[subject], progress.faults.join(", "));
        let message = format!(
            "{:.2} {verdict:?}: {question} returned {shown} ({faults}); {history}",
            sent.as_secs_f64()
        );
        progress.errors.add(message);
    }

    /// Waits until every question was sent again and answered with the current state; returns that time.
    pub fn wait_until_fresh(&self, limit: Duration) -> Result<Duration, String> {
        let since = self.now();
        loop {
            let now = self.now();
            let progress = self.progress();
            let stale: Vec<_> =
                progress.histories.iter().filter(|history| !history.is_fresh(since)).collect();
            if stale.is_empty() {
                return Ok(now);
            }
            if now > limit {
                let stale: Vec<_> = stale.iter().map(|history| format!("  {history}")).collect();
                return Err(format!("stale answers at {:.1}:\n{}", now.as_secs_f64(), stale.join("\n")));
            }
            drop(progress);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Ends the context when dropped, so that a failure stops all threads.
pub struct EndGuard<'a>(pub &'a Context);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}
