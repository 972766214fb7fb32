//! `rhumb serve`

use std::process::ExitCode;

use server::log;

use super::args::{LogFormat, ServeArgs};
use crate::input::Corefile;
use crate::run::{self, Serve};

pub fn main(args: ServeArgs) -> ExitCode {
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
