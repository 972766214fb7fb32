//! `docs/plugins.md` is generated from the list of plugins and their READMEs; it is never edited by hand.
//! `RHUMB_UPDATE=1 cargo test -p plugins --test integration page` regenerates it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use server::{Availability, PluginSpec};

const HEAD: &str = "# The plugins

<!-- Generated from crates/plugins/src/order.rs and the plugins' READMEs: RHUMB_UPDATE=1 cargo test -p plugins --test integration page -->

In the order in which a query passes them, whatever their order in the Corefile. Names link to the plugins' manuals.
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manual(plugin: &str) -> PathBuf {
    Path::new("crates/plugins/src").join(plugin).join("README.md")
}

/// The lines under a heading of the manual, up to the next one.
fn section<'a>(readme: &'a str, title: &str) -> Option<&'a str> {
    let (_, rest) = readme.split_once(&format!("\n## {title}\n"))?;
    Some(rest.split("\n## ").next().unwrap_or(rest).trim())
}

/// The first paragraph of the description.
fn summary(readme: &str) -> Option<String> {
    let paragraph = section(readme, "Description")?.split("\n\n").next()?;
    Some(paragraph.lines().map(str::trim).collect::<Vec<_>>().join("\n"))
}

/// The code blocks of the section Syntax.
fn syntax(readme: &str) -> Option<Vec<String>> {
    let mut fences = Vec::new();
    let mut lines = section(readme, "Syntax")?.lines();
    while let Some(line) = lines.next() {
        let Some(fence) = ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence)) else { continue };
        let inside: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with(fence)).collect();
        fences.push(inside.join("\n"));
    }
    Some(fences)
}

/// The names of metrics, which begin the items of the section Metrics.
fn metrics(readme: &str) -> Vec<&str> {
    let items = section(readme, "Metrics").unwrap_or_default().lines();
    let names = items.filter_map(|line| line.trim_start_matches(['*', '-', ' ']).strip_prefix('`'));
    let names = names.filter_map(|rest| rest.split(['`', '{']).next());
    names.filter(|name| name.starts_with("coredns_") || name.starts_with("rhumb_")).collect()
}

fn entry(page: &mut String, spec: &PluginSpec) -> Result<(), std::fmt::Error> {
    let path = manual(spec.name);
    let readme =
        std::fs::read_to_string(root().join(&path)).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let missing = |what: &str| format!("{}: no {what}", path.display());
    writeln!(
        page,
        "\n## [{}](../{})\n\n{}",
        spec.name,
        path.display(),
        summary(&readme).unwrap_or_else(|| panic!("{}", missing("description")))
    )?;
    for fence in syntax(&readme).unwrap_or_else(|| panic!("{}", missing("syntax"))) {
        writeln!(page, "\n```txt\n{fence}\n```")?;
    }
    let metrics = metrics(&readme);
    if !metrics.is_empty() {
        let named: Vec<String> = metrics.iter().map(|name| format!("`{name}`")).collect();
        writeln!(page, "\nMetrics: {}.", named.join(", "))?;
    }
    Ok(())
}

fn page() -> Result<String, std::fmt::Error> {
    let mut page = String::from(HEAD);
    for spec in plugins::PLUGINS.iter().filter(|spec| matches!(spec.availability, Availability::Available(_)))
    {
        entry(&mut page, spec)?;
    }
    writeln!(
        page,
        "\n## Still to come\n\nA Corefile with one of these is refused; the error names the line.\n"
    )?;
    for spec in plugins::PLUGINS.iter().filter(|spec| matches!(spec.availability, Availability::Planned)) {
        writeln!(page, "- `{}`: {}", spec.name, spec.about)?;
    }
    writeln!(page, "\n## Not part of Rhumb\n\nRefused as well; the error names the alternative.\n")?;
    for spec in plugins::PLUGINS {
        if let Availability::Unsupported(instead) = spec.availability {
            writeln!(page, "- `{}`: {}; {instead}", spec.name, spec.about)?;
        }
    }
    Ok(page)
}

#[test]
fn the_page_of_all_plugins_is_up_to_date() {
    let page = page().expect("text");
    let path = root().join("docs/plugins.md");
    if std::env::var_os("RHUMB_UPDATE").is_some() {
        std::fs::write(&path, &page).expect("docs can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(page.lines()).position(|(kept, made)| kept != made);
    assert!(
        kept == page,
        "docs/plugins.md is out of date (line {}): RHUMB_UPDATE=1 cargo test -p plugins --test integration page",
        differs.unwrap_or_else(|| kept.lines().count().min(page.lines().count())) + 1
    );
}
