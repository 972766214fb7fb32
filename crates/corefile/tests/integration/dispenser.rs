//! The cursor, compared with CoreDNS's own on the same lines.

use corefile::{Diagnostic, Dispenser, SourceFile, lexer};

fn with<T>(text: &str, read: impl FnOnce(&mut Dispenser<'_>) -> T) -> T {
    let tokens = lexer::tokens(&SourceFile::main("Testfile", text.as_bytes()));
    read(&mut Dispenser::new("Testfile", &tokens))
}

/// Reads a directive the way most setups do, into `args | property args | ...`.
fn usual_setup(c: &mut Dispenser<'_>) -> Result<String, Diagnostic> {
    let mut seen = Vec::new();
    while c.next() {
        seen.push(c.remaining_args().join(" "));
        while c.next_block() {
            match c.val() {
                "max" | "min" => {
                    let name = c.val();
                    let [value] = c.args().ok_or_else(|| c.arg_err())?;
                    seen.push(format!("{name}={value}"));
                }
                "list" => seen.push(format!("list={}", c.remaining_args().join(","))),
                _ => return Err(c.unknown_property(&["max", "min", "list"])),
            }
        }
    }
    Ok(seen.join(" | "))
}

fn check(text: &str, expected: Result<&str, &str>) {
    let found = with(text, usual_setup).map_err(|error| error.to_string());
    assert_eq!(found, expected.map(str::to_string).map_err(str::to_string), "{text}");
}

#[test]
fn the_usual_setup() {
    check("dir", Ok(""));
    check("dir a b", Ok("a b"));
    check("dir a {\nmax 1\nlist a b\n}", Ok("a | max=1 | list=a,b"));
    check("dir a\ndir b {\nmin 2\n}\ndir c", Ok("a | b | min=2 | c"));
    check("dir {\n}", Ok(""));
    check("dir \"a b\" \"\"", Ok("a b "));
    check(
        "dir {\nmax\n}",
        Err("Testfile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'max'"),
    );
    check("dir {\nmaxx 1\n}", Err("Testfile:2 - Error during parsing: unknown property 'maxx'"));
    check("dir {\nmax {\n}\n}", Ok(" | max={ | "));
    // A brace on a line of its own opens nothing: it is read like the start of another directive.
    check("dir\n{\nmax 1\n}", Ok(" |  | 1 | "));
}

#[test]
fn steps() {
    with("a b\nc", |c| {
        assert_eq!((c.val(), c.line(), c.file()), ("", 0, "Testfile"));
        assert!(!c.clone().next_block());
        assert!(c.next_arg());
        assert_eq!(c.val(), "a");
        assert!(!c.next_line());
        assert!(c.next_arg());
        assert!(!c.next_arg());
        assert!(c.next_line());
        assert_eq!((c.val(), c.line()), ("c", 2));
        assert!(!c.next() && !c.next_arg() && !c.next_line());
        assert_eq!(c.val(), "c");
    });
    with("", |c| {
        // There is no first token, but moving to it succeeds.
        assert!(c.next_arg());
        assert_eq!(c.val(), "");
        assert!(!c.next() && !c.next_arg());
    });
    with("a b", |c| {
        assert!(c.next());
        assert_eq!(c.args::<2>(), None);
        assert_eq!(c.val(), "b");
    });
}

#[test]
fn nested_blocks() {
    with("dir {\na {\nb\n}\nc\n}", |c| {
        assert!(c.next());
        let mut seen = Vec::new();
        while c.next_block() {
            seen.push(c.val());
            while c.next_block() {
                seen.push(c.val());
            }
        }
        // The inner block's end ends the inner loop, and the outer one continues.
        assert_eq!(seen, ["a", "b", "c"]);
    });
}

#[test]
fn errors() {
    with("a {", |c| {
        assert_eq!(c.err("x").to_string(), "Testfile:0 - Error during parsing: x");
        assert!(c.next());
        assert_eq!(
            c.syntax_err("y").to_string(),
            "Testfile:1 - Syntax error: Unexpected token 'a', expecting 'y'"
        );
        assert_eq!(c.eof_err().to_string(), "Testfile:1 - Error during parsing: Unexpected EOF");
        assert_eq!(c.bare_err("plain").to_string(), "plain");
        let error = c.err("bad").in_plugin("forward");
        assert_eq!(error.to_string(), "plugin/forward: Testfile:1 - Error during parsing: bad");
        assert!(c.next());
        let expected = "Testfile:1 - Error during parsing: Unexpected token '{', expecting argument";
        assert_eq!(c.arg_err().to_string(), expected);
    });
}
