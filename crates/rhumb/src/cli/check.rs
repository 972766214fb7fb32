//! `rhumb check`: reads Corefiles as a start would, and serves nothing.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use corefile::{Diagnostic, Severity};
use serde_json::{Value, json};
use server::{Config, config, log};

use super::args::{CheckArgs, Output};
use super::print;
use crate::input::Corefile;

/// What was found in one file.
struct Report<'a> {
    file: &'a str,
    /// The configuration, if the file can be served.
    config: Option<Config>,
    findings: Vec<Diagnostic>,
}

pub fn main(args: &CheckArgs) -> ExitCode {
    // What plugins log while they are set up must not get between the lines of the report.
    log::set_output(Box::new(io::stderr()));
    let port = args.dns_port.to_string();
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
    let input = match Corefile::named(file, port).and_then(|corefile| corefile.read()) {
        Ok(input) => input,
        Err(error) => return Report { file, config: None, findings: vec![Diagnostic::error(error)] },
    };
    match config::build(&input, plugins::PLUGINS, &corefile::Disk) {
        Ok(mut config) => {
            let findings = std::mem::take(&mut config.warnings);
            Report { file, config: Some(config), findings }
        }
        Err(mut findings) => {
            // They come in the order of the plugins; people read from the top.
            findings.sort_by(|a, b| (a.file(), a.line(), a.column()).cmp(&(b.file(), b.line(), b.column())));
            Report { file, config: None, findings }
        }
    }
}

fn as_text(report: &Report<'_>) -> String {
    let color = io::stdout().is_terminal();
    let mut text: String =
        report.findings.iter().map(|finding| format!("{}\n\n", finding.render(color))).collect();
    let summary = match &report.config {
        Some(config) => {
            let listeners = listeners(config).join(", ");
            format!("{}: ok ({} on {listeners})\n", report.file, count(config.blocks().len(), "server block"))
        }
        None => {
            let errors =
                report.findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
            format!("{}: {}\n", report.file, count(errors, "error"))
        }
    };
    text.push_str(&summary);
    text
}

fn as_json(report: &Report<'_>) -> Value {
    // The text is our own, so it parses.
    let findings = report.findings.iter().map(|f| serde_json::from_str(&f.to_json()).unwrap_or(Value::Null));
    let mut value = json!({
        "file": report.file,
        "ok": report.config.is_some(),
        "diagnostics": findings.collect::<Vec<Value>>(),
    });
    if let Some(config) = &report.config {
        value["blocks"] = config.blocks().len().into();
        value["listeners"] = listeners(config).into();
    }
    value
}

/// All ports a server would open: DNS first, then HTTP.
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

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
