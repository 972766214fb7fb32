//! `root PATH`

use std::io;
use std::path::Path;

use corefile::Diagnostic;
use server::Setup;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut root = "";
    // As in CoreDNS, words are read in pairs, whatever the first one is: `root a b c` means `root a` and `b c`.
    while s.c.next() {
        if !s.c.next_arg() {
            return Err(s.c.arg_err());
        }
        root = s.c.val();
    }
    match std::fs::metadata(root) {
        Ok(_) => {}
        // A volume may be mounted later.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let warning = s.c.warning(format_args!("Root path does not exist: {root}")).in_plugin("root");
            s.warn(warning);
        }
        Err(error) => {
            let error = go_error(&error);
            return Err(s.c.err(format_args!("unable to access root path '{root}': stat {root}: {error}")));
        }
    }
    s.set_root(Path::new(root).to_path_buf());
    Ok(())
}

/// A system error with Go's text: in lower case, without a number.
fn go_error(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
