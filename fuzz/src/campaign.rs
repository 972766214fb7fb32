//! The loop: pick, mutate, check, keep what is new.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::alarm::{self, Watchdog};
use crate::finding::Finding;
use crate::mutate::Mutator;
use crate::shape::Shape;
use crate::target::Target;

/// The pool stops growing here; a run that finds more shapes than that has a shape that is too fine.
const MAX_POOL: usize = 20_000;

/// How often a long run says that it is alive.
const PROGRESS: Duration = Duration::from_secs(10);

/// A run in progress.
pub struct Campaign<'a> {
    target: &'a mut dyn Target,
    mutator: Mutator,
    watchdog: Watchdog,
    pool: Vec<Vec<u8>>,
    shapes: HashSet<u64>,
    executions: u64,
    slowest: Duration,
}

/// What a run without findings amounts to.
#[derive(Clone, Debug)]
pub struct Summary {
    pub executions: u64,
    pub elapsed: Duration,
    pub shapes: usize,
    pub pool: usize,
    pub slowest: Duration,
}

impl<'a> Campaign<'a> {
    pub fn new(target: &'a mut dyn Target, seed: u64) -> Self {
        let mutator = Mutator::new(seed, target.dictionary(), target.max_len());
        let watchdog = Watchdog::start(target.name());
        Self {
            target,
            mutator,
            watchdog,
            pool: Vec::new(),
            shapes: HashSet::new(),
            executions: 0,
            slowest: Duration::ZERO,
        }
    }

    /// Checks one input as it is, and takes it into the pool if its shape is new.
    pub fn check(&mut self, input: &[u8]) -> Result<(), Finding> {
        let shape = self.run_once(input)?;
        if self.shapes.insert(shape.number()) && self.pool.len() < MAX_POOL {
            self.pool.push(input.to_vec());
        }
        Ok(())
    }

    /// Takes a seed in, whatever its shape: two seeds may look alike and still be different beginnings.
    pub fn seed(&mut self, input: &[u8]) -> Result<(), Finding> {
        let shape = self.run_once(input)?;
        self.shapes.insert(shape.number());
        self.pool.push(input.to_vec());
        Ok(())
    }

    /// Mutates and checks until the time is up, or until `executions` if given: that, unlike time, comes again.
    pub fn run(&mut self, time: Duration, executions: Option<u64>) -> Result<Summary, Finding> {
        let begun = Instant::now();
        let mut told = begun;
        let mut input = Vec::new();
        loop {
            let now = Instant::now();
            if now - begun >= time || executions.is_some_and(|limit| self.executions >= limit) {
                break;
            }
            if now - told >= PROGRESS {
                told = now;
                eprintln!("  {}", self.summary(now - begun));
            }
            self.next_input(&mut input);
            self.check(&input)?;
        }
        Ok(self.summary(begun.elapsed()))
    }

    fn next_input(&mut self, input: &mut Vec<u8>) {
        input.clear();
        if self.pool.is_empty() {
            self.mutator.mutate(input, &[]);
            return;
        }
        // Half of the time one of the newest: what was reached last has been explored least.
        let newest = self.mutator.below(self.pool.len());
        let recent = self.pool.len() - 1 - self.mutator.below(self.pool.len().min(64));
        let chosen = if self.mutator.below(2) == 0 { newest } else { recent };
        let other = self.mutator.below(self.pool.len());
        input.extend_from_slice(&self.pool[chosen]);
        self.mutator.mutate(input, &self.pool[other]);
    }

    fn run_once(&mut self, input: &[u8]) -> Result<Shape, Finding> {
        self.executions += 1;
        self.watchdog.begin(input);
        let outcome = alarm::guard(|| self.target.check(input));
        self.slowest = self.slowest.max(self.watchdog.end());
        let what = match outcome {
            Ok(Ok(shape)) => return Ok(shape),
            Ok(Err(broken)) => broken,
            Err(panic) => panic,
        };
        Err(Finding { target: self.target.name(), what, input: input.to_vec() })
    }

    fn summary(&self, elapsed: Duration) -> Summary {
        Summary {
            executions: self.executions,
            elapsed,
            shapes: self.shapes.len(),
            pool: self.pool.len(),
            slowest: self.slowest,
        }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        write!(
            f,
            "{} executions in {seconds:.0} s, {:.0}/s, {} shapes, {} inputs kept, slowest {:.1} ms",
            self.executions,
            self.executions as f64 / seconds.max(0.001),
            self.shapes,
            self.pool,
            self.slowest.as_secs_f64() * 1e3
        )
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    /// Breaks in three ways, each behind a few bytes that must be found one after another.
    struct Fragile;

    impl Target for Fragile {
        fn name(&self) -> &'static str {
            "fragile"
        }

        fn max_len(&self) -> usize {
            16
        }

        fn dictionary(&self) -> &'static [&'static [u8]] {
            &[]
        }

        fn check(&mut self, input: &[u8]) -> Result<Shape, String> {
            match input {
                [b'P', b'!', ..] => panic!("loud"),
                [b'C', b'!', ..] => drop(catch_unwind(|| panic!("caught"))),
                [b'B', b'!', ..] => return Err("broken".to_owned()),
                _ => {}
            }
            Ok(Shape::new().with(input.first()))
        }
    }

    #[test]
    fn what_breaks_is_found() {
        let check =
            |input: &[u8]| Campaign::new(&mut Fragile, 0).check(input).map_err(|finding| finding.what);
        assert_eq!(check(b"fine"), Ok(()));
        assert_eq!(check(b"B!"), Err("broken".to_owned()));
        for (input, word) in [(b"P!", "loud"), (b"C!", "caught")] {
            let what = check(input).unwrap_err();
            assert!(what.starts_with("panic: ") && what.contains(word), "{what}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let run = |seed| {
            let mut target = Fragile;
            let mut campaign = Campaign::new(&mut target, seed);
            let found = campaign.run(Duration::from_secs(60), Some(1_000_000)).unwrap_err();
            (found.what, found.input, campaign.executions)
        };
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }
}
