//! Serving: everything that touches the server's runtime.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use server::{Refusal, RunOptions, Server, log};

use crate::input::Corefile;
use crate::version;

/// What a command has to say about the server it starts.
pub struct Serve {
    pub corefile: Corefile,
    pub pidfile: Option<PathBuf>,
    pub quiet: bool,
    /// Called once the server answers.
    pub ready: Box<dyn Fn(&Server) + Send + Sync>,
}

impl Serve {
    pub fn new(corefile: Corefile) -> Serve {
        Serve { corefile, pidfile: None, quiet: false, ready: Box::new(|_| ()) }
    }
}

/// Serves until told to stop.
pub fn serve(serve: Serve) -> ExitCode {
    let Serve { corefile, pidfile, quiet, ready } = serve;
    let options = RunOptions {
        input: Box::new(move || {
            corefile.read().map_err(|error| if corefile.is_named() { via_flag(error) } else { error })
        }),
        plugins: plugins::PLUGINS,
        quiet,
        pidfile,
        version_banner: version::text(),
        ready,
    };
    match server::run(options) {
        Ok(code) => code,
        Err(refusal) => {
            refuse(&refusal);
            ExitCode::FAILURE
        }
    }
}

/// The words CoreDNS has for a Corefile that was named by a flag and cannot be read.
pub fn via_flag(error: String) -> String {
    format!("loading Caddyfile via flag: {error}")
}

/// Says why there is nothing to serve: one line as CoreDNS has it, and for people the place in the Corefile.
fn refuse(refusal: &Refusal) {
    fail(refusal);
    if let Refusal::Wrong(errors) = refusal
        && io::stderr().is_terminal()
        && log::format() == log::Format::Text
    {
        for error in errors {
            eprintln!("\n{}", error.render(true));
        }
    }
}

/// The last line of a process that did not get to serve, on standard error, in the format of the log.
pub fn fail(message: impl std::fmt::Display) {
    match log::format() {
        log::Format::Text => eprintln!("{message}"),
        log::Format::Json => {
            log::set_output(Box::new(io::stderr()));
            log::fatal(None, format_args!("{message}"));
        }
    }
}
