//! Runs delayed jobs on one thread: a thousand delayed answers must not need a thousand threads.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

type Job = Box<dyn FnOnce() + Send>;

/// Ends with its handle; pending jobs are dropped.
pub(super) struct Timer {
    jobs: Sender<(Instant, Job)>,
}

impl Timer {
    pub(super) fn start() -> Self {
        let (jobs, arriving) = mpsc::channel::<(Instant, Job)>();
        thread::spawn(move || {
            // The number orders jobs that are due at the same time.
            let mut waiting: BTreeMap<(Instant, u64), Job> = BTreeMap::new();
            for order in 0.. {
                let pause = waiting.first_key_value().map_or(Duration::from_secs(3600), |((due, _), _)| {
                    due.saturating_duration_since(Instant::now())
                });
                match arriving.recv_timeout(pause) {
                    Ok((due, job)) => {
                        waiting.insert((due, order), job);
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Some((_, job)) = waiting.pop_first() {
                            job();
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        Self { jobs }
    }

    pub(super) fn after(&self, delay: Duration, job: impl FnOnce() + Send + 'static) {
        // Fails only if the thread panicked, and then the test fails anyway.
        let _ = self.jobs.send((Instant::now() + delay, Box::new(job)));
    }
}
