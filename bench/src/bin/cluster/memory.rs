//! Resident memory, once stable.

use std::time::{Duration, Instant};

use testkit::error::Result;
use testkit::process::Process;

const INTERVAL: Duration = Duration::from_millis(250);

/// Stable when it has stayed within 1 % for this many samples.
const SAMPLES: usize = 12;

/// Memory that is not stable by then is used as it is.
const TIMEOUT: Duration = Duration::from_secs(15);

/// In octets.
pub fn stable(process: &Process) -> Result<u64> {
    let deadline = Instant::now() + TIMEOUT;
    let mut seen = Vec::new();
    loop {
        let now = process.rss()?;
        seen.push(now);
        if is_stable(&seen) || Instant::now() >= deadline {
            return Ok(now);
        }
        std::thread::sleep(INTERVAL);
    }
}

fn is_stable(seen: &[u64]) -> bool {
    let Some(last) = seen.len().checked_sub(SAMPLES).map(|from| &seen[from..]) else { return false };
    let (min, max) = (last.iter().min().copied().unwrap_or(0), last.iter().max().copied().unwrap_or(0));
    max - min <= max / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stability() {
        let still = [1000; SAMPLES];
        let mut falling = still;
        falling[0] = 1011;
        for (seen, expected) in [
            (&still[..], true),
            (&still[1..], false),
            (&falling, false),
            (&[&falling[..1], &still].concat(), true),
            (&[], false),
        ] {
            assert_eq!(is_stable(seen), expected, "{seen:?}");
        }
    }
}
