//! Any text compiles or is an error, and runs or fails, without a panic.

use expr::Program;
use proptest::prelude::*;

use crate::environment::{Query, environment};

/// Tokens, complete and incomplete.
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

fn compile_and_run(source: &str) {
    if let Ok(program) = Program::compile(source, &environment()) {
        let _ = program.run(&Query).map(|value| value.to_string());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text(source in ".{0,60}") {
        compile_and_run(&source);
    }

    #[test]
    fn any_words(words in prop::collection::vec(prop::sample::select(WORDS), 0..24)) {
        compile_and_run(&words.join(" "));
        compile_and_run(&words.concat());
    }
}
