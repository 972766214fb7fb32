//! Errors and warnings about a Corefile: the line CoreDNS prints, and the position in the file.

use std::fmt;

use crate::json::push_string;
use crate::render;
use crate::span::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// The text that CoreDNS puts around a message; operators search their logs for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// `FILE:LINE - Error during parsing: MSG`
    Parsing,
    /// `FILE:LINE - Syntax error: MSG`
    Syntax,
    /// `error inspecting server blocks: MSG`, for keys
    Inspecting,
    /// the message and nothing else
    Bare,
}

/// One error or warning. Displays as CoreDNS's line; [`render`](Diagnostic::render) adds an annotated snippet.
#[derive(Clone, PartialEq, Eq)]
pub struct Diagnostic(Box<Finding>);

#[derive(Clone, PartialEq, Eq)]
struct Finding {
    severity: Severity,
    frame: Frame,
    message: String,
    plugin: Option<String>,
    /// CoreDNS's line has no `plugin/NAME: ` prefix.
    unnamed: bool,
    /// File and line as CoreDNS reports them; line 0 without a current token. The span may be more exact.
    file: String,
    line: u32,
    span: Option<Span>,
    help: Option<String>,
}

impl Diagnostic {
    fn new(severity: Severity, frame: Frame, message: impl Into<String>) -> Self {
        Self(Box::new(Finding {
            severity,
            frame,
            message: message.into(),
            plugin: None,
            unnamed: false,
            file: String::new(),
            line: 0,
            span: None,
            help: None,
        }))
    }

    /// An error that CoreDNS reports without file and line.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Frame::Bare, message)
    }

    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, Frame::Bare, message)
    }

    pub(crate) fn parsing(file: &str, line: u32, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Frame::Parsing, message).on_line(file, line)
    }

    pub(crate) fn syntax(file: &str, line: u32, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Frame::Syntax, message).on_line(file, line)
    }

    pub(crate) fn inspecting(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Frame::Inspecting, message)
    }

    fn on_line(mut self, file: &str, line: u32) -> Self {
        self.0.file = file.to_string();
        self.0.line = line;
        self
    }

    /// Sets the position. It does not change the line that CoreDNS reports.
    pub fn at(mut self, span: &Span) -> Self {
        self.0.span = Some(span.clone());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Names the plugin whose setup failed, as the prefix `plugin/NAME: `.
    pub fn in_plugin(mut self, name: &str) -> Self {
        self.0.plugin = Some(name.to_string());
        self
    }

    /// Omits the prefix `plugin/NAME: `, as CoreDNS does for some errors of setups.
    pub fn unnamed(mut self) -> Self {
        self.0.unnamed = true;
        self
    }

    pub fn severity(&self) -> Severity {
        self.0.severity
    }

    /// The message alone, without file, line and plugin.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn plugin(&self) -> Option<&str> {
        self.0.plugin.as_deref()
    }

    pub fn span(&self) -> Option<&Span> {
        self.0.span.as_ref()
    }

    pub fn help_text(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Name of the file, empty if there is none.
    pub fn file(&self) -> &str {
        self.0.span.as_ref().map_or(&self.0.file, |span| span.file.name())
    }

    /// Line, from 1; 0 if there is none.
    pub fn line(&self) -> u32 {
        self.0.span.as_ref().map_or(self.0.line, |span| span.line)
    }

    /// Column in characters, from 1; 0 if there is none.
    pub fn column(&self) -> u32 {
        self.0.span.as_ref().map_or(0, |span| span.column)
    }

    /// The source line of its position, if any.
    pub fn source_line(&self) -> Option<&str> {
        self.0.span.as_ref().map(Span::source_line)
    }

    /// The message, the source line with the position underlined, and help; for terminals.
    pub fn render(&self, color: bool) -> String {
        render::render(self, color)
    }

    /// One JSON object with `severity`, `message` (the whole line), `file`, `line`, `column`, `text` (the source
    /// line) and `help`; the last two may be null.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\"severity\":");
        push_string(&mut out, self.severity().as_str());
        out.push_str(",\"message\":");
        push_string(&mut out, &self.to_string());
        out.push_str(",\"file\":");
        push_string(&mut out, self.file());
        out.push_str(&format!(",\"line\":{},\"column\":{}", self.line(), self.column()));
        for (name, value) in [("text", self.source_line()), ("help", self.help_text())] {
            out.push_str(&format!(",\"{name}\":"));
            match value {
                Some(value) => push_string(&mut out, value),
                None => out.push_str("null"),
            }
        }
        out.push('}');
        out
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { frame, message, plugin, unnamed, file, line, .. } = &*self.0;
        if let (Some(plugin), false) = (plugin, unnamed) {
            write!(f, "plugin/{plugin}: ")?;
        }
        match frame {
            Frame::Parsing => write!(f, "{file}:{line} - Error during parsing: {message}"),
            Frame::Syntax => write!(f, "{file}:{line} - Syntax error: {message}"),
            Frame::Inspecting => write!(f, "error inspecting server blocks: {message}"),
            Frame::Bare => f.write_str(message),
        }
    }
}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.severity().as_str())
    }
}

impl std::error::Error for Diagnostic {}
