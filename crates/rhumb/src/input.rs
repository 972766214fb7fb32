//! Where the Corefile comes from: a file, standard input, `./Corefile`, or the built-in default.

use std::fs::{File, FileType};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;

use corefile::source::ReadError;
use corefile::{Disk, Source};
use server::Input;

/// A way to read the Corefile, and to read it again at a reload.
pub struct Corefile {
    conf: Conf,
    dns_port: String,
}

enum Conf {
    File(String),
    /// Standard input, a pipe or a device gives its text once; reloads see the same again.
    Text {
        name: String,
        contents: Vec<u8>,
    },
    /// `./Corefile` if it is there at the time, else the built-in one.
    Default,
}

impl Corefile {
    /// From the value of `-conf`: a path, `stdin`, or nothing.
    pub fn named(conf: &str, dns_port: &str) -> Result<Corefile, String> {
        let conf = match conf {
            "" => Conf::Default,
            "stdin" if stdin_is_terminal_like() => Conf::Default,
            "stdin" => Conf::once("/dev/stdin", std::io::stdin().lock())?,
            path if is_stream(path) => {
                let stream = File::open(path).map_err(|error| format!("open {path}: {error}"))?;
                Conf::once(path, stream)?
            }
            path => Conf::File(path.to_owned()),
        };
        Ok(Corefile { conf, dns_port: dns_port.to_owned() })
    }

    /// From a text inside the binary.
    pub fn built_in(name: &str, contents: String) -> Corefile {
        let (name, contents) = (name.to_owned(), contents.into_bytes());
        Corefile { conf: Conf::Text { name, contents }, dns_port: DEFAULT_PORT.to_owned() }
    }

    /// Reads it now.
    pub fn read(&self) -> Result<Input, String> {
        match &self.conf {
            Conf::File(path) => Ok(self.input(path, read(path)?)),
            Conf::Text { name, contents } => Ok(self.input(name, contents.clone())),
            Conf::Default if Disk.exists("Corefile") => Ok(self.input("Corefile", read("Corefile")?)),
            Conf::Default => {
                let text = format!(".:{} {{\nwhoami\nlog\n}}\n", self.dns_port);
                Ok(self.input("Corefile", text.into_bytes()))
            }
        }
    }

    /// Whether it was asked for rather than just found.
    pub fn is_named(&self) -> bool {
        !matches!(self.conf, Conf::Default)
    }

    /// Whether there is none, so that the built-in one would be read.
    pub fn is_missing(&self) -> bool {
        matches!(self.conf, Conf::Default) && !Disk.exists("Corefile")
    }

    fn input(&self, name: &str, contents: Vec<u8>) -> Input {
        Input { name: name.to_owned(), contents, dns_port: self.dns_port.clone() }
    }
}

pub const DEFAULT_PORT: &str = "53";

fn read(path: &str) -> Result<Vec<u8>, String> {
    Disk.read(path).map_err(|error| match error {
        ReadError::Open(text) | ReadError::Read(text) => text,
        ReadError::Directory => format!("read {path}: is a directory"),
    })
}

impl Conf {
    /// Reads to the end, and waits for it: whoever names a pipe means to write to it.
    fn once(name: &str, stream: impl Read) -> Result<Conf, String> {
        let mut contents = Vec::new();
        let read = stream.take(LIMIT + 1).read_to_end(&mut contents);
        read.map_err(|error| format!("read {name}: {error}"))?;
        if contents.len() as u64 > LIMIT {
            return Err(format!("read {name}: is larger than {LIMIT} bytes"));
        }
        Ok(Conf::Text { name: name.to_owned(), contents })
    }
}

/// No Corefile is larger; a device may have no end.
const LIMIT: u64 = 32 << 20;

/// Can be read, but only once: `/dev/stdin`, `/dev/fd/63`, a FIFO.
fn is_stream(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// Character devices, a terminal or `/dev/null`, give no Corefile; CoreDNS then takes its default.
fn stdin_is_terminal_like() -> bool {
    let file_type = std::fs::metadata("/dev/stdin").map(|data| data.file_type());
    file_type.as_ref().is_ok_and(FileType::is_char_device)
}
