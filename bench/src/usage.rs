//! CPU time and memory of a server and its child processes.
//!
//! The total is exact: the scheduler counts each thread's nanoseconds (`schedstat`). User and system time are sampled by
//! the kernel at each tick (`stat`). So the total is the scheduler's and the split is the ticks'.

use std::fs;
use std::path::Path;
use std::time::Duration;

use testkit::error::{Context, Error, Result};

/// Since the start of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub total: Duration,
    user_ticks: u64,
    system_ticks: u64,
}

impl Usage {
    /// Of the process with this id and its descendants.
    pub fn by(pid: u32) -> Result<Self> {
        let all = family(pid)?.into_iter().map(Self::by_one);
        let sum = all.reduce(|sum, one| Ok(sum?.and(one?))).transpose()?.unwrap_or_default();
        // A child may not have run yet, but the process has.
        if sum.total.is_zero() {
            return Err(Error::new(format!(
                "/proc/{pid}/task has no schedstat: a kernel with CONFIG_SCHED_INFO is needed"
            )));
        }
        Ok(sum)
    }

    fn by_one(pid: u32) -> Result<Self> {
        let place = format!("/proc/{pid}");
        let stat = fs::read_to_string(format!("{place}/stat")).context(&place)?;
        let (user_ticks, system_ticks) =
            ticks(&stat).ok_or_else(|| Error::new(format!("{place}/stat is not as expected: {stat}")))?;
        let mut total = Duration::ZERO;
        for task in fs::read_dir(format!("{place}/task")).context(&place)? {
            // A thread may end meanwhile.
            let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            let nanoseconds = text.split_whitespace().next().and_then(|first| first.parse().ok());
            total += Duration::from_nanos(nanoseconds.unwrap_or_default());
        }
        Ok(Self { total, user_ticks, system_ticks })
    }

    fn and(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            user_ticks: self.user_ticks + other.user_ticks,
            system_ticks: self.system_ticks + other.system_ticks,
        }
    }

    /// User and system time since an earlier value.
    pub fn since(self, before: Self) -> (Duration, Duration) {
        let total = self.total.saturating_sub(before.total);
        let user = self.user_ticks.saturating_sub(before.user_ticks) as f64;
        let system = self.system_ticks.saturating_sub(before.system_ticks) as f64;
        // Less than a tick cannot be split.
        let share = if user + system > 0.0 { user / (user + system) } else { 0.0 };
        let user = total.mul_f64(share);
        (user, total.saturating_sub(user))
    }
}

/// Resident octets. Memory shared by its processes counts once.
pub fn resident(pid: u32) -> Result<u64> {
    let family = family(pid)?;
    let field = if family.len() == 1 { "Rss:" } else { "Pss:" };
    family.into_iter().try_fold(0, |sum, pid| {
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = fs::read_to_string(&path).context(&path)?;
        let octets = kibibytes(&text, field).ok_or_else(|| Error::new(format!("{path} has no {field}")))?;
        Ok(sum + octets * 1024)
    })
}

/// A process and its descendants.
fn family(pid: u32) -> Result<Vec<u32>> {
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(pid) = family.get(next) {
        let tasks = format!("/proc/{pid}/task");
        for task in fs::read_dir(&tasks).context(&tasks)? {
            family.extend(children(&task?.path()));
        }
        next += 1;
    }
    Ok(family)
}

fn children(task: &Path) -> Vec<u32> {
    let text = fs::read_to_string(task.join("children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// utime and stime of a `stat` line. The second field is the command's name in brackets and may itself hold blanks and
/// brackets, so counting starts after the last one.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn kibibytes(text: &str, field: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use testkit::process::Process;

    use super::*;

    #[test]
    fn the_total_is_exact_and_split_by_ticks() {
        let spent = |millis: u64, user_ticks, system_ticks| Usage {
            total: Duration::from_millis(millis),
            user_ticks,
            system_ticks,
        };
        for (before, after, expected) in [
            (spent(100, 4, 6), spent(300, 9, 21), (50, 150)),
            (spent(100, 4, 6), spent(104, 4, 6), (0, 4)),
            (spent(0, 0, 0), spent(80, 8, 0), (80, 0)),
        ] {
            let (user, system) = after.since(before);
            assert_eq!((user.as_millis(), system.as_millis()), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn children_are_included() {
        let mut command = Command::new("sh");
        // The child ends with the shell, however this test does.
        command.args(["-c", "(while kill -0 $$; do :; done) & echo up; wait"]);
        let shell = Process::start("sh", command).unwrap();
        shell.wait_for_line("up", Duration::from_secs(10)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while Usage::by(shell.pid()).unwrap().total < Duration::from_millis(100) {
            assert!(Instant::now() < deadline, "the child's time is not counted");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(resident(shell.pid()).unwrap() > 0);
        assert_eq!(family(shell.pid()).unwrap().len(), 2);
    }

    #[test]
    fn proc_files() {
        assert_eq!(ticks("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 111 222 0 0 20"), Some((111, 222)));
        assert_eq!(kibibytes("Rss:      12 kB\nPss:       7 kB\n", "Pss:"), Some(7));
        assert_eq!(kibibytes("Rss:      12 kB\n", "Pss:"), None);
    }
}
