//! Evaluates pipelines, operands and fields.

use std::borrow::Cow;

use super::call::{Function, Param};
use super::exec::{Execution, Result, Stop};
use super::number::Number;
use super::tree::{Command, Node, Operand, Pipe, Term};
use crate::quote::quoted;
use crate::value::{Data, Field, Value, Width};

/// The node being evaluated, for errors.
#[derive(Clone, Copy)]
pub(super) enum Context<'r> {
    Start,
    Node(usize, &'r Node),
    Pipe(&'r Pipe),
    Command(&'r Command),
    Operand(&'r Operand),
}

impl Context<'_> {
    fn position(self) -> (usize, String) {
        match self {
            Context::Start => (0, String::new()),
            Context::Node(at, node) => (at, node.to_string()),
            Context::Pipe(pipe) => (pipe.at, pipe.to_string()),
            Context::Command(command) => (command.at, command.to_string()),
            Context::Operand(operand) => (operand.at, operand.to_string()),
        }
    }
}

/// Arguments of a function or method: those written after it, and the value piped into it.
#[derive(Clone, Copy, Default)]
pub(super) struct Args<'r, 'v> {
    /// The whole command; `None` for an operand that is an argument itself.
    pub command: Option<&'r Command>,
    pub written: &'r [Operand],
    /// The piped value; `None` in the first command of a pipeline.
    pub last: Option<&'v Value<'r>>,
}

impl Args<'_, '_> {
    fn any(&self) -> bool {
        !self.written.is_empty() || self.last.is_some()
    }
}

impl<'r> Execution<'r> {
    pub fn fail<T>(&self, reason: String) -> Result<T> {
        let (at, context) = self.context.position();
        let before = &self.parsed.1[..at];
        let line = 1 + before.matches('\n').count();
        let column = before.rfind('\n').map_or(at, |newline| at - newline - 1);
        let (parsed, name) = (self.parsed.0, quoted(self.name));
        let position = format!("{parsed}:{line}:{column}: executing {name} at <{context}>");
        Err(Stop::Error(format!("template: {position}: {reason}")))
    }

    pub fn pipeline(&mut self, dot: &Value<'r>, pipe: &'r Pipe) -> Result<Value<'r>> {
        self.context = Context::Pipe(pipe);
        let mut value: Option<Value<'r>> = None;
        for command in &pipe.commands {
            value = Some(self.command(dot, command, value.as_ref())?);
        }
        let value = value.unwrap_or(Value::Nil);
        for name in &pipe.variables {
            if pipe.assigns {
                self.assign(name, value.clone())?;
            } else {
                self.variables.push((name, value.clone()));
            }
        }
        Ok(value)
    }

    fn command(
        &mut self,
        dot: &Value<'r>,
        command: &'r Command,
        last: Option<&Value<'r>>,
    ) -> Result<Value<'r>> {
        let Some((first, written)) = command.operands.split_first() else { return Ok(Value::Nil) };
        let args = Args { command: Some(command), written, last };
        match &first.term {
            Term::Field(_) | Term::Chain(..) | Term::Variable(_) | Term::Function(..) => {
                self.callable(dot, first, args)
            }
            Term::Pipe(pipe) => {
                self.not_a_function(first, args)?;
                self.pipeline(dot, pipe)
            }
            _ => {
                self.context = Context::Operand(first);
                self.not_a_function(first, args)?;
                match &first.term {
                    Term::Dot => Ok(dot.clone()),
                    Term::Nil => self.fail("nil is not a command".into()),
                    _ => self.constant(first),
                }
            }
        }
    }

    fn not_a_function(&self, first: &Operand, args: Args<'_, '_>) -> Result<()> {
        if args.any() {
            let first = match &first.term {
                Term::Pipe(pipe) => pipe.to_string(),
                _ => first.to_string(),
            };
            return self.fail(format!("can't give argument to non-function {first}"));
        }
        Ok(())
    }

    /// Evaluates an operand that may take arguments.
    fn callable(&mut self, dot: &Value<'r>, operand: &'r Operand, args: Args<'r, '_>) -> Result<Value<'r>> {
        self.context = Context::Operand(operand);
        match &operand.term {
            Term::Field(names) => self.fields(dot, dot.clone(), operand, names, args),
            Term::Variable(names) => {
                let Some((name, rest)) = names.split_first() else { return Ok(Value::Nil) };
                let value = self.variable(name)?;
                if rest.is_empty() {
                    self.not_a_function(operand, args)?;
                    return Ok(value);
                }
                self.fields(dot, value, operand, rest, args)
            }
            Term::Chain(inner, names) => {
                if let Term::Nil = inner.term {
                    return self.fail(format!("indirection through explicit nil in {operand}"));
                }
                let value = self.untyped(dot, inner)?;
                self.fields(dot, value, operand, names, args)
            }
            Term::Function(name, function) => self.call(dot, operand, name, *function, args),
            _ => Ok(Value::Nil),
        }
    }

    fn variable(&self, name: &str) -> Result<Value<'r>> {
        match self.variables.iter().rev().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(value.clone()),
            None => self.fail(format!("undefined variable: {name}")),
        }
    }

    /// Evaluates the inner operand of a chain, of any type.
    fn untyped(&mut self, dot: &Value<'r>, operand: &'r Operand) -> Result<Value<'r>> {
        self.context = Context::Operand(operand);
        match &operand.term {
            Term::Dot => Ok(dot.clone()),
            Term::Pipe(pipe) => self.pipeline(dot, pipe),
            _ => self.callable(dot, operand, Args::default()),
        }
    }

    fn fields(
        &mut self,
        dot: &Value<'r>,
        mut value: Value<'r>,
        operand: &'r Operand,
        names: &'r [String],
        args: Args<'r, '_>,
    ) -> Result<Value<'r>> {
        for (i, name) in names.iter().enumerate() {
            let args = if i + 1 == names.len() { args } else { Args::default() };
            value = self.field(dot, value, operand, name, args)?;
        }
        Ok(value)
    }

    fn field(
        &mut self,
        dot: &Value<'r>,
        value: Value<'r>,
        operand: &'r Operand,
        name: &'r str,
        args: Args<'r, '_>,
    ) -> Result<Value<'r>> {
        match value {
            Value::Nil => return Ok(Value::Nil),
            Value::Struct(data) => match data.field(name) {
                Field::Unknown => {}
                Field::Unexported => {
                    let of = data.type_name();
                    return self.fail(format!("{name} is an unexported field of struct type {of}"));
                }
                Field::Value(_) if args.any() => {
                    return self.fail(format!("{name} has arguments but cannot be invoked as function"));
                }
                Field::Value(value) => return Ok(value),
                Field::Method(parameters) => {
                    return self.method(dot, data, operand, name, parameters, args);
                }
            },
            Value::Map(_) if args.any() => {
                return self.fail(format!("{name} is not a method but has arguments"));
            }
            Value::Map(data) => return Ok(data.get(name.as_bytes()).unwrap_or(Value::Nil)),
            _ => {}
        }
        let of = value.type_name().unwrap_or_default();
        self.fail(format!("can't evaluate field {name} in type {of}"))
    }

    fn method(
        &mut self,
        dot: &Value<'r>,
        data: &'r dyn Data,
        operand: &'r Operand,
        name: &'r str,
        parameters: usize,
        args: Args<'r, '_>,
    ) -> Result<Value<'r>> {
        let given = args.written.len() + usize::from(args.last.is_some());
        if given != parameters {
            return self.fail(format!("wrong number of args for {name}: want {parameters} got {given}"));
        }
        let mut values = Vec::with_capacity(given);
        for arg in args.written {
            values.push(self.argument(dot, arg, Param::Text)?);
        }
        if let Some(last) = args.last {
            values.push(self.check_type(last.clone(), Param::Text)?);
        }
        self.context = Context::Operand(operand);
        Ok(data.call(name, &values))
    }

    /// Evaluates an argument for a parameter.
    pub fn argument(&mut self, dot: &Value<'r>, operand: &'r Operand, param: Param) -> Result<Value<'r>> {
        self.context = Context::Operand(operand);
        match &operand.term {
            Term::Dot => self.check_type(dot.clone(), param),
            Term::Nil if param.can_be_nil() => Ok(Value::Nil),
            Term::Nil => self.fail(format!("cannot assign nil to {}", param.name())),
            Term::Field(_) | Term::Variable(_) | Term::Chain(..) | Term::Function(..) => {
                let value = self.callable(dot, operand, Args::default())?;
                self.check_type(value, param)
            }
            Term::Pipe(pipe) => {
                let value = self.pipeline(dot, pipe)?;
                self.check_type(value, param)
            }
            _ => match (param, &operand.term) {
                (Param::Any | Param::Reflect, _) | (Param::Text, Term::Text(..)) => self.constant(operand),
                (Param::Int, Term::Number(Number { int: Some(int), .. })) => Ok(Value::Int(*int)),
                (Param::Text, _) => self.fail(format!("expected string; found {operand}")),
                (Param::Int, _) => self.fail(format!("expected integer; found {operand}")),
            },
        }
    }

    /// Checks that a value has the type of a parameter.
    pub fn check_type(&self, value: Value<'r>, param: Param) -> Result<Value<'r>> {
        match (&value, param) {
            (_, Param::Any | Param::Reflect)
            | (Value::Text(_), Param::Text)
            | (Value::Int(_), Param::Int) => Ok(value),
            (Value::Nil, _) => self.fail(format!("invalid value; expected {}", param.name())),
            (other, _) => {
                let got = other.type_name().unwrap_or_default();
                self.fail(format!("wrong type for value; expected {}; got {got}", param.name()))
            }
        }
    }

    fn constant(&mut self, operand: &'r Operand) -> Result<Value<'r>> {
        self.context = Context::Operand(operand);
        Ok(match &operand.term {
            Term::Bool(value) => Value::Bool(*value),
            Term::Text(_, text) => Value::Text(Cow::Borrowed(text)),
            Term::Number(number) => match (number.complex, number.int) {
                (Some((real, imaginary)), _) => Value::Complex(real, imaginary),
                _ if number.is_float_literal() => Value::Float(number.float.unwrap_or_default()),
                (_, Some(int)) => Value::Int(int),
                _ => return self.fail(format!("{} overflows int", number.text)),
            },
            _ => Value::Nil,
        })
    }

    fn call(
        &mut self,
        dot: &Value<'r>,
        operand: &'r Operand,
        name: &str,
        function: Function,
        args: Args<'r, '_>,
    ) -> Result<Value<'r>> {
        let given = args.written.len() + usize::from(args.last.is_some());
        let (fixed, more) = function.parameters();
        if more.is_some() && given < fixed.len() {
            let (want, got) = (fixed.len(), args.written.len());
            return self.fail(format!("wrong number of args for {name}: want at least {want} got {got}"));
        }
        if more.is_none() && given != fixed.len() {
            return self.fail(format!("wrong number of args for {name}: want {} got {given}", fixed.len()));
        }
        if let Function::And | Function::Or = function {
            return self.and_or(dot, function, args);
        }
        let param = |i: usize| fixed.get(i).copied().or(more).unwrap_or(Param::Any);
        let mut values = Vec::with_capacity(given);
        for (i, arg) in args.written.iter().enumerate() {
            values.push(self.argument(dot, arg, param(i))?);
        }
        if let Some(last) = args.last {
            values.push(self.check_type(last.clone(), param(given - 1))?);
        }
        let called = match (function, args.written.first()) {
            (Function::Call, Some(first)) => function.call_of(&first.to_string(), &values),
            (Function::Call, None) => function.call_of(&piped_name(values.first()), &values),
            _ => function.call(values),
        };
        called.or_else(|error| {
            self.context = args.command.map_or(Context::Operand(operand), Context::Command);
            self.fail(format!("error calling {name}: {error}"))
        })
    }

    /// Evaluates only as many arguments as needed.
    fn and_or(&mut self, dot: &Value<'r>, function: Function, args: Args<'r, '_>) -> Result<Value<'r>> {
        let mut value = Value::Nil;
        for arg in args.written {
            value = self.argument(dot, arg, Param::Reflect)?;
            if value.is_true() == matches!(function, Function::Or) {
                return Ok(value);
            }
        }
        Ok(args.last.cloned().unwrap_or(value))
    }
}

/// The name in an error of `call` for a piped value.
fn piped_name(value: Option<&Value<'_>>) -> String {
    match value {
        Some(Value::Text(text)) => String::from_utf8_lossy(text).into_owned(),
        Some(value) => match value.type_name() {
            Some(name) => format!("<{name} Value>"),
            None => "<invalid Value>".into(),
        },
        None => String::new(),
    }
}

/// `index`: an item of a list, a string or a map.
pub(super) fn index<'a>(of: Value<'a>, by: &Value<'a>) -> std::result::Result<Value<'a>, String> {
    match of {
        Value::Text(text) => {
            let at = to_index(by, text.len())?;
            let byte = text.get(at).ok_or("reflect: string index out of range")?;
            Ok(Value::Uint((*byte).into(), Width::Bits8))
        }
        Value::List(data, from, to) => {
            let at = to_index(by, to - from)?;
            if from + at >= to {
                return Err("reflect: slice index out of range".into());
            }
            Ok(data.item(from + at))
        }
        Value::Map(data) => match by {
            Value::Text(key) => Ok(data.get(key).unwrap_or_else(|| zero_of_map(data))),
            Value::Nil => Err("value is nil; should be of type string".into()),
            other => {
                Err(format!("value has type {}; should be string", other.type_name().unwrap_or_default()))
            }
        },
        other => Err(format!("can't index item of type {}", behind_pointer(&other))),
    }
}

/// The type of a value; for a pointer that of the struct.
pub(super) fn behind_pointer<'v>(value: &'v Value<'_>) -> &'v str {
    value.type_name().unwrap_or_default().trim_start_matches('*')
}

/// The value of a key missing from a map.
fn zero_of_map<'a>(data: &dyn Data) -> Value<'a> {
    if data.type_name().ends_with("]string") { Value::text("") } else { Value::Nil }
}

/// Converts an index, which may be up to `limit`.
pub(super) fn to_index(index: &Value<'_>, limit: usize) -> std::result::Result<usize, String> {
    let number = match index {
        Value::Int(number) => *number,
        Value::Uint(number, _) => *number as i64,
        Value::Nil => return Err("cannot index slice/array with nil".into()),
        other => {
            let of = other.type_name().unwrap_or_default();
            return Err(format!("cannot index slice/array with type {of}"));
        }
    };
    usize::try_from(number)
        .ok()
        .filter(|at| *at <= limit)
        .ok_or_else(|| format!("index out of range: {number}"))
}
