use super::{Migrated, migrate};
use crate::testing::harness::configure;

mod config_maps;
mod generated;
mod layout;
mod options;

/// Changes and notes as reported, one line each.
fn report_lines(migrated: &Migrated) -> Vec<String> {
    let changes = migrated.changes.iter().map(|change| format!("{}: {}", change.line, change.what));
    let notes = migrated.notes.iter().map(|note| format!("note: {}: {}", note.line, note.text));
    changes.chain(notes).collect()
}

#[track_caller]
fn run(text: &str) -> Migrated {
    migrate("Corefile", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The lines of a block's body before and after.
#[track_caller]
fn check_block(before: &str, after: &str, changes: &[&str]) {
    let block = |body: &str| format!("example.org {{\n{body}\n}}\n");
    let migrated = run(&block(before));
    assert_eq!(migrated.result, block(after), "{before}");
    let what: Vec<&str> = migrated.changes.iter().map(|change| change.what.as_str()).collect();
    assert_eq!(what, changes, "{before}");
    assert!(migrated.changes.iter().all(|change| !change.why.is_empty()), "{before}");
    // A second migration changes nothing.
    let again = run(&migrated.result);
    assert_eq!((again.result, again.changes), (migrated.result, Vec::new()), "{before}");
}

/// A result loads, or needs only plugins that are still to come.
#[track_caller]
fn check_loads(result: &str) {
    if let Err(error) = configure(result) {
        assert!(error.contains("still to come"), "{error}\n{result}");
    }
}
