//! Tokens.

use std::fmt;

/// The kind of a token; error messages print it.
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
    /// Position of its first character.
    pub at: usize,
    /// Its text; the unescaped value for strings and bytes.
    pub text: String,
    /// The value of a bytes literal, which may be invalid UTF-8.
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

/// `Operator("+")`, or only the kind if the text is empty.
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

/// Quoted octets, with invalid UTF-8 escaped as in Go.
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
