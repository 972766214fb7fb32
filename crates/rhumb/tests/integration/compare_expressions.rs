//! CoreDNS and Rhumb evaluate expressions equally.
//!
//! Both get random expressions as views, some of them invalid. Each valid one guards a block of its own zone, so that
//! one pair of servers evaluates all of them; invalid ones must be rejected with the same message.

use std::net::SocketAddr;
use std::path::Path;

use server::{Input, config};
use testkit::client::Transport;
use testkit::compare::Comparison;
use testkit::name::Name;
use testkit::peers::Peer;
use testkit::query::GeneratedQuery;
use testkit::random::{Random, seed_from_env};
use testkit::verdict::refusal;
use testkit::{DnsServer, Kind};

const EXPRESSIONS: usize = 500;
/// Maximum number of rejected expressions compared: each costs a process.
const MAX_REJECTED: usize = 60;

/// The grammar: a letter, its terminals, and its other productions. `@S` is a nonterminal.
const GRAMMAR: &[(char, &[&str], &[&str])] = &[
    (
        'S',
        &[
            "name()",
            "type()",
            "class()",
            "client_ip()",
            "proto()",
            "'a'",
            "''",
            "'abc'",
            "\"x.y\"",
            "'10.0.0.0/8'",
            "`raw`",
            "'é'",
            "'1'",
            "'A'",
            "\"\\u0041b\"",
            "server_ip()",
        ],
        &[
            "(@S + @S)",
            "upper(@S)",
            "lower(@S)",
            "trim(@S)",
            "trim(@S, @S)",
            "trimPrefix(@S, @S)",
            "trimSuffix(@S, @S)",
            "trimSuffix(@S)",
            "replace(@S, @S, @S)",
            "replace(@S, @S, @S, @I)",
            "repeat(@S, @I % 5)",
            "join(@T, @S)",
            "join(@T)",
            "string(@X)",
            "@S[@I:@I]",
            "@S[:@I]",
            "@S[@I:]",
            "(@B ? @S : @S)",
            "toJSON(@X)",
            "toBase64(@S)",
            "fromBase64(@S)",
            "metadata(@S)",
            "@T[@I]",
            "first(@T)",
            "last([@S])",
            "(@S | upper())",
            "(let v = @I; string(v) + @S)",
            "(if @B { @S } else if @B { @S } else { @S })",
            "(@X ?? @S)",
            "reduce(@T, #acc + #)",
            "find(@T, # @C 'a')",
            "(@M?.a ?? @S)",
            "get(@M, @S)",
            "fromJSON(@S)",
            "sum([@S, @S])",
            "(@S; @S)",
            "@D.Format('Mon, 2 Jan 2006 15:04')",
            "string(@D)",
            "@M.b",
            "@M['a']",
            "string(duration('90s') + duration('1h'))",
        ],
    ),
    (
        'I',
        &[
            "0",
            "1",
            "2",
            "7",
            "-1",
            "id()",
            "size()",
            "opcode()",
            "0x1F",
            "1_000",
            "100",
            "bufsize()",
            "0b11",
            "0o17",
        ],
        &[
            "(@I + @I)",
            "(@I - @I)",
            "(@I * @I)",
            "(@I % @I)",
            "len(@S)",
            "len(@A)",
            "abs(@I)",
            "int(@F)",
            "int(@S)",
            "max(@I, @I)",
            "min(@A)",
            "sum(@A)",
            "count(@A, @P)",
            "indexOf(@S, @S)",
            "lastIndexOf(@S, @S)",
            "bitand(@I, @I)",
            "bitor(@I, @I)",
            "bitxor(@I, @I)",
            "bitnand(@I, @I)",
            "bitshl(@I, @I)",
            "bitshr(@I, @I)",
            "bitushr(@I, @I)",
            "bitnot(@I)",
            "@A[@I]",
            "findIndex(@A, @P)",
            "reduce(@A, # + #acc)",
            "reduce(@A, #index * #, @I)",
            "-@I",
            "(@B ? @I : nil)",
            "(@B ? @I : @I)",
            "sum(@A, # * 2)",
            "sum(@A, 10 - #)",
            "len(filter(@A, @P))",
            "len(@M)",
            "duration('1h').Milliseconds()",
            "b'xyz'[1]",
            "::len(@S)",
            "$env.id()",
            "@D.Hour()",
            "@D.Unix()",
            "int(@D.Month())",
            "@D.YearDay()",
        ],
    ),
    (
        'F',
        &["1.5", "0.0", ".5", "2.", "1e3", "-2.75", "1e-7", "3.0"],
        &[
            "(@F + @I)",
            "(@I / @I)",
            "(@I ** 2)",
            "(@I ^ 0.5)",
            "round(@F)",
            "ceil(@F)",
            "floor(@F)",
            "float(@S)",
            "float(@I)",
            "mean(@A)",
            "median(@A)",
            "abs(@F)",
            "(@F * @F)",
            "max(@F, @I)",
            "duration('90m').Hours()",
        ],
    ),
    (
        'B',
        &["true", "false", "do()", "1 == 1", "type() == 'A'", "name() != ''", "id() > 5", "proto() == 'tcp'"],
        &[
            "(@B && @B)",
            "(@B || @B)",
            "(@B and not @B)",
            "(@B or !@B)",
            "(@I @O @I)",
            "(@S @O @S)",
            "(@F @O @I)",
            "(@I < @I <= @I)",
            "(@S contains @S)",
            "(@S startsWith @S)",
            "(@S endsWith @S)",
            "(@S matches @R)",
            "(@S not matches @R)",
            "(@S in @T)",
            "(@I in @A)",
            "(@I not in @A)",
            "(@S in @M)",
            "all(@A, @P)",
            "any(@T, # @C 'a')",
            "none(@A, @P)",
            "one(@A, @P)",
            "incidr(client_ip(), '127.0.0.0/8')",
            "incidr(client_ip(), @S)",
            "incidr(@S, '10.0.0.0/8')",
            "hasPrefix(@S, @S)",
            "hasSuffix(@S, @S)",
            "(@X == @X)",
            "(@X == nil)",
            "(@A == @A)",
            "(@B ? @B : @B)",
            "count(@A, @P) > 1",
            "count(@A, @P) >= 1",
            "(all(@A, # > 0) && all(@A, # < 9))",
            "(any(1..3, @P) || any(1..3, @P))",
            "(@S matches (@S + @S))",
            "(@I in @I..@I)",
            "(fromJSON(@J) == @X)",
            "(@X in [@X, @X])",
            "(@M == @M)",
            "(let w = @I; w > @I)",
            "(duration('1h') @O duration('90s'))",
            "(@D @O @D)",
            "(@D - @D > duration('1h'))",
            "now() > @D",
            "(@D.Weekday().String() startsWith 'S')",
            "(b'ab' == [97, 98])",
            "('name' in $env)",
            "(len(string(@X)) % 2 == 0)",
            "(string(@X) < 'm')",
            "(indexOf(toJSON(@X), '1') % 3 == 0)",
        ],
    ),
    (
        'A',
        &["1..3", "[1, 2, 7]", "[]", "[id(), 0]", "0..0"],
        &[
            "[@I, @I]",
            "filter(@A, @P)",
            "map(@A, # + @I)",
            "map(@A, @I)",
            "@A[@I:@I]",
            "sort(@A)",
            "sort(@A, 'desc')",
            "reverse(@A)",
            "uniq(@A)",
            "concat(@A, @A)",
            "flatten([@A, [@I]])",
            "take(@A, @I)",
            "sortBy(@A, #)",
            "sortBy(@A, -#, 'desc')",
            "(@A | filter(@P) | map(#))",
            "(@B ? @A : @A)",
            "(@I..5)",
            "map(@T, len(#))",
            "fromJSON('[1, 2, 3]')",
            "map(@A, #index)",
            "filter(filter(@A, @P), @P)",
            "map(filter(@A, @P), # * 2)",
        ],
    ),
    (
        'T',
        &["['a', 'b']", "split(name(), '.')", "[]", "[name(), 'x']", "['', 'A', 'IN']"],
        &[
            "[@S, @S]",
            "filter(@T, # @C 'a')",
            "map(@T, # + @S)",
            "@T[@I:]",
            "sort(@T)",
            "reverse(@T)",
            "uniq(@T)",
            "concat(@T, @T)",
            "split(@S, @S)",
            "splitAfter(@S, @S, @I)",
            "map(@A, string(#))",
            "keys({a: 1})",
            "take(@T, @I)",
            "(@B ? @T : @T)",
        ],
    ),
    (
        'M',
        &["{a: 1, b: 'x'}", "{}", "{'k': nil}", "{a: {b: 2}}", "{1: 2}", "{('a' + 'b'): 3}"],
        &[
            "{a: @X, b: @X}",
            "fromPairs([['a', @X]])",
            "groupBy(@A, # % 2)",
            "fromJSON(@J)",
            "fromPairs(toPairs(@M))",
        ],
    ),
    (
        'X',
        &["@S", "@I", "@F", "@B", "nil", "fromJSON(@J)", "duration('5m')", "b'xyz'"],
        &["@S", "@I", "@F", "@B", "@A", "@T", "@M", "@M.a", "@M?.a?.b", "[@X, @X]", "(@X ?? @X)"],
    ),
    (
        'D',
        &["date('2024-02-29 13:14:15')", "date('2021-07-04')", "date('2030-01-01T00:00:00+05:30')"],
        &[
            "(@D + duration('36h'))",
            "@D.AddDate(0, 1, 0)",
            "@D.UTC()",
            "date(@S)",
            "@D.Truncate(duration('1h'))",
        ],
    ),
    (
        'P',
        &["# > 1", "# % 2 == 0", "# == 7", "true", "{# < 5}", "# in [1, 2, 7]", "{let q = # + 1; q > 2}"],
        &["@B"],
    ),
    ('C', &["==", "!=", "contains", "startsWith", "endsWith", "<", "in", "not in"], &[]),
    ('O', &["<", ">", "<=", ">=", "==", "!="], &[]),
    (
        'R',
        &[
            "'^e'",
            "'a.*c'",
            "'(?i)A'",
            "'[0-9]+'",
            "'('",
            "'\\\\.test\\\\.$'",
            "'a{2}'",
            "'x**'",
            "'[[:alpha:]]+'",
            "'[z-a]'",
        ],
        &[],
    ),
    (
        'J',
        &[
            "'1'",
            "'[1,2,3]'",
            "'{\"a\":1}'",
            "'null'",
            "'\"abc\"'",
            "'true'",
            "'1.5'",
            "'{'",
            "'[1,\"a\",null]'",
            "'-0'",
            "'1e3'",
        ],
        &[],
    ),
];

/// Pieces inserted into invalid expressions.
const NOISE: &[&str] = &[
    "(", ")", "[", "+", ".", "?", "'", "!", "#", "1", "a", ",", ";", "@", "|", " not ", " in ", "??", "..",
    "let ", "nil", ".a", "[0]", "?.b", " + 1", " | len()", " ? 1 : 2", "()", " ?? 2", "+ 'a'", "[1:]",
    " in [1]", "filter(",
];

fn expand(letter: char, depth: usize, random: &mut Random, out: &mut String) {
    let (_, leaves, inner) =
        GRAMMAR.iter().find(|(other, ..)| *other == letter).expect("a letter of the grammar");
    let choices = if depth == 0 || inner.is_empty() { leaves } else { inner };
    let mut template = random.pick(choices).chars();
    while let Some(c) = template.next() {
        match (c, template.clone().next()) {
            ('@', Some(letter)) if letter.is_ascii_uppercase() => {
                template.next();
                expand(letter, depth.saturating_sub(1), random, out);
            }
            _ => out.push(c),
        }
    }
}

fn expression(random: &mut Random) -> String {
    let mut text = String::new();
    let letter = *random.pick(&['B', 'B', 'B', 'B', 'B', 'X', 'S']);
    let depth = random.between(1, 3);
    expand(letter, depth, random, &mut text);
    if random.chance(0.2) {
        let mut chars: Vec<char> = text.chars().collect();
        let place = random.below(chars.len() + 1);
        if random.chance(0.4) {
            chars.drain(place..(place + random.below(4)).min(chars.len()));
        } else {
            let noise = random.pick(NOISE).chars();
            chars.splice(place..place, noise);
        }
        text = chars.into_iter().collect();
    }
    text
}

/// Whether a function is named but not called: its text form is a memory address.
fn names_a_function(expression: &str) -> bool {
    const FUNCTIONS: [&str; 13] = [
        "bufsize",
        "class",
        "client_ip",
        "do",
        "id",
        "incidr",
        "metadata",
        "name",
        "opcode",
        "proto",
        "server_ip",
        "size",
        "type",
    ];
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = expression;
    while let Some(start) = rest.find(in_word) {
        let word = &rest[start..];
        let (word, behind) = word.split_at(word.find(|c| !in_word(c)).unwrap_or(word.len()));
        if FUNCTIONS.contains(&word) && !behind.starts_with(['(', '\'']) {
            return true;
        }
        rest = behind;
    }
    false
}

/// In quotes, since `#` starts a comment in a Corefile.
fn view(name: &str, expression: &str) -> String {
    format!("view {name} {{\nexpr \"{}\"\n}}", expression.replace('"', "\\\""))
}

/// Rhumb's error for an expression; None if it is valid.
fn rhumb_error(expression: &str) -> Option<String> {
    let contents = format!(".:5300 {{\n{}\nwhoami\n}}\n", view("v", expression));
    let input = Input { name: "Corefile".into(), contents: contents.into(), dns_port: "53".into() };
    config::build(&input, plugins::PLUGINS, &corefile::Disk)
        .err()
        .map(|errors| errors[0].message().to_owned())
}

/// CoreDNS's error for an expression; None if it starts.
fn coredns_error(binary: &Path, expression: &str) -> Option<String> {
    let corefile = format!(".:0 {{\nbind 127.0.0.1\n{}\nwhoami\n}}\n", view("v", expression));
    let text = refusal(binary, &corefile)?;
    let words = text.split_once("plugin/view: ").map_or(text.as_str(), |(_, words)| words);
    // A pattern concatenated from constants makes CoreDNS's compiler panic, with a stack trace.
    let words = words.split("\ngoroutine ").next().unwrap_or(words);
    Some(words.trim_end_matches('\n').to_owned())
}

fn query(name: &str, qtype: u16, id: u16, transport: Transport) -> GeneratedQuery {
    let mut wire = vec![(id >> 8) as u8, id as u8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    wire.extend_from_slice(Name::parse(name).expect("a name").wire());
    wire.extend_from_slice(&[(qtype >> 8) as u8, qtype as u8, 0, 1]);
    GeneratedQuery { wire, transport, description: format!("{name} {qtype} id {id}") }
}

#[test]
fn expressions_evaluate_equally() {
    let Some(coredns) = Peer::CoreDns.for_test() else { return };
    let mut random = Random::new(seed_from_env());
    let expressions: Vec<String> = (0..EXPRESSIONS).map(|_| expression(&mut random)).collect();
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for expression in expressions {
        match rhumb_error(&expression) {
            None if names_a_function(&expression) => {}
            None => taken.push(expression),
            Some(words) => refused.push((expression, words)),
        }
    }
    println!("{} taken, {} refused", taken.len(), refused.len());
    refused.truncate(MAX_REJECTED);
    let mut differing = Vec::new();
    for (expression, words) in &refused {
        let theirs = coredns_error(&coredns, expression);
        if theirs.as_ref() != Some(words) {
            differing.push(format!("{expression}\n  CoreDNS: {theirs:?}\n  Rhumb:   {words:?}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));

    let blocks = taken.iter().enumerate().map(|(i, expression)| {
        let view = view(&format!("v{i}"), expression);
        format!("e{i}.test:{{port}} {{\nbind 127.0.0.1\nmetadata\n{view}\nacl {{\nblock\n}}\nwhoami\n}}\n")
    });
    let corefile: String = blocks.chain(["test:{port} {\nbind 127.0.0.1\nwhoami\n}\n".to_owned()]).collect();
    let start = |kind| {
        let port = testkit::ports::free().expect("a free port");
        DnsServer::start(kind, &corefile.replace("{port}", &port.to_string()), port)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let ends: [(&str, SocketAddr); 2] = [("CoreDNS", coredns.addr()), ("Rhumb", rhumb.addr())];
    let mut queries = Vec::new();
    for i in 0..taken.len() {
        let name = format!("abc.e{i}.test");
        queries.push(query(&name, 1, 1234, Transport::Udp));
        queries.push(query(&name, 28, 3, Transport::Udp));
        queries.push(query(&name, 16, 0, Transport::Tcp));
    }
    let report = Comparison::new(ends[0], ends[1]).run_queries(&queries).expect("asked");
    println!("{} asked, {:?}", report.queries, report.rcodes);
    for difference in &report.differences {
        let place =
            difference.query.description.split(['e', '.']).nth(2).and_then(|i| i.parse::<usize>().ok());
        println!("{}\n  {:?}", place.map_or("", |place| &taken[place]), difference.lines);
    }
    report.assert_same();
    assert!(report.rcodes.len() > 1, "all expressions yield the same");
}
