//! Starts the server and reports why it could not start.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use server::{ConfigError, RunOptions, Server, log};

use crate::input::Corefile;
use crate::version;

/// Options of a server run.
pub struct Serve {
    pub corefile: Corefile,
    pub pidfile: Option<PathBuf>,
    pub quiet: bool,
    /// Called once the server is ready for queries.
    pub ready: Box<dyn Fn(&Server) + Send + Sync>,
}

impl Serve {
    pub fn new(corefile: Corefile) -> Serve {
        Serve { corefile, pidfile: None, quiet: false, ready: Box::new(|_| ()) }
    }
}

/// Serves until a signal stops the process.
pub fn serve(serve: Serve) -> ExitCode {
    let Serve { corefile, pidfile, quiet, ready } = serve;
    let options = RunOptions {
        input: Box::new(move || {
            corefile.read().map_err(|error| if corefile.is_explicit() { via_flag(error) } else { error })
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
            report(&refusal);
            ExitCode::FAILURE
        }
    }
}

/// CoreDNS's error for a Corefile that was named by a flag and cannot be read.
pub fn via_flag(error: String) -> String {
    format!("loading Caddyfile via flag: {error}")
}

/// Prints why the server did not start: CoreDNS's line, and on a terminal also the excerpt of the Corefile.
fn report(refusal: &ConfigError) {
    fail(refusal);
    if let ConfigError::Invalid(errors) = refusal
        && io::stderr().is_terminal()
        && log::format() == log::Format::Text
    {
        for error in errors {
            eprintln!("\n{}", error.render(true));
        }
    }
}

/// Prints a fatal error on standard error in the format of the log.
pub fn fail(message: impl std::fmt::Display) {
    match log::format() {
        log::Format::Text => eprintln!("{message}"),
        log::Format::Json => {
            log::set_output(Box::new(io::stderr()));
            log::fatal(None, format_args!("{message}"));
        }
    }
}
