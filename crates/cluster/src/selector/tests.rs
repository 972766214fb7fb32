use super::Selector;

/// The canonical form of each text, as `ParseToLabelSelector` and its selector print it (apimachinery 0.37).
#[test]
fn selectors_are_parsed_as_in_kubernetes() {
    for (text, canonical) in [
        ("", ""),
        ("  ", ""),
        ("a", "a"),
        ("!a", "!a"),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        (" a =\tb\n", "a=b"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("a in (y , x)", "a in (x,y)"),
        ("a in (x,x,y)", "a in (x,y)"),
        ("a notin (x,y)", "a notin (x,y)"),
        ("a in (,b)", "a in (,b)"),
        ("a in (x,,y)", "a in (,x,y)"),
        (
            "environment in (production,qa),tier notin (f,g),app=web",
            "app=web,environment in (production,qa),tier notin (f,g)",
        ),
        ("b,a=1", "a=1,b"),
        ("k8s.io/app=web", "k8s.io/app=web"),
        // Of two exact values the last one wins.
        ("a=1,a=2", "a=2"),
        ("a=2,b,a=1", "a=1,b"),
        ("a in (b,d),a=c,!a", "a in (b,d),a=c,!a"),
        // Operators are also valid values and keys.
        ("in", "in"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("a=b\0", "a=b"),
        // Kubernetes keeps these sets of one value; the API server treats both forms as equal.
        ("a in (x)", "a=x"),
        ("a notin (x)", "a!=x"),
        ("a in ()", "a="),
        ("a in (,)", "a="),
        ("a notin (b),c,c", "a!=b,c"),
        // The API server accepts this, ParseToLabelSelector does not.
        ("a!=b", "a!=b"),
        ("a!=", "a!="),
    ] {
        let parsed = Selector::parse(text).map(|selector| selector.to_string());
        assert_eq!(parsed.as_deref(), Ok(canonical), "{text:?}");
        assert_eq!(Selector::parse(canonical), Selector::parse(text), "{canonical:?}");
    }
}

#[test]
fn errors_have_the_wording_of_kubernetes() {
    const OPERATORS: &str = "expected: in, notin, =, ==, !=, gt, lt";
    const NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
        with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
        '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
        '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
        regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    const INTEGER: &str = "for 'Gt', 'Lt' operators, the value must be an integer";
    let long = "a".repeat(64);

    let check = |text: &str, why: &str| {
        let error = Selector::parse(text).expect_err(text).to_string();
        assert_eq!(error, format!("couldn't parse the selector string \"{text}\": {why}"));
    };
    check("a,", "found '', expected: identifier after ','");
    check(",a", "found ',', expected: !, identifier, or 'end of string'");
    check("a,,b", "found ',', expected: identifier after ','");
    check("a=b c", "found 'c', expected: ',' or 'end of string'");
    check("a=b=c", "found '=', expected: ',' or 'end of string'");
    check("!a=b", "found '=', expected: ',' or 'end of string'");
    check("a in (b))", "found ')', expected: ',' or 'end of string'");
    check("=b", "found '=', expected: !, identifier, or 'end of string'");
    check("()", "found '(', expected: !, identifier, or 'end of string'");

    let check = |text: &str, why: &str| check(text, &format!("unable to parse requirement: {why}"));
    check("a b", &format!("found 'b', {OPERATORS}"));
    check("a gt 1", &format!("found 'gt', {OPERATORS}"));
    check("a!", &format!("found '!', {OPERATORS}"));
    check("a(", &format!("found '(', {OPERATORS}"));
    check("a\0b", &format!("found 'b', {OPERATORS}"));
    check("!", "found '', expected: identifier");
    check("!!a", "found '!', expected: identifier");
    check("a===b", "found '=', expected: identifier");
    check("a=!b", "found '!', expected: identifier");
    check("a=(b)", "found '(', expected: identifier");
    check("a>=1", "found '=', expected: identifier");
    check("a in b", "found 'b' expected: '('");
    check("a in", "found '' expected: '('");
    check("a in (", "found '', expected: ',', ')' or identifier");
    check("a in (=", "found '=', expected: ',', ')' or identifier");
    check("a in (b", "found '', expected: ',' or ')'");
    check("a in (b c)", "found 'c', expected: ',' or ')'");
    check("a in (b=c)", "found '=', expected: ',' or ')'");
    check("a in (,", "found '', expected: ',', or identifier");
    check("a@=b", &format!("<nil>: Invalid value: \"a@\": {NAME}"));
    check("-a", &format!("<nil>: Invalid value: \"-a\": {NAME}"));
    check("é=b", &format!("<nil>: Invalid value: \"é\": {NAME}"));
    check("/a", "<nil>: Invalid value: \"/a\": prefix part must be non-empty");
    check("a/", &format!("<nil>: Invalid value: \"a/\": name part must be non-empty; {NAME}"));
    check(&long, &format!("<nil>: Invalid value: \"{long}\": name part must be no more than 63 bytes"));
    check(
        "A.b/c",
        "<nil>: Invalid value: \"A.b/c\": prefix part a lowercase RFC 1123 subdomain must consist of lower case \
         alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
         'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
    let keys = NAME.replacen("name part", "a valid label key", 1);
    let form = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    check("a/b/c", &format!("<nil>: Invalid value: \"a/b/c\": {keys} {form}"));
    check("a=b@", &format!("values[0][a]: Invalid value: \"b@\": {VALUE}"));
    check("a=\"b\"", &format!("values[0][a]: Invalid value: \"\\\"b\\\"\": {VALUE}"));
    check("a in (b@,b@)", &format!("values[0][a]: Invalid value: \"b@\": {VALUE}"));
    let both = |first: &str, second: &str| format!("[{first}, {second}]");
    check(
        "a in (c@,b@)",
        &both(
            &format!("values[0][a]: Invalid value: \"b@\": {VALUE}"),
            &format!("values[1][a]: Invalid value: \"c@\": {VALUE}"),
        ),
    );
    let value = format!("values[0][a]: Invalid value: \"{long}\": must be no more than 63 bytes");
    check(&format!("a={long}"), &value);
    check("a>x", &format!("values[0]: Invalid value: \"x\": {INTEGER}"));
    check("a>", &format!("values[0]: Invalid value: \"\": {INTEGER}"));
    check(
        "a>x@",
        &both(
            &format!("values[0]: Invalid value: \"x@\": {INTEGER}"),
            &format!("values[0][a]: Invalid value: \"x@\": {VALUE}"),
        ),
    );

    for (text, operator) in [("a>1", "gt"), ("a<1", "lt"), ("b<1,a>1", "gt")] {
        let error = Selector::parse(text).expect_err(text).to_string();
        assert_eq!(error, format!("\"{operator}\" isn't supported in label selectors"));
    }
}

#[test]
fn selectors_match_labels() {
    const LABELS: &[(&str, &str)] = &[("app", "web"), ("tier", "front"), ("empty", "")];
    for (selector, matches) in [
        ("", true),
        ("app", true),
        ("App", false),
        ("!app", false),
        ("!other", true),
        ("app=web", true),
        ("app=db", false),
        ("other=web", false),
        ("other=", false),
        ("empty=", true),
        ("empty", true),
        ("app!=db", true),
        ("app!=web", false),
        ("other!=web", true),
        ("app in (db,web)", true),
        ("app in (db,mq)", false),
        ("other in (db,web)", false),
        ("app notin (db,web)", false),
        ("app notin (db,mq)", true),
        ("other notin (db,mq)", true),
        ("app=web,tier=front,!other", true),
        ("app=web,tier=back", false),
    ] {
        let parsed = Selector::parse(selector).expect(selector);
        assert_eq!(parsed.matches(LABELS.iter().copied()), matches, "{selector}");
    }
}
