//! Builtin functions that apply a predicate to every element of an array.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Machine, Outcome, Scope, Stop, not_bool};
use crate::arithmetic;
use crate::code::{CodeIndex, Loop, LoopFunction};
use crate::error::Error;
use crate::functions::sorted;
use crate::types::MapType;
use crate::value::{Key, Map, Value};

impl<'v> Machine<'v> {
    pub(super) fn run_loop(&mut self, call: &'v Loop) -> Outcome<'v> {
        let array = self.evaluate(call.array)?;
        let length = match &array {
            Value::Map(map) => map.entries.len(),
            other => other.length().ok_or_else(|| {
                Error::new(format!("reflect: call of reflect.Value.Len on {} Value", other.type_name()))
            })?,
        };
        self.scopes.push(Scope { array, index: 0, accumulator: Value::Nil });
        let result = self.loop_over(call, length);
        self.scopes.pop();
        result
    }

    fn loop_over(&mut self, call: &'v Loop, length: usize) -> Outcome<'v> {
        Ok(match call.function {
            LoopFunction::All => Value::Bool(self.search(call, length, false, |found| !found)?.is_none()),
            LoopFunction::None => Value::Bool(self.search(call, length, false, |found| found)?.is_none()),
            LoopFunction::Any => Value::Bool(self.search(call, length, false, |found| found)?.is_some()),
            LoopFunction::One => Value::Bool(self.count(call, length, None)? == 1),
            LoopFunction::Count => Value::Int(self.count(call, length, call.threshold)?),
            LoopFunction::FindIndex { last } => match self.search(call, length, last, |found| found)? {
                Some(index) => Value::Int(index as i64),
                None => Value::Nil,
            },
            LoopFunction::Find { last } => match self.search(call, length, last, |found| found)? {
                Some(_) => self.mapped(call)?,
                None if call.throws => return Err(Error::new("reflect: slice index out of range").into()),
                None => Value::Nil,
            },
            LoopFunction::Filter => {
                let mut kept = Vec::new();
                for index in 0..length {
                    self.go_to(index);
                    if self.test(call)? {
                        kept.push(self.mapped(call)?);
                    }
                }
                self.budget.spend(kept.len() as u64)?;
                Value::array(kept)
            }
            LoopFunction::Map => {
                let mut results = Vec::with_capacity(length);
                for index in 0..length {
                    self.go_to(index);
                    results.push(self.element(call)?);
                }
                self.budget.spend(length as u64)?;
                Value::array(results)
            }
            LoopFunction::Sum => {
                let mut total = Value::Int(0);
                for index in 0..length {
                    self.go_to(index);
                    total = arithmetic::add(self.element(call)?, total)?;
                }
                total
            }
            LoopFunction::Reduce => return self.reduce(call, length),
            LoopFunction::GroupBy => return self.group_by(call, length),
            LoopFunction::SortBy => return self.sort_by(call, length),
        })
    }

    fn go_to(&mut self, index: usize) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.index = index;
        }
    }

    /// The current element.
    pub(super) fn item(&self) -> Result<Value<'v>, Error> {
        let item = self.scopes.last().and_then(|scope| scope.array.at(scope.index));
        item.ok_or_else(|| Error::new("reflect: slice index out of range"))
    }

    /// The predicate's result for the current element; without a predicate, the element.
    fn element(&mut self, call: &'v Loop) -> Outcome<'v> {
        match call.predicate {
            Some(predicate) => self.evaluate(predicate),
            None => Ok(self.item()?),
        }
    }

    fn test(&mut self, call: &'v Loop) -> Result<bool, Stop> {
        match self.element(call)? {
            Value::Bool(value) => Ok(value),
            other => Err(not_bool(&other)),
        }
    }

    fn mapped(&mut self, call: &'v Loop) -> Outcome<'v> {
        match call.map {
            Some(map) => self.evaluate(map),
            None => Ok(self.item()?),
        }
    }

    /// The first index (from the end if `last`) where `accepts` is true for the predicate's result.
    fn search(
        &mut self,
        call: &'v Loop,
        length: usize,
        last: bool,
        accepts: fn(bool) -> bool,
    ) -> Result<Option<usize>, Stop> {
        for step in 0..length {
            let index = if last { length - 1 - step } else { step };
            self.go_to(index);
            if accepts(self.test(call)?) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn count(&mut self, call: &'v Loop, length: usize, threshold: Option<i64>) -> Result<i64, Stop> {
        let mut count = 0;
        for index in 0..length {
            self.go_to(index);
            count += i64::from(self.test(call)?);
            if threshold == Some(count) {
                break;
            }
        }
        Ok(count)
    }

    fn accumulate(&mut self, value: Value<'v>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.accumulator = value;
        }
    }

    fn reduce(&mut self, call: &'v Loop, length: usize) -> Outcome<'v> {
        let start = match call.extra {
            Some(initial) => {
                let initial = self.evaluate(initial)?;
                self.accumulate(initial);
                0
            }
            None if length == 0 => {
                return Err(Error::new("reduce of empty array with no initial value").into());
            }
            None => {
                let first = self.item()?;
                self.accumulate(first);
                1
            }
        };
        for index in start..length {
            self.go_to(index);
            let value = self.element(call)?;
            self.accumulate(value);
        }
        Ok(self.scopes.last().map_or(Value::Nil, |scope| scope.accumulator.clone()))
    }

    fn group_by(&mut self, call: &'v Loop, length: usize) -> Outcome<'v> {
        let mut groups: BTreeMap<Key<'v>, Vec<Value<'v>>> = BTreeMap::new();
        for index in 0..length {
            self.go_to(index);
            let key = Key::of(&self.element(call)?)?;
            let item = self.item()?;
            groups.entry(key).or_default().push(item);
        }
        let entries = groups.into_iter().map(|(key, items)| (key, Value::array(items))).collect();
        Ok(Value::Map(Arc::new(Map { entries, map_type: MapType::AnyToArray })))
    }

    fn sort_by(&mut self, call: &'v Loop, length: usize) -> Outcome<'v> {
        let descending = self.descending(call.extra)?;
        let mut items = Vec::with_capacity(length);
        for index in 0..length {
            self.go_to(index);
            let by = self.element(call)?;
            items.push((by, self.item()?));
        }
        let items = sorted(items, |(by, _)| by, descending)?;
        self.budget.spend(length as u64)?;
        Ok(Value::array(items.into_iter().map(|(_, item)| item).collect()))
    }

    fn descending(&mut self, order: Option<CodeIndex>) -> Result<bool, Stop> {
        let Some(order) = order else { return Ok(false) };
        match self.evaluate(order)?.as_str() {
            Some("asc") => Ok(false),
            Some("desc") => Ok(true),
            _ => Err(Error::new("unknown order, use asc or desc").into()),
        }
    }
}
