//! The interpreter.

mod loops;
mod members;
mod steps;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::arithmetic;
use crate::code::{Code, CodeIndex};
use crate::environment::Environment;
use crate::error::Error;
use crate::program::Variables;
use crate::types::{MapType, Type};
use crate::value::{Key, Map, Value};

/// Limit on the elements of all arrays and maps created in one run.
const MEMORY_BUDGET: u64 = 1_000_000;

/// Why an evaluation ended early.
pub(crate) enum Stop {
    /// `?.` on nil.
    Chain,
    Failed(Box<Error>),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(Box::new(error))
    }
}

pub(crate) type Outcome<'v> = Result<Value<'v>, Stop>;

pub(crate) struct Machine<'v> {
    pub code: &'v [Code],
    pub environment: &'v Environment,
    pub variables: &'v dyn Variables,
    pub slots: Vec<Value<'v>>,
    pub scopes: Vec<Scope<'v>>,
    pub budget: Budget,
}

/// The array of a running loop.
pub(crate) struct Scope<'v> {
    array: Value<'v>,
    index: usize,
    accumulator: Value<'v>,
}

/// Number of array and map elements created so far.
#[derive(Default)]
pub(crate) struct Budget {
    spent: u64,
}

impl Budget {
    pub fn spend(&mut self, elements: u64) -> Result<(), Error> {
        self.spent = self.spent.saturating_add(elements);
        if self.spent >= MEMORY_BUDGET { Err(Error::new("memory budget exceeded")) } else { Ok(()) }
    }
}

/// Arguments of a call; up to three without allocation.
enum Arguments<'v> {
    Few([Value<'v>; 3], usize),
    Many(Vec<Value<'v>>),
}

impl<'v> Arguments<'v> {
    fn as_slice(&self) -> &[Value<'v>] {
        match self {
            Arguments::Few(values, count) => &values[..*count],
            Arguments::Many(values) => values,
        }
    }
}

impl<'v> Machine<'v> {
    pub fn evaluate(&mut self, at: CodeIndex) -> Outcome<'v> {
        let code = self.code;
        Ok(match &code[at] {
            Code::Constant(value) => borrowed(value),
            Code::Variable(index) => self.variables.variable(*index),
            Code::Slot(slot) => self.slots.get(*slot).cloned().unwrap_or(Value::Nil),
            Code::Row { first, steps } => return self.row(*first, steps),
            Code::Not(operand) => Value::Bool(!self.truth(*operand)?),
            Code::Negate(operand) => arithmetic::negate(&self.evaluate(*operand)?)?,
            Code::Chain(inner) => match self.evaluate(*inner) {
                Ok(value) if value.is_nil() => Value::Nil,
                Err(Stop::Chain) => Value::Nil,
                other => return other,
            },
            Code::Member { base, property, optional } => {
                let base = self.evaluate(*base)?;
                if *optional && base.is_nil() {
                    return Err(Stop::Chain);
                }
                let property = self.evaluate(*property)?;
                self.fetch(&base, &property)?
            }
            Code::Slice { base, from, to } => return self.slice(*base, *from, *to),
            Code::Call { function, arguments, prepared } => {
                let arguments = self.arguments(arguments)?;
                self.check_arguments(*function, arguments.as_slice())?;
                self.variables.call(*function, arguments.as_slice(), prepared.as_ref())?
            }
            Code::Method { name, base, optional, arguments } => {
                let arguments = self.arguments(arguments)?;
                let base = self.evaluate(*base)?;
                if *optional && base.is_nil() {
                    return Err(Stop::Chain);
                }
                if let Some(result) = crate::times::call(&base, name, arguments.as_slice()) {
                    return Ok(result?);
                }
                let callee = self.fetch(&base, &Value::text(name.as_str()))?;
                self.call_value(&callee, arguments.as_slice())?
            }
            Code::CallValue { callee, arguments } => {
                let arguments = self.arguments(arguments)?;
                let callee = self.evaluate(*callee)?;
                self.call_value(&callee, arguments.as_slice())?
            }
            Code::Builtin { function, arguments } => {
                let arguments = self.arguments(arguments)?;
                function(&mut self.budget, arguments.as_slice())?
            }
            Code::Loop(call) => return self.run_loop(call),
            Code::Pointer => self.item()?,
            Code::Index => Value::Int(self.scopes.last().map_or(0, |scope| scope.index as i64)),
            Code::Accumulator => self.scopes.last().map_or(Value::Nil, |scope| scope.accumulator.clone()),
            Code::Conditional { condition, then, otherwise } => {
                let chosen = if self.truth(*condition)? { then } else { otherwise };
                self.evaluate(*chosen)?
            }
            Code::Let { slot, value, body } => {
                let value = self.evaluate(*value)?;
                if self.slots.len() <= *slot {
                    self.slots.resize(slot + 1, Value::Nil);
                }
                self.slots[*slot] = value;
                self.evaluate(*body)?
            }
            Code::Sequence(parts) => {
                let mut last = Value::Nil;
                for part in parts {
                    last = self.evaluate(*part)?;
                }
                last
            }
            Code::Array(items) => {
                let items: Vec<Value<'v>> =
                    items.iter().map(|item| self.evaluate(*item)).collect::<Result<_, _>>()?;
                self.budget.spend(items.len() as u64)?;
                Value::array(items)
            }
            Code::Map(pairs) => self.map(pairs)?,
        })
    }

    fn truth(&mut self, at: CodeIndex) -> Result<bool, Stop> {
        match self.evaluate(at)? {
            Value::Bool(value) => Ok(value),
            other => Err(not_bool(&other)),
        }
    }

    fn arguments(&mut self, arguments: &[CodeIndex]) -> Result<Arguments<'v>, Stop> {
        if arguments.len() > 3 {
            let values =
                arguments.iter().map(|argument| self.evaluate(*argument)).collect::<Result<_, _>>()?;
            return Ok(Arguments::Many(values));
        }
        let mut values = [Value::Nil, Value::Nil, Value::Nil];
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = self.evaluate(*argument)?;
        }
        Ok(Arguments::Few(values, arguments.len()))
    }

    fn call_value(&self, callee: &Value<'v>, arguments: &[Value<'v>]) -> Result<Value<'v>, Error> {
        let &Value::Function(function) = callee else {
            let ty = callee.type_name();
            return Err(Error::new(format!("invalid operation: cannot call non-function of type {ty}")));
        };
        self.check_arguments(function, arguments)?;
        self.variables.call(function, arguments, None)
    }

    /// Checks arguments whose type the checker did not know.
    fn check_arguments(&self, function: usize, arguments: &[Value<'v>]) -> Result<(), Error> {
        let Some(Type::Function(declared)) = self.environment.type_of(function) else {
            return Err(Error::new("invalid operation: cannot call a value that is not a function"));
        };
        let parameters = &declared.parameters;
        if parameters.len() != arguments.len() {
            let (expected, got) = (parameters.len(), arguments.len());
            return Err(Error::new(format!("invalid number of arguments: expected {expected}, got {got}")));
        }
        let fits = |(parameter, value): (&Type, &Value<'_>)| match parameter {
            Type::String => matches!(value, Value::String(_)),
            Type::Int => matches!(value, Value::Int(_)),
            Type::Bool => matches!(value, Value::Bool(_)),
            Type::Float => matches!(value, Value::Float(_)),
            _ => true,
        };
        if parameters.iter().zip(arguments).all(fits) {
            return Ok(());
        }
        Err(Error::new("reflect: call with an argument of another type"))
    }

    fn map(&mut self, pairs: &[(CodeIndex, CodeIndex)]) -> Outcome<'v> {
        let mut entries = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let (key, value) = (self.evaluate(*key)?, self.evaluate(*value)?);
            entries.push((key, value));
        }
        self.budget.spend(pairs.len() as u64)?;
        let mut map = BTreeMap::new();
        // In reverse, so that the first of two equal keys wins.
        for (key, value) in entries.into_iter().rev() {
            let Value::String(key) = key else {
                let message = format!("interface conversion: {} is not string", key.type_name());
                return Err(Error::new(message).into());
            };
            map.insert(Key::String(key), value);
        }
        Ok(Value::Map(Arc::new(Map { entries: map, map_type: MapType::StringToAny })))
    }
}

fn not_bool(value: &Value<'_>) -> Stop {
    Error::new(format!("interface conversion: interface {{}} is {}, not bool", value.type_name())).into()
}

/// A constant, borrowing its text.
fn borrowed<'v>(value: &'v Value<'static>) -> Value<'v> {
    match value {
        Value::String(text) => Value::String(Cow::Borrowed(text)),
        Value::Bytes(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
        other => other.clone(),
    }
}
