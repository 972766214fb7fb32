//! `rhumb completions`: completions for a shell.

use std::process::ExitCode;

use clap::CommandFactory;

use super::{CommandLine, print};

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = "Example:\n  rhumb completions bash > /etc/bash_completion.d/rhumb")]
pub struct Args {
    shell: clap_complete::Shell,
}

pub fn main(args: Args) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "rhumb", &mut text);
    print(&text)
}
