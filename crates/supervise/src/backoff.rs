//! Backoff between the restarts of a task that panics.

use std::time::Duration;

const INITIAL: Duration = Duration::from_millis(100);
const MAX: Duration = Duration::from_secs(30);
/// A run of this length resets the backoff.
const RESET_AFTER: Duration = Duration::from_secs(60);

/// A delay that doubles with each panic.
#[derive(Debug, Default)]
pub(crate) struct Backoff(Option<Duration>);

impl Backoff {
    /// The delay after a run of this length.
    pub fn after(&mut self, run: Duration) -> Duration {
        let before = self.0.filter(|_| run < RESET_AFTER);
        let delay = before.map_or(INITIAL, |before| (before * 2).min(MAX));
        self.0 = Some(delay);
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_limit_and_reset() {
        let mut backoff = Backoff::default();
        let quick = Duration::from_secs(1);
        let delays: Vec<u128> = (0..11).map(|_| backoff.after(quick).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
        assert_eq!(backoff.after(RESET_AFTER).as_millis(), 100);
    }
}
