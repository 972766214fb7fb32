//! The operators, how they are written and how tightly they bind.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Minus,
    Plus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Pipe,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    More,
    LessOrEqual,
    MoreOrEqual,
    In,
    Matches,
    Contains,
    StartsWith,
    EndsWith,
    Range,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Coalesce,
}

/// The binding of everything that takes in as much as it can.
pub(crate) const LOOSEST: u16 = 0;

pub(crate) struct Written<T: 'static> {
    pub text: &'static str,
    pub operator: T,
    pub precedence: u16,
}

const fn written<T>(text: &'static str, operator: T, precedence: u16) -> Written<T> {
    Written { text, operator, precedence }
}

static UNARY: [Written<Unary>; 4] = [
    written("not", Unary::Not, 50),
    written("!", Unary::Not, 50),
    written("-", Unary::Minus, 90),
    written("+", Unary::Plus, 90),
];

static BINARY: [Written<Binary>; 25] = [
    written("|", Binary::Pipe, LOOSEST),
    written("or", Binary::Or, 10),
    written("||", Binary::Or, 10),
    written("and", Binary::And, 15),
    written("&&", Binary::And, 15),
    written("==", Binary::Equal, 20),
    written("!=", Binary::NotEqual, 20),
    written("<", Binary::Less, 20),
    written(">", Binary::More, 20),
    written(">=", Binary::MoreOrEqual, 20),
    written("<=", Binary::LessOrEqual, 20),
    written("in", Binary::In, 20),
    written("matches", Binary::Matches, 20),
    written("contains", Binary::Contains, 20),
    written("startsWith", Binary::StartsWith, 20),
    written("endsWith", Binary::EndsWith, 20),
    written("..", Binary::Range, 25),
    written("+", Binary::Add, 30),
    written("-", Binary::Subtract, 30),
    written("*", Binary::Multiply, 60),
    written("/", Binary::Divide, 60),
    written("%", Binary::Modulo, 60),
    written("**", Binary::Power, 100),
    written("^", Binary::Power, 100),
    written("??", Binary::Coalesce, 500),
];

impl Unary {
    pub fn find(text: &str) -> Option<&'static Written<Unary>> {
        UNARY.iter().find(|written| written.text == text)
    }
}

impl Binary {
    pub fn find(text: &str) -> Option<&'static Written<Binary>> {
        BINARY.iter().find(|written| written.text == text)
    }

    /// `a < b < c` is `a < b && b < c`.
    pub fn chains(self) -> bool {
        matches!(self, Binary::Less | Binary::More | Binary::LessOrEqual | Binary::MoreOrEqual)
    }

    /// May have a `not` in front: `not in`.
    pub fn takes_not(self) -> bool {
        matches!(
            self,
            Binary::In | Binary::Matches | Binary::Contains | Binary::StartsWith | Binary::EndsWith
        )
    }

    pub fn right_to_left(self) -> bool {
        self == Binary::Power
    }
}
