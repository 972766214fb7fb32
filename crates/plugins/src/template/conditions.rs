//! `var` and `expr`: expressions on a query that a regular expression matches.

use expr::{Environment, Error, Function, Prepared, Program, Type, Value, Variables};
use golang::quoted;

use super::data::MatchedQuery;
use super::variables::VariableMap;
use crate::messages::expression::{QueryVariables, environment};

/// The expressions of one template.
pub(super) struct Conditions {
    environment: Environment,
    /// The index of `group` in the environment; variables follow it.
    group: usize,
    variables: Vec<(String, Program)>,
    conditions: Vec<Program>,
}

impl Conditions {
    pub fn new() -> Conditions {
        let mut environment = environment();
        let group = environment.function("group", Function::new([Type::Any], Type::String));
        Conditions { environment, group, variables: Vec::new(), conditions: Vec::new() }
    }

    pub fn add_variable(&mut self, name: &str, source: &str) -> Result<(), String> {
        let mut bytes = name.bytes();
        let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        let is_valid =
            bytes.next().is_some_and(is_letter) && bytes.all(|b| is_letter(b) || b.is_ascii_digit());
        if !is_valid {
            return Err(format!("invalid variable name {}", quoted(name)));
        }
        if self.environment.contains(name) || expr::is_builtin(name) || !expr::is_identifier(name) {
            return Err(format!("variable name {} is reserved", quoted(name)));
        }
        let program = Program::compile(source, &self.environment)
            .map_err(|error| format!("could not compile expression: {name}, {error}"))?;
        self.environment.result(name, &program);
        self.variables.push((name.to_owned(), program));
        Ok(())
    }

    pub fn add_condition(&mut self, source: &str) -> Result<(), String> {
        let program = Program::compile(source, &self.environment)
            .map_err(|error| format!("could not compile expression: {error}"))?;
        self.conditions.push(program);
        Ok(())
    }

    /// The variables, if all conditions are true; None if one is not. An expression that fails is an error.
    pub fn evaluate(&self, matched: &MatchedQuery<'_>) -> Result<Option<VariableMap>, Error> {
        if self.variables.is_empty() && self.conditions.is_empty() {
            return Ok(Some(VariableMap::default()));
        }
        let metadata = |label: &str| matched.visit.metadata(label);
        let query = QueryVariables::new(matched.visit.query, matched.visit.client, &metadata);
        let mut variables = ConditionVariables { query, matched, group: self.group, values: Vec::new() };
        for (_, program) in &self.variables {
            let value = program.run(&variables).map(owned)?;
            variables.values.push(value);
        }
        for condition in &self.conditions {
            if !matches!(condition.run(&variables)?, Value::Bool(true)) {
                return Ok(None);
            }
        }
        let names = self.variables.iter().map(|(name, _)| name.as_str());
        Ok(Some(VariableMap::new(names.zip(&variables.values))))
    }
}

/// The variables and functions of expressions, for one query.
struct ConditionVariables<'q> {
    query: QueryVariables<'q>,
    matched: &'q MatchedQuery<'q>,
    group: usize,
    values: Vec<Value<'static>>,
}

impl Variables for ConditionVariables<'_> {
    fn variable(&self, index: usize) -> Value<'_> {
        let place = index.checked_sub(self.group + 1);
        place.and_then(|place| self.values.get(place)).cloned().unwrap_or(Value::Nil)
    }

    fn call<'v>(
        &'v self,
        function: usize,
        arguments: &[Value<'v>],
        prepared: Option<&'v Prepared>,
    ) -> Result<Value<'v>, Error> {
        if function != self.group {
            return self.query.call(function, arguments, prepared);
        }
        Ok(Value::text(match arguments {
            [Value::Int(number)] => self.matched.group(&number.to_string()),
            [name @ Value::String(_)] => self.matched.group(name.as_str().unwrap_or_default()),
            _ => "",
        }))
    }
}

/// A value that borrows nothing, so that later expressions may use it.
fn owned(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Nil => Value::Nil,
        Value::Bool(value) => Value::Bool(value),
        Value::Int(number) => Value::Int(number),
        Value::Byte(byte) => Value::Byte(byte),
        Value::Float(number) => Value::Float(number),
        Value::String(text) => Value::String(text.into_owned().into()),
        Value::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
        Value::Array(array) => {
            let items = array.items.iter().cloned().map(owned).collect();
            Value::Array(expr::Array { items: std::sync::Arc::new(items), ..array })
        }
        Value::Map(map) => {
            let entries = map.entries.iter().map(|(key, value)| (owned_key(key), owned(value.clone())));
            Value::Map(std::sync::Arc::new(expr::Map { entries: entries.collect(), map_type: map.map_type }))
        }
        Value::Duration(nanoseconds) => Value::Duration(nanoseconds),
        Value::Month(month) => Value::Month(month),
        Value::Weekday(day) => Value::Weekday(day),
        Value::Time(time) => Value::Time(time),
        Value::Location(zone) => Value::Location(zone),
        Value::Function(function) => Value::Function(function),
        Value::Environment => Value::Environment,
    }
}

fn owned_key(key: &expr::Key<'_>) -> expr::Key<'static> {
    use expr::Key;
    match key {
        Key::Nil => Key::Nil,
        Key::Int(number) => Key::Int(*number),
        Key::Byte(byte) => Key::Byte(*byte),
        Key::Float(bits) => Key::Float(*bits),
        Key::String(text) => Key::String(text.clone().into_owned().into()),
        Key::Bool(value) => Key::Bool(*value),
        Key::Duration(nanoseconds) => Key::Duration(*nanoseconds),
        Key::Month(month) => Key::Month(*month),
        Key::Weekday(day) => Key::Weekday(*day),
    }
}
