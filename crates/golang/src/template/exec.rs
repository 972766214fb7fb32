//! Executes a template's tree.

use super::eval::Context;
use super::parse::Set;
use super::tree::{Branch, Include, List, Node};
use crate::format;
use crate::quote::quoted;
use crate::value::{Data, Value};

/// Maximum depth of nested templates. Go's is 100,000, with a growing stack.
const MAX_DEPTH: usize = 100;

/// Why an execution leaves a list of nodes.
pub(super) enum Stop {
    Error(String),
    Break,
    Continue,
}

pub(super) type Result<T> = std::result::Result<T, Stop>;

/// One execution.
pub(super) struct Execution<'r> {
    pub set: &'r Set,
    /// Name and text of the parsed template, for positions in errors.
    pub parsed: (&'r str, &'r str),
    /// Name of the template being executed.
    pub name: &'r str,
    /// The node being evaluated, for errors.
    pub context: Context<'r>,
    pub variables: Vec<(&'r str, Value<'r>)>,
    pub depth: usize,
}

impl<'r> Execution<'r> {
    pub fn new(set: &'r Set, parsed: (&'r str, &'r str), data: &'r dyn Data) -> Execution<'r> {
        let variables = vec![("$", Value::Struct(data))];
        Execution { set, parsed, name: parsed.0, context: Context::Start, variables, depth: 0 }
    }

    pub fn list(&mut self, dot: &Value<'r>, list: &'r List, out: &mut Vec<u8>) -> Result<()> {
        for node in &list.0 {
            match node {
                Node::Text(text) => out.extend_from_slice(text.as_bytes()),
                Node::Action(pipe) => {
                    self.context = Context::Node(pipe.at, node);
                    let value = self.pipeline(dot, pipe)?;
                    if pipe.variables.is_empty() {
                        print(&value, out);
                    }
                }
                Node::If(branch) => {
                    self.context = Context::Node(branch.pipe.at, node);
                    self.if_or_with(dot, branch, false, out)?;
                }
                Node::With(branch) => {
                    self.context = Context::Node(branch.pipe.at, node);
                    self.if_or_with(dot, branch, true, out)?;
                }
                Node::Range(branch) => {
                    self.context = Context::Node(branch.pipe.at, node);
                    let mark = self.variables.len();
                    let ended = self.range(dot, branch, out);
                    self.variables.truncate(mark);
                    match ended {
                        Err(Stop::Break) => {}
                        other => other?,
                    }
                }
                Node::Template(include) => {
                    self.context = Context::Node(include.at, node);
                    self.include(dot, include, out)?;
                }
                Node::Break => return Err(Stop::Break),
                Node::Continue => return Err(Stop::Continue),
            }
        }
        Ok(())
    }

    /// Executes `if` and `with`.
    fn if_or_with(
        &mut self,
        dot: &Value<'r>,
        branch: &'r Branch,
        with: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mark = self.variables.len();
        let value = self.pipeline(dot, &branch.pipe)?;
        let done = match &branch.otherwise {
            _ if value.is_true() => self.list(if with { &value } else { dot }, &branch.list, out),
            Some(otherwise) => self.list(dot, otherwise, out),
            None => Ok(()),
        };
        self.variables.truncate(mark);
        done
    }

    fn range(&mut self, dot: &Value<'r>, branch: &'r Branch, out: &mut Vec<u8>) -> Result<()> {
        let over = self.pipeline(dot, &branch.pipe)?;
        let mut any = false;
        match over {
            Value::Int(_) | Value::Uint(..) => {
                if branch.pipe.variables.len() > 1 {
                    let text = format::print(&[over]);
                    let text = String::from_utf8_lossy(&text);
                    return self.fail(format!("can't use {text} to iterate over more than one variable"));
                }
                let (count, width) = match over {
                    Value::Uint(count, width) => (count, Some(width)),
                    Value::Int(count) => (u64::try_from(count).unwrap_or(0), None),
                    _ => (0, None),
                };
                for i in 0..count {
                    any = true;
                    let item = width.map_or(Value::Int(i as i64), |width| Value::Uint(i, width));
                    self.iteration(branch, Value::Nil, item, out)?;
                }
            }
            Value::List(data, from, to) => {
                for i in from..to {
                    any = true;
                    self.iteration(branch, Value::Int((i - from) as i64), data.item(i), out)?;
                }
            }
            Value::Map(data) => {
                for i in 0..data.len() {
                    any = true;
                    self.iteration(branch, data.key(i), data.item(i), out)?;
                }
            }
            Value::Nil => {}
            other => {
                let text = format::print(&[other]);
                return self.fail(format!("range can't iterate over {}", String::from_utf8_lossy(&text)));
            }
        }
        match &branch.otherwise {
            Some(otherwise) if !any => self.list(dot, otherwise, out),
            _ => Ok(()),
        }
    }

    /// Executes a range's list for one item.
    fn iteration(
        &mut self,
        branch: &'r Branch,
        key: Value<'r>,
        item: Value<'r>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let pipe = &branch.pipe;
        let top = self.variables.len();
        match &pipe.variables[..] {
            [] => {}
            [one] if pipe.assigns => self.assign(one, item.clone())?,
            [first, second, ..] if pipe.assigns => {
                self.assign(first, key)?;
                self.assign(second, item.clone())?;
            }
            names => {
                self.variables[top - 1].1 = item.clone();
                if names.len() > 1 {
                    self.variables[top - 2].1 = key;
                }
            }
        }
        let done = self.list(&item, &branch.list, out);
        self.variables.truncate(top);
        match done {
            Err(Stop::Continue) => Ok(()),
            other => other,
        }
    }

    fn include(&mut self, dot: &Value<'r>, include: &'r Include, out: &mut Vec<u8>) -> Result<()> {
        let Some((name, list)) = self.set.get_key_value(&include.name) else {
            return self.fail(format!("template {} not defined", quoted(&include.name)));
        };
        if self.depth == MAX_DEPTH {
            return self.fail("exceeded maximum template depth (100000)".into());
        }
        let dot = match &include.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Value::Nil,
        };
        let mut inner = Execution {
            set: self.set,
            parsed: self.parsed,
            name,
            context: self.context,
            variables: vec![("$", dot.clone())],
            depth: self.depth + 1,
        };
        inner.list(&dot, list, out)
    }

    pub fn assign(&mut self, name: &str, value: Value<'r>) -> Result<()> {
        match self.variables.iter_mut().rev().find(|(known, _)| *known == name) {
            Some((_, old)) => {
                *old = value;
                Ok(())
            }
            None => self.fail(format!("undefined variable: {name}")),
        }
    }
}

/// Writes the value of an action.
fn print(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) => out.extend_from_slice(text),
        Value::Nil => out.extend_from_slice(b"<no value>"),
        other => out.extend(format::print(std::slice::from_ref(other))),
    }
}
