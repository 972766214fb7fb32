//! The syntax tree.

use crate::operator::{Binary, Unary};
use crate::value::Value;

/// Index of a node in [`Tree::nodes`].
pub(crate) type Id = usize;

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Nil,
    Identifier(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    String(String),
    Bytes(Vec<u8>),
    /// Created by `rewrite`, never parsed.
    Constant(Value<'static>),
    /// The right side of `in`, as a set of strings or integers; created by `rewrite`.
    Texts(Vec<String>),
    Integers(Vec<i64>),
    Unary {
        operator: Unary,
        spelled: &'static str,
        operand: Id,
    },
    Binary {
        operator: Binary,
        spelled: &'static str,
        left: Id,
        right: Id,
    },
    /// The end of an optional chain (`?.`).
    Chain(Id),
    Member {
        base: Id,
        property: Id,
        optional: bool,
        method: bool,
    },
    Slice {
        base: Id,
        from: Option<Id>,
        to: Option<Id>,
    },
    Call {
        callee: Id,
        arguments: Vec<Id>,
    },
    Builtin(BuiltinCall),
    Predicate(Id),
    /// `#`, `#acc`, `#index`.
    Pointer(String),
    Conditional {
        condition: Id,
        then: Id,
        otherwise: Id,
    },
    Let {
        name: String,
        value: Id,
        body: Id,
    },
    Sequence(Vec<Id>),
    Array(Vec<Id>),
    Map(Vec<(Id, Id)>),
}

/// A call of a builtin function.
#[derive(Clone, Debug)]
pub(crate) struct BuiltinCall {
    pub name: &'static str,
    pub arguments: Vec<Id>,
    /// Applied to each element that passes: `map(filter(…), …)` fused into one loop.
    pub map: Option<Id>,
    /// An empty result is an error (`filter(…)[0]`).
    pub throws: bool,
    /// `count` may stop at this number.
    pub threshold: Option<i64>,
}

impl BuiltinCall {
    pub fn new(name: &'static str, arguments: Vec<Id>) -> BuiltinCall {
        BuiltinCall { name, arguments, map: None, throws: false, threshold: None }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub nodes: Vec<Node>,
    /// Source position of each node, in characters.
    pub places: Vec<usize>,
}

impl Tree {
    pub fn push(&mut self, node: Node, at: usize) -> Id {
        self.nodes.push(node);
        self.places.push(at);
        self.nodes.len() - 1
    }

    /// The direct children, in evaluation order.
    pub fn children(&self, id: Id) -> Vec<Id> {
        match &self.nodes[id] {
            Node::Unary { operand, .. } => vec![*operand],
            Node::Binary { left, right, .. } => vec![*left, *right],
            Node::Chain(inner) | Node::Predicate(inner) => vec![*inner],
            Node::Member { base, property, .. } => vec![*base, *property],
            Node::Slice { base, from, to } => [Some(*base), *from, *to].into_iter().flatten().collect(),
            Node::Call { callee, arguments } => [&[*callee], &arguments[..]].concat(),
            Node::Builtin(call) => call.arguments.clone(),
            Node::Conditional { condition, then, otherwise } => vec![*condition, *then, *otherwise],
            Node::Let { value, body, .. } => vec![*value, *body],
            Node::Sequence(nodes) | Node::Array(nodes) => nodes.clone(),
            Node::Map(pairs) => pairs.iter().flat_map(|(key, value)| [*key, *value]).collect(),
            _ => Vec::new(),
        }
    }

    /// All nodes of a subtree, each once and after its children.
    pub fn upwards(&self, root: Id) -> Vec<Id> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = vec![(root, false)];
        while let Some((id, entered)) = stack.pop() {
            if entered {
                order.push(id);
            } else if !std::mem::replace(&mut seen[id], true) {
                stack.push((id, true));
                stack.extend(self.children(id).into_iter().rev().map(|child| (child, false)));
            }
        }
        order
    }
}
