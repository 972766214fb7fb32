//! Parses the documents of one file into objects.

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::{Options, Spanned};

use crate::message::ApiObject;
use crate::object::Kind;

/// The kinds that are read, by API version. Other APIs share the names: Knative has Services of its own.
const KINDS: &[(&str, Kind)] = &[
    ("v1", Kind::Namespace),
    ("v1", Kind::Service),
    ("v1", Kind::Pod),
    ("discovery.k8s.io/v1", Kind::EndpointSlice),
    ("multicluster.x-k8s.io/v1alpha1", Kind::ServiceImport),
    ("multicluster.x-k8s.io/v1beta1", Kind::ServiceImport),
];

/// Maximum number of logged problems per file.
const MAX_PROBLEMS: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format {
    Yaml,
    Json,
}

/// The objects of a file and its problems: `document 2: …`
#[derive(Default)]
pub(super) struct Contents {
    pub objects: Vec<ApiObject>,
    pub problems: Vec<String>,
}

pub(super) fn read(text: &str, format: Format) -> Contents {
    let mut contents = Contents::default();
    match format {
        Format::Json => contents.add(1, Document { text, format, lines_before: 0 }),
        Format::Yaml => {
            for (n, document) in documents(text).enumerate() {
                contents.add(n + 1, document);
            }
        }
    }
    contents
}

impl Contents {
    /// For a file that cannot be parsed at all.
    pub(super) fn problem(problem: String) -> Self {
        Self { objects: Vec::new(), problems: vec![problem] }
    }

    fn add(&mut self, number: usize, document: Document<'_>) {
        match document.objects() {
            Ok(mut objects) => self.objects.append(&mut objects),
            Err(problem) if self.problems.len() < MAX_PROBLEMS => {
                self.problems.push(format!("document {number}: {problem}"));
            }
            Err(_) => {}
        }
    }
}

/// `apiVersion` and `kind` of an object.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TypeMeta {
    api_version: String,
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Items {
    items: Vec<Spanned<Value>>,
}

#[derive(Clone, Copy)]
struct Document<'t> {
    text: &'t str,
    format: Format,
    /// Lines of the file before this document, for line numbers in messages.
    lines_before: u64,
}

impl Document<'_> {
    fn objects(self) -> Result<Vec<ApiObject>, String> {
        let type_meta: TypeMeta = self.parse()?;
        if let Some(of) = type_meta.kind.strip_suffix("List") {
            return self.items(of, &type_meta.api_version);
        }
        let Some(kind) = kind_of(&type_meta.api_version, &type_meta.kind) else { return Ok(Vec::new()) };
        let raw = match self.format {
            Format::Json => ApiObject::deserialize(kind, &mut serde_json::Deserializer::from_str(self.text))
                .map_err(|e| e.to_string()),
            Format::Yaml => {
                let read = |deserializer: serde_saphyr::Deserializer<'_, '_>| {
                    ApiObject::deserialize(kind, deserializer)
                };
                serde_saphyr::with_deserializer_from_str_with_options(self.text, options(), read)
                    .map_err(|e| self.render_error(&e))
            }
        };
        let raw = raw.and_then(validated).map_err(|e| format!("{}: {e}", kind.name()))?;
        Ok(vec![raw])
    }

    /// The items of a list; in a list of one kind they may omit theirs.
    fn items(self, of: &str, api_version: &str) -> Result<Vec<ApiObject>, String> {
        let list: Items = self.parse()?;
        let mut objects = Vec::new();
        for (n, item) in list.items.into_iter().enumerate() {
            // 0 for JSON, whose errors have a line number of their own.
            let line = item.referenced.line();
            let item = item.value;
            let field = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
            let api_version = field("apiVersion").unwrap_or_else(|| api_version.to_owned());
            let kind = field("kind").unwrap_or_else(|| of.to_owned());
            let Some(kind) = kind_of(&api_version, &kind) else { continue };
            let raw = ApiObject::deserialize(kind, item).map_err(|e| e.to_string()).and_then(validated);
            objects.push(raw.map_err(|e| {
                let place =
                    if line == 0 { String::new() } else { format!(" in line {}", line + self.lines_before) };
                format!("item {}{place}: {}: {e}", n + 1, kind.name())
            })?);
        }
        Ok(objects)
    }

    fn parse<T: for<'de> Deserialize<'de>>(self) -> Result<T, String> {
        match self.format {
            Format::Json => serde_json::from_str(self.text).map_err(|e| e.to_string()),
            Format::Yaml => {
                serde_saphyr::from_str_with_options(self.text, options()).map_err(|e| self.render_error(&e))
            }
        }
    }

    fn render_error(self, e: &serde_saphyr::Error) -> String {
        let options = serde_saphyr::render_options! { line_offset: self.lines_before };
        let text = e.render_with_options(options);
        // One error, one log line.
        text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    }
}

fn kind_of(api_version: &str, kind: &str) -> Option<Kind> {
    KINDS.iter().find(|(of, it)| *of == api_version && it.name() == kind).map(|(_, kind)| *kind)
}

/// Refuses names that the API server would refuse; queries could not find them: keys in the index are in lower case.
fn validated(raw: ApiObject) -> Result<ApiObject, String> {
    let meta = raw.meta();
    let is_name = |text: &str| text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'));
    if meta.name.is_empty() {
        return Err("metadata.name is missing".to_owned());
    }
    for (field, text) in [("name", &meta.name), ("namespace", &meta.namespace)] {
        if !is_name(text) || text.len() > 253 {
            return Err(format!(
                "metadata.{field}: expected at most 253 lower-case letters, digits, '-' and '.', got {text:?}"
            ));
        }
    }
    Ok(raw)
}

/// The size of the file limits the work, so only its multipliers need limits: nesting, which uses stack, and aliases,
/// which use memory. Duplicate keys are common in generated files, and so is one anchor with hundreds of aliases.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 128,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    }
}

/// Splits a file before every line that begins with `---`, as kubectl does, and skips empty documents.
fn documents(text: &str) -> impl Iterator<Item = Document<'_>> {
    let mut rest = text;
    let mut lines_before = 0;
    let split = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.match_indices('\n').map(|(at, _)| at + 1).find(|at| begins_document(&rest[*at..]));
        let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
        let document = Document { text, format: Format::Yaml, lines_before };
        lines_before += text.bytes().filter(|b| *b == b'\n').count() as u64;
        rest = after;
        Some(document)
    });
    split.filter(|document| document.text.lines().any(has_content))
}

fn begins_document(text: &str) -> bool {
    text.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn has_content(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}');
    let line = line.strip_prefix("---").unwrap_or(line).trim();
    !(line.is_empty() || line.starts_with(['#', '%']) || line == "...")
}
