//! One command, run in the foreground or beside the server, with the server's own input and outputs.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ExitStatus};

use golang::{quoted, system_error};
use server::log;

pub(super) struct Command {
    program: String,
    args: Vec<String>,
    background: bool,
    /// Tells the lines of one command from those of others in the log.
    id: String,
}

impl Command {
    /// A `&` behind the last argument asks for the background.
    pub fn new(program: String, mut args: Vec<String>) -> Command {
        let background = args.pop_if(|last| last == "&").is_some();
        Command { program, args, background, id: id() }
    }

    /// Runs it, to its end unless it is for the background. What goes wrong is logged and no more: the server
    /// serves all the same.
    pub fn run(&self) {
        let Command { program, id, .. } = self;
        let way = if self.background { "Nonblocking" } else { "Blocking" };
        log::info(None, format_args!("{way} Command \"{program} {}\" with ID {id}", self.args.join(" ")));
        // The command writes to where the log goes: what was logged before it stands before its output.
        log::flush();
        if let Err(error) = self.start() {
            log::error(None, format_args!("error on 'on-{id}' hook: {error}"));
        }
    }

    fn start(&self) -> Result<(), String> {
        let mut child = process::Command::new(&self.program)
            .args(&self.args)
            .spawn()
            .map_err(|error| self.not_started(&error))?;
        if self.background {
            // Somebody must wait for it, or it stays in the process table until the server ends.
            let waiting = supervise::thread("on-reaper", "rhumb-on".into(), move || drop(child.wait()));
            return waiting.map(drop).map_err(|error| system_error(&error));
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(ended(status)),
            Err(error) => Err(system_error(&error)),
        }
    }

    fn not_started(&self, error: &io::Error) -> String {
        if error.kind() == io::ErrorKind::NotFound && !self.program.contains('/') {
            return format!("exec: {}: executable file not found in $PATH", quoted(&self.program));
        }
        format!("fork/exec {}: {}", self.program, system_error(error))
    }
}

/// In Go's words.
fn ended(status: ExitStatus) -> String {
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
