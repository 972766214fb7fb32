//! Reads the Corefile from a file, standard input, `./Corefile`, or the built-in default.

use std::fs::{File, FileType};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;

use corefile::source::ReadError;
use corefile::{Disk, Source};
use server::Input;

/// Source of the Corefile, at the start and at every reload.
pub struct Corefile {
    conf: Conf,
    dns_port: String,
}

enum Conf {
    File(String),
    /// Contents of standard input, a pipe or a device, which can be read only once; reloads use the same text.
    Text {
        name: String,
        contents: Vec<u8>,
    },
    /// `./Corefile` if it exists at the time, else the built-in one.
    Default,
}

impl Corefile {
    /// From the value of `-conf`: a path, `stdin`, or empty.
    pub fn from_flag(conf: &str, dns_port: &str) -> Result<Corefile, String> {
        let conf = match conf {
            "" => Conf::Default,
            "stdin" if stdin_is_char_device() => Conf::Default,
            "stdin" => Conf::from_stream("/dev/stdin", std::io::stdin().lock())?,
            path if is_stream(path) => {
                let stream = File::open(path).map_err(|error| format!("open {path}: {error}"))?;
                Conf::from_stream(path, stream)?
            }
            path => Conf::File(path.to_owned()),
        };
        Ok(Corefile { conf, dns_port: dns_port.to_owned() })
    }

    /// From text embedded in the binary.
    pub fn built_in(name: &str, contents: String) -> Corefile {
        let (name, contents) = (name.to_owned(), contents.into_bytes());
        Corefile { conf: Conf::Text { name, contents }, dns_port: DEFAULT_PORT.to_owned() }
    }

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

    /// Whether the command line names the Corefile.
    pub fn is_explicit(&self) -> bool {
        !matches!(self.conf, Conf::Default)
    }

    /// Whether `read` would use the built-in default.
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
    /// Reads to the end and blocks until then: a pipe named on the command line has a writer.
    fn from_stream(name: &str, stream: impl Read) -> Result<Conf, String> {
        let mut contents = Vec::new();
        let read = stream.take(MAX_SIZE + 1).read_to_end(&mut contents);
        read.map_err(|error| format!("read {name}: {error}"))?;
        if contents.len() as u64 > MAX_SIZE {
            return Err(format!("read {name}: is larger than {MAX_SIZE} bytes"));
        }
        Ok(Conf::Text { name: name.to_owned(), contents })
    }
}

/// A device may never end.
const MAX_SIZE: u64 = 32 << 20;

/// Whether the path can be read only once: `/dev/stdin`, `/dev/fd/63`, a FIFO.
fn is_stream(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// Standard input that is a terminal or `/dev/null` has no Corefile; CoreDNS then uses its default.
fn stdin_is_char_device() -> bool {
    let file_type = std::fs::metadata("/dev/stdin").map(|data| data.file_type());
    file_type.as_ref().is_ok_and(FileType::is_char_device)
}
