//! Fuses nested loops over an array into one.

use super::Rewriter;
use crate::ast::{BuiltinCall, Id, Node};
use crate::operator::Binary;

impl Rewriter<'_> {
    fn builtin(&self, id: Id, name: &str) -> Option<&BuiltinCall> {
        match self.node(id) {
            Node::Builtin(call) if call.name == name => Some(call),
            _ => None,
        }
    }

    /// `map(filter(a, p), m)`
    pub(super) fn map_of_filter(&mut self, id: Id) {
        let Some([array, mapping]) = self.builtin(id, "map").map(|call| &call.arguments[..]) else { return };
        let Some(filter) = self.builtin(*array, "filter").filter(|filter| filter.map.is_none()) else {
            return;
        };
        let Node::Predicate(mapping) = *self.node(*mapping) else { return };
        let has_index = |id: &Id| matches!(self.node(*id), Node::Pointer(name) if name == "index");
        if self.tree.upwards(mapping).iter().any(has_index) {
            return;
        }
        let mut fused = filter.clone();
        fused.map = Some(mapping);
        self.tree.nodes[id] = Node::Builtin(fused);
    }

    /// `len(filter(a, p))`
    pub(super) fn length_of_filter(&mut self, id: Id) {
        let Some([array]) = self.builtin(id, "len").map(|call| &call.arguments[..]) else { return };
        let Some(filter) = self.builtin(*array, "filter") else { return };
        self.tree.nodes[id] = Node::Builtin(BuiltinCall::new("count", filter.arguments.clone()));
    }

    /// `filter(a, p)[0]` and `first(filter(a, p))`; `[-1]` and `last` likewise.
    pub(super) fn end_of_filter(&mut self, id: Id, find: &'static str, function: &str, index: i64) {
        let (array, throws) = match self.node(id) {
            Node::Member { base, property, optional: false, .. }
                if self.integer(*property) == Some(index) =>
            {
                (*base, true)
            }
            Node::Builtin(call) if call.name == function => match call.arguments[..] {
                [array] => (array, false),
                _ => return,
            },
            _ => return,
        };
        let Some(filter) = self.builtin(array, "filter") else { return };
        let mut search = filter.clone();
        (search.name, search.throws) = (find, throws);
        self.tree.nodes[id] = Node::Builtin(search);
    }

    /// `all(a, p) && all(a, q)`, `any(a, p) || any(a, q)`, `none(a, p) && none(a, q)`
    pub(super) fn same_array_twice(&mut self, id: Id) {
        let Node::Binary { operator, left, right, .. } = *self.node(id) else { return };
        let (Node::Builtin(one), Node::Builtin(other)) = (self.node(left), self.node(right)) else { return };
        let joined = match (one.name, operator) {
            ("all", Binary::And) => Binary::And,
            ("any" | "none", Binary::Or | Binary::And) if (one.name == "any") == (operator == Binary::Or) => {
                Binary::Or
            }
            _ => return,
        };
        let (name, [array, p], [again, q]) = (one.name, &one.arguments[..], &other.arguments[..]) else {
            return;
        };
        // The comparison is limited to expressions of reasonable size.
        let short = self.tree.upwards(*array).len() < 200;
        if other.name != name || !short || !self.same(*array, *again) {
            return;
        }
        let (array, p, q) = (*array, *p, *q);
        let (Node::Predicate(p_body), Node::Predicate(q_body)) = (self.node(p), self.node(q)) else { return };
        let (p_body, q_body) = (*p_body, *q_body);
        let both = self.binary(joined, p_body, q_body, None);
        self.same_array_twice(both);
        let predicate = self.push(Node::Predicate(both), None, p);
        self.tree.nodes[id] = Node::Builtin(BuiltinCall::new(name, vec![array, predicate]));
    }

    /// Whether two subtrees are equal.
    fn same(&self, one: Id, other: Id) -> bool {
        if one == other {
            return true;
        }
        let (a, b) = (self.node(one), self.node(other));
        let same_self = match (a, b) {
            (Node::Nil, Node::Nil) => true,
            (Node::Identifier(a), Node::Identifier(b))
            | (Node::String(a), Node::String(b))
            | (Node::Pointer(a), Node::Pointer(b)) => a == b,
            (Node::Integer(a), Node::Integer(b)) => a == b,
            (Node::Float(a), Node::Float(b)) => a == b,
            (Node::Bool(a), Node::Bool(b)) => a == b,
            (Node::Bytes(a), Node::Bytes(b)) => a == b,
            (Node::Texts(a), Node::Texts(b)) => a == b,
            (Node::Integers(a), Node::Integers(b)) => a == b,
            (Node::Constant(a), Node::Constant(b)) => crate::compare::equal(a, b),
            (Node::Unary { spelled: a, .. }, Node::Unary { spelled: b, .. })
            | (Node::Binary { spelled: a, .. }, Node::Binary { spelled: b, .. }) => a == b,
            (Node::Builtin(a), Node::Builtin(b)) => a.name == b.name && a.map.is_none() && b.map.is_none(),
            (Node::Member { optional: a, .. }, Node::Member { optional: b, .. }) => a == b,
            (Node::Slice { from: a, to: c, .. }, Node::Slice { from: b, to: d, .. }) => {
                (a.is_some(), c.is_some()) == (b.is_some(), d.is_some())
            }
            (Node::Let { name: a, .. }, Node::Let { name: b, .. }) => a == b,
            (Node::Chain(_), Node::Chain(_))
            | (Node::Call { .. }, Node::Call { .. })
            | (Node::Predicate(_), Node::Predicate(_))
            | (Node::Conditional { .. }, Node::Conditional { .. })
            | (Node::Sequence(_), Node::Sequence(_))
            | (Node::Array(_), Node::Array(_))
            | (Node::Map(_), Node::Map(_)) => true,
            _ => false,
        };
        let (a, b) = (self.tree.children(one), self.tree.children(other));
        same_self && a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| self.same(*a, *b))
    }
}
