//! An input that broke a promise: kept as a file, with the words to see it again.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use crate::corpus;
use crate::shape::Shape;

/// What went wrong, and on which bytes.
#[derive(Clone, Debug)]
pub struct Finding {
    pub target: &'static str,
    pub what: String,
    pub input: Vec<u8>,
}

impl Finding {
    /// Writes the input under `crashes/`, named after its contents so that the same one is kept once.
    pub fn keep(&self) -> std::io::Result<PathBuf> {
        let folder = corpus::home().join("crashes");
        fs::create_dir_all(&folder)?;
        let number = Shape::new().with(&self.input).number();
        let path = folder.join(format!("{}-{number:016x}", self.target));
        fs::write(&path, &self.input)?;
        Ok(path)
    }

    /// Keeps it and says all a reader needs.
    pub fn report(&self) {
        eprintln!("{self}");
        match self.keep() {
            Ok(path) => eprintln!(
                "input   {}\nreplay  cargo run --profile fuzz -p fuzz -- --target {} --replay {}",
                path.display(),
                self.target,
                path.display()
            ),
            Err(error) => eprintln!("the input could not be kept ({error}): {:02x?}", self.input),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FOUND   {}, {} octets: {}", self.target, self.input.len(), self.what)
    }
}
