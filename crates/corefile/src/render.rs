//! Renders a diagnostic with an annotated source snippet, as rustc does.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Severity};

pub(crate) fn render(diagnostic: &Diagnostic, color: bool) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = match diagnostic.plugin() {
        Some(plugin) => format!("plugin/{plugin}: {}", diagnostic.message()),
        None => diagnostic.message().to_string(),
    };
    let mut group = Group::with_title(level.primary_title(title));
    if let Some(span) = diagnostic.span() {
        let range = span.range();
        let mark = AnnotationKind::Primary.span(range);
        group = group.element(Snippet::source(span.file.text()).path(span.file.name()).annotation(mark));
    }
    if let Some(help) = diagnostic.help_text() {
        group = group.element(Level::HELP.message(help));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}
