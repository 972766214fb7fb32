//! Members, indices and slices.

use super::Checker;
use crate::ast::{Id, Node};
use crate::error::Error;
use crate::times;
use crate::types::{MapType, Type};

impl Checker<'_> {
    pub(super) fn member(
        &mut self,
        id: Id,
        base: Id,
        property: Id,
        optional: bool,
        method: bool,
    ) -> Result<Type, Error> {
        let tree = self.tree;
        let name = match &tree.nodes[property] {
            Node::String(name) => Some(name.as_str()),
            _ => None,
        };
        if matches!(&tree.nodes[base], Node::Identifier(name) if name == "$env") {
            let Some(name) = name else { return Ok(Type::Unknown) };
            return match self.environment.find(name) {
                Some((_, ty)) => Ok(ty.clone()),
                None if optional => Ok(Type::Unknown),
                None => Err(self.error(id, format!("unknown name {name}"))),
            };
        }
        let (ty, index) = (self.visit(base)?, self.visit(property)?);
        if ty.is_unknown() {
            return Ok(Type::Unknown);
        }
        if let Some(name) = name {
            if ty == Type::Nil {
                return Err(self.error(id, format!("type nil has no field {name}")));
            }
            if let Some(method) = times::method(&ty, name).map_err(|message| self.error(id, message))? {
                return Ok(Type::Function(method));
            }
        }
        let (ty, index) = (ty.pointee(), index.pointee());
        match &ty {
            Type::Map(map) => {
                let key = if *map == MapType::StringToAny { Type::String } else { Type::Any };
                if !index.assignable_to(&key) && !index.is_unknown() {
                    let message = format!("cannot use {index} to get an element from {ty}");
                    return Err(self.error(property, message));
                }
                return Ok(ty.element());
            }
            Type::Array(..) | Type::Bytes => {
                if !index.is_integer() && !index.is_unknown() {
                    let message =
                        format!("array elements can only be selected using an integer (got {index})");
                    return Err(self.error(property, message));
                }
                return Ok(ty.element());
            }
            _ => {}
        }
        Err(match name {
            Some(name) if method => self.error(id, format!("type {ty} has no method {name}")),
            Some(name) => self.error(id, format!("type {ty} has no field {name}")),
            None => self.error(id, format!("type {ty}[{index}] is undefined")),
        })
    }

    pub(super) fn slice(
        &mut self,
        id: Id,
        base: Id,
        from: Option<Id>,
        to: Option<Id>,
    ) -> Result<Type, Error> {
        let ty = self.visit(base)?;
        if ty.is_unknown() {
            return Ok(Type::Unknown);
        }
        if ty != Type::String && !ty.is_array() {
            return Err(self.error(id, format!("cannot slice {ty}")));
        }
        for bound in [from, to].into_iter().flatten() {
            let index = self.visit(bound)?.pointee();
            if !index.is_integer() && !index.is_unknown() {
                return Err(self.error(bound, format!("non-integer slice index {index}")));
            }
        }
        Ok(ty)
    }
}
