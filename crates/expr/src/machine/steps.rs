//! Operators.

use std::cmp::Ordering;

use super::{Machine, Outcome, Stop, not_bool};
use crate::arithmetic;
use crate::code::{CodeIndex, Comparison, OperandType, Operation, Step};
use crate::compare;
use crate::error::Error;
use crate::types::Elements;
use crate::value::Value;

impl<'v> Machine<'v> {
    pub(super) fn row(&mut self, first: CodeIndex, steps: &'v [Step]) -> Outcome<'v> {
        let mut value = self.evaluate(first)?;
        for step in steps {
            value = self.step(value, step)?;
        }
        Ok(value)
    }

    fn step(&mut self, left: Value<'v>, step: &'v Step) -> Outcome<'v> {
        Ok(match step {
            Step::And(right) => match left {
                Value::Bool(true) => return self.evaluate(*right),
                Value::Bool(false) => left,
                _ => return Err(not_bool(&left)),
            },
            Step::Or(right) => match left {
                Value::Bool(false) => return self.evaluate(*right),
                Value::Bool(true) => left,
                _ => return Err(not_bool(&left)),
            },
            Step::Coalesce(right) => {
                if left.is_nil() {
                    return self.evaluate(*right);
                }
                left
            }
            Step::Equal { right, negated, operand_type } => {
                let right = self.evaluate(*right)?;
                Value::Bool(equal(&left, &right, *operand_type)? != *negated)
            }
            Step::Compare { right, comparison } => {
                let right = self.evaluate(*right)?;
                Value::Bool(holds(&left, *comparison, &right)?)
            }
            Step::In(right) => {
                let right = self.evaluate(*right)?;
                Value::Bool(self.contains(&left, &right)?)
            }
            // For nil, Go looks up the zero value.
            Step::InTexts(texts) => match &left {
                Value::String(text) => Value::Bool(texts.contains(&**text)),
                Value::Nil => Value::Bool(texts.contains(&b""[..])),
                other => return Err(not_assignable(other, "string")),
            },
            Step::InIntegers(integers) => match &left {
                Value::Int(value) => Value::Bool(integers.contains(value)),
                Value::Nil => Value::Bool(integers.contains(&0)),
                other => return Err(not_assignable(other, "int")),
            },
            Step::Matches(right) => {
                let right = self.evaluate(*right)?;
                if left.is_nil() || right.is_nil() {
                    return Ok(Value::Bool(false));
                }
                let Value::String(pattern) = &right else { return Err(not_string(&right)) };
                let pattern = std::str::from_utf8(pattern)
                    .map_err(|_| Error::new("error parsing regexp: invalid UTF-8"))?;
                let regexp = golang::Regexp::compile(pattern).map_err(Error::new)?;
                Value::Bool(matches(&regexp, &left)?)
            }
            Step::MatchesConstant(regexp) => Value::Bool(!left.is_nil() && matches(regexp, &left)?),
            Step::Text { right, test } => {
                let right = self.evaluate(*right)?;
                if left.is_nil() || right.is_nil() {
                    return Ok(Value::Bool(false));
                }
                match (&left, &right) {
                    (Value::String(text), Value::String(part)) => Value::Bool(test(text, part)),
                    (Value::String(_), other) | (other, _) => return Err(not_string(other)),
                }
            }
            Step::Range(right) => {
                let right = self.evaluate(*right)?;
                let (from, to) = (arithmetic::to_int(&left)?, arithmetic::to_int(&right)?);
                let size = to.wrapping_sub(from).wrapping_add(1).max(0);
                self.budget.spend(size as u64)?;
                let items = (0..size).map(|i| Value::Int(from.wrapping_add(i))).collect();
                Value::array_of(Elements::Int, items)
            }
            Step::Compute { right, operation } => {
                let right = self.evaluate(*right)?;
                match operation {
                    Operation::Add => arithmetic::add(left, right)?,
                    Operation::Subtract => arithmetic::subtract(left, right)?,
                    Operation::Multiply => arithmetic::multiply(left, right)?,
                    Operation::Divide => arithmetic::divide(&left, &right)?,
                    Operation::Modulo => arithmetic::modulo(&left, &right)?,
                    Operation::Power => arithmetic::power(&left, &right)?,
                }
            }
        })
    }

    fn contains(&self, needle: &Value<'v>, haystack: &Value<'v>) -> Result<bool, Error> {
        match (haystack, needle) {
            (Value::Environment, Value::String(_)) => {
                Ok(needle.as_str().is_some_and(|name| self.environment.contains(name)))
            }
            (Value::Environment, Value::Nil) => Ok(false),
            _ => compare::contains(needle, haystack),
        }
    }
}

fn equal(left: &Value<'_>, right: &Value<'_>, operand_type: Option<OperandType>) -> Result<bool, Stop> {
    match (operand_type, left, right) {
        (None, ..) => Ok(compare::equal(left, right)),
        (Some(OperandType::Integers), Value::Int(left), Value::Int(right)) => Ok(left == right),
        (Some(OperandType::Texts), Value::String(left), Value::String(right)) => Ok(left == right),
        (Some(OperandType::Integers), ..) => Err(Error::new("interface conversion: not int").into()),
        (Some(OperandType::Texts), ..) => Err(Error::new("interface conversion: not string").into()),
    }
}

fn holds(left: &Value<'_>, comparison: Comparison, right: &Value<'_>) -> Result<bool, Error> {
    let (spelled, wanted): (&str, &[Ordering]) = match comparison {
        Comparison::Less => ("<", &[Ordering::Less]),
        Comparison::More => (">", &[Ordering::Greater]),
        Comparison::LessOrEqual => ("<=", &[Ordering::Less, Ordering::Equal]),
        Comparison::MoreOrEqual => (">=", &[Ordering::Greater, Ordering::Equal]),
    };
    let order = compare::order(left, right, spelled)?;
    Ok(order.is_some_and(|order| wanted.contains(&order)))
}

fn matches(regexp: &golang::Regexp, value: &Value<'_>) -> Result<bool, Stop> {
    match value {
        Value::String(text) | Value::Bytes(text) => Ok(regexp.matches_octets(text)),
        other => Err(Error::new(format!(
            "interface conversion: interface {{}} is {}, not []uint8",
            other.type_name()
        ))
        .into()),
    }
}

fn not_string(value: &Value<'_>) -> Stop {
    Error::new(format!("interface conversion: interface {{}} is {}, not string", value.type_name())).into()
}

fn not_assignable(value: &Value<'_>, wanted: &str) -> Stop {
    let ty = value.type_name();
    Error::new(format!("reflect.Value.MapIndex: value of type {ty} is not assignable to type {wanted}"))
        .into()
}
