//! The documents of one file, and the objects in them.

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::{Options, Spanned};

use crate::api::message::Raw;
use crate::object::Kind;

/// Which kinds of which APIs are read. Others share the names: Knative has Services of its own.
const KINDS: &[(&str, Kind)] = &[
    ("v1", Kind::Namespace),
    ("v1", Kind::Service),
    ("v1", Kind::Pod),
    ("discovery.k8s.io/v1", Kind::EndpointSlice),
    ("multicluster.x-k8s.io/v1alpha1", Kind::ServiceImport),
    ("multicluster.x-k8s.io/v1beta1", Kind::ServiceImport),
];

/// Who gets so many of a file wrong need not be told of all at once.
const MOST_PROBLEMS: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format {
    Yaml,
    Json,
}

/// What a file says, and what of it nobody understands: `document 2: …`
#[derive(Default)]
pub(super) struct Contents {
    pub objects: Vec<Raw>,
    pub problems: Vec<String>,
}

pub(super) fn read(text: &str, format: Format) -> Contents {
    let mut contents = Contents::default();
    match format {
        Format::Json => contents.take(1, Document { text, format, lines_before: 0 }),
        Format::Yaml => {
            for (n, document) in documents(text).enumerate() {
                contents.take(n + 1, document);
            }
        }
    }
    contents
}

impl Contents {
    /// Of a file that cannot be understood at all.
    pub(super) fn problem(problem: String) -> Self {
        Self { objects: Vec::new(), problems: vec![problem] }
    }

    fn take(&mut self, number: usize, document: Document<'_>) {
        match document.objects() {
            Ok(mut objects) => self.objects.append(&mut objects),
            Err(problem) if self.problems.len() < MOST_PROBLEMS => {
                self.problems.push(format!("document {number}: {problem}"));
            }
            Err(_) => {}
        }
    }
}

/// What every object says of itself first.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Head {
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
    /// Places in messages are those in the file.
    lines_before: u64,
}

impl Document<'_> {
    fn objects(self) -> Result<Vec<Raw>, String> {
        let head: Head = self.parse()?;
        if let Some(of) = head.kind.strip_suffix("List") {
            return self.items(of, &head.api_version);
        }
        let Some(kind) = known(&head.api_version, &head.kind) else { return Ok(Vec::new()) };
        let raw = match self.format {
            Format::Json => Raw::deserialize(kind, &mut serde_json::Deserializer::from_str(self.text))
                .map_err(|e| e.to_string()),
            Format::Yaml => {
                let read =
                    |deserializer: serde_saphyr::Deserializer<'_, '_>| Raw::deserialize(kind, deserializer);
                serde_saphyr::with_deserializer_from_str_with_options(self.text, options(), read)
                    .map_err(|e| self.explain(&e))
            }
        };
        let raw = raw.and_then(checked).map_err(|e| format!("{}: {e}", kind.name()))?;
        Ok(vec![raw])
    }

    /// The items of a list; in a list of one kind they need not say theirs.
    fn items(self, of: &str, api_version: &str) -> Result<Vec<Raw>, String> {
        let list: Items = self.parse()?;
        let mut objects = Vec::new();
        for (n, item) in list.items.into_iter().enumerate() {
            // The place of a JSON document's item is not known, but that of its mistakes is not far.
            let line = item.referenced.line();
            let item = item.value;
            let says = |field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
            let api_version = says("apiVersion").unwrap_or_else(|| api_version.to_owned());
            let kind = says("kind").unwrap_or_else(|| of.to_owned());
            let Some(kind) = known(&api_version, &kind) else { continue };
            let raw = Raw::deserialize(kind, item).map_err(|e| e.to_string()).and_then(checked);
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
                serde_saphyr::from_str_with_options(self.text, options()).map_err(|e| self.explain(&e))
            }
        }
    }

    fn explain(self, e: &serde_saphyr::Error) -> String {
        let options = serde_saphyr::render_options! { line_offset: self.lines_before };
        let text = e.render_with_options(options);
        // One mistake, one line of the log.
        text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    }
}

fn known(api_version: &str, kind: &str) -> Option<Kind> {
    KINDS.iter().find(|(of, it)| *of == api_version && it.name() == kind).map(|(_, kind)| *kind)
}

/// The API server would refuse it, and nobody could ask for it: names in the index are in lower case.
fn checked(raw: Raw) -> Result<Raw, String> {
    let meta = raw.meta();
    let is_name = |text: &str| text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'));
    if meta.name.is_empty() {
        return Err("metadata.name is missing".to_owned());
    }
    for (field, text) in [("name", &meta.name), ("namespace", &meta.namespace)] {
        if !is_name(text) || text.len() > 253 {
            return Err(format!("metadata.{field}: {text:?} is no name of Kubernetes"));
        }
    }
    Ok(raw)
}

/// The size of the file bounds the work, so only what multiplies it is limited: nesting, which takes stack, and aliases,
/// which take memory. A key given twice is common in generated files, and so is one anchor for hundreds of aliases.
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

/// Cuts a file before every line that begins with `---`, as kubectl does; without those that say nothing.
fn documents(text: &str) -> impl Iterator<Item = Document<'_>> {
    let mut rest = text;
    let mut lines_before = 0;
    let cut = std::iter::from_fn(move || {
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
    cut.filter(|document| document.text.lines().any(says_something))
}

fn begins_document(text: &str) -> bool {
    text.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn says_something(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}');
    let line = line.strip_prefix("---").unwrap_or(line).trim();
    !(line.is_empty() || line.starts_with(['#', '%']) || line == "...")
}
