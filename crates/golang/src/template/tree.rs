//! A parsed template. Each node has its position and displays as Go prints it, for errors and metrics.

use std::fmt::{self, Display, Formatter};

use super::call::Function;
use super::number::Number;
use crate::quote::quoted;

/// A list of nodes, executed in order.
#[derive(Debug, Default)]
pub(super) struct List(pub Vec<Node>);

#[derive(Debug)]
pub(super) enum Node {
    Text(String),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template(Include),
    Break,
    Continue,
}

/// `{{if}}`, `{{with}}` or `{{range}}`.
#[derive(Debug)]
pub(super) struct Branch {
    pub word: &'static str,
    pub pipe: Pipe,
    pub list: List,
    pub otherwise: Option<List>,
}

/// `{{template "name" pipeline}}`
#[derive(Debug)]
pub(super) struct Include {
    pub at: usize,
    pub name: String,
    pub pipe: Option<Pipe>,
}

#[derive(Debug)]
pub(super) struct Pipe {
    pub at: usize,
    /// Variables it declares, or assigns if `assigns`.
    pub variables: Vec<String>,
    pub assigns: bool,
    pub commands: Vec<Command>,
}

/// An operand, or a function or method and its arguments.
#[derive(Debug)]
pub(super) struct Command {
    pub at: usize,
    pub operands: Vec<Operand>,
}

#[derive(Debug)]
pub(super) struct Operand {
    pub at: usize,
    pub term: Term,
}

#[derive(Debug)]
pub(super) enum Term {
    /// `.a.b`
    Field(Vec<String>),
    /// `$x.a.b`, the variable first.
    Variable(Vec<String>),
    /// `(…).a.b`
    Chain(Box<Operand>, Vec<String>),
    Function(String, Function),
    Pipe(Box<Pipe>),
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    /// The literal as written, and its value.
    Text(String, Vec<u8>),
}

impl List {
    /// Whether it is white space only.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
    }
}

impl Display for List {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|node| node.fmt(f))
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Node::Text(text) => f.write_str(text),
            Node::Action(pipe) => write!(f, "{{{{{pipe}}}}}"),
            Node::If(branch) | Node::With(branch) | Node::Range(branch) => branch.fmt(f),
            Node::Template(include) => include.fmt(f),
            Node::Break => f.write_str("{{break}}"),
            Node::Continue => f.write_str("{{continue}}"),
        }
    }
}

impl Display for Branch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{{{{} {}}}}}{}", self.word, self.pipe, self.list)?;
        if let Some(otherwise) = &self.otherwise {
            write!(f, "{{{{else}}}}{otherwise}")?;
        }
        f.write_str("{{end}}")
    }
}

impl Display for Include {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{{{template {}", quoted(&self.name))?;
        if let Some(pipe) = &self.pipe {
            write!(f, " {pipe}")?;
        }
        f.write_str("}}")
    }
}

impl Display for Pipe {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.variables.is_empty() {
            let sign = if self.assigns { "=" } else { ":=" };
            write!(f, "{} {sign} ", self.variables.join(", "))?;
        }
        for (i, command) in self.commands.iter().enumerate() {
            if i > 0 {
                f.write_str(" | ")?;
            }
            command.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, operand) in self.operands.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            operand.write_inside(f)?;
        }
        Ok(())
    }
}

impl Operand {
    /// Adds parentheses to a pipeline inside another node.
    fn write_inside(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.term {
            Term::Pipe(pipe) => write!(f, "({pipe})"),
            _ => self.fmt(f),
        }
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let write_fields = |f: &mut Formatter<'_>, fields: &[String]| {
            fields.iter().try_for_each(|field| write!(f, ".{field}"))
        };
        match &self.term {
            Term::Field(fields) => write_fields(f, fields),
            Term::Variable(names) => f.write_str(&names.join(".")),
            Term::Chain(operand, fields) => {
                operand.write_inside(f)?;
                write_fields(f, fields)
            }
            Term::Function(name, _) => f.write_str(name),
            Term::Pipe(pipe) => pipe.fmt(f),
            Term::Dot => f.write_str("."),
            Term::Nil => f.write_str("nil"),
            Term::Bool(value) => value.fmt(f),
            Term::Number(number) => f.write_str(&number.text),
            Term::Text(written, _) => f.write_str(written),
        }
    }
}
