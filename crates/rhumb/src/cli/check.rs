//! `rhumb check`: loads Corefiles as the server does at startup, without serving them.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use corefile::{Diagnostic, Severity};
use serde_json::{Value, json};
use server::{Config, Input, config, log};

use super::{Output, migrate, print};
use crate::input::Corefile;

/// Result of checking one file.
pub struct Report<'a> {
    pub file: &'a str,
    /// The configuration, if the file can be served.
    pub config: Option<Config>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Check Corefiles without serving them
///
/// Prints every error and warning with its line. The exit code is 1 if any of the files has an error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  rhumb check Corefile
  rhumb check --output json Corefile | jq '.[].diagnostics'
  rhumb check --migrate old/Corefile > Corefile
  kubectl -n kube-system get configmap kube-dns -o yaml | rhumb check --migrate stdin")]
pub struct Args {
    /// Corefiles to check; `stdin` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Print an old Corefile with removed options replaced
    ///
    /// Replaces plugins and options that CoreDNS removed since version 1.0; comments and layout stay. Each change goes
    /// to standard error with its line and reason. Takes one file: a Corefile, or a ConfigMap (YAML or JSON) with a
    /// Corefile or with the keys of kube-dns. The exit code is 0 if the result loads.
    #[arg(long)]
    pub migrate: bool,
    /// Port of server blocks without one
    #[arg(short = 'p', long, value_name = "N", default_value_t = 53)]
    pub dns_port: u16,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub output: Output,
}

pub fn main(args: Args) -> ExitCode {
    // Log lines from the setup of plugins must not mix with the report.
    log::set_output(Box::new(io::stderr()));
    let port = args.dns_port.to_string();
    if args.migrate {
        return migrate::main(&args, &port);
    }
    let reports: Vec<Report<'_>> = args.files.iter().map(|file| check(file, &port)).collect();
    log::flush();
    let text = match args.output {
        Output::Text => reports.iter().map(as_text).collect(),
        Output::Json => format!("{:#}\n", Value::from(reports.iter().map(as_json).collect::<Vec<_>>())),
    };
    let printed = print(text.as_bytes());
    if reports.iter().all(|report| report.config.is_some()) { printed } else { ExitCode::FAILURE }
}

fn check<'a>(file: &'a str, port: &str) -> Report<'a> {
    match Corefile::from_flag(file, port).and_then(|corefile| corefile.read()) {
        Ok(input) => load(file, &input),
        Err(error) => Report { file, config: None, diagnostics: vec![Diagnostic::error(error)] },
    }
}

/// Loads a Corefile as the server does at startup.
pub fn load<'a>(file: &'a str, input: &Input) -> Report<'a> {
    match config::build(input, plugins::PLUGINS, &corefile::Disk) {
        Ok(mut config) => {
            let diagnostics = std::mem::take(&mut config.warnings);
            Report { file, config: Some(config), diagnostics }
        }
        Err(mut diagnostics) => {
            // Setup reports them in plugin order; the report is in file order.
            diagnostics
                .sort_by(|a, b| (a.file(), a.line(), a.column()).cmp(&(b.file(), b.line(), b.column())));
            Report { file, config: None, diagnostics }
        }
    }
}

fn as_text(report: &Report<'_>) -> String {
    let color = io::stdout().is_terminal();
    let mut text: String =
        report.diagnostics.iter().map(|diagnostic| format!("{}\n\n", diagnostic.render(color))).collect();
    let summary = match &report.config {
        Some(config) => {
            let listeners = listeners(config).join(", ");
            format!("{}: ok ({} on {listeners})\n", report.file, count(config.blocks().len(), "server block"))
        }
        None => {
            let errors = report
                .diagnostics
                .iter()
                .filter(|diagnostic| diagnostic.severity() == Severity::Error)
                .count();
            format!("{}: {}\n", report.file, count(errors, "error"))
        }
    };
    text.push_str(&summary);
    text
}

fn as_json(report: &Report<'_>) -> Value {
    let mut value = json!({
        "file": report.file,
        "ok": report.config.is_some(),
        "diagnostics": as_values(&report.diagnostics),
    });
    if let Some(config) = &report.config {
        value["blocks"] = config.blocks().len().into();
        value["listeners"] = listeners(config).into();
    }
    value
}

pub fn as_values(diagnostics: &[Diagnostic]) -> Vec<Value> {
    // `to_json` writes valid JSON.
    diagnostics
        .iter()
        .map(|diagnostic| serde_json::from_str(&diagnostic.to_json()).unwrap_or(Value::Null))
        .collect()
}

/// All ports the server would open: DNS first, then HTTP.
fn listeners(config: &Config) -> Vec<String> {
    let mut listeners: Vec<String> = config.services().map(|(_, service)| service.label.clone()).collect();
    for route in config.routes() {
        let label = format!("http://{}{}", route.addr, route.path);
        if !listeners.contains(&label) {
            listeners.push(label);
        }
    }
    listeners
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
