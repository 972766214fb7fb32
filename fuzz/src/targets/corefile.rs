//! Corefiles: any bytes become a configuration or a diagnostic, and a parsed document prints the same text.

use std::sync::LazyLock;

use corefile::{Diagnostic, Document, Memory, ServerBlock};
use server::{Input, config};

/// Files for `import`; none imports itself, because the limit on that takes a second. `root`, `hosts` and others read
/// the disk: scripts/fuzz runs in an empty folder.
static FILES: LazyLock<Memory> = LazyLock::new(|| {
    Memory::new()
        .file("/conf/a.conf", "errors\n")
        .file("/conf/b.conf", "(inner) {\n  whoami\n}\n")
        .set("PORT", "5300")
        .set("EMPTY", "")
});

pub fn check(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        match Document::parse(text) {
            Ok(document) => assert_eq!(document.to_string(), text, "the document prints another text"),
            Err(error) => check_diagnostic(&error),
        }
    }
    let parsed = match corefile::parse("Corefile", input, None, &*FILES) {
        Ok(parsed) => parsed,
        Err(error) => return check_diagnostic(&error),
    };
    parsed.warnings.iter().for_each(check_diagnostic);
    if parsed.blocks.iter().any(resolves_names) {
        return;
    }
    let input = Input { name: "Corefile".into(), contents: input.to_vec(), dns_port: "53".into() };
    if let Err(errors) = config::build(&input, plugins::PLUGINS, &*FILES) {
        assert!(!errors.is_empty(), "an error without a diagnostic");
        errors.iter().for_each(check_diagnostic);
    }
}

/// Whether setup resolves host names: no generated name may reach a real name server.
fn resolves_names(block: &ServerBlock) -> bool {
    ["forward", "proxy"].iter().any(|name| block.directive(name).is_some())
}

/// A diagnostic has a message and prints in all formats; its JSON is one line.
fn check_diagnostic(error: &Diagnostic) {
    assert!(!error.message().is_empty(), "a diagnostic without a message");
    let _ = (error.to_string(), error.render(true));
    let json = error.to_json();
    assert!(!json.contains('\n'), "JSON of more than one line: {json}");
}
