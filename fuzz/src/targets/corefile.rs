//! Corefiles: any bytes give a configuration or a diagnostic, and the text comes back as it was.

use std::sync::LazyLock;

use corefile::{Diagnostic, Document, Memory, ServerBlock};
use server::{Input, config};

/// The files that an import may name; none imports itself, which takes a second to be stopped. `root`, `hosts` and
/// others read the disk: scripts/fuzz runs in an empty folder.
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
            Ok(document) => assert_eq!(document.to_string(), text, "read back differently"),
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
        assert!(!errors.is_empty(), "refused without a diagnostic");
        errors.iter().for_each(check_diagnostic);
    }
}

/// Setups that look host names up: no generated name may reach a real name server.
fn resolves_names(block: &ServerBlock) -> bool {
    ["forward", "proxy"].iter().any(|name| block.directive(name).is_some())
}

/// A diagnostic has a message and prints in all its forms; its JSON is one line.
fn check_diagnostic(error: &Diagnostic) {
    assert!(!error.message().is_empty(), "a diagnostic without a message");
    let _ = (error.to_string(), error.render(true));
    let json = error.to_json();
    assert!(!json.contains('\n'), "JSON of more than one line: {json}");
}
