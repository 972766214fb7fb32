//! The machine: CPU assignment, and the facts that the results depend on.

use std::path::Path;
use std::process::Command;

use testkit::error::{Context, Error, Result};

/// The CPU of the server under measurement alone.
pub const SERVER_CPU: usize = 0;

/// The CPU of dnsperf and the upstream.
pub const CLIENT_CPU: usize = 1;

pub struct Machine {
    /// As YYYY-MM-DD, in UTC.
    pub date: String,
    /// Name and value, in order of display.
    pub facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// `versions` are those of the servers, by name.
    pub fn look(versions: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let date = first_line(Command::new("date").args(["-u", "+%F"]));
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        // All CPUs, not those we may use: we are pinned to one.
        let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut facts = vec![
            ("date", first_line(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))),
            (
                "commit",
                first_line(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root)),
            ),
            ("cpu", cpu.map_or("unknown", |(_, model)| model).to_owned()),
            ("cores", cores.to_string()),
            ("kernel", first_line(Command::new("uname").arg("-sr"))),
        ];
        facts.extend(versions);
        facts.push(("dnsperf", dnsperf_version()));
        Self { date, facts }
    }
}

/// On one CPU the server and dnsperf would compete.
pub fn needs_two_processors() -> Result<()> {
    match std::thread::available_parallelism() {
        Ok(n) if n.get() > CLIENT_CPU => Ok(()),
        _ => Err(Error::new("two processors are needed, one for the server and one for dnsperf")),
    }
}

/// Moves a process off the server's CPU.
pub fn move_to_client_cpu(pid: u32) -> Result<()> {
    move_to(pid, &CLIENT_CPU.to_string())
}

/// Lets a process run on both CPUs again.
pub fn move_to_both_cpus(pid: u32) -> Result<()> {
    move_to(pid, &format!("{SERVER_CPU}-{CLIENT_CPU}"))
}

/// Moves all its threads. A thread that ends meanwhile makes taskset fail, so it is retried.
fn move_to(pid: u32, cpus: &str) -> Result<()> {
    const TRIES: u32 = 5;
    let mut stderr = String::new();
    for _ in 0..TRIES {
        let output = Command::new("taskset").args(["-a", "-c", "-p", cpus, &pid.to_string()]).output();
        let output = output.context("taskset")?;
        if output.status.success() {
            return Ok(());
        }
        stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    Err(Error::new(format!("taskset: {stderr}")))
}

/// The first line of a command's output, on either stream.
pub fn first_line(command: &mut Command) -> String {
    let text = command.output().map(|output| [output.stdout, output.stderr].concat());
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    let line = text.lines().next().unwrap_or_default().trim().to_owned();
    if line.is_empty() { "unknown".to_owned() } else { line }
}

/// dnsperf prints its version with the help, on either stream.
fn dnsperf_version() -> String {
    let Ok(output) = Command::new("dnsperf").arg("-h").output() else { return "missing".to_owned() };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().find_map(|line| line.strip_prefix("Version ")).unwrap_or("unknown").to_owned()
}
