//! Diagnostics as rendered for terminals and as JSON.

use corefile::{Diagnostic, Memory, ZoneListener, block_zones, check_overlap, parse};

const KNOWN: &[&str] = &["bind", "cache", "errors", "forward", "log", "whoami"];

fn error(text: &str) -> Diagnostic {
    parse("Corefile", text.as_bytes(), Some(KNOWN), &Memory::new()).unwrap_err()
}

#[test]
fn unknown_directive() {
    let error = error(". {\n    errors\n    fowrard . 1.1.1.1 # upstream\n}\n");
    insta::assert_snapshot!(error.render(false));
    insta::assert_snapshot!("unknown_directive_json", error.to_json());
}

#[test]
fn block_without_braces_before_another() {
    insta::assert_snapshot!(error(".:53\nwhoami\n\nexample.org:53 {\n  log\n}\n").render(false));
}

#[test]
fn brace_never_closed() {
    insta::assert_snapshot!(error(".:53 {\n  forward . 1.1.1.1 {\n    max_fails 3\n  cache\n").render(false));
}

#[test]
fn block_never_closed() {
    insta::assert_snapshot!(error(".:53 {\n  log\n").render(false));
}

#[test]
fn brace_on_the_line_of_a_directive() {
    insta::assert_snapshot!(error(".:53 { log }\n").render(false));
}

#[test]
fn snippet_misspelt() {
    insta::assert_snapshot!(error("(common) {\n  log\n}\n. {\n  import comon\n}\n").render(false));
}

#[test]
fn file_missing() {
    insta::assert_snapshot!(error(". {\n\timport zones/missing.conf\n}\n").render(false));
}

#[test]
fn place_beyond_ascii_and_tabs() {
    insta::assert_snapshot!(error(". {\n\tlog \"žluťoučký\" }\n}\n").render(false));
}

#[test]
fn in_an_imported_file() {
    let source = Memory::new().file("/zones.conf", "a {\n  log\n  ache\n}\n");
    let error = parse("Corefile", b"import zones.conf", Some(KNOWN), &source).unwrap_err();
    insta::assert_snapshot!(error.render(false));
}

#[test]
fn property_of_a_plugin() {
    let parsed =
        parse("Corefile", b". {\n  cache 30 {\n    succes 5000\n  }\n}", Some(KNOWN), &Memory::new());
    let blocks = parsed.unwrap().blocks;
    let mut c = blocks[0].dispenser("cache").unwrap();
    c.next();
    c.remaining_args();
    c.next_block();
    let error = c.unknown_property(&["success", "denial"]).in_plugin("cache");
    insta::assert_snapshot!(error.render(false));
    insta::assert_snapshot!("property_in_color", error.render(true));
}

#[test]
fn unnamed_errors_render_with_their_plugin() {
    let error = Diagnostic::error("unknown option 'x'").unnamed().in_plugin("proxyproto");
    assert_eq!(error.to_string(), "unknown option 'x'");
    assert_eq!(error.render(false), "error: plugin/proxyproto: unknown option 'x'");
}

#[test]
fn zone_served_twice() {
    let text = b"a.org, 10.0.0.0/24 {\n}\nb.org A.org. {\n}";
    let blocks = parse("Corefile", text, Some(KNOWN), &Memory::new()).unwrap().blocks;
    let zones = blocks.iter().flat_map(|block| block_zones(block, "53").unwrap());
    let all: Vec<_> = zones.map(|zone| ZoneListener::new(&zone, "", false)).collect();
    insta::assert_snapshot!(check_overlap(&all).unwrap_err().render(false));
}

#[test]
fn key_is_no_name() {
    let blocks = parse("Corefile", b". example..org {\n}", Some(KNOWN), &Memory::new()).unwrap().blocks;
    let error = block_zones(&blocks[0], "53").unwrap_err();
    insta::assert_snapshot!(error.render(false));
    insta::assert_snapshot!("key_is_no_name_json", error.to_json());
}

#[test]
fn without_a_place() {
    let error = Diagnostic::error("address 70000: invalid port");
    insta::assert_snapshot!(error.render(false));
    insta::assert_snapshot!("without_a_place_json", error.to_json());
}

#[test]
fn warning() {
    let parsed = parse("Corefile", b"import conf.d/*\n. {\n}", Some(KNOWN), &Memory::new()).unwrap();
    insta::assert_snapshot!(parsed.warnings[0].render(false));
}
