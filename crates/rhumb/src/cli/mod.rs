//! The command line: CoreDNS's flags or subcommands, and their dispatch.

mod args;
mod check;
mod coredns;
mod example;
mod explain;
mod go_flags;
mod list;
mod migrate;
mod serve;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};

pub fn main(args: Vec<OsString>) -> ExitCode {
    if is_coredns_form(&args) {
        let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        return coredns::main(&words);
    }
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Help goes to standard output with exit code 0. A failed write cannot be reported.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match args.command {
        Command::Serve(args) => serve::main(args),
        Command::Check(args) => check::main(&args),
        Command::Explain(args) => explain::main(args),
        Command::Plugins => list::main(),
        Command::Example(args) => example::main(&args),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "rhumb", &mut text);
            print(&text)
        }
        Command::Man { command } => man(command.as_deref()),
    }
}

/// Prints the manual page of rhumb or of one command.
fn man(command: Option<&str>) -> ExitCode {
    let mut page = Args::command();
    // Sets the full names of the subcommands.
    page.build();
    if let Some(name) = command {
        match page.find_subcommand(name) {
            Some(command) => page = command.clone(),
            None => return print_error(&format!("unknown command '{name}'; see rhumb --help")),
        }
    }
    let mut text = Vec::new();
    match clap_mangen::Man::new(page).render(&mut text) {
        Ok(()) => print(&text),
        Err(error) => print_error(&error.to_string()),
    }
}

/// Writes to standard output. A closed pipe, as by `head`, is no error.
fn print(text: &[u8]) -> ExitCode {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            print_error(&format!("standard output: {error}"))
        }
        _ => ExitCode::SUCCESS,
    }
}

fn print_error(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}

/// CoreDNS has no subcommands, so a first argument that is not a flag is one of Rhumb's. `-h` and `--help` print
/// Rhumb's help, which describes both forms.
fn is_coredns_form(args: &[OsString]) -> bool {
    match args.get(1).map(|arg| arg.to_string_lossy()) {
        None => true,
        Some(first) => first.starts_with('-') && first != "-h" && first != "--help",
    }
}
