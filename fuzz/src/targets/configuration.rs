//! Corefiles: any bytes give a configuration or a diagnostic, and the text comes back as it was.

use corefile::{Diagnostic, Document, Memory};
use server::{Input, config};
use tempfile::TempDir;

use crate::shape::Shape;
use crate::target::Target;

const MAX_LEN: usize = 8 * 1024;

/// The language, then the plugins of this stage and their options.
const DICTIONARY: &[&[u8]] = &[
    b"{",
    b"}",
    b" {\n",
    b"\n}\n",
    b"\n",
    b"\"",
    b"\\",
    b"#",
    b",",
    b"(snip) {\n",
    b"import ",
    b"import snip\n",
    b"import /conf/*.conf\n",
    b"{$PORT}",
    b"{%PORT%}",
    b"{$",
    b"{args[0]}",
    b".:53",
    b"example.org",
    b"dns://",
    b"tls://",
    b"https://.:443",
    b"10.0.0.0/8",
    b"192.0.2.0/25",
    b"2001:db8::/32",
    b"[::1]:53",
    b"xn--bcher-kva.example",
    b"\xc3\xa9",
    b"\xff",
    b"\r\n",
    b"\t",
    b"errors",
    b"consolidate 5m \".*\" warning",
    b"stacktrace",
    b"log . {combined} {\nclass denial\n}",
    b"class all",
    b"root /conf",
    b"metadata",
    b"bind lo 127.0.0.1",
    b"except ::1",
    b"bufsize 1232",
    b"debug",
    b"any",
    b"chaos x y",
    b"nsid x",
    b"minimal",
    b"header {\nresponse set aa\n}",
    b"cancel 1s",
    b"timeouts {\nread 1s\n}",
    b"local",
    b"whoami",
    b"erratic {\ndrop 3\n}",
    b"truncate",
    b"delay 2 1ms",
    b"large",
    b"hosts /conf/hosts",
    b"fallthrough example.org",
    b"192.0.2.1 a.example.org",
    b"ttl 60",
    b"no_reverse",
    b"reload 0",
    b"loadbalance round_robin",
    b"loadbalance weighted /conf/weights",
    b"prefer 10.0.0.0/8",
    b"health :8080 {\nlameduck 5s\n}",
    b"ready :8181",
    b"monitor continuously",
    b"reload 10s 5s",
    b"forward . 192.0.2.53",
    b"0",
    b"-1",
    b"99999999999999999999",
    b"1h2m3.5s",
];

/// The files that an import may name; `root` and `hosts` look at the disk instead, in an empty folder.
fn world() -> Memory {
    Memory::new()
        .file("/conf/a.conf", "errors\n")
        .file("/conf/b.conf", "(inner) {\n  whoami\n}\n")
        .file("/loop", "import /loop\n")
        .set("PORT", "5300")
        .set("EMPTY", "")
}

/// Parsing and building Corefiles.
pub struct Configuration {
    source: Memory,
    // Relative paths lead here, into nothing.
    _folder: TempDir,
}

impl Configuration {
    pub fn new() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        std::env::set_current_dir(folder.path()).map_err(|error| error.to_string())?;
        Ok(Self { source: world(), _folder: folder })
    }
}

impl Target for Configuration {
    fn name(&self) -> &'static str {
        "corefile"
    }

    fn max_len(&self) -> usize {
        MAX_LEN
    }

    fn dictionary(&self) -> &'static [&'static [u8]] {
        DICTIONARY
    }

    fn check(&mut self, input: &[u8]) -> Result<Shape, String> {
        let mut shape = Shape::new();
        if let Ok(text) = std::str::from_utf8(input) {
            match Document::parse(text) {
                Ok(document) if document.to_string() != text => {
                    return Err(format!("read back as {:?}", document.to_string()));
                }
                // The parser reads the same grammar and says more; two opinions would square the shapes.
                outcome => {
                    shape.add(outcome.is_ok());
                    outcome.map_or_else(|error| told(&error, &mut Shape::new()), |_| Ok(()))?;
                }
            }
        }
        match corefile::parse("Corefile", input, None, &self.source) {
            Ok(parsed) => {
                shape.add(parsed.warnings.is_empty());
                for warning in &parsed.warnings {
                    told(warning, &mut Shape::new())?;
                }
                if parsed.blocks.iter().any(asks_the_network) {
                    return Ok(shape);
                }
            }
            Err(error) => {
                told(&error, &mut shape)?;
                return Ok(shape);
            }
        }
        let input = Input { name: "Corefile".into(), contents: input.to_vec(), dns_port: "53".into() };
        match config::build(&input, plugins::PLUGINS, &self.source) {
            Ok(built) => {
                shape.add_size(built.services().count());
                shape.add_size(built.routes().len());
                shape.add_size(built.tasks().len());
                shape.add_size(built.blocks().iter().map(|block| block.chain().len()).sum());
            }
            Err(errors) if errors.is_empty() => return Err("refused without saying why".to_owned()),
            Err(errors) => {
                // The first is CoreDNS's; all of them must print, but all combinations are not shapes.
                for error in &errors {
                    told(error, &mut Shape::new())?;
                }
                told(&errors[0], &mut shape)?;
            }
        }
        Ok(shape)
    }
}

/// Setups that look host names up: nothing made up here may be asked of anybody's name server.
fn asks_the_network(block: &corefile::ServerBlock) -> bool {
    ["forward", "proxy"].iter().any(|name| block.directive(name).is_some())
}

/// A diagnostic must print in all its forms, and point at a place that exists.
fn told(error: &Diagnostic, shape: &mut Shape) -> Result<(), String> {
    shape.add(error.plugin());
    shape.add_message(error.message());
    if error.message().is_empty() {
        return Err("a diagnostic without words".to_owned());
    }
    let _ = (error.to_string(), error.render(true));
    if error.to_json().contains('\n') {
        return Err(format!("JSON of more than one line: {}", error.to_json()));
    }
    Ok(())
}
