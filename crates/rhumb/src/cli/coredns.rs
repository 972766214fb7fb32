//! CoreDNS's command line: the same flags, texts and exit codes.

use std::path::PathBuf;
use std::process::ExitCode;

use server::{Availability, log};

use super::go_flags::{self, FlagError, Flags};
use super::print;
use crate::input::Corefile;
use crate::run::{self, Serve};
use crate::version;

pub fn main(words: &[String]) -> ExitCode {
    let (program, words) = match words {
        [program, words @ ..] => (program.as_str(), words),
        [] => ("rhumb", words),
    };
    match go_flags::parse(words) {
        Ok(flags) => act(flags),
        Err(FlagError::Help) => {
            eprint!("{}", go_flags::usage(program));
            ExitCode::SUCCESS
        }
        Err(FlagError::Invalid(message)) => {
            eprint!("{message}\n{}", go_flags::usage(program));
            ExitCode::from(2)
        }
    }
}

fn act(flags: Flags) -> ExitCode {
    match flags.log_format.as_str() {
        "text" => {}
        "json" => log::set_format(log::Format::Json),
        other => return fail(format!("unknown log format {other:?}: expected text or json")),
    }
    if !flags.arguments.is_empty() {
        return fail(format!("extra command line arguments: [{}]", flags.arguments.join(" ")));
    }
    if flags.version {
        return print(version::text().as_bytes());
    }
    if flags.plugins {
        return print(installed().as_bytes());
    }
    match Corefile::from_flag(&flags.conf, &flags.dns_port) {
        Ok(corefile) => {
            let pidfile = Some(flags.pidfile).filter(|path| !path.is_empty()).map(PathBuf::from);
            run::serve(Serve { pidfile, quiet: flags.quiet, ..Serve::new(corefile) })
        }
        Err(error) => fail(run::via_flag(error)),
    }
}

fn fail(message: String) -> ExitCode {
    run::fail(message);
    ExitCode::FAILURE
}

/// The available plugins in alphabetical order, with CoreDNS's empty line at the end.
fn installed() -> String {
    let available = |spec: &&server::PluginSpec| matches!(spec.availability, Availability::Available(_));
    let mut names: Vec<&str> = plugins::PLUGINS.iter().filter(available).map(|spec| spec.name).collect();
    names.sort_unstable();
    names.iter().map(|name| format!("{name}\n")).chain(["\n".to_owned()]).collect()
}
