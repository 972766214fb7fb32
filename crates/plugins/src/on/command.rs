//! Runs a command in the foreground or background, with the server's standard input and outputs.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ExitStatus};

use golang::{quoted, system_error};
use server::log;

pub(super) struct Command {
    program: String,
    args: Vec<String>,
    background: bool,
    /// Identifies the command in log lines.
    id: String,
}

impl Command {
    /// A `&` as the last argument runs the command in the background.
    pub fn new(program: String, mut args: Vec<String>) -> Command {
        let background = args.pop_if(|last| last == "&").is_some();
        Command { program, args, background, id: id() }
    }

    /// Runs the command, and waits for its end unless it is a background command. An error is only logged: the server
    /// continues.
    pub fn run(&self) {
        let Command { program, id, .. } = self;
        let mode = if self.background { "Nonblocking" } else { "Blocking" };
        log::info(None, format_args!("{mode} Command \"{program} {}\" with ID {id}", self.args.join(" ")));
        // The command shares standard output with the log: earlier lines must precede its output.
        log::flush();
        if let Err(error) = self.start() {
            log::error(None, format_args!("error on 'on-{id}' hook: {error}"));
        }
    }

    fn start(&self) -> Result<(), String> {
        let mut child = process::Command::new(&self.program)
            .args(&self.args)
            .spawn()
            .map_err(|error| self.start_error(&error))?;
        if self.background {
            // Without wait(2) the child would remain a zombie until the server ends.
            let reaper = supervise::thread("on-reaper", "rhumb-on".into(), move || drop(child.wait()));
            return reaper.map(drop).map_err(|error| system_error(&error));
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(exit_error(status)),
            Err(error) => Err(system_error(&error)),
        }
    }

    fn start_error(&self, error: &io::Error) -> String {
        if error.kind() == io::ErrorKind::NotFound && !self.program.contains('/') {
            return format!("exec: {}: executable file not found in $PATH", quoted(&self.program));
        }
        format!("fork/exec {}: {}", self.program, system_error(error))
    }
}

/// Go's text for an exit status.
fn exit_error(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => {
            let dumped = if status.core_dumped() { " (core dumped)" } else { "" };
            format!("signal: {}{dumped}", signal_name(signal))
        }
        (None, None) => status.to_string(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        5 => "trace/breakpoint trap",
        6 => "aborted",
        7 => "bus error",
        8 => "floating point exception",
        9 => "killed",
        10 => "user defined signal 1",
        11 => "segmentation fault",
        12 => "user defined signal 2",
        13 => "broken pipe",
        14 => "alarm clock",
        15 => "terminated",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// A random UUID (RFC 9562 §5.4).
fn id() -> String {
    let bits = rand::random::<u128>() & !(0xf000 << 64) & !(0xc000 << 48) | 0x4000 << 64 | 0x8000 << 48;
    let digits = format!("{bits:032x}");
    let (a, rest) = digits.split_at(8);
    let (b, rest) = rest.split_at(4);
    let (c, rest) = rest.split_at(4);
    let (d, e) = rest.split_at(4);
    format!("{a}-{b}-{c}-{d}-{e}")
}
