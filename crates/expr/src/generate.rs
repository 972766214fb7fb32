//! Generates code from the checked and simplified tree.

use golang::Regexp;

use crate::ast::{BuiltinCall, Id, Node, Tree};
use crate::checker::Types;
use crate::code::{Code, CodeIndex, Comparison, Loop, LoopFunction, OperandType, Operation, Step};
use crate::environment::Environment;
use crate::error::Error;
use crate::functions;
use crate::operator::{Binary, Unary};
use crate::times::Zone;
use crate::types::Type;
use crate::value::Value;

pub(crate) fn generate(
    source: &str,
    tree: &Tree,
    types: &Types,
    root: Id,
    environment: &Environment,
) -> Result<(Vec<Code>, CodeIndex), Error> {
    let mut generator = Generator {
        source,
        tree,
        types,
        environment,
        code: Vec::new(),
        generated: vec![None; tree.nodes.len()],
        scopes: Vec::new(),
        slots: 0,
    };
    let start = generator.make(root)?;
    Ok((generator.code, start))
}

struct Generator<'a> {
    source: &'a str,
    tree: &'a Tree,
    types: &'a Types,
    environment: &'a Environment,
    code: Vec<Code>,
    /// The code of each node; nodes may be shared, as `b` in `a < b < c`.
    generated: Vec<Option<CodeIndex>>,
    scopes: Vec<(&'a str, usize)>,
    slots: usize,
}

impl<'a> Generator<'a> {
    fn push(&mut self, code: Code) -> CodeIndex {
        self.code.push(code);
        self.code.len() - 1
    }

    fn type_of(&self, id: Id) -> Type {
        self.types[id].clone().unwrap_or(Type::Unknown)
    }

    fn make(&mut self, id: Id) -> Result<CodeIndex, Error> {
        if let Some(at) = self.generated[id] {
            return Ok(at);
        }
        let code = self.code_of(id)?;
        let at = self.push(code);
        self.generated[id] = Some(at);
        Ok(at)
    }

    fn make_all(&mut self, ids: &[Id]) -> Result<Vec<CodeIndex>, Error> {
        ids.iter().map(|id| self.make(*id)).collect()
    }

    fn code_of(&mut self, id: Id) -> Result<Code, Error> {
        let tree = self.tree;
        Ok(match &tree.nodes[id] {
            Node::Nil => Code::Constant(Value::Nil),
            Node::Integer(value) => Code::Constant(Value::Int(*value)),
            Node::Float(value) => Code::Constant(Value::Float(*value)),
            Node::Bool(value) => Code::Constant(Value::Bool(*value)),
            Node::String(text) => Code::Constant(Value::text(text.clone())),
            Node::Bytes(bytes) => Code::Constant(Value::Bytes(bytes.clone().into())),
            Node::Constant(value) => Code::Constant(value.clone()),
            Node::Texts(texts) => {
                Code::Constant(Value::array(texts.iter().cloned().map(Value::text).collect()))
            }
            Node::Integers(integers) => {
                Code::Constant(Value::array(integers.iter().copied().map(Value::Int).collect()))
            }
            Node::Identifier(name) => self.identifier(name),
            Node::Unary { operator, operand, .. } => {
                let operand = self.make(*operand)?;
                match operator {
                    Unary::Not => Code::Not(operand),
                    Unary::Minus => Code::Negate(operand),
                    Unary::Plus => Code::Sequence(vec![operand]),
                }
            }
            Node::Binary { .. } => self.row(id)?,
            Node::Chain(inner) => Code::Chain(self.make(*inner)?),
            Node::Member { base, property, optional, .. } => self.member(*base, *property, *optional)?,
            Node::Slice { base, from, to } => Code::Slice {
                base: self.make(*base)?,
                to: to.map(|to| self.make(to)).transpose()?,
                from: from.map(|from| self.make(from)).transpose()?,
            },
            Node::Call { callee, arguments } => self.call(*callee, arguments)?,
            Node::Builtin(call) => self.builtin(id, call)?,
            Node::Predicate(body) => Code::Sequence(vec![self.make(*body)?]),
            Node::Pointer(name) => match name.as_str() {
                "index" => Code::Index,
                "acc" => Code::Accumulator,
                _ => Code::Pointer,
            },
            Node::Conditional { condition, then, otherwise } => Code::Conditional {
                condition: self.make(*condition)?,
                then: self.make(*then)?,
                otherwise: self.make(*otherwise)?,
            },
            Node::Let { name, value, body } => {
                let value = self.make(*value)?;
                let slot = self.slots;
                self.slots += 1;
                self.scopes.push((name, slot));
                let body = self.make(*body)?;
                self.scopes.pop();
                Code::Let { slot, value, body }
            }
            Node::Sequence(nodes) => Code::Sequence(self.make_all(nodes)?),
            Node::Array(items) => Code::Array(self.make_all(items)?),
            Node::Map(pairs) => {
                let mut generated = Vec::with_capacity(pairs.len());
                for (key, value) in pairs {
                    generated.push((self.make(*key)?, self.make(*value)?));
                }
                Code::Map(generated)
            }
        })
    }

    fn identifier(&self, name: &str) -> Code {
        if let Some((_, slot)) = self.scopes.iter().rev().find(|(variable, _)| *variable == name) {
            return Code::Slot(*slot);
        }
        if name == "$env" {
            return Code::Constant(Value::Environment);
        }
        match self.environment.find(name) {
            Some((index, Type::Function(_))) => Code::Constant(Value::Function(index)),
            Some((index, _)) => Code::Variable(index),
            // Builtin functions that are not called are nil.
            None => Code::Constant(Value::Nil),
        }
    }

    fn member(&mut self, base: Id, property: Id, optional: bool) -> Result<Code, Error> {
        let tree = self.tree;
        if let (Node::Identifier(env), Node::String(name)) = (&tree.nodes[base], &tree.nodes[property])
            && env == "$env"
        {
            let declared = self.environment.contains(name);
            return Ok(if declared { self.environment_member(name) } else { Code::Constant(Value::Nil) });
        }
        Ok(Code::Member { base: self.make(base)?, property: self.make(property)?, optional })
    }

    fn environment_member(&self, name: &str) -> Code {
        match self.environment.find(name) {
            Some((index, Type::Function(_))) => Code::Constant(Value::Function(index)),
            Some((index, _)) => Code::Variable(index),
            None => Code::Constant(Value::Nil),
        }
    }

    fn call(&mut self, callee: Id, arguments: &[Id]) -> Result<Code, Error> {
        let arguments = self.make_all(arguments)?;
        if let Node::Member { base, property, optional, .. } = &self.tree.nodes[callee]
            && let Node::String(name) = &self.tree.nodes[*property]
            && !matches!(&self.tree.nodes[*base], Node::Identifier(name) if name == "$env")
        {
            let base = self.make(*base)?;
            return Ok(Code::Method { name: name.clone(), base, optional: *optional, arguments });
        }
        let callee = self.make(callee)?;
        let Code::Constant(Value::Function(function)) = self.code[callee] else {
            return Ok(Code::CallValue { callee, arguments });
        };
        let prepared = match self.environment.type_of(function) {
            Some(Type::Function(declared)) => declared.prepare.and_then(|prepare| {
                let constants: Vec<Option<&Value<'static>>> = arguments
                    .iter()
                    .map(|argument| match &self.code[*argument] {
                        Code::Constant(value) => Some(value),
                        _ => None,
                    })
                    .collect();
                prepare(&constants)
            }),
            _ => None,
        };
        Ok(Code::Call { function, arguments, prepared })
    }

    fn builtin(&mut self, id: Id, call: &BuiltinCall) -> Result<Code, Error> {
        let mut arguments = self.make_all(&call.arguments)?;
        match (call.name, call.arguments.len()) {
            ("timezone", 1) => return self.zone(id, arguments[0]),
            ("date", 3..) => {
                if let Some(last) = arguments.last_mut()
                    && !matches!(self.type_of(call.arguments[0]), Type::Location)
                {
                    let zone = self.zone(id, *last)?;
                    *last = self.push(zone);
                }
            }
            _ => {}
        }
        if let Some(function) = LoopFunction::find(call.name) {
            let map = call.map.map(|map| self.make(map)).transpose()?;
            return Ok(Code::Loop(Loop {
                function,
                array: arguments[0],
                predicate: arguments.get(1).copied(),
                extra: arguments.get(2).copied(),
                map,
                throws: call.throws,
                threshold: call.threshold,
            }));
        }
        let Some(function) = functions::find(call.name) else {
            let message = format!("function {} is not part of Rhumb", call.name);
            return Err(Error::at(self.source, self.tree.places[id], message));
        };
        Ok(Code::Builtin { function, arguments })
    }

    /// A time zone. It is read from a file, which the query path must not do, so the name must be constant.
    fn zone(&mut self, id: Id, name: CodeIndex) -> Result<Code, Error> {
        let Code::Constant(Value::String(name)) = &self.code[name] else {
            let message = "a time zone name computed at run time is not part of Rhumb";
            return Err(Error::at(self.source, self.tree.places[id], message));
        };
        Ok(match Zone::load(&String::from_utf8_lossy(name)) {
            Ok(zone) => Code::Constant(Value::Location(zone)),
            Err(_) => Code::Builtin { function: functions::unknown_zone, arguments: Vec::new() },
        })
    }

    fn row(&mut self, top: Id) -> Result<Code, Error> {
        let mut row = Vec::new();
        let mut at = top;
        while let Node::Binary { operator, left, right, .. } = self.tree.nodes[at] {
            if at != top && self.generated[at].is_some() {
                break;
            }
            row.push((operator, left, right));
            at = left;
        }
        let first = self.make(at)?;
        let mut steps = Vec::with_capacity(row.len());
        for (operator, left, right) in row.into_iter().rev() {
            steps.push(self.step(operator, left, right)?);
        }
        Ok(Code::Row { first, steps })
    }

    fn step(&mut self, operator: Binary, left: Id, right: Id) -> Result<Step, Error> {
        let tree = self.tree;
        match (operator, &tree.nodes[right]) {
            (Binary::Matches, Node::String(pattern)) => {
                return Ok(Step::MatchesConstant(Regexp::compile(pattern).map_err(Error::new)?));
            }
            (Binary::In, Node::Texts(texts)) => {
                return Ok(Step::InTexts(texts.iter().map(|text| text.as_bytes().into()).collect()));
            }
            (Binary::In, Node::Integers(integers)) => {
                return Ok(Step::InIntegers(integers.iter().copied().collect()));
            }
            _ => {}
        }
        let operand_type = match (self.type_of(left), self.type_of(right)) {
            (Type::Int, Type::Int) => Some(OperandType::Integers),
            (Type::String, Type::String) => Some(OperandType::Texts),
            _ => None,
        };
        let right = self.make(right)?;
        let compute = |operation| Step::Compute { right, operation };
        let compare = |comparison| Step::Compare { right, comparison };
        Ok(match operator {
            Binary::And => Step::And(right),
            Binary::Or => Step::Or(right),
            Binary::Coalesce => Step::Coalesce(right),
            Binary::Equal => Step::Equal { right, negated: false, operand_type },
            Binary::NotEqual => Step::Equal { right, negated: true, operand_type },
            Binary::Less => compare(Comparison::Less),
            Binary::More => compare(Comparison::More),
            Binary::LessOrEqual => compare(Comparison::LessOrEqual),
            Binary::MoreOrEqual => compare(Comparison::MoreOrEqual),
            Binary::In => Step::In(right),
            Binary::Matches => Step::Matches(right),
            Binary::Contains => {
                Step::Text { right, test: |text, part| functions::position(text, part).is_some() }
            }
            Binary::StartsWith => Step::Text { right, test: <[u8]>::starts_with },
            Binary::EndsWith => Step::Text { right, test: <[u8]>::ends_with },
            Binary::Range => Step::Range(right),
            Binary::Add => compute(Operation::Add),
            Binary::Subtract => compute(Operation::Subtract),
            Binary::Multiply => compute(Operation::Multiply),
            Binary::Divide => compute(Operation::Divide),
            Binary::Modulo => compute(Operation::Modulo),
            Binary::Power => compute(Operation::Power),
            Binary::Pipe => return Err(Error::new("unknown operator (|)")),
        })
    }
}
