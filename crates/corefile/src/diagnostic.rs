//! What is wrong with a Corefile: the line CoreDNS would print, and the place it means.

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

/// How CoreDNS frames the message; operators search their logs for these words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// `FILE:LINE - Error during parsing: MSG`
    Parsing,
    /// `FILE:LINE - Syntax error: MSG`
    Syntax,
    /// `error inspecting server blocks: MSG`, said of keys
    Inspecting,
    /// the message and nothing else
    Bare,
}

/// One finding. `Display` gives CoreDNS's one line, [`render`](Diagnostic::render) a picture of the place.
#[derive(Clone, PartialEq, Eq)]
pub struct Diagnostic(Box<Finding>);

#[derive(Clone, PartialEq, Eq)]
struct Finding {
    severity: Severity,
    frame: Frame,
    message: String,
    plugin: Option<String>,
    /// CoreDNS's line does not begin with the plugin.
    unnamed: bool,
    /// File and line as CoreDNS reports them: line 0 when it stood on no token. The span may know better.
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

    /// An error that CoreDNS reports without a place.
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

    /// Points at `span`. The line CoreDNS reports stays what it was, if it reports one.
    pub fn at(mut self, span: &Span) -> Self {
        self.0.span = Some(span.clone());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Says which plugin's setup the error is from: `plugin/NAME: ` in front of the line.
    pub fn in_plugin(mut self, name: &str) -> Self {
        self.0.plugin = Some(name.to_string());
        self
    }

    /// CoreDNS prints this one without the plugin's name, although it is from a plugin's setup.
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

    /// Name of the file, empty if the finding is about none.
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

    /// The line of source it is about, if any.
    pub fn source_line(&self) -> Option<&str> {
        self.0.span.as_ref().map(Span::source_line)
    }

    /// A picture for people: the message, the line in question with the place underlined, and help.
    pub fn render(&self, color: bool) -> String {
        render::picture(self, color)
    }

    /// One JSON object with `severity`, `message` (the whole line), `file`, `line`, `column`, `text` (the source
    /// line) and `help`; the last two are null when there is nothing.
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
