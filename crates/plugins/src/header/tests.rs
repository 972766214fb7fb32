use crate::testing::harness::{answer, configure, refused, service};

fn block(rules: &str) -> String {
    format!(". {{\nheader {{\n{rules}\n}}\nwhoami\n}}")
}

#[test]
fn flags() {
    for (rules, question, expected) in [
        ("response set ra", "a. A", "NOERROR qr,aa,ra"),
        ("response clear aa", "a. A rd", "NOERROR qr,rd"),
        ("response set ra aa\nresponse clear rd", "a. A rd", "NOERROR qr,aa,ra"),
        ("RESPONSE Set RA", "a. A", "NOERROR qr,aa,ra"),
        // Later rules win.
        ("response set ra\nresponse clear ra", "a. A", "NOERROR qr,aa"),
        ("response clear ra\nresponse set ra", "a. A", "NOERROR qr,aa,ra"),
        // The reply copies RD from the changed query.
        ("query set rd", "a. A", "NOERROR qr,aa,rd"),
        ("query clear rd", "a. A rd", "NOERROR qr,aa"),
        ("query set aa ra", "a. A", "NOERROR qr,aa"),
        ("query clear rd\nresponse set rd", "a. A rd", "NOERROR qr,aa,rd"),
    ] {
        let text = answer(&service(&block(rules)), question);
        assert_eq!(text.lines().next(), Some(expected), "{rules}");
    }
}

#[test]
fn failures_are_changed_by_query_rules_only() {
    let text = answer(&service(". {\nheader {\nquery set rd\nresponse set ra aa\n}\n}"), "a. A");
    assert_eq!(text, "SERVFAIL qr,rd\n");
}

#[test]
fn options() {
    assert!(configure(". {\nheader words {\nquery set rd\n}\n}").is_ok(), "words before the brace");
    assert!(
        configure(". {\nheader\nheader {\nquery set rd\n}\nheader {\nnonsense\n}\n}").is_ok(),
        "only the first counts"
    );
    for (rules, error) in [
        ("reply set ra", "setting up rule: invalid selector=reply should be query or response"),
        ("query", "setting up rule: no flag action provided"),
        ("query set", "setting up rule: invalid length for flags, at least one should be provided"),
        ("query toggle", "setting up rule: invalid length for flags, at least one should be provided"),
        ("query Toggle rd", "setting up rule: unknown flag action=toggle, should be set or clear"),
        ("query set rd TC", "setting up rule: unknown/unsupported flag=tc"),
    ] {
        assert_eq!(refused(&block(rules)), format!("plugin/header: {error}"));
    }
    for (corefile, line, after) in
        [(". {\nheader\n}", 2, "header"), (". {\nheader x\n}", 2, "x"), (". {\nheader {\n}\n}", 3, "}")]
    {
        assert_eq!(
            refused(corefile),
            format!(
                "plugin/header: Corefile:{line} - Error during parsing: Wrong argument count or unexpected line ending after '{after}'"
            )
        );
    }
}
