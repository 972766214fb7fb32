//! Available CPUs, and pinning a thread to one.

use std::{fs, io, thread};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Number of CPUs: those this thread may run on, or the cgroup's CPU quota rounded up, whichever is less. The standard
/// library rounds down, which would give a pod of 1.5 CPUs one worker.
pub fn available() -> usize {
    let allowed = match sched_getaffinity(None) {
        Ok(cpus) => cpus.count() as usize,
        // The kernel rejects a set of 1024 CPUs on a machine with more.
        Err(_) => thread::available_parallelism().map_or(1, usize::from),
    };
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let quota = quota(&cgroups, |path| fs::read_to_string(path).ok());
    allowed.min(quota.unwrap_or(usize::MAX)).max(1)
}

/// Pins the calling thread to one CPU, numbered as in `/proc/cpuinfo`.
pub fn pin_to(cpu: usize) -> io::Result<()> {
    let mut cpus = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    cpus.set(cpu);
    Ok(sched_setaffinity(None, &cpus)?)
}

/// The smallest quota of the cgroups in `/proc/self/cgroup` and of their ancestors, in whole CPUs.
///
/// In a container the path can be the host's, with only the container's own part mounted; so every ancestor is tried and
/// missing ones are skipped.
fn quota(cgroups: &str, read: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let mut smallest: Option<usize> = None;
    for line in cgroups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let v2 = controllers.is_empty();
        if !v2 && !controllers.split(',').any(|controller| controller == "cpu") {
            continue;
        }
        for ancestor in ancestors(path) {
            let found = if v2 {
                read(&format!("/sys/fs/cgroup{ancestor}/cpu.max")).and_then(|text| v2_quota(&text))
            } else {
                // The directory is named after all controllers, usually with a link named after each.
                ["cpu", controllers].iter().find_map(|directory| {
                    let file = |name| read(&format!("/sys/fs/cgroup/{directory}{ancestor}/{name}"));
                    v1_quota(&file("cpu.cfs_quota_us")?, &file("cpu.cfs_period_us")?)
                })
            };
            smallest = smallest.into_iter().chain(found).min();
        }
    }
    smallest
}

/// `/a/b` → `/a/b`, `/a` and the empty path, which is the mount point.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_end_matches('/');
    std::iter::successors(Some(path), |path| path.rfind('/').map(|slash| &path[..slash]))
}

/// `cpu.max`: quota and period in microseconds, or `max` for no quota.
fn v2_quota(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    round_up(words.next()?, words.next()?)
}

/// `cpu.cfs_quota_us` (-1 for none) and `cpu.cfs_period_us`.
fn v1_quota(quota: &str, period: &str) -> Option<usize> {
    round_up(quota.trim(), period.trim())
}

/// `None` unless both are positive numbers.
fn round_up(quota: &str, period: &str) -> Option<usize> {
    let quota = quota.parse::<usize>().ok().filter(|&quota| quota > 0)?;
    let period = period.parse::<usize>().ok().filter(|&period| period > 0)?;
    Some(quota.div_ceil(period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v2_table() {
        let table = [
            ("max 100000\n", None),
            ("100000 100000\n", Some(1)),
            ("150000 100000\n", Some(2)),
            ("10000 100000", Some(1)),
            ("800000 100000", Some(8)),
            ("800001 100000", Some(9)),
            ("0 100000", None),
            ("100000 0", None),
            ("100000", None),
            ("", None),
            ("many few", None),
        ];
        for (text, expected) in table {
            assert_eq!(v2_quota(text), expected, "{text:?}");
        }
    }

    #[test]
    fn v1_table() {
        let table =
            [("-1\n", "100000\n", None), ("50000\n", "100000\n", Some(1)), ("250000\n", "100000\n", Some(3))];
        for (quota, period, expected) in table {
            assert_eq!(v1_quota(quota, period), expected, "{quota:?} {period:?}");
        }
    }

    #[test]
    fn quota_table() {
        type Files = &'static [(&'static str, &'static str)];
        // (case, /proc/self/cgroup, files, quota)
        let table: [(&str, &str, Files, Option<usize>); 8] = [
            ("nothing", "", &[], None),
            ("v2 in its own namespace", "0::/\n", &[("/sys/fs/cgroup/cpu.max", "250000 100000")], Some(3)),
            (
                "v2, the pod has less than the container",
                "0::/kubepods/pod1/c1\n",
                &[
                    ("/sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "400000 100000"),
                    ("/sys/fs/cgroup/kubepods/pod1/cpu.max", "200000 100000"),
                    ("/sys/fs/cgroup/kubepods/cpu.max", "max 100000"),
                ],
                Some(2),
            ),
            (
                "v2, the host's path, our part mounted",
                "0::/kubepods/pod1/c1\n",
                &[("/sys/fs/cgroup/cpu.max", "100000 100000")],
                Some(1),
            ),
            (
                "v1 by the single name",
                "5:memory:/m\n4:cpu,cpuacct:/docker/x\n",
                &[
                    ("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "150000\n"),
                    ("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n"),
                    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
                    ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
                ],
                Some(2),
            ),
            (
                "v1 by both names",
                "4:cpuacct,cpu:/\n",
                &[
                    ("/sys/fs/cgroup/cpuacct,cpu/cpu.cfs_quota_us", "400000\n"),
                    ("/sys/fs/cgroup/cpuacct,cpu/cpu.cfs_period_us", "100000\n"),
                ],
                Some(4),
            ),
            (
                "cpuset and cpuacct are not cpu",
                "4:cpuset:/\n3:cpuacct:/\n",
                &[
                    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n"),
                    ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
                ],
                None,
            ),
            ("a malformed line", "0::\nnonsense\n\n", &[("/sys/fs/cgroup/cpu.max", "1 1")], Some(1)),
        ];
        for (case, cgroups, files, expected) in table {
            let read =
                |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
            assert_eq!(quota(cgroups, read), expected, "{case}");
        }
    }

    #[test]
    fn pinned_thread_has_one_cpu() {
        thread::spawn(|| {
            let cpus = sched_getaffinity(None).unwrap();
            pin_to((0..CpuSet::MAX_CPU).find(|cpu| cpus.is_set(*cpu)).unwrap()).unwrap();
            assert_eq!(available(), 1);
            assert_eq!(pin_to(1_000_000).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        })
        .join()
        .unwrap();
    }
}
