//! A child process with collected output, which does not outlive the test.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use regex::Regex;
pub use rustix::process::Signal;

use crate::error::{Context, Error, Result};

/// Time from TERM to KILL.
const TERM_TIMEOUT: Duration = Duration::from_secs(5);

/// A running child. Dropping it sends TERM and, after a timeout, KILL to its process id.
pub struct Process {
    name: String,
    child: Mutex<Child>,
    pid: u32,
    output: Arc<Output>,
}

/// The output so far, lines of both streams in the order they were read.
#[derive(Default)]
struct Output {
    state: Mutex<OutputState>,
    grown: Condvar,
}

#[derive(Default)]
struct OutputState {
    lines: Vec<String>,
    /// Number of streams still open; at zero the output is complete.
    open: usize,
}

impl Output {
    fn lock(&self) -> MutexGuard<'_, OutputState> {
        // A panicking reader leaves whole lines behind; they are still usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// Starts `command` without standard input and collects both its outputs.
    pub fn start(name: impl Into<String>, command: Command) -> Result<Self> {
        let name = name.into();
        let mut child = spawn(with_death_signal(command)).context(format!("cannot start {name}"))?;
        let output = Arc::new(Output::default());
        output.lock().open = 2;
        if let Some(stream) = child.stdout.take() {
            collect(stream, Arc::clone(&output));
        }
        if let Some(stream) = child.stderr.take() {
            collect(stream, Arc::clone(&output));
        }
        let pid = child.id();
        Ok(Self { name, child: Mutex::new(child), pid, output })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Every line printed so far.
    pub fn lines(&self) -> Vec<String> {
        self.output.lock().lines.clone()
    }

    /// Every line printed so far, as one text.
    pub fn output(&self) -> String {
        self.output.lock().lines.join("\n")
    }

    /// Waits until a line contains `text`, from the first line on, and returns it.
    pub fn wait_for_line(&self, text: &str, timeout: Duration) -> Result<String> {
        self.wait_for(&format!("a line with {text:?}"), timeout, |line| line.contains(text))
    }

    /// Waits until a line matches `pattern`, from the first line on, and returns it.
    pub fn wait_for_match(&self, pattern: &Regex, timeout: Duration) -> Result<String> {
        self.wait_for(&format!("a line matching {pattern}"), timeout, |line| pattern.is_match(line))
    }

    fn wait_for(&self, what: &str, timeout: Duration, matches: impl Fn(&str) -> bool) -> Result<String> {
        let deadline = Instant::now() + timeout;
        let mut read = 0;
        let mut state = self.output.lock();
        loop {
            if let Some(line) = state.lines[read..].iter().find(|line| matches(line)) {
                return Ok(line.clone());
            }
            read = state.lines.len();
            let left = deadline.saturating_duration_since(Instant::now());
            if state.open == 0 || left.is_zero() {
                let why = if state.open == 0 { "it exited" } else { "timed out" };
                return Err(Error::new(format!(
                    "{}: did not print {what} ({why}); its output:\n{}",
                    self.name,
                    state.lines.join("\n")
                )));
            }
            state = self.output.grown.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Its exit status, if it has ended.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.child().try_wait().ok().flatten()
    }

    /// Waits until it ends and its output is complete.
    pub fn wait(&self, timeout: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(status) = self.exit_status() {
                self.drain();
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(Error::new(format!("{} did not exit within {timeout:?}", self.name)));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal to it alone. An error once it has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        // Under the lock and only while not reaped: until then the kernel does not reuse its id.
        let mut child = self.child();
        if child.try_wait()?.is_some() {
            return Err(Error::new(format!("{} has exited already", self.name)));
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).context(format!("cannot signal {}", self.name))
    }

    /// Sends TERM, then KILL after some seconds; returns the exit status.
    pub fn terminate(&self) -> Result<ExitStatus> {
        if self.signal(Signal::TERM).is_ok()
            && let Ok(status) = self.wait(TERM_TIMEOUT)
        {
            return Ok(status);
        }
        self.kill()
    }

    /// Sends KILL.
    pub fn kill(&self) -> Result<ExitStatus> {
        let status = {
            let mut child = self.child();
            child.kill()?;
            child.wait()?
        };
        self.drain();
        Ok(status)
    }

    /// Processor time used so far, in user and in kernel mode.
    pub fn cpu_times(&self) -> Result<(Duration, Duration)> {
        let stat = self.proc_file("stat")?;
        let ticks = parse_cpu_ticks(&stat)
            .ok_or_else(|| Error::new(format!("/proc/{}/stat is not as expected: {stat}", self.pid)))?;
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let time = |t: u64| Duration::from_secs_f64(t as f64 / per_second);
        Ok((time(ticks.0), time(ticks.1)))
    }

    /// Resident memory now, in bytes.
    pub fn rss(&self) -> Result<u64> {
        self.status_bytes("VmRSS")
    }

    /// Peak resident memory since its start or [`Self::reset_peak`], in bytes.
    pub fn vm_hwm(&self) -> Result<u64> {
        self.status_bytes("VmHWM")
    }

    /// Resets [`Self::vm_hwm`].
    pub fn reset_peak(&self) -> Result<()> {
        std::fs::write(format!("/proc/{}/clear_refs", self.pid), "5")
            .context(format!("{} (process {}) cannot reset its memory peak", self.name, self.pid))
    }

    fn status_bytes(&self, field: &str) -> Result<u64> {
        let status = self.proc_file("status")?;
        parse_status_bytes(&status, field)
            .ok_or_else(|| Error::new(format!("/proc/{}/status has no {field}", self.pid)))
    }

    fn proc_file(&self, file: &str) -> Result<String> {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.pid))
            .context(format!("{} (process {}) cannot be read from /proc", self.name, self.pid))
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After the exit: lets the reader threads empty the pipes. Bounded, since a
    /// grandchild may hold them open.
    fn drain(&self) {
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut state = self.output.lock();
        while state.open > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.output.grown.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.exit_status().is_none() {
            let _ = self.terminate();
        }
    }
}

/// utime and stime of a /proc/PID/stat line. The second field is the command's name in brackets and may
/// itself hold blanks and brackets, so counting starts after the last one.
fn parse_cpu_ticks(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn parse_status_bytes(status: &str, field: &str) -> Option<u64> {
    let value = status.lines().find_map(|l| l.strip_prefix(field)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn collect(stream: impl Read + Send + 'static, output: Arc<Output>) {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        // Bytes, not `lines()`: a server may log what a client sent, and that need not be UTF-8.
        while stream.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            output.lock().lines.push(text);
            output.grown.notify_all();
            line.clear();
        }
        output.lock().open -= 1;
        output.grown.notify_all();
    });
}

/// The same command, set up so that the kernel kills it when this process dies. `setpriv` execs the
/// command, so the process id is the command's own. Without setpriv the command runs unprotected.
fn with_death_signal(command: Command) -> Command {
    static SETPRIV: OnceLock<Option<PathBuf>> = OnceLock::new();
    let setpriv = SETPRIV.get_or_init(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|dir| dir.join("setpriv")).find(|p| p.is_file())
    });
    let mut wrapped = match setpriv {
        Some(setpriv) => {
            let mut wrapped = Command::new(setpriv);
            wrapped.args([OsStr::new("--pdeathsig"), OsStr::new("KILL"), command.get_program()]);
            wrapped
        }
        None => Command::new(command.get_program()),
    };
    wrapped.args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(key, value),
            None => wrapped.env_remove(key),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        wrapped.current_dir(dir);
    }
    wrapped.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    wrapped
}

type Job = (Command, Sender<std::io::Result<Child>>);

/// Starts children from one thread that lives as long as the process. "Death of the parent" is, to the
/// kernel, death of the *thread* that started the child: a server started by one test and shared with
/// others would otherwise die when that test's thread ends.
fn spawn(command: Command) -> Result<Child> {
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::spawn(move || {
            for (mut command, done) in queue {
                let _ = done.send(command.spawn());
            }
        });
        jobs
    });
    let (done, result) = mpsc::channel();
    spawner.send((command, done)).context("the thread that starts processes has ended")?;
    Ok(result.recv().context("the thread that starts processes has ended")??)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start("sh", command).unwrap()
    }

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn waits_for_lines() {
        let p = shell("echo one; sleep 0.2; echo two >&2; exec sleep 60");
        assert_eq!(p.wait_for_line("two", SOON).unwrap(), "two");
        assert_eq!(p.wait_for_match(&Regex::new("^o.e$").unwrap(), SOON).unwrap(), "one");
        let e = p.wait_for_line("three", Duration::from_millis(50)).unwrap_err().to_string();
        assert!(e.contains("timed out") && e.contains("one\ntwo"), "{e}");
        assert!(p.rss().unwrap() > 0 && p.vm_hwm().unwrap() >= p.rss().unwrap());
        p.reset_peak().unwrap();
        p.cpu_times().unwrap();
    }

    #[test]
    fn early_exit_is_reported_with_the_output() {
        let p = shell("echo no such flag >&2; exit 3");
        let e = p.wait_for_line("ready", SOON).unwrap_err().to_string();
        assert!(e.contains("it exited") && e.contains("no such flag"), "{e}");
        assert_eq!(p.wait(SOON).unwrap().code(), Some(3));
        assert!(p.signal(Signal::HUP).is_err());
    }

    #[test]
    fn terminate_sends_term_first() {
        let p = shell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
        p.wait_for_line("up", SOON).unwrap();
        assert!(p.terminate().unwrap().success());
        assert_eq!(p.lines(), ["up", "bye"]);
    }

    #[test]
    fn drop_ends_the_process() {
        let p = shell("exec sleep 60");
        let pid = p.pid();
        drop(p);
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn outlives_the_thread_that_started_it() {
        let p = thread::spawn(|| shell("echo up; exec sleep 60")).join().unwrap();
        p.wait_for_line("up", SOON).unwrap();
        thread::sleep(Duration::from_millis(100));
        assert!(p.exit_status().is_none());
    }

    #[test]
    fn proc_files() {
        assert_eq!(
            parse_cpu_ticks("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 111 222 0 0 20"),
            Some((111, 222)),
            "a name with brackets and blanks"
        );
        assert_eq!(parse_status_bytes("Name:\tx\nVmRSS:\t    12 kB\n", "VmRSS"), Some(12288));
        assert_eq!(parse_status_bytes("Name:\tx\n", "VmRSS"), None);
    }
}
