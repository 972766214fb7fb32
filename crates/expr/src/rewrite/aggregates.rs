//! Sums without an array, and counts that stop early.

use super::Rewriter;
use crate::ast::{BuiltinCall, Id, Node};
use crate::operator::Binary;
use crate::types::Type;

impl Rewriter<'_> {
    /// The bounds of a constant range that is not empty.
    fn constant_range(&self, id: Id) -> Option<(i64, i64)> {
        let Node::Binary { operator: Binary::Range, left, right, .. } = *self.node(id) else { return None };
        let (from, to) = (self.integer(left)?, self.integer(right)?);
        (to >= from).then_some((from, to))
    }

    /// `sum(1..9)`, `sum(1..9, # * 2)`, `reduce(1..9, # + #acc)`
    pub(super) fn sum_of_range(&mut self, id: Id) {
        let Node::Builtin(call) = self.node(id) else { return };
        if !matches!(call.name, "sum" | "reduce") {
            return;
        }
        let Some((from, to)) = call.arguments.first().and_then(|array| self.constant_range(*array)) else {
            return;
        };
        let count = to.wrapping_sub(from).wrapping_add(1);
        let sum = count.wrapping_mul(from.wrapping_add(to)).wrapping_div(2);
        let result = match (call.name, &call.arguments[1..]) {
            ("sum", []) => Some(sum),
            ("sum", [predicate]) => self.summed(*predicate, sum, count),
            (_, [predicate, rest @ ..]) if self.adds_up(*predicate) => match rest {
                [initial] => self.integer(*initial).map(|initial| initial.wrapping_add(sum)),
                _ => Some(sum),
            },
            _ => None,
        };
        if let Some(result) = result {
            self.tree.nodes[id] = Node::Integer(result);
            self.types[id] = Some(Type::Int);
        }
    }

    fn is_pointer(&self, id: Id, wanted: &str) -> bool {
        matches!(self.node(id), Node::Pointer(name) if name == wanted)
    }

    /// The sum over the range if the predicate combines each element with a constant.
    fn summed(&self, predicate: Id, sum: i64, count: i64) -> Option<i64> {
        let Node::Predicate(body) = *self.node(predicate) else { return None };
        if self.is_pointer(body, "") {
            return Some(sum);
        }
        let Node::Binary { operator, left, right, .. } = *self.node(body) else { return None };
        let (constant, pointer_first) = match (self.integer(left), self.integer(right)) {
            (None, Some(constant)) if self.is_pointer(left, "") => (constant, true),
            (Some(constant), None) if self.is_pointer(right, "") => (constant, false),
            _ => return None,
        };
        let constants = count.wrapping_mul(constant);
        Some(match operator {
            Binary::Multiply => constant.wrapping_mul(sum),
            Binary::Add => sum.wrapping_add(constants),
            Binary::Subtract if pointer_first => sum.wrapping_sub(constants),
            Binary::Subtract => constants.wrapping_sub(sum),
            _ => return None,
        })
    }

    /// `# + #acc`
    fn adds_up(&self, predicate: Id) -> bool {
        let Node::Predicate(body) = *self.node(predicate) else { return false };
        let Node::Binary { operator: Binary::Add, left, right, .. } = *self.node(body) else { return false };
        [(left, right), (right, left)]
            .iter()
            .any(|(item, total)| self.is_pointer(*item, "") && self.is_pointer(*total, "acc"))
    }

    /// `sum([a, b, c])` becomes `a + (b + c)`, and so works for all types that `+` accepts.
    pub(super) fn sum_of_array(&mut self, id: Id) {
        let Node::Builtin(BuiltinCall { name: "sum", arguments, .. }) = self.node(id) else { return };
        let [array] = arguments[..] else { return };
        let Node::Array(items) = self.node(array) else { return };
        // A longer sum would exceed the maximum depth.
        if !(2..=100).contains(&items.len()) {
            return;
        }
        let mut items = items.clone();
        let mut right = items.pop().unwrap_or(array);
        let first = items.remove(0);
        for left in items.into_iter().rev() {
            right = self.binary(Binary::Add, left, right, None);
        }
        self.tree.nodes[id] = Node::Binary { operator: Binary::Add, spelled: "+", left: first, right };
    }

    /// `sum(map(a, m))`
    pub(super) fn sum_of_map(&mut self, id: Id) {
        let Node::Builtin(BuiltinCall { name: "sum", arguments, .. }) = self.node(id) else { return };
        let [array] = arguments[..] else { return };
        let Node::Builtin(BuiltinCall { name: "map", arguments, .. }) = self.node(array) else { return };
        self.tree.nodes[id] = Node::Builtin(BuiltinCall::new("sum", arguments.clone()));
    }

    /// A comparison of `count(a, p)` with a constant.
    fn counted(&self, id: Id) -> Option<(Binary, Id, &BuiltinCall, i64)> {
        let Node::Binary { operator, left, right, .. } = *self.node(id) else { return None };
        let Node::Builtin(call @ BuiltinCall { name: "count", .. }) = self.node(left) else { return None };
        (call.arguments.len() == 2).then_some((operator, left, call, self.integer(right)?))
    }

    /// `count(a, p) > 0` becomes `any(a, p)`.
    pub(super) fn count_of_some(&mut self, id: Id) {
        let Some((Binary::More, _, call, 0) | (Binary::MoreOrEqual, _, call, 1)) = self.counted(id) else {
            return;
        };
        self.tree.nodes[id] = Node::Builtin(BuiltinCall::new("any", call.arguments.clone()));
    }

    /// `count(a, p) > 3` stops at the fourth match.
    pub(super) fn count_up_to(&mut self, id: Id) {
        let Some((operator, count, _, limit @ 0..)) = self.counted(id) else { return };
        let threshold = match operator {
            Binary::More | Binary::LessOrEqual => limit.wrapping_add(1),
            Binary::MoreOrEqual | Binary::Less => limit,
            _ => return,
        };
        if threshold > 1
            && let Node::Builtin(call) = &mut self.tree.nodes[count]
        {
            call.threshold = Some(threshold);
        }
    }
}
