//! The type checker.

mod binary;
mod builtins;
mod calls;
mod members;
mod predicates;

use crate::ast::{Id, Node, Tree};
use crate::environment::Environment;
use crate::error::Error;
use crate::operator::Unary;
use crate::types::{Elements, MapType, Type};

/// The types of a tree's nodes; None for nodes that were not visited.
pub(crate) type Types = Vec<Option<Type>>;

pub(crate) fn check(source: &str, tree: &Tree, root: Id, environment: &Environment) -> Result<Types, Error> {
    let mut checker = Checker {
        source,
        tree,
        environment,
        types: vec![None; tree.nodes.len()],
        predicates: Vec::new(),
        variables: Vec::new(),
    };
    checker.visit(root)?;
    Ok(checker.types)
}

struct Checker<'a> {
    source: &'a str,
    tree: &'a Tree,
    environment: &'a Environment,
    types: Types,
    /// The enclosing predicates, innermost last.
    predicates: Vec<Predicate>,
    /// Variables declared by `let`.
    variables: Vec<(&'a str, Type)>,
}

struct Predicate {
    array: Type,
    /// Whether `#index` and `#acc` are defined.
    has_index: bool,
    has_accumulator: bool,
}

impl<'a> Checker<'a> {
    fn error(&self, id: Id, message: impl Into<String>) -> Error {
        Error::at(self.source, self.tree.places[id], message)
    }

    fn visit(&mut self, id: Id) -> Result<Type, Error> {
        if let Some(known) = &self.types[id] {
            return Ok(known.clone());
        }
        let found = self.type_of(id)?;
        self.types[id] = Some(found.clone());
        Ok(found)
    }

    fn type_of(&mut self, id: Id) -> Result<Type, Error> {
        let tree = self.tree;
        Ok(match &tree.nodes[id] {
            Node::Nil => Type::Nil,
            Node::Identifier(name) => self.identifier(id, name)?,
            Node::Integer(_) => Type::Int,
            Node::Float(_) => Type::Float,
            Node::Bool(_) => Type::Bool,
            Node::String(_) => Type::String,
            Node::Bytes(_) => Type::Bytes,
            Node::Constant(_) | Node::Texts(_) | Node::Integers(_) => Type::Unknown,
            Node::Unary { operator, spelled, operand } => self.unary(id, *operator, spelled, *operand)?,
            Node::Binary { .. } => self.operators_in_a_row(id)?,
            Node::Chain(inner) => self.visit(*inner)?,
            Node::Member { base, property, optional, method } => {
                self.member(id, *base, *property, *optional, *method)?
            }
            Node::Slice { base, from, to } => self.slice(id, *base, *from, *to)?,
            Node::Call { callee, arguments } => self.call(id, *callee, arguments)?,
            Node::Builtin(call) => self.builtin(id, call)?,
            // The type of its result; only functions with predicates use it.
            Node::Predicate(body) => self.visit(*body)?,
            Node::Pointer(name) => self.pointer(id, name)?,
            Node::Conditional { condition, then, otherwise } => {
                self.conditional(*condition, *then, *otherwise)?
            }
            Node::Let { name, value, body } => self.declaration(id, name, *value, *body)?,
            Node::Sequence(nodes) => {
                let mut last = Type::Unknown;
                for node in nodes {
                    last = self.visit(*node)?;
                }
                last
            }
            Node::Array(items) => self.array(items)?,
            Node::Map(pairs) => {
                for (key, value) in pairs {
                    self.visit(*key)?;
                    self.visit(*value)?;
                }
                Type::Map(MapType::StringToAny)
            }
        })
    }

    fn identifier(&mut self, id: Id, name: &str) -> Result<Type, Error> {
        if let Some((_, ty)) = self.variables.iter().rev().find(|(variable, _)| *variable == name) {
            return Ok(ty.clone());
        }
        if name == "$env" {
            return Ok(Type::Unknown);
        }
        if let Some((_, ty)) = self.environment.find(name) {
            return Ok(ty.clone());
        }
        match crate::builtins::find(name) {
            Some(builtin) if builtin != "type" => Ok(Type::Builtin(builtin)),
            _ => Err(self.error(id, format!("unknown name {name}"))),
        }
    }

    fn unary(&mut self, id: Id, operator: Unary, spelled: &str, operand: Id) -> Result<Type, Error> {
        let ty = self.visit(operand)?.pointee();
        match operator {
            Unary::Not if ty == Type::Bool || ty.is_unknown() => Ok(Type::Bool),
            Unary::Minus | Unary::Plus if ty.is_number() => Ok(ty),
            Unary::Minus | Unary::Plus if ty.is_unknown() => Ok(Type::Unknown),
            _ => Err(self.error(id, format!("invalid operation: {spelled} (mismatched type {ty})"))),
        }
    }

    fn pointer(&mut self, id: Id, name: &str) -> Result<Type, Error> {
        let Some(predicate) = self.predicates.last() else {
            return Err(self.error(id, "cannot use pointer accessor outside predicate"));
        };
        match name {
            "" if predicate.array.is_unknown() => Ok(Type::Unknown),
            "" => Ok(predicate.array.element()),
            "index" if predicate.has_index => Ok(Type::Int),
            "acc" if predicate.has_accumulator => Ok(Type::Unknown),
            _ => Err(self.error(id, format!("unknown pointer #{name}"))),
        }
    }

    fn declaration(&mut self, id: Id, name: &'a str, value: Id, body: Id) -> Result<Type, Error> {
        let declared_twice = |what: &str| format!("cannot redeclare {what}{name}");
        if self.environment.contains(name) {
            return Err(self.error(id, declared_twice("")));
        }
        if crate::builtins::find(name).is_some_and(|builtin| builtin != "type") {
            return Err(self.error(id, declared_twice("builtin ")));
        }
        if self.variables.iter().any(|(variable, _)| *variable == name) {
            return Err(self.error(id, declared_twice("variable ")));
        }
        let ty = self.visit(value)?;
        self.variables.push((name, ty));
        let result = self.visit(body)?;
        self.variables.pop();
        Ok(result)
    }

    fn conditional(&mut self, condition: Id, then: Id, otherwise: Id) -> Result<Type, Error> {
        let ty = self.visit(condition)?.pointee();
        if ty != Type::Bool && !ty.is_unknown() {
            return Err(self.error(condition, format!("non-bool expression (type {ty}) used as condition")));
        }
        let (then, otherwise) = (self.visit(then)?, self.visit(otherwise)?);
        Ok(match (&then, &otherwise) {
            (Type::Nil, _) => otherwise,
            (_, Type::Nil) => then,
            _ if !then.assignable_to(&otherwise) => Type::Unknown,
            _ if then.is_array() && otherwise.is_array() => {
                let (one, other) = (then.element(), otherwise.element());
                let same = one.assignable_to(&other) && other.assignable_to(&one);
                if same { then } else { Type::Array(Elements::Any, None) }
            }
            _ => then,
        })
    }

    fn array(&mut self, items: &[Id]) -> Result<Type, Error> {
        let mut previous: Option<Type> = None;
        let mut same = true;
        for item in items {
            let ty = self.visit(*item)?;
            same &= previous.is_none_or(|previous| kind(&previous) == kind(&ty));
            previous = Some(ty);
        }
        Ok(if same {
            Type::array(previous.unwrap_or(Type::Unknown))
        } else {
            Type::Array(Elements::Any, None)
        })
    }
}

/// Go's kind of a type: the same for all arrays, and for all integers of one size.
fn kind(ty: &Type) -> &'static str {
    match ty {
        Type::Unknown | Type::Nil => "invalid",
        Type::Any => "interface",
        Type::PointerToAny | Type::Location => "pointer",
        Type::Bool => "bool",
        Type::Int | Type::Month | Type::Weekday => "int",
        Type::Int64 | Type::Duration => "int64",
        Type::Byte => "uint8",
        Type::Float => "float64",
        Type::String => "string",
        Type::Bytes | Type::Array(..) => "slice",
        Type::Map(_) => "map",
        Type::Time | Type::LocationItself => "struct",
        Type::Function(_) | Type::Builtin(_) => "func",
    }
}
