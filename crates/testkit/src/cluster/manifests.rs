//! Writes a cluster as manifests into a folder, and reads manifests.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::objects::{self, Resource};
use super::stored::StoredObjects;
use crate::error::{Context, Result};

/// Writes a cluster in all forms that a reader must accept: a JSON list, YAML with
/// many documents, one object per file, and folders.
pub fn write(stored: &StoredObjects, folder: &Path) -> Result<()> {
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).context(name);
    put("namespaces.json", &json_list(stored.of(Resource::Namespace))?)?;
    put("services.yaml", &documents(stored.of(Resource::Service)))?;
    put("pods.yml", &yaml(&json!({"apiVersion": "v1", "kind": "List", "items": stored.pods})))?;
    put("imports.json", &json_list(stored.of(Resource::ServiceImport))?)?;
    for slice in &stored.slices {
        let name = format!("slice-{}-{}.json", objects::namespace_of(slice), objects::name_of(slice));
        put(&name, &serde_json::to_string(slice).context(&name)?)?;
    }
    Ok(())
}

/// The objects in a YAML file of one or more documents.
pub fn read(file: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file).context(file.display())?;
    text.split("\n---")
        .map(|document| document.trim_start_matches("---"))
        .filter(|document| document.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#')))
        .map(|document| serde_saphyr::from_str(document).context(file.display()))
        .collect()
}

fn json_list(items: &[Value]) -> Result<String> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    serde_json::to_string_pretty(&list).context("a list")
}

fn documents(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("---\n{}", yaml(object))).collect()
}

/// YAML in block style, as `kubectl get -o yaml` prints it, but with all strings quoted.
fn yaml(value: &Value) -> String {
    let mut text = String::new();
    block(&mut text, value, 0);
    text
}

fn block(text: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let _ = write!(text, "{indent}{}:", scalar(&Value::from(key.as_str())));
                nested(text, value, depth + 1);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(text, "{indent}-");
                nested(text, item, depth + 1);
            }
        }
        _ => {
            let _ = writeln!(text, "{indent}{}", scalar(value));
        }
    }
}

fn nested(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => text.push('\n'),
        Value::Array(items) if !items.is_empty() => text.push('\n'),
        _ => {
            let _ = writeln!(text, " {}", scalar(value));
            return;
        }
    }
    block(text, value, depth);
}

/// JSON's scalars, and its empty lists and maps, are YAML's.
fn scalar(value: &Value) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_equals_json() {
        let value = json!({
            "kind": "Service",
            "metadata": {"name": "a: b #c", "labels": {"x/y": "true", "n": "1"}, "none": null},
            "list": [{"a": 1, "b": [1, [2, 3], {}]}, [], "z\n\"q\"", false],
        });
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.yaml");
        std::fs::write(&file, format!("# two\n---\n{}---\n{}", yaml(&value), yaml(&json!({"kind": "x"}))))
            .unwrap();
        assert_eq!(read(&file).unwrap(), [value, json!({"kind": "x"})]);
    }
}
