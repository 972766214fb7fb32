//! The operand types of binary operators.

use super::Checker;
use crate::ast::{Id, Node};
use crate::error::Error;
use crate::operator::Binary;
use crate::types::{MapType, Type};

impl Checker<'_> {
    /// Checks operators in a row from the left, without recursion: a hundred of them are not a hundred levels deep.
    pub(super) fn operators_in_a_row(&mut self, top: Id) -> Result<Type, Error> {
        let mut row = Vec::new();
        let mut at = top;
        while self.types[at].is_none()
            && let Node::Binary { operator, spelled, left, right } = self.tree.nodes[at]
        {
            row.push((at, operator, spelled, right));
            at = left;
        }
        let mut result = self.visit(at)?;
        for (id, operator, spelled, right) in row.into_iter().rev() {
            let right_type = self.visit(right)?;
            result = self.binary(id, operator, spelled, right, result.pointee(), right_type.pointee())?;
            self.types[id] = Some(result.clone());
        }
        Ok(result)
    }

    fn binary(
        &mut self,
        id: Id,
        operator: Binary,
        spelled: &str,
        right: Id,
        l: Type,
        r: Type,
    ) -> Result<Type, Error> {
        use Type::{Bool, Bytes, Duration, Float, Int, Nil, String, Time, Unknown};
        let numbers = l.is_number() && r.is_number();
        let promoted = if l == Float || r == Float { Float } else { Int };
        let maybe = |test: fn(&Type) -> bool| l.maybe_with(&r, test);
        let found = match operator {
            Binary::Equal | Binary::NotEqual => l.comparable_to(&r).then_some(Bool),
            Binary::Or | Binary::And => (l == Bool && r == Bool || maybe(|ty| *ty == Bool)).then_some(Bool),
            Binary::Less | Binary::More | Binary::LessOrEqual | Binary::MoreOrEqual => {
                let ordered = |ty: &Type| ty.is_number() || matches!(ty, String | Time | Duration);
                let same = numbers || l == r && ordered(&l);
                (same || l.maybe_with(&r, ordered)).then_some(Bool)
            }
            Binary::Subtract => match (&l, &r) {
                _ if numbers => Some(promoted),
                (Time, Time) | (Duration, Duration) => Some(Duration),
                (Time, Duration) => Some(Time),
                _ => maybe(|ty| ty.is_number() || matches!(ty, Time | Duration)).then_some(Unknown),
            },
            Binary::Multiply => match (&l, &r) {
                _ if numbers => Some(promoted),
                (Duration, Duration) => Some(Duration),
                (Duration, other) | (other, Duration) if other.is_number() => Some(Duration),
                _ => maybe(|ty| ty.is_number() || *ty == Duration).then_some(Unknown),
            },
            Binary::Divide | Binary::Power => (numbers || maybe(Type::is_number)).then_some(Float),
            Binary::Modulo => (l.is_integer() && r.is_integer() || maybe(Type::is_integer)).then_some(Int),
            Binary::Add => match (&l, &r) {
                _ if numbers => Some(promoted),
                (String, String) => Some(String),
                (Time, Duration) | (Duration, Time) => Some(Time),
                (Duration, Duration) => Some(Duration),
                _ => maybe(|ty| ty.is_number() || matches!(ty, String | Time | Duration)).then_some(Unknown),
            },
            Binary::In => return self.membership(id, spelled, &l, &r),
            Binary::Matches => {
                if let Node::String(pattern) = &self.tree.nodes[right] {
                    golang::Regexp::compile(pattern).map_err(|message| self.error(id, message))?;
                }
                (matches!(l, String | Bytes) && r == String || maybe(|ty| *ty == String)).then_some(Bool)
            }
            Binary::Contains | Binary::StartsWith | Binary::EndsWith => {
                (l == String && r == String || maybe(|ty| *ty == String)).then_some(Bool)
            }
            Binary::Range => {
                (l.is_integer() && r.is_integer() || maybe(Type::is_integer)).then(|| Type::array(Int))
            }
            Binary::Coalesce => Some(match (&l, &r) {
                (Nil, _) => r.clone(),
                (_, Nil) => l.clone(),
                _ if r.assignable_to(&l) => l.clone(),
                _ => Unknown,
            }),
            Binary::Pipe => None,
        };
        found.ok_or_else(|| self.mismatch(id, spelled, &l, &r))
    }

    /// `needle in haystack`
    fn membership(&self, id: Id, spelled: &str, l: &Type, r: &Type) -> Result<Type, Error> {
        let valid = match r {
            Type::Time => *l == Type::String || l.is_unknown(),
            Type::Map(ty) => {
                let key = if *ty == MapType::StringToAny { Type::String } else { Type::Any };
                if !l.is_unknown() && !l.assignable_to(&key) {
                    return Err(self.error(id, format!("cannot use {l} as type {key} in map key")));
                }
                true
            }
            Type::Array(..) | Type::Bytes => {
                let element = r.element();
                if !l.comparable_to(&element) {
                    return Err(self.error(id, format!("cannot use {l} as type {element} in array")));
                }
                true
            }
            Type::String => l.is_unknown(),
            _ => r.is_unknown(),
        };
        if valid { Ok(Type::Bool) } else { Err(self.mismatch(id, spelled, l, r)) }
    }

    fn mismatch(&self, id: Id, spelled: &str, l: &Type, r: &Type) -> Error {
        self.error(id, format!("invalid operation: {spelled} (mismatched types {l} and {r})"))
    }
}
