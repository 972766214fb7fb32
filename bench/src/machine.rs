//! The machine: who runs where on it, and the facts a reader needs to judge the numbers.

use std::path::Path;
use std::process::Command;

use testkit::error::{Context, Error, Result};

/// The server under measurement has this processor for itself.
pub const SERVER_CPU: usize = 0;

/// dnsperf and the upstream share this one.
pub const CLIENT_CPU: usize = 1;

pub struct Machine {
    /// As YYYY-MM-DD, in UTC.
    pub date: String,
    /// What and its value, in the order they are shown.
    pub facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// `versions` are those of the servers, by name.
    pub fn look(versions: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let date = first_line(Command::new("date").args(["-u", "+%F"]));
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        // Not those we may use: we keep to one.
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

/// Server and dnsperf on one processor would measure their fight over it.
pub fn needs_two_processors() -> Result<()> {
    match std::thread::available_parallelism() {
        Ok(n) if n.get() > CLIENT_CPU => Ok(()),
        _ => Err(Error::new("two processors are needed, one for the server and one for dnsperf")),
    }
}

/// Puts a process that was started elsewhere where it does not disturb the server.
pub fn move_to_client_cpu(pid: u32) -> Result<()> {
    move_to(pid, &CLIENT_CPU.to_string())
}

/// Lets a process run on both processors again.
pub fn move_to_both_cpus(pid: u32) -> Result<()> {
    move_to(pid, &format!("{SERVER_CPU}-{CLIENT_CPU}"))
}

/// With all its threads. One that ends meanwhile makes taskset fail, so it is tried again.
fn move_to(pid: u32, cpus: &str) -> Result<()> {
    const TRIES: u32 = 5;
    let mut said = String::new();
    for _ in 0..TRIES {
        let output = Command::new("taskset").args(["-a", "-c", "-p", cpus, &pid.to_string()]).output();
        let output = output.context("taskset")?;
        if output.status.success() {
            return Ok(());
        }
        said = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    Err(Error::new(format!("taskset: {said}")))
}

/// Of what a command prints, on one stream or the other.
pub fn first_line(command: &mut Command) -> String {
    let text = command.output().map(|output| [output.stdout, output.stderr].concat());
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    let line = text.lines().next().unwrap_or_default().trim().to_owned();
    if line.is_empty() { "unknown".to_owned() } else { line }
}

/// It tells its version with the help, on one stream or the other.
fn dnsperf_version() -> String {
    let Ok(output) = Command::new("dnsperf").arg("-h").output() else { return "missing".to_owned() };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().find_map(|line| line.strip_prefix("Version ")).unwrap_or("unknown").to_owned()
}
