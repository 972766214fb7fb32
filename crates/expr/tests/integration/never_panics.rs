//! Whatever is written as an expression, it is taken or refused, and runs or fails.

use expr::Program;
use proptest::prelude::*;

use crate::environment::{Query, environment};

/// Words of the language, good and bad.
const WORDS: &[&str] = &[
    "1",
    "0x1F",
    "1.5",
    "1e9",
    "1..3",
    "'a'",
    "\"b\"",
    "`c`",
    "b'd'",
    "true",
    "nil",
    "name()",
    "type",
    "id()",
    "$env",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "::",
    "?",
    "?.",
    "??",
    ".",
    "..",
    "|",
    "||",
    "&&",
    "and",
    "or",
    "not",
    "!",
    "+",
    "-",
    "*",
    "/",
    "%",
    "**",
    "==",
    "!=",
    "<",
    ">=",
    "in",
    "matches",
    "contains",
    "let",
    "x",
    "=",
    "if",
    "else",
    "#",
    "#acc",
    "#index",
    ".a",
    "filter(",
    "map(",
    "reduce(",
    "sum(",
    "count(",
    "sortBy(",
    "groupBy(",
    "len(",
    "max(",
    "join(",
    "fromJSON(",
    "flatten(",
    "split(",
    "duration(",
    "get(",
    "first(",
    "repeat(",
    "'('",
    "''",
    "[]",
    "{a: 1}",
    "9223372036854775807",
    "-1",
];

fn tried(source: &str) {
    if let Ok(program) = Program::compile(source, &environment()) {
        let _ = program.run(&Query).map(|value| value.to_string());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text(source in ".{0,60}") {
        tried(&source);
    }

    #[test]
    fn any_words(words in prop::collection::vec(prop::sample::select(WORDS), 0..24)) {
        tried(&words.join(" "));
        tried(&words.concat());
    }
}
