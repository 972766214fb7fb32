//! Constant folding.

use super::Rewriter;
use crate::ast::{BuiltinCall, Id, Node};
use crate::error::Error;
use crate::operator::{Binary, Unary};
use crate::types::{Elements, Type};
use crate::value::Value;

impl Rewriter<'_> {
    /// Folds a node; true if it was replaced.
    pub(super) fn fold(&mut self, id: Id) -> Result<bool, Error> {
        let folded = match self.node(id) {
            Node::Unary { operator, operand, .. } => fold_unary(*operator, self.node(*operand)),
            Node::Binary { operator: Binary::Modulo, left, right, .. } => {
                match (self.integer(*left), self.integer(*right)) {
                    (Some(_), Some(0)) => {
                        let place = self.tree.places[id];
                        return Err(Error::at(self.source, place, "integer divide by zero"));
                    }
                    (Some(l), Some(r)) => Some(Node::Integer(l.wrapping_rem(r))),
                    _ => None,
                }
            }
            Node::Binary { operator: operator @ (Binary::And | Binary::Or), left, right, .. } => {
                let (operator, left, right) = (*operator, *left, *right);
                return Ok(self.fold_logic(id, operator, left, right));
            }
            Node::Binary { operator, left, right, .. } => {
                fold_binary(*operator, self.node(*left), self.node(*right))
            }
            Node::Array(items) if !items.is_empty() => {
                let values: Option<Vec<Value<'static>>> =
                    items.iter().map(|item| constant(self.node(*item))).collect();
                values.map(|values| Node::Constant(Value::array(values)))
            }
            Node::Builtin(call) if call.name == "filter" => {
                let call = call.clone();
                return Ok(self.filter_of_filter(id, &call));
            }
            _ => None,
        };
        let Some(folded) = folded else { return Ok(false) };
        self.types[id] = Some(match &folded {
            Node::Integer(_) => Type::Int,
            Node::Float(_) => Type::Float,
            Node::Bool(_) => Type::Bool,
            Node::String(_) => Type::String,
            _ => Type::Array(Elements::Any, None),
        });
        self.tree.nodes[id] = folded;
        Ok(true)
    }

    /// Folds `and` and `or` with one constant operand.
    fn fold_logic(&mut self, id: Id, operator: Binary, left: Id, right: Id) -> bool {
        let bool = |node: &Node| match node {
            Node::Bool(value) => Some(*value),
            _ => None,
        };
        let (l, r) = (bool(self.node(left)), bool(self.node(right)));
        let neutral = operator == Binary::And;
        let kept = if l == Some(neutral) {
            right
        } else if r == Some(neutral) {
            left
        } else if l.is_some() || r.is_some() {
            self.tree.nodes[id] = Node::Bool(!neutral);
            self.types[id] = Some(Type::Bool);
            return true;
        } else {
            return false;
        };
        self.tree.nodes[id] = self.node(kept).clone();
        true
    }

    /// `filter(filter(a, p), q)` becomes one filter by both.
    fn filter_of_filter(&mut self, id: Id, call: &BuiltinCall) -> bool {
        let [array, outer] = call.arguments[..] else { return false };
        let Node::Builtin(inner) = self.node(array) else { return false };
        let ("filter", [array, inner]) = (inner.name, &inner.arguments[..]) else { return false };
        let (array, inner) = (*array, *inner);
        let (Node::Predicate(p), Node::Predicate(q)) = (self.node(inner), self.node(outer)) else {
            return false;
        };
        let (p, q) = (*p, *q);
        let both = self.binary(Binary::And, p, q, None);
        let predicate = self.push(Node::Predicate(both), None, inner);
        self.tree.nodes[id] = Node::Builtin(BuiltinCall::new("filter", vec![array, predicate]));
        true
    }
}

fn constant(node: &Node) -> Option<Value<'static>> {
    Some(match node {
        Node::Integer(value) => Value::Int(*value),
        Node::Float(value) => Value::Float(*value),
        Node::Bool(value) => Value::Bool(*value),
        Node::String(text) => Value::text(text.clone()),
        _ => return None,
    })
}

fn fold_unary(operator: Unary, operand: &Node) -> Option<Node> {
    Some(match (operator, operand) {
        (Unary::Minus, Node::Integer(value)) => Node::Integer(value.wrapping_neg()),
        (Unary::Minus, Node::Float(value)) => Node::Float(-value),
        (Unary::Plus, Node::Integer(_) | Node::Float(_)) => operand.clone(),
        (Unary::Not, Node::Bool(value)) => Node::Bool(!value),
        _ => return None,
    })
}

fn fold_binary(operator: Binary, left: &Node, right: &Node) -> Option<Node> {
    match (left, right) {
        (Node::Integer(l), Node::Integer(r)) => fold_integers(operator, *l, *r),
        (Node::Integer(l), Node::Float(r)) => fold_floats(operator, *l as f64, *r),
        (Node::Float(l), Node::Integer(r)) => fold_floats(operator, *l, *r as f64),
        (Node::Float(l), Node::Float(r)) => fold_floats(operator, *l, *r),
        (Node::String(l), Node::String(r)) => match operator {
            Binary::Add => Some(Node::String(format!("{l}{r}"))),
            Binary::Equal => Some(Node::Bool(l == r)),
            _ => None,
        },
        (Node::Bool(l), Node::Bool(r)) if operator == Binary::Equal => Some(Node::Bool(l == r)),
        _ => None,
    }
}

fn fold_integers(operator: Binary, l: i64, r: i64) -> Option<Node> {
    Some(match operator {
        Binary::Add => Node::Integer(l.wrapping_add(r)),
        Binary::Subtract => Node::Integer(l.wrapping_sub(r)),
        Binary::Multiply => Node::Integer(l.wrapping_mul(r)),
        Binary::Equal => Node::Bool(l == r),
        _ => return fold_floats(operator, l as f64, r as f64),
    })
}

fn fold_floats(operator: Binary, l: f64, r: f64) -> Option<Node> {
    Some(Node::Float(match operator {
        Binary::Add => l + r,
        Binary::Subtract => l - r,
        Binary::Multiply => l * r,
        Binary::Divide => l / r,
        Binary::Power => l.powf(r),
        _ => return None,
    }))
}
