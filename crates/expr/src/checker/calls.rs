//! Calls: the number of arguments and their types.

use super::Checker;
use crate::ast::{Id, Node};
use crate::error::Error;
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn call(&mut self, id: Id, callee: Id, arguments: &[Id]) -> Result<Type, Error> {
        let tree = self.tree;
        let name = match &tree.nodes[callee] {
            Node::Identifier(name) => name.as_str(),
            Node::Member { property, .. } => match &tree.nodes[*property] {
                Node::String(name) => name.as_str(),
                _ => "function",
            },
            _ => "function",
        };
        if matches!(&tree.nodes[callee], Node::Identifier(name) if name == "$env") {
            return Err(self.error(id, "map[string]interface {} is not callable"));
        }
        match self.visit(callee)? {
            ty if ty.is_unknown() => Ok(Type::Unknown),
            Type::Builtin(builtin) => self.builtin_function(id, builtin, arguments),
            Type::Nil => Err(self.error(id, format!("{name} is nil; cannot call nil as function"))),
            Type::Function(function) => {
                self.arguments(id, name, &function.parameters, arguments)??;
                Ok(function.result.plain())
            }
            ty => Err(self.error(id, format!("{ty} is not callable"))),
        }
    }

    /// Checks arguments against parameters. The outer error is one inside an argument; after the inner one, a mismatch,
    /// another overload may still match.
    pub(super) fn arguments(
        &mut self,
        id: Id,
        name: &str,
        parameters: &[Type],
        arguments: &[Id],
    ) -> Result<Result<(), Error>, Error> {
        if arguments.len() != parameters.len() {
            for argument in arguments {
                self.visit(*argument)?;
            }
            let problem = if arguments.len() > parameters.len() { "too many" } else { "not enough" };
            return Ok(Err(self.error(id, format!("{problem} arguments to call {name}"))));
        }
        for (argument, parameter) in arguments.iter().zip(parameters) {
            let ty = self.visit(*argument)?;
            if parameter.is_integer() && ty.is_integer() {
                continue;
            }
            if ty == Type::Nil {
                if matches!(parameter, Type::Any | Type::PointerToAny | Type::Location) {
                    continue;
                }
                let message = format!("cannot use nil as argument (type {parameter}) to call {name}");
                return Ok(Err(self.error(*argument, message)));
            }
            let fits = ty.assignable_to(parameter) || ty.pointee().assignable_to(parameter);
            if !fits && !ty.is_unknown() {
                let message = format!("cannot use {ty} as argument (type {parameter}) to call {name} ");
                return Ok(Err(self.error(*argument, message)));
            }
        }
        Ok(Ok(()))
    }
}
