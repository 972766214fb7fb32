//! Operators, their spellings and precedences.

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

/// The lowest precedence.
pub(crate) const LOOSEST: u16 = 0;

pub(crate) struct Spelling<T: 'static> {
    pub text: &'static str,
    pub operator: T,
    pub precedence: u16,
}

const fn spelling<T>(text: &'static str, operator: T, precedence: u16) -> Spelling<T> {
    Spelling { text, operator, precedence }
}

static UNARY: [Spelling<Unary>; 4] = [
    spelling("not", Unary::Not, 50),
    spelling("!", Unary::Not, 50),
    spelling("-", Unary::Minus, 90),
    spelling("+", Unary::Plus, 90),
];

static BINARY: [Spelling<Binary>; 25] = [
    spelling("|", Binary::Pipe, LOOSEST),
    spelling("or", Binary::Or, 10),
    spelling("||", Binary::Or, 10),
    spelling("and", Binary::And, 15),
    spelling("&&", Binary::And, 15),
    spelling("==", Binary::Equal, 20),
    spelling("!=", Binary::NotEqual, 20),
    spelling("<", Binary::Less, 20),
    spelling(">", Binary::More, 20),
    spelling(">=", Binary::MoreOrEqual, 20),
    spelling("<=", Binary::LessOrEqual, 20),
    spelling("in", Binary::In, 20),
    spelling("matches", Binary::Matches, 20),
    spelling("contains", Binary::Contains, 20),
    spelling("startsWith", Binary::StartsWith, 20),
    spelling("endsWith", Binary::EndsWith, 20),
    spelling("..", Binary::Range, 25),
    spelling("+", Binary::Add, 30),
    spelling("-", Binary::Subtract, 30),
    spelling("*", Binary::Multiply, 60),
    spelling("/", Binary::Divide, 60),
    spelling("%", Binary::Modulo, 60),
    spelling("**", Binary::Power, 100),
    spelling("^", Binary::Power, 100),
    spelling("??", Binary::Coalesce, 500),
];

impl Unary {
    pub fn find(text: &str) -> Option<&'static Spelling<Unary>> {
        UNARY.iter().find(|spelling| spelling.text == text)
    }
}

impl Binary {
    pub fn find(text: &str) -> Option<&'static Spelling<Binary>> {
        BINARY.iter().find(|spelling| spelling.text == text)
    }

    /// `a < b < c` means `a < b && b < c`.
    pub fn chains(self) -> bool {
        matches!(self, Binary::Less | Binary::More | Binary::LessOrEqual | Binary::MoreOrEqual)
    }

    /// Whether `not` may precede it: `not in`.
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
