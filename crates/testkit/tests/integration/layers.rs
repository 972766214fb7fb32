//! The dependencies between crates match ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Crates outside the table: only tests and benches use them, and they may use anything.
const FOR_TESTS: [&str; 3] = ["testkit", "fuzz", "bench"];

#[test]
fn crates_use_only_what_the_table_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let architecture =
        std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let allowed = table(&architecture);
    let used = dependencies(&root);
    for (name, uses) in &used {
        if FOR_TESTS.contains(&name.as_str()) {
            continue;
        }
        let allowed =
            allowed.get(name).unwrap_or_else(|| panic!("crate {name} is not in ARCHITECTURE.md's table"));
        for dependency in uses {
            assert!(
                allowed.contains(dependency),
                "crate {name} may not use {dependency}, says ARCHITECTURE.md"
            );
        }
    }
    for name in allowed.keys() {
        assert!(used.contains_key(name), "ARCHITECTURE.md lists crate {name}, which does not exist");
    }
}

#[test]
fn the_table_only_points_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let architecture =
        std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let order: Vec<String> = rows(&architecture).map(|(name, _)| name).collect();
    for (name, uses) in table(&architecture) {
        let place = order.iter().position(|other| *other == name);
        for dependency in uses {
            let below = order.iter().position(|other| *other == dependency);
            assert!(below > place, "{name} uses {dependency}, which is not further down");
        }
    }
}

/// The rows of the crate table: a name in backticks, its content, the crates it may use.
fn rows(architecture: &str) -> impl Iterator<Item = (String, BTreeSet<String>)> {
    let table = architecture.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    table.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').to_owned();
        let uses =
            cells[3].split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect();
        (name, uses)
    })
}

fn table(architecture: &str) -> BTreeMap<String, BTreeSet<String>> {
    rows(architecture).collect()
}

/// Every crate of the workspace with the workspace crates it uses outside tests.
fn dependencies(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let uses = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        dependencies
            .iter()
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|name| names.contains(name))
            .map(str::to_owned)
            .collect::<BTreeSet<String>>()
    };
    packages
        .iter()
        .map(|package| (package["name"].as_str().expect("a name").to_owned(), uses(package)))
        .collect()
}
