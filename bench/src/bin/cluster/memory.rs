//! Resident memory, once it has come to rest.

use std::time::{Duration, Instant};

use testkit::error::Result;
use testkit::process::Process;

const LOOK: Duration = Duration::from_millis(250);

/// At rest when it has stayed within a hundredth for this many looks.
const LOOKS: usize = 12;

/// Whoever is not at rest by then is taken as he is.
const LONGEST: Duration = Duration::from_secs(15);

/// In octets.
pub fn settled(process: &Process) -> Result<u64> {
    let deadline = Instant::now() + LONGEST;
    let mut seen = Vec::new();
    loop {
        let now = process.rss()?;
        seen.push(now);
        if at_rest(&seen) || Instant::now() >= deadline {
            return Ok(now);
        }
        std::thread::sleep(LOOK);
    }
}

fn at_rest(seen: &[u64]) -> bool {
    let Some(last) = seen.len().checked_sub(LOOKS).map(|from| &seen[from..]) else { return false };
    let (min, max) = (last.iter().min().copied().unwrap_or(0), last.iter().max().copied().unwrap_or(0));
    max - min <= max / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest() {
        let still = [1000; LOOKS];
        let mut falling = still;
        falling[0] = 1011;
        for (seen, expected) in [
            (&still[..], true),
            (&still[1..], false),
            (&falling, false),
            (&[&falling[..1], &still].concat(), true),
            (&[], false),
        ] {
            assert_eq!(at_rest(seen), expected, "{seen:?}");
        }
    }
}
