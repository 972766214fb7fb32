//! `rhumb plugins`: all plugins in the order of the chain.

use std::process::ExitCode;

use server::Availability;

use super::print;

/// List all plugins in the order of the chain
///
/// The plugins of a server block handle a query in this order, whatever their order in the Corefile.
#[derive(clap::Args)]
pub struct Args {}

pub fn main(_: Args) -> ExitCode {
    let width = plugins::PLUGINS.iter().map(|spec| spec.name.len()).max().unwrap_or(0);
    let line = |spec: &server::PluginSpec| {
        let note = match spec.availability {
            Availability::Available(_) => String::new(),
            Availability::Planned => " (still to come)".to_owned(),
            Availability::Unsupported(instead) => format!(" (not part of Rhumb: {instead})"),
        };
        format!("{:width$}  {}{note}\n", spec.name, spec.about)
    };
    print(plugins::PLUGINS.iter().map(line).collect::<String>().as_bytes())
}
