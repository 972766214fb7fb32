//! Properties of any text.

use corefile::{
    Comments, Dispenser, Document, Memory, NewBlock, Place, Stanza, block_zones, canonical_json, parse,
};
use proptest::prelude::*;

const PLAIN: &[&str] = &[
    " ",
    " ",
    "\n",
    "\n",
    " {\n",
    "\n}\n",
    "{",
    "}",
    "file",
    "loop",
    "(s) {\n",
    "s",
    "(s)",
    "\"",
    "\"x y\"",
    "\"\"",
    "#",
    "# c\n",
    ",",
    "a",
    "b.org",
    "10.0.0.0/23",
    "\nlog ",
    "\r\n",
    "\r",
    "\t",
    "é",
    "\u{2028}",
    "\u{feff}",
    "\\",
    "::",
    ":53",
];
/// Imports and variables may expand to anything, a brace for instance; a document does not expand them.
const EXPANDED: &[&str] = &["\nimport ", "import", "\nimport fi*\n", "{$A}", "{%B%}", "{$C}"];

fn text_of(words: Vec<&'static str>) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(words), 0..40).prop_map(|words| words.concat())
}

fn corefile_like() -> impl Strategy<Value = String> {
    text_of([PLAIN, EXPANDED].concat())
}

fn self_contained() -> impl Strategy<Value = String> {
    text_of(PLAIN.to_vec())
}

fn source() -> Memory {
    Memory::new()
        .file("/file", "log\nerrors {\n x\n}\n")
        .file("/file2", "c {\n import file\n}\n")
        .set("A", "x\ny {")
        .set("B", "{$A}")
}

/// Calls every function that reads a Corefile.
fn exercise(text: &[u8]) {
    match parse("Corefile", text, None, &source()) {
        Ok(parsed) => {
            canonical_json(&parsed.blocks);
            for block in &parsed.blocks {
                if let Err(error) = block_zones(block, "53") {
                    error.render(true);
                }
                for directive in &block.directives {
                    walk(block.dispenser(&directive.name).unwrap());
                }
            }
        }
        Err(error) => {
            error.render(false);
            error.to_json();
        }
    }
}

fn walk(mut c: Dispenser<'_>) {
    while c.next() {
        c.remaining_args();
        while c.next_block() {
            c.remaining_args();
            c.unknown_property(&["a", "b"]).render(false);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(text in corefile_like()) {
        exercise(text.as_bytes());
    }

    #[test]
    fn nothing_panics_on_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        exercise(&bytes);
    }

    #[test]
    fn documents_display_their_text(text in corefile_like()) {
        if let Ok(document) = Document::parse(&text) {
            prop_assert_eq!(document.to_string(), text);
        }
    }

    /// A file that CoreDNS accepts can be edited.
    #[test]
    fn accepted_files_are_documents(text in self_contained()) {
        if parse("Corefile", text.as_bytes(), None, &Memory::new()).is_ok() {
            prop_assert!(Document::parse(&text).is_ok());
        }
    }

    /// An inserted block changes nothing else, neither in the words nor in the parsed blocks.
    #[test]
    fn inserted_blocks_parse_as_such(text in self_contained(), place in 0..4_usize) {
        let Ok(mut document) = Document::parse(&text) else { return Ok(()) };
        let Ok(before) = parse("Corefile", text.as_bytes(), None, &Memory::new()) else { return Ok(()) };
        let place = match place {
            0 => Place::End,
            at if at <= document.items().len() => Place::After(at - 1),
            _ => Place::Before(0),
        };
        let new = NewBlock::new(["new.example"]).plugin(Stanza::new("whoami"));
        let Ok(index) = document.insert_block(place, &new) else { return Ok(()) };
        let after = parse("Corefile", document.text().as_bytes(), None, &Memory::new()).unwrap();
        prop_assert_eq!(after.blocks.len(), before.blocks.len() + 1);
        prop_assert!(document.put_block(Place::End, &new) == Ok(false));
        document.remove_block(index, Comments::Keep).unwrap();
        let gone = parse("Corefile", document.text().as_bytes(), None, &Memory::new()).unwrap();
        prop_assert_eq!(gone.blocks.len(), before.blocks.len());
    }

    #[test]
    fn inserted_plugins_parse_as_such(text in corefile_like(), end in any::<bool>()) {
        let Ok(mut document) = Document::parse(&text) else { return Ok(()) };
        let before = document.clone();
        let Some((index, _)) = document.blocks().next() else { return Ok(()) };
        let place = if end || before.items()[index].plugins.is_empty() { Place::End } else { Place::Before(0) };
        let stanza = Stanza::new("whoami").property("x y");
        if document.insert_plugin(index, place, &stanza).is_ok() {
            let item = &document.items()[index];
            prop_assert_eq!(item.plugins.len(), before.items()[index].plugins.len() + 1);
            prop_assert!(item.find_plugin("whoami").is_some());
            prop_assert!(document.put_plugin(index, place, &stanza) == Ok(false));
        }
    }
}
