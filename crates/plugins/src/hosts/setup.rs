//! `hosts [FILE [ZONES...]] { [INLINE]; ttl N; no_reverse; reload DURATION; fallthrough [ZONES...];
//! fallthrough_unsupported }`

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;
use server::Setup;
use wire::NameBuf;

use super::file::HostsFile;
use super::lines::LineParser;
use super::{Hosts, LOG};
use crate::options::Fallthrough;

const DEFAULT_PATH: &str = "/etc/hosts";
const DEFAULT_TTL: u32 = 3600;
const DEFAULT_RELOAD: Duration = Duration::from_secs(5);
const PROPERTIES: &[&str] = &["fallthrough", "fallthrough_unsupported", "no_reverse", "ttl", "reload"];

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut path = PathBuf::from(DEFAULT_PATH);
    let mut zones = Vec::new();
    let mut options = Options::default();
    let (mut seen, mut warned) = (false, false);
    while s.c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(s.once_error());
        }
        let args = s.c.remaining_args();
        if let Some(file) = args.first() {
            path = s.path(file);
            warned = check_path(&path, s)?;
        }
        zones = s.zones(args.get(1..).unwrap_or_default());
        while s.c.next_block() {
            options.read(&mut s.c)?;
        }
    }
    if options.fallthrough_unsupported && !options.fallthrough.is_set() {
        return Err(s.c.err("fallthrough_unsupported requires fallthrough"));
    }
    s.reads(&path);
    let file = build(s, path, zones, options);
    if let Err(failure) = file.read()
        && !warned
    {
        let warning = s.c.warning(format_args!("Hosts file {}: {failure}", file.path.display()));
        s.warn(warning.in_plugin("hosts"));
    }
    Ok(())
}

#[derive(Debug)]
struct Options {
    /// Lines of a hosts file in the Corefile.
    inline: Vec<String>,
    fallthrough: Fallthrough,
    fallthrough_unsupported: bool,
    reverse: bool,
    ttl: u32,
    reload: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            inline: Vec::new(),
            fallthrough: Fallthrough::default(),
            fallthrough_unsupported: false,
            reverse: true,
            ttl: DEFAULT_TTL,
            reload: DEFAULT_RELOAD,
        }
    }
}

impl Options {
    fn read(&mut self, c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
        match c.val() {
            "fallthrough" => self.fallthrough = Fallthrough::from_args(&c.remaining_args()),
            "fallthrough_unsupported" => {
                if !c.remaining_args().is_empty() {
                    return Err(c.arg_err());
                }
                self.fallthrough_unsupported = true;
            }
            "no_reverse" => self.reverse = false,
            "ttl" => self.ttl = ttl(c)?,
            "reload" => self.reload = reload(c)?,
            // Anything else is a line of a hosts file, but only before `fallthrough`.
            first if !self.fallthrough.is_set() => {
                let mut line = vec![first];
                line.extend(c.remaining_args());
                self.inline.push(line.join(" "));
            }
            _ => return Err(c.unknown_property(PROPERTIES)),
        }
        Ok(())
    }
}

fn ttl(c: &mut Dispenser<'_>) -> Result<u32, Diagnostic> {
    // Further arguments are ignored, as in CoreDNS.
    let Some(text) = c.remaining_args().first().copied() else {
        return Err(c.err("ttl needs a time in second"));
    };
    // The message is CoreDNS's; the help says what would be right.
    let error = |message: &str| {
        c.err(message).help(format!("ttl: expected a number of seconds, 1 to 65535, got '{text}'"))
    };
    let number = text.parse::<i64>().map_err(|_| error("ttl needs a number of second"))?;
    match u16::try_from(number) {
        Ok(ttl @ 1..) => Ok(ttl.into()),
        _ => Err(error("ttl provided is invalid")),
    }
}

fn reload(c: &mut Dispenser<'_>) -> Result<Duration, Diagnostic> {
    let [text] = c.remaining_args()[..] else {
        return Err(c.err("reload needs a duration (zero seconds to disable)"));
    };
    let given =
        GoDuration::parse(text).map_err(|_| c.err(format_args!("invalid duration for reload '{text}'")))?;
    given.not_negative().ok_or_else(|| c.err(format_args!("invalid negative duration for reload '{text}'")))
}

/// Rejects a path that cannot be accessed, and warns about a missing file, which may appear later. True if it warned.
fn check_path(path: &Path, s: &mut Setup<'_>) -> Result<bool, Diagnostic> {
    let shown = path.display();
    let warning = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => format!("Hosts file {:?} is a directory", shown.to_string()),
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => format!("File does not exist: {shown}"),
        Err(error) => {
            let reason = golang::system_error(&error);
            return Err(s
                .c
                .err(format_args!("unable to access hosts file '{shown}': stat {shown}: {reason}")));
        }
    };
    let warning = s.c.warning(warning).in_plugin("hosts");
    s.warn(warning);
    Ok(true)
}

fn build(s: &mut Setup<'_>, path: PathBuf, zones: Vec<NameBuf>, options: Options) -> Arc<HostsFile> {
    let parser = LineParser { zones: zones.clone(), reverse: options.reverse };
    let text = io::Cursor::new(options.inline.join("\n"));
    // Reading from memory cannot fail.
    let inline = parser.read(text, "Inline hosts entries", LOG).unwrap_or_default();
    let key = format!("{path:?} {zones:?} {} {}", options.reverse, inline.entries());
    let make = || HostsFile::new(path, parser, inline.entries());
    let follows = options.reload > Duration::ZERO;
    // Survives a reload, so that an unreadable file keeps its last good contents.
    let file = if follows { s.kept(&key, make) } else { Arc::new(make()) };
    if follows {
        let file = Arc::clone(&file);
        s.every(format!("hosts: {}", file.path.display()), options.reload, move || file.refresh());
    }
    s.add(Hosts {
        zones,
        fallthrough: options.fallthrough,
        fallthrough_unsupported: options.fallthrough_unsupported,
        ttl: options.ttl,
        file: Arc::clone(&file),
        inline,
    });
    file
}
