//! The command line: CoreDNS's flags or subcommands, and their dispatch.
//!
//! A subcommand is a file with `Args`, whose doc comments are its help and manual page, and `main`.

mod check;
mod completions;
mod coredns;
mod example;
mod explain;
mod go_flags;
mod list;
mod man;
mod migrate;
mod serve;
mod zone;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// Makes the enum of subcommands that clap parses, and its dispatch.
macro_rules! commands {
    ($($name:ident($module:ident),)*) => {
        #[derive(Subcommand)]
        enum Command {
            $($name($module::Args),)*
        }

        impl Command {
            fn run(self) -> ExitCode {
                match self {
                    $(Command::$name(args) => $module::main(args),)*
                }
            }
        }
    };
}

commands! {
    Serve(serve),
    Check(check),
    Explain(explain),
    Zone(zone),
    Plugins(list),
    Example(example),
    Completions(completions),
    Man(man),
}

/// A DNS server configured by CoreDNS's Corefile.
///
/// With CoreDNS's flags, or without arguments, rhumb behaves like CoreDNS: it serves the Corefile named by -conf, else
/// ./Corefile, else a default with the plugins whoami and log. The subcommands are Rhumb's own.
#[derive(Parser)]
#[command(
    name = "rhumb",
    version,
    disable_version_flag = true,
    subcommand_required = true,
    max_term_width = 100
)]
#[command(after_help = "CoreDNS's flags: -conf FILE, -dns.port N, -p N, -pidfile FILE, -plugins, \
                        -quiet, -version, -log-format text|json")]
#[command(after_long_help = "\
Examples:
  rhumb example                          serve an example on port 1053 and print queries to try
  rhumb check Corefile                   report errors and warnings in a Corefile
  rhumb check --migrate old/Corefile     replace options that CoreDNS has removed
  rhumb zone check db.example.org        report errors and warnings in a zone file
  rhumb explain web.shop.example         show the answer of ./Corefile to a query, and why
  rhumb serve --conf Corefile            serve a Corefile
  rhumb -conf Corefile -dns.port 1053    the same on port 1053, with CoreDNS's flags

CoreDNS's flags, with one dash or two:
  -conf FILE           Corefile to load; `stdin` reads standard input
  -dns.port N, -p N    port of server blocks without one (53)
  -log-format FORMAT   text or json
  -pidfile FILE        write the process ID to FILE
  -plugins             list the available plugins
  -quiet               print nothing at startup
  -version             print the version

Signals: TERM and INT stop (after lameduck), QUIT stops at once, USR1 and HUP reload the Corefile.")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Human-readable
    Text,
    /// Machine-readable
    Json,
}

pub fn main(args: Vec<OsString>) -> ExitCode {
    if is_coredns_form(&args) {
        let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        return coredns::main(&words);
    }
    match CommandLine::try_parse_from(args) {
        Ok(line) => line.command.run(),
        Err(error) => {
            // Help goes to standard output with exit code 0. A failed write cannot be reported.
            let _ = error.print();
            if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
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
