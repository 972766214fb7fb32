//! Every plugin has a README, and every Corefile in it loads.

use std::path::{Path, PathBuf};

use server::{Availability, Input, config};

fn folder(plugin: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(plugin)
}

/// The code blocks marked as Corefiles.
fn corefiles(readme: &str) -> Vec<String> {
    readme
        .split("```corefile\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_plugin_is_documented_in_man_page_order() {
    for spec in plugins::PLUGINS {
        if !matches!(spec.availability, Availability::Available(_)) {
            continue;
        }
        let path = folder(spec.name).join("README.md");
        let readme =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let places: Vec<Option<usize>> = ["## Name", "## Description", "## Syntax", "## Examples"]
            .iter()
            .map(|title| readme.find(title))
            .collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}: {places:?}", spec.name);
        assert!(!corefiles(&readme).is_empty(), "{} shows no Corefile", spec.name);
    }
}

#[test]
fn the_corefiles_in_readmes_load() {
    // Relative paths in examples start at an almost empty folder, which mostly only causes warnings.
    let empty = tempfile::tempdir().expect("a folder");
    for database_type in ["GeoLite2-ASN", "GeoLite2-City"] {
        let path = empty.path().join(format!("{database_type}.mmdb"));
        let database = testkit::mmdb::Database::new(database_type, Vec::new());
        std::fs::write(path, database.bytes()).expect("it can be written");
    }
    std::env::set_current_dir(empty.path()).expect("it can be entered");
    let mut loaded = 0;
    for spec in plugins::PLUGINS {
        if !matches!(spec.availability, Availability::Available(_)) {
            continue;
        }
        let readme = std::fs::read_to_string(folder(spec.name).join("README.md")).expect("a README");
        for corefile in corefiles(&readme) {
            let input =
                Input { name: spec.name.into(), contents: corefile.clone().into(), dns_port: "53".into() };
            match config::build(&input, plugins::PLUGINS, &corefile::Disk) {
                Ok(_) => loaded += 1,
                Err(errors) => {
                    let to_come = errors.iter().all(|error| error.to_string().contains("still to come"));
                    assert!(to_come, "{}: {}\n{corefile}", spec.name, errors[0]);
                }
            }
        }
    }
    assert!(loaded > 20, "only {loaded} examples load");
}
