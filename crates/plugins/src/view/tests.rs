use crate::testing::harness::{answer, configure, refused, service};

/// Two blocks of one zone: the first behind a view, the second for the rest.
fn split(expression: &str) -> String {
    format!(
        ". {{\n view first {{\n expr {expression}\n }}\n hosts {{\n 192.0.2.1 a.example.org\n }}\n}}\n\
         . {{\n hosts {{\n 192.0.2.2 a.example.org\n }}\n}}\n"
    )
}

#[test]
fn the_first_block_whose_expression_is_true_serves_the_query() {
    for (expression, question, first) in [
        ("true", "a.example.org. A", true),
        ("false", "a.example.org. A", false),
        ("name() == 'a.example.org.'", "A.Example.org. A", true),
        ("type() in ['A', 'AAAA']", "a.example.org. A", true),
        ("type() == 'AAAA'", "a.example.org. A", false),
        ("class() == 'IN' && proto() == 'udp' && opcode() == 0", "a.example.org. A", true),
        ("proto() == 'tcp' and bufsize() == 65535", "a.example.org. A tcp", true),
        ("bufsize() == 512 && !do()", "a.example.org. A", true),
        ("bufsize() == 1232 && do()", "a.example.org. A size=1232 do", true),
        ("id() == 4711 && port() == '40212' && size() == 31", "a.example.org. A", true),
        ("server_ip() == '127.0.0.1' && server_port() == '53'", "a.example.org. A", true),
        ("client_ip() == '10.240.0.1'", "a.example.org. A", true),
        ("client_ip() == '2001:db8::1'", "a.example.org. A from=2001:db8::1", true),
        ("incidr(client_ip(), '10.0.0.0/8')", "a.example.org. A", true),
        ("incidr(client_ip(), '10.0.0.0/8')", "a.example.org. A from=11.0.0.1", false),
        ("incidr(client_ip(), '2001:db8::/32')", "a.example.org. A from=2001:db8::1", true),
        ("incidr(client_ip(), '::/0')", "a.example.org. A", false),
        ("incidr(client_ip(), '::ffff:10.0.0.0/104')", "a.example.org. A", true),
        ("incidr(client_ip(), client_ip() + '/32')", "a.example.org. A", true),
        // An expression that fails or yields no boolean does not accept the query, also after a `not`.
        ("incidr(client_ip(), 'nonsense')", "a.example.org. A", false),
        ("not incidr(client_ip(), 'nonsense')", "a.example.org. A", false),
        ("incidr('nonsense', '10.0.0.0/8') || true", "a.example.org. A", true),
        ("1", "a.example.org. A", false),
        ("'true'", "a.example.org. A", false),
        ("metadata('view/name') == 'first'", "a.example.org. A", false),
        ("name() matches '^a\\\\.'", "a.example.org. A", true),
    ] {
        let got = answer(&service(&split(expression)), question);
        let expected = if first { "192.0.2.1" } else { "192.0.2.2" };
        assert!(got.contains(expected), "{expression}: {question}\n{got}");
    }
}

#[test]
fn all_expressions_must_be_true() {
    let both = split("type() == 'A'\n expr incidr(client_ip(), '10.0.0.0/8')");
    for (question, expected) in
        [("a.example.org. A", "192.0.2.1"), ("a.example.org. A from=11.0.0.1", "192.0.2.2")]
    {
        assert!(answer(&service(&both), question).contains(expected), "{question}");
    }
    let none = ". {\n view all\n hosts {\n 192.0.2.1 a.example.org\n }\n}\n";
    assert!(answer(&service(none), "a.example.org. A").contains("192.0.2.1"));
}

#[test]
fn metadata_is_available_before_the_block_is_chosen() {
    let corefile = split("metadata('view/name') == 'first' && metadata('no/such') == ''\n }\n metadata {");
    let corefile = corefile.replace("metadata {\n }", "metadata");
    assert!(answer(&service(&corefile), "a.example.org. A").contains("192.0.2.1"), "{corefile}");
}

#[test]
fn refused_if_no_block_accepts_the_query() {
    let corefile = ". {\n view none {\n expr false\n }\n whoami\n}\n";
    assert!(answer(&service(corefile), "a.example.org. A").starts_with("REFUSED"), "{corefile}");
}

#[test]
fn ds_goes_to_the_last_block_that_accepts_it() {
    let corefile = "example.org {\n view one {\n expr true\n }\n erratic {\n drop 1\n }\n}\n\
                    example.org {\n view two {\n expr true\n }\n acl {\n block\n }\n whoami\n}\n\
                    example.org {\n view three {\n expr false\n }\n whoami\n}\n";
    assert!(answer(&service(corefile), "a.example.org. DS").starts_with("REFUSED"));
    assert_eq!(answer(&service(corefile), "a.example.org. A"), "dropped\n");
}

#[test]
fn the_same_zone_twice_needs_views() {
    let block = |view: &str| format!("example.org {{\n {view}\n whoami\n}}\n");
    let viewed = block("view a {\n expr true\n }");
    for blocks in [[&viewed, &viewed], [&viewed, &block("")], [&block(""), &viewed]] {
        assert!(configure(&format!("{}{}", blocks[0], blocks[1])).is_ok());
    }
    let twice = format!("{}{}", block(""), block(""));
    assert!(refused(&twice).contains("it is already defined"));
}

#[test]
fn refused_forms() {
    for (lines, expected) in [
        ("view", "Wrong argument count or unexpected line ending after 'view'"),
        ("view a b", "Wrong argument count or unexpected line ending after 'b'"),
        ("view a {\n foo\n }", "unknown property 'foo'"),
        ("view a\nview b", "this plugin can only be used once per Server Block"),
        ("view a {\n expr\n }", "plugin/view: unexpected token EOF"),
        ("view a {\n expr 1 +\n }", "plugin/view: unexpected token EOF (1:3)\n | 1 +\n | ..^"),
        ("view a {\n expr foo()\n }", "plugin/view: unknown name foo (1:1)\n | foo()\n | ^"),
    ] {
        let got = refused(&format!(". {{\n{lines}\nwhoami\n}}\n"));
        assert!(got.contains(expected), "{lines}\n{got}");
    }
}
