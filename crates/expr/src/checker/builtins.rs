//! Argument and result types of builtin functions.

use super::{Checker, kind};
use crate::ast::{BuiltinCall, Id, Node};
use crate::builtins::{overloads, predicate_arguments};
use crate::error::Error;
use crate::types::{Elements, MapType, Type};

impl Checker<'_> {
    pub(super) fn builtin(&mut self, id: Id, call: &BuiltinCall) -> Result<Type, Error> {
        if predicate_arguments(call.name).is_some() {
            return self.predicate_function(call);
        }
        if call.name == "get" {
            return self.get(id, &call.arguments);
        }
        self.builtin_function(id, call.name, &call.arguments)
    }

    pub(super) fn builtin_function(
        &mut self,
        id: Id,
        name: &'static str,
        arguments: &[Id],
    ) -> Result<Type, Error> {
        let forms = overloads(name);
        if forms.is_empty() {
            let mut types = Vec::with_capacity(arguments.len());
            for argument in arguments {
                let ty = self.visit(*argument)?;
                types.push(if ty.is_unknown() { Type::Any } else { ty.plain() });
            }
            return validate(name, &types).map_err(|message| self.error(id, message));
        }
        let mut mismatch = None;
        for (parameters, result) in forms {
            match self.arguments(id, name, &parameters, arguments)? {
                Ok(()) => return Ok(result),
                Err(error) => mismatch = Some(error),
            }
        }
        Err(mismatch.unwrap_or_else(|| self.error(id, format!("no matching overload for {name}"))))
    }

    fn get(&mut self, id: Id, arguments: &[Id]) -> Result<Type, Error> {
        let &[base, property] = arguments else {
            let got = arguments.len();
            return Err(self.error(id, format!("invalid number of arguments (expected 2, got {got})")));
        };
        let (ty, index) = (self.visit(base)?, self.visit(property)?.pointee());
        if matches!(&self.tree.nodes[base], Node::Identifier(name) if name == "$env") {
            let Node::String(name) = &self.tree.nodes[property] else { return Ok(Type::Unknown) };
            return Ok(self.environment.find(name).map_or(Type::Unknown, |(_, ty)| ty.clone()));
        }
        match &ty {
            _ if ty.is_unknown() => Ok(Type::Unknown),
            Type::Array(..) | Type::Bytes if !index.is_integer() && !index.is_unknown() => {
                Err(self.error(property, format!("non-integer slice index {index}")))
            }
            Type::Map(MapType::StringToAny) if index != Type::String && !index.is_unknown() => {
                let message = format!("cannot use {index} to get an element from {ty}");
                Err(self.error(property, message))
            }
            Type::Array(..) | Type::Bytes | Type::Map(_) => Ok(ty.element()),
            _ => Err(self.error(base, format!("type {ty} does not support indexing"))),
        }
    }
}

/// Functions without fixed overloads.
fn validate(name: &str, types: &[Type]) -> Result<Type, String> {
    let count = types.len();
    let exactly = |expected: usize| {
        let wrong = format!("invalid number of arguments (expected {expected}, got {count})");
        if count == expected { Ok(()) } else { Err(wrong) }
    };
    let array = Type::Array(Elements::Any, None);
    let number_or_any = |ty: &Type| matches!(family(ty), "number" | "interface");
    let array_or_any = |ty: &Type| matches!(family(ty), "array" | "interface");
    match name {
        "len" => {
            exactly(1)?;
            let valid = matches!(family(&types[0]), "array" | "map" | "string" | "interface");
            if valid {
                Ok(Type::Int)
            } else {
                Err(format!("invalid argument for len (type {})", printed(&types[0])))
            }
        }
        "abs" | "ceil" | "floor" | "round" => {
            exactly(1)?;
            if !number_or_any(&types[0]) {
                return Err(format!("invalid argument for {name} (type {})", printed(&types[0])));
            }
            Ok(if name == "abs" { types[0].clone() } else { Type::Float })
        }
        "int" | "float" => {
            exactly(1)?;
            if !number_or_any(&types[0]) && types[0] != Type::String {
                return Err(format!("invalid argument for {name} (type {})", printed(&types[0])));
            }
            Ok(if name == "int" { Type::Int } else { Type::Float })
        }
        "max" | "min" | "mean" | "median" => {
            if count == 0 {
                return Err(format!("not enough arguments to call {name}"));
            }
            for ty in types {
                match family(ty) {
                    "interface" | "array" => return Ok(Type::Any),
                    "number" => {}
                    _ => return Err(format!("invalid argument for {name} (type {})", printed(ty))),
                }
            }
            Ok(types[0].clone())
        }
        "now" => match types {
            [] | [Type::Location] => Ok(Type::Time),
            _ => Err(format!("invalid number of arguments (expected 0, got {count})")),
        },
        "date" => {
            if count == 0 {
                return Err("invalid number of arguments (expected at least 1, got 0)".to_owned());
            }
            let rest = count - usize::from(types[0] == Type::Location);
            if rest > 3 {
                return Err(format!("invalid number of arguments (expected at most 3, got {rest})"));
            }
            Ok(Type::Time)
        }
        "first" | "last" => {
            exactly(1)?;
            match family(&types[0]) {
                "interface" => Ok(Type::Any),
                "array" => Ok(types[0].element()),
                _ => Err(format!("cannot get {name} element from {}", printed(&types[0]))),
            }
        }
        "take" => {
            exactly(2)?;
            if !array_or_any(&types[0]) {
                return Err(format!("cannot take from {}", printed(&types[0])));
            }
            if !matches!(kind(&types[1].pointee()), "int" | "int64" | "interface") {
                return Err(format!("cannot take {} elements", printed(&types[1])));
            }
            Ok(types[0].clone())
        }
        "keys" | "values" | "toPairs" => {
            exactly(1)?;
            match (family(&types[0]), name) {
                ("interface" | "map", _) => Ok(array),
                (_, "toPairs") => Err(format!("cannot transform {} to pairs", printed(&types[0]))),
                _ => Err(format!("cannot get {name} from {}", printed(&types[0]))),
            }
        }
        "fromPairs" => {
            exactly(1)?;
            if array_or_any(&types[0]) {
                return Ok(Type::Map(MapType::AnyToAny));
            }
            Err(format!("cannot transform {} from pairs", printed(&types[0])))
        }
        "reverse" | "uniq" | "flatten" | "concat" => {
            if name == "concat" {
                if count == 0 {
                    return Err("invalid number of arguments (expected at least 1, got 0)".to_owned());
                }
            } else {
                exactly(1)?;
            }
            match types.iter().find(|ty| !array_or_any(ty)) {
                Some(ty) => Err(format!("cannot {name} {}", printed(ty))),
                None => Ok(array),
            }
        }
        _ => Err(format!("unknown builtin {name}")),
    }
}

/// Go's kinds, with all numbers and all arrays merged.
fn family(ty: &Type) -> &'static str {
    match ty {
        Type::Nil => "invalid",
        Type::Any | Type::Unknown | Type::PointerToAny => "interface",
        Type::Array(..) | Type::Bytes => "array",
        other => match kind(other) {
            "int" | "int64" | "uint8" | "float64" => "number",
            kind => kind,
        },
    }
}

/// The type as Go prints it, also the nil type.
fn printed(ty: &Type) -> String {
    if *ty == Type::Nil { "%!s(<nil>)".to_owned() } else { ty.to_string() }
}
