//! What those who change, break, ask and watch at the same time have in common.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::history::{Heard, History, Verdict};
use super::plan::Plan;
use super::subject::{Answer, Question};

/// Enough to see what is wrong.
const WRONG: usize = 12;

pub struct Scene {
    began: Instant,
    ended: AtomicBool,
    known: Mutex<Known>,
}

#[derive(Default)]
pub struct Known {
    pub histories: Vec<History>,
    /// Since when all is well, if it is.
    pub calm: Option<Duration>,
    pub asked: usize,
    pub changes: usize,
    pub wrong: Wrong,
    /// The faults that go on now.
    pub faults: Vec<String>,
}

/// What should not have been, the first in words.
#[derive(Default)]
pub struct Wrong {
    pub count: usize,
    pub first: Vec<String>,
}

impl Wrong {
    pub fn note(&mut self, what: String) {
        self.count += 1;
        if self.first.len() < WRONG {
            self.first.push(what);
        }
    }
}

impl Scene {
    pub fn new(plan: &Plan) -> Self {
        let histories =
            plan.subjects.iter().map(|(subject, state)| History::new(subject.clone(), state.clone()));
        let known = Known { histories: histories.collect(), calm: Some(Duration::ZERO), ..Known::default() };
        Self { began: Instant::now(), ended: AtomicBool::new(false), known: Mutex::new(known) }
    }

    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Sleeps, but not beyond the end; whether it has not come.
    pub fn sleep_until(&self, at: Duration) -> bool {
        while !self.has_ended() && self.now() < at {
            std::thread::sleep((at - self.now().min(at)).min(Duration::from_millis(50)));
        }
        !self.has_ended()
    }

    pub fn questions(&self) -> Vec<(usize, Question)> {
        let known = self.known();
        let all = known.histories.iter().enumerate();
        all.flat_map(|(n, history)| history.questions().into_iter().map(move |question| (n, question)))
            .collect()
    }

    /// Judges what was heard about a subject.
    pub fn hear(&self, subject: usize, question: &Question, answer: Option<&Answer>, asked: Duration) {
        let mut known = self.known();
        known.asked += 1;
        let calm = known.calm;
        let verdict = known.histories[subject].judge(question.about, Heard { answer, asked, calm });
        if verdict == Verdict::Right {
            return;
        }
        let said = answer.map_or("nothing".to_owned(), ToString::to_string);
        let (history, faults) = (&known.histories[subject], known.faults.join(", "));
        let what =
            format!("{:.2} {verdict:?}: {question} has {said} ({faults}); {history}", asked.as_secs_f64());
        known.wrong.note(what);
    }

    /// Waits until everything was asked again and answered with what is; the time at which that was so.
    pub fn wait_until_fresh(&self, limit: Duration) -> Result<Duration, String> {
        let since = self.now();
        loop {
            let now = self.now();
            let known = self.known();
            let stale: Vec<_> = known.histories.iter().filter(|history| !history.is_fresh(since)).collect();
            if stale.is_empty() {
                return Ok(now);
            }
            if now > limit {
                let stale: Vec<_> = stale.iter().map(|history| format!("  {history}")).collect();
                return Err(format!(
                    "not as it should be at {:.1}:\n{}",
                    now.as_secs_f64(),
                    stale.join("\n")
                ));
            }
            drop(known);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Ends a scene when dropped, so that a failure ends everybody.
pub struct Ending<'a>(pub &'a Scene);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}
