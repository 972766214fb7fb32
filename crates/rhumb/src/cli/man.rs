//! `rhumb man`: manual pages, made from the help.

use std::process::ExitCode;

use clap::CommandFactory;

use super::{CommandLine, print, print_error};

/// Print the manual page of rhumb, or of one of its commands
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  rhumb man | man -l -\n  rhumb man explain > rhumb-explain.1")]
pub struct Args {
    command: Option<String>,
}

pub fn main(args: Args) -> ExitCode {
    let mut page = CommandLine::command();
    // Sets the full names of the subcommands.
    page.build();
    if let Some(name) = args.command {
        match page.find_subcommand(&name) {
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
