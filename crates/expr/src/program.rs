//! A compiled expression.

use std::fmt;

use crate::checker;
use crate::code::{Code, CodeIndex};
use crate::environment::{Environment, Prepared};
use crate::error::Error;
use crate::generate::generate;
use crate::machine::{Budget, Machine, Stop};
use crate::parser;
use crate::rewrite;
use crate::types::Type;
use crate::value::Value;

/// Provides the values of an [`Environment`] on demand.
pub trait Variables {
    fn variable(&self, _index: usize) -> Value<'_> {
        Value::Nil
    }

    /// Calls a function. Number and types of the arguments are as declared.
    fn call<'v>(
        &'v self,
        function: usize,
        arguments: &[Value<'v>],
        prepared: Option<&'v Prepared>,
    ) -> Result<Value<'v>, Error>;
}

/// A compiled expression, which can run any number of times.
pub struct Program {
    code: Vec<Code>,
    start: CodeIndex,
    environment: Environment,
    result: Type,
}

impl Program {
    pub fn compile(source: &str, environment: &Environment) -> Result<Program, Error> {
        let (tree, root) = parser::parse(source, Some(environment))?;
        let types = checker::check(source, &tree, root, environment)?;
        let (tree, types) = rewrite::simplify(source, tree, types, root)?;
        let (code, start) = generate(source, &tree, &types, root, environment)?;
        let result = types[root].clone().unwrap_or(Type::Unknown);
        Ok(Program { code, start, environment: environment.clone(), result })
    }

    pub fn run<'v>(&'v self, variables: &'v dyn Variables) -> Result<Value<'v>, Error> {
        let mut machine = Machine {
            code: &self.code,
            environment: &self.environment,
            variables,
            slots: Vec::new(),
            scopes: Vec::new(),
            budget: Budget::default(),
        };
        machine.evaluate(self.start).map_err(|stop| match stop {
            Stop::Failed(error) => *error,
            Stop::Chain => Error::new("optional chain without an end"),
        })
    }

    /// The static type of the result.
    pub fn result(&self) -> &Type {
        &self.result
    }

    /// The type of a variable with the result.
    pub(crate) fn declared_type(&self) -> Type {
        match &self.result {
            Type::Unknown | Type::Any | Type::Nil => Type::PointerToAny,
            other => other.plain(),
        }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("result", &self.result).finish_non_exhaustive()
    }
}
