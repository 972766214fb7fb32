//! `rhumb zone`: zone files, checked as the server loads them.

use std::path::Path;
use std::process::ExitCode;

use wire::NameBuf;
use zone::{Source, ZoneFile};

use super::{print, print_error};

/// The largest file that is read: a zone of some ten million records.
const MAX_FILE: u64 = 1 << 30;

/// Check zone files
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(CheckArgs),
}

/// Check a zone file without serving it
///
/// Prints every error and warning as FILE:LINE:COLUMN. Warnings are likely mistakes in a zone that can be served: name
/// servers without an address in the zone, records that point to an alias, different TTLs in one set. The exit code is 1
/// if the file has an error.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  rhumb zone check db.example.org\n  rhumb zone check --origin example.org zone.txt"
)]
struct CheckArgs {
    /// Name of the zone
    ///
    /// Without it, the owner of the SOA record if that is absolute, else the name of a file such as db.example.org or
    /// example.org.zone.
    #[arg(long, value_name = "ZONE")]
    origin: Option<String>,
    /// Zone file to check
    #[arg(value_name = "FILE")]
    file: String,
}

pub fn main(args: Args) -> ExitCode {
    match args.command {
        Command::Check(args) => check(&args),
    }
}

fn check(args: &CheckArgs) -> ExitCode {
    let name = &args.file;
    let text = match files::read(Path::new(name), MAX_FILE) {
        Ok(text) => text,
        Err(error) => return print_error(&format!("{name}: {error}")),
    };
    let origin = match origin(args, &text) {
        Ok(origin) => origin,
        Err(message) => return print_error(&message),
    };
    let file = ZoneFile { name, text: &text, origin: &origin };
    match file.load(&mut Disk) {
        Ok(contents) => {
            let warnings = file.warnings(&contents, &mut Disk);
            let mut report: String = warnings
                .iter()
                .map(|warning| format!("{}: warning: {}\n", warning.place(), warning.message))
                .collect();
            let (records, serial) = (contents.len(), contents.serial());
            report +=
                &format!("{name}: ok (zone {}, {records} records, serial {serial})\n", contents.origin());
            print(report.as_bytes())
        }
        Err(errors) => {
            let report: String = errors.iter().map(|error| format!("{error}\n")).collect();
            print(report.as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn origin(args: &CheckArgs, text: &[u8]) -> Result<NameBuf, String> {
    if let Some(origin) = &args.origin {
        return NameBuf::parse(origin).map_err(|error| format!("--origin {origin}: {error}"));
    }
    let named = ZoneFile::absolute_origin(&args.file, text, &mut Disk).or_else(|| origin_of_path(&args.file));
    named.ok_or_else(|| {
        let file = &args.file;
        format!("{file}: the name of the zone is not clear from the file; give it with --origin ZONE")
    })
}

/// The zone of a file named `db.ZONE` or `ZONE.zone`.
fn origin_of_path(path: &str) -> Option<NameBuf> {
    let file = Path::new(path).file_name()?.to_str()?;
    let zone = file.strip_prefix("db.").or_else(|| file.strip_suffix(".zone"))?;
    NameBuf::parse(zone).ok()
}

/// Included files, relative to the file that holds the `$INCLUDE`.
struct Disk;

impl Source for Disk {
    fn read(&mut self, path: &str, from: &str) -> Result<(String, Vec<u8>), String> {
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(path);
        let text = files::read(&path, MAX_FILE).map_err(|error| error.to_string())?;
        Ok((path.to_string_lossy().into_owned(), text))
    }
}
