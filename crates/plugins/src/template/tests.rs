use crate::testing::harness::{answer, check, refused, service};

fn corefile(body: &str) -> String {
    format!(".:53 {{\n template {body}\n hosts {{\n 10.0.0.9 new.example\n fallthrough\n }}\n}}\n")
}

#[test]
fn answers() {
    for (body, question, expected) in [
        (
            "IN A {\n answer \"{{ .Name }} 60 IN A 10.0.0.1\"\n}",
            "A.example",
            "NOERROR qr,aa\nanswer: a.example. 60 IN A 10.0.0.1",
        ),
        // The record is the same for every query.
        (
            "IN A {\n answer \"x.example. IN A 10.0.0.1\"\n}",
            "a.example",
            "NOERROR qr,aa\nanswer: x.example. 3600 IN A 10.0.0.1",
        ),
        (
            "IN PTR in-addr.arpa {\n match ^([0-9]+)[.](?P<c>[0-9]+)[.]\n answer \"{{ .Name }} 5 PTR {{ index .Match 1 }}-{{ .Group.c }}.example.\"\n}",
            "4.3.2.1.in-addr.arpa PTR",
            "NOERROR qr,aa\nanswer: 4.3.2.1.in-addr.arpa. 5 IN PTR 4-3.example.",
        ),
        ("ANY ANY {\n rcode NXDOMAIN\n}", "a.example MX", "NXDOMAIN qr,aa"),
        (
            "ANY ANY {\n rcode REFUSED\n ederror 15 no\n}",
            "a.example",
            "REFUSED qr,aa\nopt: 4096 do 15:\0\u{f}no",
        ),
        ("ANY ANY {\n rcode SERVFAIL\n}", "a.example", "SERVFAIL qr"),
        // A CNAME target is looked up through the whole server.
        (
            "IN ANY old.example {\n answer \"{{ .Name }} 5 CNAME new.example.\"\n}",
            "old.example A",
            "NOERROR qr,aa\nanswer: old.example. 5 IN CNAME new.example.\nanswer: new.example. 3600 IN A 10.0.0.9",
        ),
        (
            "IN ANY old.example {\n answer \"{{ .Name }} 5 CNAME new.example.\"\n}",
            "old.example TXT",
            "NOERROR qr,aa\nanswer: old.example. 5 IN CNAME new.example.",
        ),
        ("IN A {\n match ^x\n}", "a.example", "SERVFAIL qr"),
        (
            "IN A {\n match ^x\n fallthrough\n}",
            "new.example",
            "NOERROR qr,aa\nanswer: new.example. 3600 IN A 10.0.0.9",
        ),
        ("IN A {\n match ^x\n fallthrough other\n}", "new.example", "SERVFAIL qr"),
        ("IN TXT {\n}", "new.example", "NOERROR qr,aa\nanswer: new.example. 3600 IN A 10.0.0.9"),
        ("IN A other.example {\n}", "new.example", "NOERROR qr,aa\nanswer: new.example. 3600 IN A 10.0.0.9"),
        (
            "IN A {\n match ^(?P<x>.)\n var y group('x') + '1'\n expr y == 'a1' && group(0) == 'a'\n answer \"{{ .Var.y }}. 5 A 10.0.0.1\"\n}",
            "a.example",
            "NOERROR qr,aa\nanswer: a1. 5 IN A 10.0.0.1",
        ),
        (
            "IN A {\n expr false\n fallthrough\n}",
            "new.example",
            "NOERROR qr,aa\nanswer: new.example. 3600 IN A 10.0.0.9",
        ),
        ("IN A {\n expr incidr('x', '10.0.0.0/8')\n fallthrough\n}", "new.example", "SERVFAIL qr"),
        // Records that cannot be sent.
        ("IN TXT {\n answer \"\"\n}", "a.example TXT", "dropped"),
        ("IN A {\n answer \"\"\n}", "a.example", "SERVFAIL qr"),
        ("IN A {\n answer \"a. TLSA 3 1 1 zz\"\n}", "a.example", "dropped"),
        ("IN A {\n answer \"{{ .Name }} A {{ .Type }}\"\n}", "a.example", "SERVFAIL qr"),
        ("IN A {\n answer \"{{ .Nobody }}\"\n}", "a.example", "SERVFAIL qr"),
    ] {
        check(&corefile(body), question, expected);
    }
}

#[test]
fn template_data() {
    let render = |template: &str, question: &str| {
        let body = format!(
            "ANY ANY example {{\n match ^(?P<first>[^.]*)[.](x)?\n answer \". 0 TXT \\\"{template}\\\"\"\n}}"
        );
        let answered = answer(&service(&corefile(&body)), question);
        let text = answered.split("IN TXT ").nth(1).unwrap_or(&answered);
        text.lines().next().unwrap_or_default().trim_matches('"').to_owned()
    };
    for (template, question, expected) in [
        ("{{ .Name }} {{ .Zone }} {{ .Class }} {{ .Type }}", "A.Example MX", "a.example. example. IN MX"),
        ("{{ .Type }}", "a.example ANY", "ANY"),
        ("{{ .Group }} {{ .Match }}", "a.example", "map[0:a. 1:a 2: first:a] [a. a ]"),
        ("{{ range $k, $v := .Group }}{{ $k }}={{ $v }},{{ end }}", "a.example", "0=a.,1=a,2=,first=a,"),
        ("{{ .Remote }}", "a.example A from=2001:db8::1", "2001:db8::1"),
        (
            "{{ .Question.Name }} {{ .Question.Qtype }} {{ .Question.Qclass }}",
            "A.example MX",
            "A.example. 15 1",
        ),
        ("{{ .Message.RecursionDesired }} {{ .Message.Id }}", "a.example A rd", "true 4711"),
        ("{{ (index .Message.Question 0).Qtype }} {{ len .Message.Extra }}", "a.example A do", "1 1"),
        ("{{ .Regex }}", "a.example", "^(?P<first>[^.]*)[.](x)?"),
        ("{{ .Meta `nobody/knows` }}.{{ .Var.x }}", "a.example", ".<no value>"),
        ("{{ parseInt `ff` 16 8 }}", "a.example", "255"),
    ] {
        assert_eq!(render(template, question), expected, "{template}");
    }
}

/// CoreDNS's error texts.
#[test]
fn refusals() {
    let place = |line: usize| format!("plugin/template: Corefile:{line} - Error during parsing: ");
    for (body, line, expected) in [
        ("", 2, "Wrong argument count or unexpected line ending after 'template'"),
        ("IN", 2, "Wrong argument count or unexpected line ending after 'IN'"),
        ("XX A", 2, "invalid query class XX"),
        ("IN a", 2, "invalid RR class a"),
        ("IN A {\n match\n}", 3, "Wrong argument count or unexpected line ending after 'match'"),
        ("IN A {\n match (\n}", 3, "could not parse regex: (, error parsing regexp: missing closing ): `(`"),
        (
            "IN A {\n answer \"{{\"\n}",
            3,
            "could not compile template: {{, template: answer:1: unclosed action",
        ),
        (
            "IN A {\n answer \"{{ nosuch }}\"\n}",
            3,
            "could not compile template: {{ nosuch }}, template: answer:1: function \"nosuch\" not defined",
        ),
        ("IN A {\n var x\n}", 3, "Wrong argument count or unexpected line ending after 'x'"),
        ("IN A {\n var 1x 2\n}", 3, "invalid variable name \"1x\""),
        ("IN A {\n var len 2\n}", 3, "variable name \"len\" is reserved"),
        ("IN A {\n expr\n}", 3, "Wrong argument count or unexpected line ending after 'expr'"),
        ("IN A {\n rcode nxdomain\n}", 3, "unknown rcode nxdomain"),
        (
            "IN A {\n ederror x y\n}",
            3,
            "error parsing extended DNS error code y, strconv.ParseUint: parsing \"x\": invalid syntax",
        ),
        ("IN A {\n nosuch\n}", 3, "Wrong argument count or unexpected line ending after 'nosuch'"),
    ] {
        assert_eq!(refused(&corefile(body)), format!("{}{expected}", place(line)), "{body}");
    }
}
