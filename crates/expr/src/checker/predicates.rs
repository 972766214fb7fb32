//! Builtin functions that apply a predicate to every element of an array.

use super::{Checker, Predicate};
use crate::ast::BuiltinCall;
use crate::error::Error;
use crate::types::{Elements, MapType, Type};

impl Checker<'_> {
    pub(super) fn predicate_function(&mut self, call: &BuiltinCall) -> Result<Type, Error> {
        let name = call.name;
        let [first, rest @ ..] = &call.arguments[..] else { return Ok(Type::Unknown) };
        let array = self.visit(*first)?.pointee();
        if !array.is_array() && !array.is_unknown() {
            return Err(self.error(*first, format!("builtin {name} takes only array (got {array})")));
        }
        let Some(&predicate) = rest.first() else {
            return Ok(match name {
                "count" => Type::Int,
                _ if array.is_unknown() => Type::Unknown,
                _ => array.element(),
            });
        };
        self.predicates.push(Predicate {
            array: array.clone(),
            has_index: matches!(name, "map" | "reduce"),
            has_accumulator: name == "reduce",
        });
        let yielded = self.visit(predicate)?;
        self.predicates.pop();
        if let Some(&third) = rest.get(1) {
            let order = self.visit(third)?;
            if name == "sortBy" && order != Type::String && !order.is_unknown() {
                let message = format!("sortBy order argument must be a string (got {order})");
                return Err(self.error(third, message));
            }
        }
        if yielded == Type::Nil {
            return Err(match name {
                "sum" => {
                    let wanted = "func(interface {}) bool";
                    let message =
                        format!("cannot use func(interface {{}}) as argument (type {wanted}) to call sum ");
                    self.error(predicate, message)
                }
                "reduce" => self.error(predicate, "predicate should has two input and one output param"),
                _ => self.error(predicate, "predicate should has one input and one output param"),
            });
        }
        let is_test = !matches!(name, "map" | "sum" | "groupBy" | "sortBy" | "reduce");
        if is_test && yielded != Type::Bool && !yielded.is_unknown() {
            let message = format!("predicate should return boolean (got {})", yielded.plain());
            return Err(self.error(predicate, message));
        }
        Ok(match name {
            "filter" if array.is_unknown() => Type::Array(Elements::Any, None),
            "filter" => Type::array(array.element()),
            "map" => Type::array(yielded),
            "count" | "findIndex" | "findLastIndex" => Type::Int,
            "sum" if yielded == Type::Unknown => Type::Any,
            "sum" => yielded.plain(),
            "find" | "findLast" if array.is_unknown() => Type::Unknown,
            "find" | "findLast" => array.element(),
            "groupBy" => Type::Map(MapType::AnyToArray),
            "sortBy" => array,
            "reduce" => yielded,
            _ => Type::Bool,
        })
    }
}
