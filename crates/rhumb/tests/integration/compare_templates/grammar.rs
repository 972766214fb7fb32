//! Generates templates and regular expressions, valid and invalid.

use testkit::random::Random;

use super::Case;

const NAME: &str = "ip-10-0-0-7";

const STRINGS: &[&str] = &[
    "`a`",
    "`10`",
    "``",
    "`a b`",
    "\"x\\ty\"",
    "\"h\\u00e9\"",
    "`%d`",
    "`<&'>=`",
    "\"\\xff\"",
    "`ip`",
    "`日本`",
    "\"\\u2028\"",
];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "7",
    "42",
    "1.5",
    "1e3",
    "1e6",
    "123456789.0",
    "0x1F",
    "0b11",
    "0o17",
    "017",
    "1_000",
    "'a'",
    "'\\n'",
    "1i",
    "1+2i",
    "1e-7",
    "3.0",
    "9223372036854775807",
    "9223372036854775808",
    ".5",
    "-2.5",
    "1e21",
    "0x1p4",
    "100000.0",
    "0.1",
    "1e100",
    "255",
    "65",
    "128512",
];
const FORMATS: &[&str] = &[
    "%v",
    "%d",
    "%s",
    "%q",
    "%x",
    "%X",
    "%05d",
    "%-8s|",
    "%8s|",
    "%[2]d",
    "%[2]v %[1]v",
    "%t",
    "%T",
    "%+d",
    "% d",
    "%#x",
    "%#v",
    "%+v",
    "%o",
    "%O",
    "%b",
    "%c",
    "%U",
    "%#U",
    "%e",
    "%E",
    "%f",
    "%F",
    "%g",
    "%G",
    "%.2f",
    "%8.3f|",
    "%-8.2f|",
    "%08.2f",
    "%+.1e",
    "%6d|",
    "%-6d|",
    "%.3s",
    "%.0d",
    "%5.2q",
    "% x",
    "%# x",
    "%*d",
    "%-*d|",
    "%.*f",
    "%[1]*d",
    "%[3]d",
    "%!",
    "%",
    "%z",
    "%w",
    "%5%",
    "%%",
    "%[x]d",
    "%[1",
    "%[]d",
    "%[1]",
    "%08s",
    "%-08d|",
    "%+q",
    "%#q",
    "%#o",
    "%#b",
    "%03x",
    "% 5d",
    "%+05d",
    "%-5t|",
    "%10.3v|",
    "%.3v",
    "%v%v",
    "%s %s",
    "%d.%d",
    "text",
    "é%vé",
    "%é",
    "%#g",
    "%#.3g",
    "%.3x",
    "%08b",
    "%#08x",
    "%.5d",
    "%8.5d|",
    "%.3c",
    "%5c|",
    "%06.1f",
    "% .2f",
    "%#e",
    "%.10g",
    "%.6U",
    "%-10U|",
];
const FIELDS: &[&str] = &[
    ".Name",
    ".Zone",
    ".Group.a",
    ".Group.b",
    ".Group.c",
    ".Group.d",
    ".Group.zz",
    ".Type",
    ".Remote",
    ".Class",
    ".Match",
    ".Group",
    "(index .Match 1)",
    "$.Name",
    ".Question.Name",
    ".Question.Qtype",
    ".Question",
    ".Message.RecursionDesired",
    ".Var",
    ".Var.x",
];
const ODD_FIELDS: &[&str] = &[
    ".Foo",
    ".md",
    ".Name.Foo",
    ".Group.zz.y",
    "$x",
    "$y",
    ".Meta `k`",
    ".Meta",
    ".Meta 1",
    ".Name `x`",
    ".Group.a 1",
    "nil",
    "(nil)",
    "(`a`).b",
    "(.Group).a",
    "(.).Name",
    "nil.x",
    "1.x",
    "true.x",
    ".Match.Foo",
    ".Question.Foo",
    "true",
    "false",
];
const FUNCTIONS: &[&str] = &[
    "print", "println", "len", "html", "js", "urlquery", "call", "eq", "ne", "lt", "le", "gt", "ge", "and",
    "or", "not",
];
const TAILS: &[&str] = &[
    "printf `%v`",
    "printf `%s:%d` `x`",
    "len",
    "print",
    "html",
    "js",
    "urlquery",
    "not",
    "index .Match",
    "index .Group",
    "eq 1",
    "println 1",
    "parseInt `7` 10",
    ".Name",
    ".Meta",
    "slice .Name 1",
    "call",
    "and 1",
    "or 0",
    "print `a`",
];
/// Mostly rejected.
const BROKEN: &[&str] = &[
    "{{end}}",
    "{{else}}",
    "{{break}}",
    "{{",
    "{{}}",
    "{{ | }}",
    "{{ 1 | }}",
    "{{ .a.. }}",
    "{{ `a }}",
    "{{ (1 }}",
    "{{ 1) }}",
    "{{ $q }}",
    "{{ .x = 1 }}",
    "{{ 1a }}",
    "{{ a-b }}",
    "{{ 'ab' }}",
    "{{ : }}",
    "{{ $a, $b := 1 }}",
    "{{ define `x` }}",
    "{{ template x }}",
    "{{ é }}",
    "{{ @ }}",
    "{{ 1 2 }}",
    "{{ nil }}",
    "{{ print nil }}",
    "{{ if }}x{{end}}",
    "{{ range $i, 5 }}{{end}}",
    "{{ with $x := 1 }}{{end}}{{ $x }}",
    "{{ (`a`) `b` }}",
    "{{ 99999999999999999999 }}",
    "{{ 1e999 }}",
    "{{ 0x }}",
    "{{ 1 | 2 }}",
    "{{ nosuch 1 }}",
    "{{ continue }}",
    "{{ block `q` }}{{end}}",
    "{{ print(1) }}",
    "{{ print 1(2) }}",
    "{{ 1.2.3 }}",
    "{{/* c }}",
    "{{ /* c */}}",
    "{{ template `t` }}",
    "{{ \"\\q\" }}",
];

/// A template that answers with a TXT record, in its own zone.
pub fn template(random: &mut Random, number: usize) -> Case {
    let mut text = String::new();
    for _ in 0..random.between(1, 3) {
        text += &node(random, 2);
    }
    if random.chance(0.12) {
        text += *random.pick(BROKEN);
    }
    let zone = format!("t{number}.test");
    let text = format!("{zone}. 0 IN TXT \"{text}\"").replace('"', "\\\"");
    let pattern = "^ip-(?P<a>[0-9]+)-(?P<b>[0-9]+)-(?P<c>x?)[0-9]+-(?P<d>[0-9])";
    let block = format!("template IN TXT {zone} {{\n match {pattern}\n answer \"{text}\"\n}}\n");
    Case { block, names: vec![format!("{NAME}.{zone}")] }
}

fn node(random: &mut Random, depth: usize) -> String {
    let kind = if depth == 0 { random.below(60) } else { random.below(100) };
    match kind {
        0..15 => (*random.pick(&["text ", " a.b. ", " ", "x{y", "%", "é"])).to_owned(),
        15..62 => action(random, |random| pipeline(random, 2)),
        62..72 => {
            let condition = action(random, |random| format!("if {}", pipeline(random, 1)));
            condition + &nodes(random, depth - 1) + &otherwise(random, "if", depth) + "{{ end }}"
        }
        72..79 => {
            let variable = *random.pick(&["", "$y := "]);
            let value = action(random, |random| format!("with {variable}{}", pipeline(random, 1)));
            value + &nodes(random, depth - 1) + &otherwise(random, "with", depth) + "{{ end }}"
        }
        79..91 => {
            let variables = *random.pick(&["", "$x := ", "$i, $e := "]);
            let over = *random.pick(&[
                ".Match",
                ".Group",
                "3",
                ".Name",
                "(slice .Match 1 3)",
                "nil",
                ".Group.zz",
                "0",
            ]);
            let inside = *random.pick(match variables {
                "$x := " => &["{{ $x }}", "{{.}}"],
                "$i, $e := " => &["{{ $i }}={{ $e }},", "{{ if eq $e `10` }}{{ break }}{{ end }}"],
                _ => &["{{ . }}", "{{ if eq . `10` }}{{ continue }}{{ end }}x"],
            });
            let end = *random.pick(&["{{ end }}", "{{ else }}none{{ end }}"]);
            format!("{{{{ range {variables}{over} }}}}{inside}{}{end}", nodes(random, depth - 1))
        }
        91..96 => {
            let first = action(random, |random| format!("$x := {}", pipeline(random, 1)));
            first + &nodes(random, depth - 1) + "{{ $x }}"
        }
        96..98 => "{{- /* a comment */ -}}".to_owned(),
        _ => format!("{{{{ block `b{}` .Name }}}}{{{{ . }}}}{{{{ end }}}}", random.below(1000)),
    }
}

fn nodes(random: &mut Random, depth: usize) -> String {
    (0..random.below(3)).map(|_| node(random, depth)).collect()
}

fn otherwise(random: &mut Random, word: &str, depth: usize) -> String {
    match random.below(3) {
        0 => String::new(),
        1 => "{{ else }}".to_owned() + &nodes(random, depth - 1),
        _ => format!("{{{{ else {word} {} }}}}", pipeline(random, 1)) + &nodes(random, depth - 1),
    }
}

fn action(random: &mut Random, inside: impl FnOnce(&mut Random) -> String) -> String {
    // A variable right after a brace would be an environment variable.
    let left = *random.pick(&["{{ ", "{{ ", "{{- "]);
    let right = *random.pick(&["}}", " }}", " -}}"]);
    format!("{left}{}{right}", inside(random))
}

fn pipeline(random: &mut Random, depth: usize) -> String {
    let mut text = command(random, depth);
    while random.chance(0.2) {
        text = format!("{text} | {}", random.pick(TAILS));
    }
    text
}

fn command(random: &mut Random, depth: usize) -> String {
    let some = |random: &mut Random, low: usize, high: usize| -> String {
        (0..random.between(low, high)).map(|_| format!(" {}", operand(random, depth))).collect()
    };
    match random.below(20) {
        0..4 => operand(random, depth),
        4..10 => {
            let format: String = (0..random.between(1, 2)).map(|_| *random.pick(FORMATS)).collect();
            format!("printf `{format}`{}", some(random, 0, 3))
        }
        10..12 => {
            let of = *random.pick(&[".Match", ".Group", ".Name"]);
            let by = *random.pick(&["0", "1", "4", "5", "-1", "`a`", "`zz`", "24", "100"]);
            format!("index {of} {by}")
        }
        12..14 => {
            let of = *random.pick(&[".Match", ".Name", ".Zone"]);
            format!("slice {of} {} {}", random.below(6), random.pick(&["", "3", "4", "9", "99"]))
        }
        14..16 => {
            let text = *random.pick(&[".Group.a", ".Group.d", "`ff`", "`0x1f`", "`999`", "`1_0`"]);
            let base = *random.pick(&["10", "16", "0", "2", "36", "37", "1"]);
            format!("parseInt {text} {base} {}", random.pick(&["8", "16", "64", "0", "65"]))
        }
        _ => {
            let function = *random.pick(FUNCTIONS);
            let (low, high) = match function {
                "ne" | "lt" | "le" | "gt" | "ge" => (2, 2),
                "len" | "not" => (1, 1),
                "eq" | "and" | "or" => (1, 3),
                _ => (0, 3),
            };
            format!("{function}{}", some(random, low, high))
        }
    }
}

fn operand(random: &mut Random, depth: usize) -> String {
    match random.below(20) {
        0..5 => (*random.pick(STRINGS)).to_owned(),
        5..10 => (*random.pick(NUMBERS)).to_owned(),
        10..16 => (*random.pick(FIELDS)).to_owned(),
        16 => (*random.pick(ODD_FIELDS)).to_owned(),
        _ if depth == 0 => ".Name".to_owned(),
        _ => format!("({})", pipeline(random, depth - 1)),
    }
}

const ATOMS: &[&str] = &[
    "a",
    "b",
    "x1",
    "[a-z]",
    "[^.]",
    "[0-9a-f]",
    "\\d",
    "\\w",
    "\\D",
    "\\W",
    "\\s",
    "\\S",
    ".",
    "\\.",
    "[.]",
    "-",
    "[[:alpha:]]",
    "[[:^digit:]]",
    "[[:word:]-]",
    "\\pL",
    "\\p{Greek}",
    "\\P{Lu}",
    "\\p{^L}",
    "\\Qa.b\\E",
    "\\x61",
    "\\x{62}",
    "\\141",
    "\\b",
    "\\B",
    "^",
    "$",
    "\\A",
    "\\z",
    "[a-c-]",
    "[]a]",
    "[^]a]",
    "[\\d\\-x]",
    "[\\w.]",
    "é",
    "[à-ü]",
    "(?i)A",
    "(?-i)b",
    "(?i:X)",
    "(?s).",
    "(?U)a+",
    "(?U:a+?)",
    "(?ms)^a",
    "()",
    "(?P<n>[a-z]+)",
    "(?<m>\\d+)",
    "(a|b|)",
    "(?:ab|a)",
    "[[:xdigit:]]",
    "\\pN",
    "[\\pL]",
    "\\a",
    "\\t",
    "\\n",
    "\\-",
    "\\_",
    "_",
    "{",
    "}",
    "a{,2}",
    "]",
    "[&&]",
    "[a&&b]",
    "(?i)[k]",
    "(?i)\\x{212a}",
    "[^\\x00-\\x{10FFFF}]",
];
const REPEATS: &[&str] =
    &["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0}", "{0,1}?", "{3}?", "{1000}"];
/// Rejected.
const BAD_ATOMS: &[&str] = &[
    "(",
    ")",
    "[",
    "[a",
    "[z-a]",
    "a**",
    "a{2}{3}",
    "*",
    "+a",
    "a|*",
    "\\8",
    "\\C",
    "\\",
    "\\p{Foo}",
    "\\pX",
    "[[:foo:]]",
    "(?=a)",
    "(?<n",
    "(?P<a-b>x)",
    "(?P<>x)",
    "(?x)a",
    "a{1001}",
    "(a{500}){3}",
    "x{2,1}",
    "(?i-)a",
    "\\x{110000}",
    "\\xg",
    "(?P=n)",
    "[a-\\d]",
    "\\1",
    "(?",
    "a???",
    "\\Z",
    "\\G",
    "[\\b]",
    "(?P<n>a)(?P<n>b)",
    "(?z:a)",
    "a{0}{1}",
    "\\k<n>",
    "(?#x)",
    "(?>a)",
    "[[.a.]]",
    "\\u0061",
    "\\cA",
    "{1}",
];

/// A regular expression and names it may match; a TXT record returns the groups.
pub fn pattern(random: &mut Random, number: usize) -> Case {
    let mut text = String::new();
    for _ in 0..random.between(1, 5) {
        text += &piece(random, 2);
    }
    if random.chance(0.25) {
        text += *random.pick(BAD_ATOMS);
    }
    let zone = format!("p{number}.test");
    let said = "{{ range $i, $e := .Match }}{{ $i }}={{ $e }};{{ end }}{{ range $k, $v := .Group }}{{ $k }}:{{ $v }};{{ end }}";
    let block = format!(
        "template IN TXT {zone} {{\n match \"{text}\"\n answer \"{zone}. 0 IN TXT \\\"{said}\\\"\"\n fallthrough\n}}\n"
    );
    let labels = ["a", "ab.x1", "xa-b", "aaa.bbb", "0f.a", "x1x1-9", "k_z", "a.b.c", "zz", "ABC"];
    let names = (0..4).map(|_| format!("{}.{zone}", random.pick(&labels))).collect();
    Case { block, names }
}

fn piece(random: &mut Random, depth: usize) -> String {
    let atom = if depth > 0 && random.chance(0.25) {
        let inner: String = (0..random.between(1, 3)).map(|_| piece(random, depth - 1)).collect();
        let open = *random.pick(&["(", "(?:", "(?P<g>", "(?i:", "(?<h1>"]);
        let other = if random.chance(0.3) { format!("|{}", piece(random, depth - 1)) } else { String::new() };
        format!("{open}{inner}{other})")
    } else {
        (*random.pick(ATOMS)).to_owned()
    };
    format!("{atom}{}", random.pick(REPEATS))
}
