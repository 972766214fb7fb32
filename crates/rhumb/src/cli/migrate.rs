//! `rhumb check --migrate`: replaces options that CoreDNS has removed, and reports each change.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use corefile::Diagnostic;
use plugins::migrate::{Migrated, migrate};
use serde_json::{Value, json};
use server::{Input, log};

use super::Output;
use super::check::Args;
use super::check::{Report, as_values, load};
use super::{print, print_error};
use crate::input::Corefile;

pub fn main(args: &Args, port: &str) -> ExitCode {
    let [file] = &args.files[..] else {
        return print_error("--migrate takes one file at a time: the result goes to standard output");
    };
    let (migrated, report) = match read(file, port).and_then(|input| run(file, &input)) {
        Ok(done) => done,
        Err(error) => (None, Report { file, config: None, diagnostics: vec![error] }),
    };
    log::flush();
    let printed = match args.output {
        Output::Text => print_text(migrated.as_ref(), &report),
        Output::Json => print(format!("{:#}\n", as_json(migrated.as_ref(), &report)).as_bytes()),
    };
    if report.config.is_some() { printed } else { ExitCode::FAILURE }
}

fn read(file: &str, port: &str) -> Result<Input, Diagnostic> {
    Corefile::from_flag(file, port).and_then(|corefile| corefile.read()).map_err(Diagnostic::error)
}

/// Migrates, then loads the result.
fn run<'a>(file: &'a str, input: &Input) -> Result<(Option<Migrated>, Report<'a>), Diagnostic> {
    let text = std::str::from_utf8(&input.contents)
        .map_err(|error| Diagnostic::error(format!("{}: not UTF-8: {error}", input.name)))?;
    let migrated = migrate(&input.name, text)?;
    // Lines of the result are not lines of the input file. Imports are still resolved relative to that file.
    let name = format!("{} (migrated)", input.name);
    let input =
        Input { name, contents: migrated.result.clone().into_bytes(), dns_port: input.dns_port.clone() };
    let report = load(file, &input);
    Ok((Some(migrated), report))
}

/// Prints the result on standard output, everything else on standard error.
fn print_text(migrated: Option<&Migrated>, report: &Report<'_>) -> ExitCode {
    let mut printed = ExitCode::SUCCESS;
    if let Some(Migrated { file, result, changes, notes }) = migrated {
        for change in changes {
            eprintln!("{file}:{}: {}: {}", change.line, change.what, change.why);
        }
        for note in notes {
            eprintln!("note: {file}:{}: {}", note.line, note.text);
        }
        printed = print(result.as_bytes());
    }
    let color = io::stderr().is_terminal();
    for diagnostic in &report.diagnostics {
        eprintln!("\n{}", diagnostic.render(color));
    }
    printed
}

fn as_json(migrated: Option<&Migrated>, report: &Report<'_>) -> Value {
    let migrated = migrated.cloned().unwrap_or_default();
    let changes: Vec<Value> = migrated
        .changes
        .iter()
        .map(|change| json!({ "line": change.line, "what": change.what, "why": change.why }))
        .collect();
    let notes: Vec<Value> =
        migrated.notes.iter().map(|note| json!({ "line": note.line, "text": note.text })).collect();
    json!({
        "file": report.file,
        "changes": changes,
        "notes": notes,
        "result": migrated.result,
        "ok": report.config.is_some(),
        "diagnostics": as_values(&report.diagnostics),
    })
}
