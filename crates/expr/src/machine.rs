//! Runs programs.

mod loops;
mod members;
mod steps;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::arithmetic;
use crate::code::{At, Code};
use crate::environment::Environment;
use crate::error::Error;
use crate::program::Variables;
use crate::types::{MapType, Type};
use crate::value::{Key, Map, Value};

/// As many elements as arrays and maps may have that one run makes.
const MEMORY_BUDGET: u64 = 1_000_000;

/// Why an evaluation ended early.
pub(crate) enum Stop {
    /// A chain with `?.` met nothing.
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

/// An array whose elements are looked at.
pub(crate) struct Scope<'v> {
    array: Value<'v>,
    index: usize,
    accumulator: Value<'v>,
}

/// What arrays a run has made so far.
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

/// Arguments of a call. Few are kept in place.
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
    pub fn evaluate(&mut self, at: At) -> Outcome<'v> {
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
            Code::Loop(it) => return self.run_loop(it),
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

    fn truth(&mut self, at: At) -> Result<bool, Stop> {
        match self.evaluate(at)? {
            Value::Bool(value) => Ok(value),
            other => Err(not_bool(&other)),
        }
    }

    fn arguments(&mut self, arguments: &[At]) -> Result<Arguments<'v>, Stop> {
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
            let of = callee.type_name();
            return Err(Error::new(format!("invalid operation: cannot call non-function of type {of}")));
        };
        self.check_arguments(function, arguments)?;
        self.variables.call(function, arguments, None)
    }

    /// What the checker could not know: arguments of unknown type may be anything.
    fn check_arguments(&self, function: usize, arguments: &[Value<'v>]) -> Result<(), Error> {
        let Some(Type::Function(declared)) = self.environment.type_of(function) else {
            return Err(Error::new("invalid operation: cannot call what is no function"));
        };
        let wanted = &declared.parameters;
        if wanted.len() != arguments.len() {
            let (wanted, got) = (wanted.len(), arguments.len());
            return Err(Error::new(format!("invalid number of arguments: expected {wanted}, got {got}")));
        }
        let fits = |(wanted, given): (&Type, &Value<'_>)| match wanted {
            Type::String => matches!(given, Value::String(_)),
            Type::Int => matches!(given, Value::Int(_)),
            Type::Bool => matches!(given, Value::Bool(_)),
            Type::Float => matches!(given, Value::Float(_)),
            _ => true,
        };
        if wanted.iter().zip(arguments).all(fits) {
            return Ok(());
        }
        Err(Error::new("reflect: call with an argument of another type"))
    }

    fn map(&mut self, pairs: &[(At, At)]) -> Outcome<'v> {
        let mut entries = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let (key, value) = (self.evaluate(*key)?, self.evaluate(*value)?);
            entries.push((key, value));
        }
        self.budget.spend(pairs.len() as u64)?;
        let mut map = BTreeMap::new();
        // From the back, so that of two with the same key the first one stays.
        for (key, value) in entries.into_iter().rev() {
            let Value::String(key) = key else {
                let message = format!("interface conversion: {} is not string", key.type_name());
                return Err(Error::new(message).into());
            };
            map.insert(Key::String(key), value);
        }
        Ok(Value::Map(Arc::new(Map { entries: map, of: MapType::StringToAny })))
    }
}

fn not_bool(value: &Value<'_>) -> Stop {
    Error::new(format!("interface conversion: interface {{}} is {}, not bool", value.type_name())).into()
}

/// A constant without copying its text.
fn borrowed<'v>(value: &'v Value<'static>) -> Value<'v> {
    match value {
        Value::String(text) => Value::String(Cow::Borrowed(text)),
        Value::Bytes(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
        other => other.clone(),
    }
}
