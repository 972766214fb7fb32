//! Log formats, parsed once at setup.

/// CoreDNS's `{common}`, the default.
pub(crate) const COMMON: &str = "{remote}:{port} - {>id} \"{type} {class} {name} {proto} {size} {>do} {>bufsize}\" \
                                 {rcode} {>rflags} {rsize} {duration}";

/// `{combined}`: `{common}` and the opcode.
pub(crate) fn combined() -> String {
    format!("{COMMON} \"{{>opcode}}\"")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(Box<str>),
    Metadata(Box<str>),
    Value(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Type,
    Name,
    Class,
    Proto,
    Size,
    Remote,
    Port,
    Local,
    Id,
    Opcode,
    Do,
    Bufsize,
    Rcode,
    Rsize,
    Duration,
    Rflags,
}

const VALUES: [(&str, Value); 16] = [
    ("type", Value::Type),
    ("name", Value::Name),
    ("class", Value::Class),
    ("proto", Value::Proto),
    ("size", Value::Size),
    ("remote", Value::Remote),
    ("port", Value::Port),
    ("local", Value::Local),
    (">id", Value::Id),
    (">opcode", Value::Opcode),
    (">do", Value::Do),
    (">bufsize", Value::Bufsize),
    ("rcode", Value::Rcode),
    ("rsize", Value::Rsize),
    ("duration", Value::Duration),
    (">rflags", Value::Rflags),
];

/// A parsed format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub pieces: Vec<Piece>,
}

impl Format {
    /// A placeholder extends from a closing brace back to the nearest opening one. Unknown placeholders are literal
    /// text.
    pub fn parse(text: &str) -> Format {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(close) = rest.find('}') {
            let (before, after) = rest.split_at(close);
            let piece = before.rfind('{').and_then(|open| Some((open, placeholder(&before[open + 1..])?)));
            match piece {
                Some((open, piece)) => {
                    literal.push_str(&before[..open]);
                    flush(&mut literal, &mut pieces);
                    pieces.push(piece);
                }
                None => {
                    literal.push_str(before);
                    literal.push('}');
                }
            }
            rest = &after[1..];
        }
        literal.push_str(rest);
        flush(&mut literal, &mut pieces);
        Format { pieces }
    }
}

fn placeholder(inside: &str) -> Option<Piece> {
    if let Some(label) = inside.strip_prefix('/') {
        return Some(Piece::Metadata(label.into()));
    }
    VALUES.iter().find(|(word, _)| *word == inside).map(|(_, value)| Piece::Value(*value))
}

fn flush(literal: &mut String, pieces: &mut Vec<Piece>) {
    if !literal.is_empty() {
        pieces.push(Piece::Literal(std::mem::take(literal).into()));
    }
}
