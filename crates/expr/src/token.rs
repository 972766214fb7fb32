//! The words of an expression.

use std::fmt;

/// What a token is; the names show in error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Identifier,
    Number,
    String,
    Bytes,
    Operator,
    Bracket,
    Eof,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    /// Where it begins, in characters.
    pub at: usize,
    /// Its text; of strings and bytes what they stand for.
    pub text: String,
    /// The value of a bytes literal, which need not be text.
    pub bytes: Vec<u8>,
}

impl Token {
    pub fn is(&self, kind: Kind, text: &str) -> bool {
        self.kind == kind && self.text == text
    }

    pub fn is_operator(&self, text: &str) -> bool {
        self.is(Kind::Operator, text)
    }

    pub fn is_bracket(&self, text: &str) -> bool {
        self.is(Kind::Bracket, text)
    }
}

/// `Operator("+")`, or only the kind where there is no text.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Identifier => "Identifier",
            Kind::Number => "Number",
            Kind::String => "String",
            Kind::Bytes => "Bytes",
            Kind::Operator => "Operator",
            Kind::Bracket => "Bracket",
            Kind::Eof => "EOF",
        };
        match (self.text.is_empty(), self.bytes.is_empty()) {
            (true, true) => f.write_str(kind),
            (_, true) => write!(f, "{kind}({})", golang::quoted(&self.text)),
            (_, false) => write!(f, "{kind}({})", quoted_octets(&self.bytes)),
        }
    }
}

/// Octets in quotes, those that are no text as Go escapes them.
fn quoted_octets(octets: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in octets.utf8_chunks() {
        let quoted = golang::quoted(chunk.valid());
        out.push_str(&quoted[1..quoted.len() - 1]);
        for octet in chunk.invalid() {
            out.push_str(&format!("\\x{octet:02x}"));
        }
    }
    out.push('"');
    out
}
