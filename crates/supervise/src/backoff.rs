//! How long a task that panicked waits before it starts again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);
/// A task that ran for so long did its work; its next panic is a new story.
const STEADY: Duration = Duration::from_secs(60);

/// Doubles from panic to panic.
#[derive(Debug, Default)]
pub(crate) struct Backoff(Option<Duration>);

impl Backoff {
    /// The pause after a run of this length.
    pub fn after(&mut self, run: Duration) -> Duration {
        let before = self.0.filter(|_| run < STEADY);
        let pause = before.map_or(FIRST, |before| (before * 2).min(LONGEST));
        self.0 = Some(pause);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit_and_begin_again() {
        let mut backoff = Backoff::default();
        let quick = Duration::from_secs(1);
        let pauses: Vec<u128> = (0..11).map(|_| backoff.after(quick).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
        assert_eq!(backoff.after(STEADY).as_millis(), 100);
    }
}
