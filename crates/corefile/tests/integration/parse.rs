//! Parsing of files, snippets, imports and variables. `oracle.rs` compares with CoreDNS.

use corefile::{Memory, ServerBlock, canonical_json, parse};

const KNOWN: &[&str] = &["bind", "cache", "errors", "forward", "log", "whoami"];

/// Blocks on one line each: `key,key { directive: token token; ... }`.
fn dump(blocks: &[ServerBlock]) -> Vec<String> {
    let block = |block: &ServerBlock| {
        let keys: Vec<_> = block.keys.iter().map(|key| &*key.text).collect();
        let directives: Vec<String> = block
            .directives
            .iter()
            .map(|directive| {
                let words: Vec<_> = directive.tokens.iter().map(|token| &*token.text).collect();
                format!("{}: {}", directive.name, words.join(" "))
            })
            .collect();
        format!("{} {{ {} }}", keys.join(","), directives.join("; "))
    };
    blocks.iter().map(block).collect()
}

fn source() -> Memory {
    Memory::new()
        .file("/etc/blocks.conf", "one {\n log\n}\ntwo {\n errors\n}\n")
        .file("/etc/lines.conf", "log\nerrors\n")
        .file("/etc/deep/a.conf", "import ../lines.conf\n")
        .file("/etc/deep/b.conf", "cache 30")
        .file("/etc/self.conf", "import self.conf\n")
        .file("/etc/empty.conf", "# nothing\n")
        .file("/etc/bom.conf", "\u{feff}log")
        .set("ZONE", "example.org")
        .set("PORT", "1053")
        .set("TWO", "a b")
        .set("LOG", "log")
        .set("BREAK", "a\nb")
        .set("OPEN", "{")
        .set("IMPORT", "import")
}

fn check(text: &str, expected: &[&str]) {
    let parsed = parse("/etc/Corefile", text.as_bytes(), Some(KNOWN), &source()).unwrap();
    assert_eq!(dump(&parsed.blocks), expected, "{text}");
}

/// `expected` without the `/etc/Corefile:` in front.
fn check_error(text: &str, expected: &str) {
    let error = parse("/etc/Corefile", text.as_bytes(), Some(KNOWN), &source()).unwrap_err();
    assert_eq!(error.to_string(), format!("/etc/Corefile:{expected}"), "{text}");
}

#[test]
fn blocks() {
    check("", &[]);
    check("# only a comment", &[]);
    check(". {\n}", &[". {  }"]);
    check(". { }", &[". {  }"]);
    check(".\n{\nlog\n}", &[". { log: log }"]);
    check("a b, c,\nd {\nlog\n}\ne {\n}", &["a,b,c,d { log: log }", "e {  }"]);
    check("a , b {\n}", &["a,,b {  }"]);
    check(". { log\n}", &[". { log: log }"]);
    check("a {\n} b {\n}", &["a {  }", "b {  }"]);
    check("\"\" a {\n}", &["a {  }"]);
    check("{\nlog\n}", &[]);
}

#[test]
fn blocks_without_braces() {
    check(".", &[". {  }"]);
    check("a, b", &["a,b {  }"]);
    check(".\nlog\nerrors", &[". { log: log; errors: errors }"]);
    check("a\nlog\n}\nb {\n}", &["a { log: log }", "b {  }"]);
    check("(s)", &["(s) {  }"]);
    check(". {\n}\n}", &[". {  }", "} {  }"]);
}

#[test]
fn directives() {
    check(". {\nlog a\nerrors\nlog b {\nc\n}\n}", &[". { log: log a log b { c }; errors: errors }"]);
    check(". {\nlog {\na {\nb\n}\n}\n}", &[". { log: log { a { b } } }"]);
    check(". {\nlog\n{\na\n}\n}", &[". { log: log { a } }"]);
    // CoreDNS only requires that the last token is a closing brace.
    check(". {\nlog {\n}", &[". { log: log { } }"]);
    check(". {\nlog {\n} b\n}", &[". { log: log { } b }"]);
    check(". {\nlog \"a\nb\" c\nerrors\n}", &[". { log: log a\nb c; errors: errors }"]);
}

#[test]
fn grammar_errors() {
    check_error(". {", "1 - Syntax error: Unexpected token '{', expecting '}'");
    check_error(". {\nlog", "2 - Syntax error: Unexpected token 'log', expecting '}'");
    check_error(". {\nlog {\n", "2 - Error during parsing: Unexpected EOF");
    check_error("a,", "1 - Error during parsing: Unexpected EOF");
    check_error(
        "a, {\n}",
        "1 - Error during parsing: Expected another address but had '{' - check for extra comma",
    );
    check_error(". { log }", "1 - Error during parsing: Unexpected '}' because no matching opening brace");
    check_error(". {\nnope\n}", "2 - Error during parsing: Unknown directive 'nope'");
    check_error(". {\n{\n}\n}", "2 - Error during parsing: Unknown directive '{'");
    check_error("a\nb {\n}", "2 - Error during parsing: Unknown directive 'b'");
}

#[test]
fn snippets() {
    check("(s) {\nlog\ncache 30\n}\n. {\nimport s\n}", &[". { log: log; cache: cache 30 }"]);
    check("(s) { log }\n. {\nimport s\n}", &[". { log: log }"]);
    check("(s) {\n}\n. {\nimport s\nlog\n}", &[". { log: log }"]);
    check("(s) {\na\n}\n. {\nlog {\nimport s\n}\n}", &[". { log: log { a } }"]);
    check("(s) {\na {\nlog\n}\n}\nimport s", &["a { log: log }"]);
    check("(a) {\nlog\n}\n(b) {\nimport a\n}\n. {\nimport b\n}", &[". { log: log }"]);
    check("() {\n}\n. {\n}", &[". {  }"]);
    // Within a line it is an ordinary word.
    check(". {\nlog import s\n}", &[". { log: log import s }"]);
}

#[test]
fn snippet_errors() {
    check_error("(s)\nlog", "2 - Syntax error: Unexpected token 'log', expecting '{'");
    check_error("(s) {\nlog {\n}", "3 - Syntax error: Unexpected token '}', expecting '}'");
    check_error(
        "(s) {\n}\n(s) {\n}",
        "3 - Error during parsing: redeclaration of previously declared snippet s",
    );
    let too_deep = "Error during parsing: maximum snippet import depth (10000) exceeded";
    check_error("(s) {\nimport s\n}\n", &format!("3 - {too_deep}"));
    check_error("(a) {\nimport b\n}\n(b) {\nimport a\n}\n. {\nimport a\n}", &format!("5 - {too_deep}"));
    check_error("(a) {\nimport b\nlog\n}\n(b) {\nimport a\n}\n. {\nimport a\n}", &format!("6 - {too_deep}"));
}

#[test]
fn files() {
    check("import blocks.conf", &["one { log: log }", "two { errors: errors }"]);
    check("import blocks.conf\n. {\n}", &["one { log: log }", "two { errors: errors }", ". {  }"]);
    check(". {\nimport lines.conf\ncache\n}", &[". { log: log; errors: errors; cache: cache }"]);
    check(". {\nimport deep/*.conf\n}", &[". { log: log; errors: errors; cache: cache 30 }"]);
    check(". {\nimport /etc/deep/?.conf\n}", &[". { log: log; errors: errors; cache: cache 30 }"]);
    check(". {\nimport bom.conf\n}", &[". { log: log }"]);
    check(". {\nimport empty.conf\n}", &[". {  }"]);
    check("import empty.conf", &[]);
    check("a, import lines.conf {\n}", &["a,import,lines.conf {  }"]);
}

#[test]
fn import_errors() {
    check_error(
        "import",
        "1 - Error during parsing: Wrong argument count or unexpected line ending after 'import'",
    );
    check_error("import \"\"", "1 - Error during parsing: Import requires a non-empty filepath");
    check_error(
        "import a b",
        "1 - Error during parsing: Import takes only one argument (glob pattern or file)",
    );
    check_error("import nope", "1 - Error during parsing: File to import not found: nope");
    check_error("import deep", "1 - Error during parsing: Could not import /etc/deep: is a directory");
    check_error(
        "import **",
        "1 - Error during parsing: Glob pattern may only contain one wildcard (*), but has others: /etc/**",
    );
    check_error(
        "import [a]",
        "1 - Error during parsing: Glob pattern may only contain one wildcard (*), but has others: /etc/[a]",
    );
    check_error(
        "import [",
        "1 - Error during parsing: Failed to use import pattern [: syntax error in pattern",
    );
    check_error("a,\nimport empty.conf", "0 - Error during parsing: Unexpected EOF");
}

/// CoreDNS's message has the limit of snippets; so has ours.
#[test]
fn a_file_importing_itself_is_stopped() {
    let error = parse("/etc/Corefile", b"import self.conf", None, &source()).unwrap_err();
    let expected = "/etc/self.conf:1 - Error during parsing: maximum file import depth (10000) exceeded";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_pattern_matching_nothing_is_a_warning() {
    let parsed = parse("/etc/Corefile", b". {\n  import nope*\n}", None, &source()).unwrap();
    let warnings: Vec<_> = parsed.warnings.iter().map(|w| (w.to_string(), w.line(), w.column())).collect();
    assert_eq!(warnings, [("No files matching import glob pattern: nope*".to_string(), 2, 10)]);
}

#[test]
fn variables() {
    check("{$ZONE}:{%PORT%} {\nlog {$TWO}\n}", &["example.org:1053 { log: log a b }"]);
    check("{$UNSET} a {\nlog x{$UNSET}y\n}", &["a { log: log xy }"]);
    // The directive's name is expanded for the lookup, its token is not.
    check(". {\n{$LOG} a\n}", &[". { log: {$LOG} a }"]);
    check("(s) {\nlog {$TWO}\n}\n. {\nimport {$UNSET}s\n}", &[". { log: log a b }"]);
    // A brace from a variable is an ordinary word; an import from a variable works among keys only.
    check(". {\nlog {$OPEN}\n}", &[". { log: log { }"]);
    check("{$IMPORT} blocks.conf", &["one { log: log }", "two { errors: errors }"]);
    check_error(". {\n{$IMPORT} lines.conf\n}", "2 - Error during parsing: Unknown directive 'import'");
    // After a variable with a line break, the next token counts as on the same line.
    check(". {\nlog {$BREAK}\nerrors\n}", &[". { log: log a\nb errors }"]);
}

#[test]
fn spans_refer_to_the_imported_file() {
    let parsed = parse("/etc/Corefile", b". {\n import lines.conf\n}", None, &source()).unwrap();
    let token = &parsed.blocks[0].directives[1].tokens[0];
    assert_eq!((token.span.file.name(), token.span.line, token.span.raw()), ("/etc/lines.conf", 2, "errors"));
}

#[test]
fn canonical_form() {
    let text = "b, a {\n log \"<x>\"\n import lines.conf\n cache {\n }\n}\n. {\n}";
    let parsed = parse("/etc/Corefile", text.as_bytes(), None, &source()).unwrap();
    let expected = concat!(
        r#"[{"Keys":["b","a"],"Tokens":{"#,
        r#""cache":[{"File":"","Line":4,"Text":"cache"},{"File":"","Line":4,"Text":"{"},"#,
        r#"{"File":"","Line":5,"Text":"}"}],"#,
        r#""errors":[{"File":"/etc/lines.conf","Line":2,"Text":"errors"}],"#,
        r#""log":[{"File":"","Line":2,"Text":"log"},{"File":"","Line":2,"Text":"\u003cx\u003e"},"#,
        r#"{"File":"/etc/lines.conf","Line":1,"Text":"log"}]}},"#,
        r#"{"Keys":["."],"Tokens":{}}]"#
    );
    assert_eq!(canonical_json(&parsed.blocks), expected);
    assert_eq!(canonical_json(&[]), "null");
}
