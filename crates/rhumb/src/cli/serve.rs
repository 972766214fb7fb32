//! `rhumb serve`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use server::log;

use crate::input::Corefile;
use crate::run::{self, Serve};

/// Serve a Corefile
#[derive(clap::Args)]
pub struct Args {
    /// Corefile to load; `stdin` reads standard input. Default: ./Corefile
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub conf: String,
    /// Port of server blocks without one
    #[arg(short = 'p', long, value_name = "N", default_value_t = 53)]
    pub dns_port: u16,
    /// Write the process ID to this file
    #[arg(long, value_name = "FILE")]
    pub pidfile: Option<PathBuf>,
    /// Print nothing at startup
    #[arg(long)]
    pub quiet: bool,
    /// Format of log lines
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

pub fn main(args: Args) -> ExitCode {
    if args.log_format == LogFormat::Json {
        log::set_format(log::Format::Json);
    }
    match Corefile::from_flag(&args.conf, &args.dns_port.to_string()) {
        Ok(corefile) => {
            run::serve(Serve { pidfile: args.pidfile, quiet: args.quiet, ..Serve::new(corefile) })
        }
        Err(error) => {
            run::fail(run::via_flag(error));
            ExitCode::FAILURE
        }
    }
}
