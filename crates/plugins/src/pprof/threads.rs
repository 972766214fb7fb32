//! The CPU time of each thread, as the kernel counts it: no signals, no samples, no cost between two reads.

use std::collections::BTreeMap;
use std::fs;

/// Name and CPU time in nanoseconds of each thread, by thread id.
pub(super) type Threads = BTreeMap<u32, (String, u64)>;

pub(super) fn read() -> Threads {
    let Ok(folder) = fs::read_dir("/proc/self/task") else { return Threads::new() };
    let thread = |id: u32| {
        let file = |name| fs::read_to_string(format!("/proc/self/task/{id}/{name}")).ok();
        // Not every kernel has schedstat, which is in nanoseconds.
        let time = file("schedstat").and_then(|text| schedstat_time(&text));
        let time = time.or_else(|| file("stat").and_then(|text| stat_time(&text)))?;
        Some((id, (file("comm")?.trim_end().to_owned(), time)))
    };
    let ids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter_map(thread).collect()
}

/// The first number of `schedstat`.
fn schedstat_time(schedstat: &str) -> Option<u64> {
    schedstat.split(' ').next()?.parse().ok()
}

/// User and system time of `stat`, in hundredths of a second. The name may contain blanks and brackets.
fn stat_time(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    Some((times.next()?? + times.next()??) * 10_000_000)
}

/// CPU time between two reads with the threads' names, largest first.
pub(super) fn usage(before: &Threads, after: &Threads) -> Vec<(String, u64)> {
    let mut usage: Vec<(String, u64)> = after
        .iter()
        .map(|(number, (name, time))| {
            let already = before.get(number).map_or(0, |(_, time)| *time);
            (name.clone(), time.saturating_sub(already))
        })
        .filter(|(_, time)| *time > 0)
        .collect();
    usage.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_files_of_proc() {
        assert_eq!(schedstat_time("1234567 89 10\n"), Some(1_234_567));
        assert_eq!(schedstat_time("\n"), None);
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 25 17 0 0 20 0 9 0 1\n";
        assert_eq!(stat_time(stat), Some(420_000_000));
        assert_eq!(stat_time("7 (a) S 1"), None);
    }

    #[test]
    fn this_thread_is_listed_and_uses_cpu_time() {
        let before = read();
        let mut sum = 0u64;
        while usage(&before, &read()).is_empty() {
            sum = sum.wrapping_add(1);
        }
        assert!(!before.is_empty());
    }

    #[test]
    fn largest_first_and_new_threads_count_in_full() {
        let threads = |list: &[(u32, &str, u64)]| {
            list.iter().map(|(number, name, time)| (*number, ((*name).to_owned(), *time))).collect()
        };
        let before: Threads = threads(&[(1, "a", 10), (2, "b", 5), (3, "gone", 1)]);
        let after: Threads = threads(&[(1, "a", 12), (2, "b", 5), (4, "new", 7)]);
        assert_eq!(usage(&before, &after), [("new".to_owned(), 7), ("a".to_owned(), 2)]);
    }
}
