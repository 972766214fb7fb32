//! Variables and functions that expressions may use.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::program::Program;
use crate::types::Type;
use crate::value::Value;

/// The names an expression may use besides the builtins, with their types.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    by_name: HashMap<String, usize>,
    entries: Vec<Type>,
}

/// A declared function.
#[derive(Clone)]
pub struct Function {
    pub parameters: Vec<Type>,
    pub result: Type,
    /// Whether it can fail at run time.
    pub fails: bool,
    pub prepare: Option<Prepare>,
    /// The receiver of a method, which Go prints as its first parameter.
    pub(crate) receiver: Option<Type>,
}

/// Precomputes from constant arguments, once at setup; arguments that are not constant are None.
pub type Prepare = fn(&[Option<&Value<'static>>]) -> Option<Prepared>;

/// The result of [`Prepare`], passed to every call at that position of the expression.
pub type Prepared = Box<dyn Any + Send + Sync>;

impl Environment {
    pub fn new() -> Environment {
        Environment::default()
    }

    /// Declares a function and returns its index for [`Variables`](crate::Variables).
    pub fn function(&mut self, name: &str, function: Function) -> usize {
        self.declare(name, Type::Function(Arc::new(function)))
    }

    /// Declares a variable and returns its index for [`Variables`](crate::Variables).
    pub fn variable(&mut self, name: &str, ty: Type) -> usize {
        self.declare(name, ty)
    }

    /// Declares a variable for the result of a program, as `template`'s `var` does.
    pub fn result(&mut self, name: &str, program: &Program) -> usize {
        self.declare(name, program.declared_type())
    }

    pub fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    fn declare(&mut self, name: &str, ty: Type) -> usize {
        let index = self.entries.len();
        self.entries.push(ty);
        self.by_name.insert(name.to_owned(), index);
        index
    }

    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Type)> {
        let &index = self.by_name.get(name)?;
        Some((index, &self.entries[index]))
    }

    pub(crate) fn type_of(&self, index: usize) -> Option<&Type> {
        self.entries.get(index)
    }
}

impl Function {
    pub fn new(parameters: impl Into<Vec<Type>>, result: Type) -> Function {
        Function { parameters: parameters.into(), result, fails: false, prepare: None, receiver: None }
    }

    pub fn fallible(mut self) -> Function {
        self.fails = true;
        self
    }

    pub(crate) fn with_receiver(mut self, receiver: &Type) -> Function {
        self.receiver = Some(receiver.clone());
        self
    }

    pub fn prepared_by(mut self, prepare: Prepare) -> Function {
        self.prepare = Some(prepare);
        self
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        (&self.parameters, &self.result, self.fails) == (&other.parameters, &other.result, other.fails)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As Go prints the type: `func(string, string) (bool, error)`.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("func(")?;
        for (i, parameter) in self.receiver.iter().chain(&self.parameters).enumerate() {
            write!(f, "{}{parameter}", if i > 0 { ", " } else { "" })?;
        }
        if self.fails { write!(f, ") ({}, error)", self.result) } else { write!(f, ") {}", self.result) }
    }
}
