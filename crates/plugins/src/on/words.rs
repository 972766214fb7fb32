//! Splits a command line into words like a shell, without expansions.

/// Literal characters outside quotes, besides letters and digits; blanks, quotes, `\` and `#` are special, others are
/// an error.
const PLAIN: &str = "._-,/@$*()+=><:;&^%~|!?[]{}";

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    Word,
    /// After a backslash.
    Escaped,
    /// In `"`, where a backslash escapes.
    Double,
    DoubleEscaped,
    /// In `'`, where nothing escapes.
    Single,
    Comment,
}

/// The words; errors have CoreDNS's texts.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut state = State::Between;
    for c in line.chars() {
        state = match (state, c) {
            (State::Between, ' ' | '\t' | '\r' | '\n') => State::Between,
            (State::Between, '#') => State::Comment,
            (State::Word, ' ' | '\t' | '\r' | '\n') => {
                words.push(std::mem::take(&mut word));
                State::Between
            }
            (State::Between | State::Word, '"') => State::Double,
            (State::Between | State::Word, '\'') => State::Single,
            (State::Between | State::Word, '\\') => State::Escaped,
            (State::Double, '"') | (State::Single, '\'') => State::Word,
            (State::Double, '\\') => State::DoubleEscaped,
            (State::Comment, '\n') => State::Between,
            (State::Comment, _) => State::Comment,
            (State::Double | State::Single, _) => {
                word.push(c);
                state
            }
            (State::Between, _) if !is_known(c) => return Err(format!("Unknown rune: {}", u32::from(c))),
            // The typo is CoreDNS's.
            (_, _) if !is_known(c) => return Err(format!("Uknown rune: {}", u32::from(c))),
            (State::DoubleEscaped, _) => {
                word.push(c);
                State::Double
            }
            (State::Between | State::Word | State::Escaped, _) => {
                word.push(c);
                State::Word
            }
        };
    }
    match state {
        State::Between | State::Comment => Ok(words),
        State::Word => {
            words.push(word);
            Ok(words)
        }
        State::Escaped | State::DoubleEscaped => Err("EOF found after escape character".into()),
        State::Double | State::Single => Err("EOF found when expecting closing quote.".into()),
    }
}

fn is_known(c: char) -> bool {
    c.is_ascii_alphanumeric() || " \t\r\n\"'\\#".contains(c) || PLAIN.contains(c)
}
