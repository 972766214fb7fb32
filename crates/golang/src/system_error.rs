//! System errors with Go's texts.

use std::io;

/// `no such file or directory` for `No such file or directory (os error 2)`.
pub fn system_error(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_begin_in_lower_case() {
        let missing = std::fs::read("/nonexistent").expect_err("no such file");
        assert_eq!(system_error(&missing), "no such file or directory");
        assert_eq!(system_error(&io::Error::other("")), "");
    }
}
