use super::*;

/// Results of Go 1.26.
#[test]
fn go_regular_expressions() {
    for (pattern, matching, other) in [
        ("^read udp .* i/o timeout$", "read udp 1:2: i/o timeout", "read udp: i/o timeout now"),
        (r"\d\w\s", "1a ", "١a "),
        (r"^\w+$", "abc_1", "añb"),
        (r"\bé", "aé", "é"),
        (r"^\B", "é", "e"),
        (r"[^\D]", "1", "x"),
        (r"a{,5}", "a{,5}", "aaa"),
        ("x{", "x{", "x"),
        (r"[a&&b]", "&", "c"),
        (r"[[a]+", "[", "]"),
        (r"\<\_\~", "<_~", "x"),
        (r"\Qa.b\E.", "a.bc", "axbc"),
        (r"(?i)ABC", "abc", "abd"),
        (r"(?P<n>a)(?P<n>b)", "ab", "a"),
        // The star repeats the `a`, not the flags.
        ("^a(?i)*B$", "aab", "acb"),
        (r"\p{Greek}\pL\p{^Greek}", "αβa", "abc"),
        (r"\x41\x{e9}\101", "AéA", "x"),
        // A repetition of zero times does not count towards the limit.
        ("^((?:x{1000}){0}y){2}$", "yy", "y"),
        ("", "", "\u{0}"),
    ] {
        let compiled = Regexp::compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        assert!(compiled.matches(matching), "{pattern} {matching}");
        assert!(pattern.is_empty() || !compiled.matches(other), "{pattern} {other}");
    }
}

/// Errors of Go 1.26.
#[test]
fn go_errors() {
    for (pattern, error) in [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("[a", "missing closing ]: `[a`"),
        ("[]a", "missing closing ]: `[]a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        (r"\p{Gre", r"invalid character class range: `\p{Gre`"),
        (r"\p", r"invalid character class range: `\p`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"[a-\d]", r"invalid escape sequence: `\d`"),
        (r"\xg", r"invalid escape sequence: `\xg`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("x{1001}", "invalid repeat count: `{1001}`"),
        ("x{2,1}", "invalid repeat count: `{2,1}`"),
        ("(((x{100}){100}){100})", "invalid repeat count: `{100}`"),
        ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`"),
        ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?P<a", "invalid named capture: `(?P<a`"),
        ("(?P<a-b>x)", "invalid named capture: `(?P<a-b>`"),
    ] {
        let got = Regexp::compile(pattern).map(|compiled| compiled.source().to_owned());
        assert_eq!(got, Err(format!("error parsing regexp: {error}")), "{pattern}");
    }
}

/// Groups that can never match are included.
#[test]
fn groups_have_names_and_numbers() {
    let compiled = Regexp::compile("(?P<a>x)(y){0}(?<b>z)|(w)").unwrap();
    assert_eq!(compiled.names(), ["", "a", "", "b", ""]);
    assert_eq!(compiled.groups(), 4);
    assert_eq!(compiled.find("-xz"), Some(vec!["xz", "x", "", "z", ""]));
    let groups = compiled.find_groups("-w").unwrap();
    assert_eq!(
        (groups.len(), groups.get("-w", 0), groups.get("-w", 3), groups.get("-w", 4)),
        (5, "w", "", "w")
    );
}
