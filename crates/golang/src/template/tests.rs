use super::*;
use crate::value::{Field, Width};

/// A struct, a list and a map.
struct TestData(&'static str);

impl Data for TestData {
    fn type_name(&self) -> &str {
        match self.0 {
            "list" => "[]string",
            "map" => "map[string]string",
            _ => "*test.Data",
        }
    }

    fn len(&self) -> usize {
        2
    }

    fn item(&self, index: usize) -> Value<'_> {
        Value::text(["x", "10"][index])
    }

    fn key(&self, index: usize) -> Value<'_> {
        Value::text(["a", "b"][index])
    }

    fn get(&self, key: &[u8]) -> Option<Value<'_>> {
        match key {
            b"a" => Some(self.item(0)),
            b"b" => Some(self.item(1)),
            _ => None,
        }
    }

    fn field(&self, name: &str) -> Field<'_> {
        Field::Value(match name {
            "Name" => Value::text("a.example."),
            "List" => Value::list(&TestData("list")),
            "Map" => Value::Map(&TestData("map")),
            "Port" => Value::Uint(53, Width::Bits16),
            "secret" => return Field::Unexported,
            "Meta" => return Field::Method(1),
            _ => return Field::Unknown,
        })
    }

    fn call(&self, _method: &str, args: &[Value<'_>]) -> Value<'_> {
        match args {
            [Value::Text(text)] => Value::owned(format!("<{}>", String::from_utf8_lossy(text))),
            _ => Value::Nil,
        }
    }
}

fn output(text: &str) -> String {
    let template = match Template::parse("t", text, Functions(&[("parseInt", Function::ParseUint)])) {
        Ok(template) => template,
        Err(error) => return error,
    };
    let mut out = Vec::new();
    match template.execute(&TestData("struct"), &mut out) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(error) => error,
    }
}

/// Output of Go 1.26.
#[test]
fn output_is_that_of_go() {
    for (text, expected) in [
        ("plain", "plain"),
        ("{{ .Name }} 60", "a.example. 60"),
        ("a {{- 1 -}} b", "a1b"),
        ("x{{/* no */}}y", "xy"),
        ("{{ .Map.a }}{{ .Map.nobody }}", "x<no value>"),
        ("{{ index .List 1 }}{{ index .Map `b` }}{{ index `abc` 1 }}", "101098"),
        ("{{ .List }}{{ .Map }}{{ slice .List 1 }}", "[x 10]map[a:x b:10][10]"),
        ("{{ range $i, $e := .List }}{{ $i }}{{ $e }}{{ end }}", "0x110"),
        ("{{ range $k, $v := .Map }}{{ $k }}{{ $v }}{{ else }}none{{ end }}", "axb10"),
        ("{{ range 3 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}", "02"),
        ("{{ range .List }}{{ break }}{{ end }}{{ range .Map.nobody }}{{ else }}none{{ end }}", "none"),
        ("{{ if and 1 .Name }}a{{ else if 2 }}b{{ end }}{{ with $x := 3 }}{{ $x }}{{ . }}{{ end }}", "a33"),
        ("{{ $x := 1 }}{{ range 2 }}{{ $x = . }}{{ end }}{{ $x }}", "1"),
        (
            "{{ define `t2` }}<{{ . }}>{{ end }}{{ template `t2` .Name }}{{ block `b` 7 }}{{ . }}{{ end }}",
            "<a.example.>7",
        ),
        ("{{ .Name | printf `%s-%d` | len }}", "23"),
        ("{{ .Meta `x` }}{{ `y` | .Meta }}", "<x><y>"),
        ("{{ parseInt `7f` 16 8 }}", "127"),
        (
            "{{ printf `%05d|%-4s|%4s|%x|%q|%v|%T` 42 `a` `b` `hi` `q` true .Port }}",
            "00042|a   |   b|6869|\"q\"|true|uint16",
        ),
        ("{{ printf `%[2]d %[1]d %d` 1 2 }}", "2 1 2"),
        ("{{ printf `%d %s` `x` 1 }}", "%!d(string=x) %!s(int=1)"),
        ("{{ printf `%d` }}{{ printf `x` 1 }}", "%!d(MISSING)x%!(EXTRA int=1)"),
        ("{{ 1.5 }} {{ 1e6 }} {{ 1e-7 }} {{ 2i }} {{ 'a' }}", "1.5 1e+06 1e-07 (0+2i) 97"),
        ("{{ print 1 2 `a` 3 }}{{ println 1 `b` }}", "1 2a31 b\n"),
        ("{{ html `<a>` }}{{ js `'` }}{{ urlquery `a b&` }}", "&lt;a&gt;\\'a+b%26"),
        ("{{ eq 1 2 1 }}{{ ne .Port 53 }}{{ lt 1 2 }}{{ ge `b` `a` }}{{ not 0 }}", "truefalsetruetruetrue"),
    ] {
        assert_eq!(output(text), expected, "{text}");
    }
}

#[test]
fn errors_are_those_of_go() {
    for (text, expected) in [
        ("{{", "template: t:1: unclosed action"),
        ("{{ (1 }}", "template: t:1: unclosed left paren"),
        ("{{ nosuch }}", "template: t:1: function \"nosuch\" not defined"),
        ("{{ $x }}", "template: t:1: undefined variable \"$x\""),
        ("{{ if 1 }}", "template: t:1: unexpected EOF"),
        ("{{ end }}", "template: t:1: unexpected {{end}}"),
        ("{{ 1 | 2 }}", "template: t:1: non executable command in pipeline stage 2"),
        ("\n{{ 1a }}", "template: t:2: bad number syntax: \"1a\""),
        ("{{ break }}", "template: t:1: {{break}} outside {{range}}"),
        (
            "{{ .Nobody }}",
            "template: t:1:3: executing \"t\" at <.Nobody>: can't evaluate field Nobody in type *test.Data",
        ),
        (
            "{{ .secret }}",
            "template: t:1:3: executing \"t\" at <.secret>: secret is an unexported field of struct type *test.Data",
        ),
        (
            "{{ .Name.x }}",
            "template: t:1:8: executing \"t\" at <.Name.x>: can't evaluate field x in type string",
        ),
        (
            "{{ index .List 2 }}",
            "template: t:1:3: executing \"t\" at <index .List 2>: error calling index: reflect: slice index out of range",
        ),
        (
            "{{ index .List 3 }}",
            "template: t:1:3: executing \"t\" at <index .List 3>: error calling index: index out of range: 3",
        ),
        (
            "{{ lt 1 `a` }}",
            "template: t:1:3: executing \"t\" at <lt 1 `a`>: error calling lt: incompatible types for comparison: int and string",
        ),
        ("{{ len 3 }}", "template: t:1:3: executing \"t\" at <len 3>: error calling len: len of type int"),
        (
            "{{ .Meta }}",
            "template: t:1:3: executing \"t\" at <.Meta>: wrong number of args for Meta: want 1 got 0",
        ),
        (
            "{{ template `q` }}",
            "template: t:1:12: executing \"t\" at <{{template \"q\"}}>: template \"q\" not defined",
        ),
        (
            "{{ range .Name }}{{ end }}",
            "template: t:1:9: executing \"t\" at <.Name>: range can't iterate over a.example.",
        ),
    ] {
        assert_eq!(output(text), expected, "{text}");
    }
}

/// The text of a template in metrics.
#[test]
fn display_is_that_of_go() {
    for (text, expected) in [
        ("a{{- .B.c | f2 -}} d", "template: t:1: function \"f2\" not defined"),
        ("a {{- .B.c|print (1) -}} d", "a{{.B.c | print (1)}}d"),
        ("{{if 1}}x{{else if 2}}y{{end}}", "{{if 1}}x{{else}}{{if 2}}y{{end}}{{end}}"),
        ("{{range $i,$e:=.L}}{{$i}}{{end}}", "{{range $i, $e := .L}}{{$i}}{{end}}"),
    ] {
        let printed = Template::parse("t", text, Functions::default());
        assert_eq!(printed.map_or_else(|error| error, |template| template.to_string()), expected);
    }
}

/// Recursion and deep nesting must not overflow the stack.
#[test]
fn templates_end() {
    assert!(
        output("{{ define `r` }}{{ template `r` }}{{ end }}{{ template `r` }}")
            .contains("exceeded maximum template depth")
    );
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(output(&deep), "template: t:1: max expression depth exceeded");
    assert_eq!(output("{{ printf `%1000000d` 1 | len }}"), "1000000");
}
