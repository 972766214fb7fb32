//! Simplifies trees as expr-lang does.
//!
//! Most of it only saves time, but some is observable: folded operations cannot fail at run time, a search that stops
//! early does not reach an element that would make it fail, and `5 % 0` is a compile error.

mod aggregates;
mod fold;
mod searches;

use crate::ast::{Id, Node, Tree};
use crate::checker::Types;
use crate::error::Error;
use crate::operator::Binary;
use crate::types::Type;

/// More than folding ever needs.
const MAX_ROUNDS: usize = 1000;

pub(crate) fn simplify(source: &str, tree: Tree, types: Types, root: Id) -> Result<(Tree, Types), Error> {
    let mut rewriter = Rewriter { source, tree, types };
    rewriter.each(root, Rewriter::membership);
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for id in rewriter.tree.upwards(root) {
            changed |= rewriter.fold(id)?;
        }
        if !changed {
            break;
        }
    }
    rewriter.each(root, Rewriter::membership_of_range);
    rewriter.each(root, Rewriter::map_of_filter);
    rewriter.each(root, Rewriter::length_of_filter);
    rewriter.each(root, |rewriter, id| rewriter.end_of_filter(id, "findLast", "last", -1));
    rewriter.each(root, |rewriter, id| rewriter.end_of_filter(id, "find", "first", 0));
    rewriter.each(root, Rewriter::same_array_twice);
    rewriter.each(root, Rewriter::sum_of_range);
    rewriter.each(root, Rewriter::sum_of_array);
    rewriter.each(root, Rewriter::sum_of_map);
    rewriter.each(root, Rewriter::count_of_some);
    rewriter.each(root, Rewriter::count_up_to);
    Ok((rewriter.tree, rewriter.types))
}

struct Rewriter<'a> {
    source: &'a str,
    tree: Tree,
    types: Types,
}

impl Rewriter<'_> {
    fn each(&mut self, root: Id, rewrite: impl Fn(&mut Self, Id)) {
        for id in self.tree.upwards(root) {
            rewrite(self, id);
        }
    }

    fn node(&self, id: Id) -> &Node {
        &self.tree.nodes[id]
    }

    /// A new node with the source position of another.
    fn push(&mut self, node: Node, ty: Option<Type>, at: Id) -> Id {
        self.types.push(ty);
        let place = self.tree.places[at];
        self.tree.push(node, place)
    }

    fn binary(&mut self, operator: Binary, left: Id, right: Id, ty: Option<Type>) -> Id {
        let spelled = if operator == Binary::Or { "||" } else { "&&" };
        self.push(Node::Binary { operator, spelled, left, right }, ty, left)
    }

    fn integer(&self, id: Id) -> Option<i64> {
        match self.node(id) {
            Node::Integer(value) => Some(*value),
            _ => None,
        }
    }

    fn is_int(&self, id: Id) -> bool {
        matches!(self.types[id], Some(Type::Int | Type::Month | Type::Weekday))
    }

    /// `x in ['a', 'b']`: looks up a set instead of searching an array.
    fn membership(&mut self, id: Id) {
        let Node::Binary { operator: Binary::In, spelled, left, right } = *self.node(id) else { return };
        let Node::Array(items) = self.node(right) else { return };
        let integers: Option<Vec<i64>> = items.iter().map(|item| self.integer(*item)).collect();
        let texts: Option<Vec<String>> = items
            .iter()
            .map(|item| match self.node(*item) {
                Node::String(text) => Some(text.clone()),
                _ => None,
            })
            .collect();
        let set = match (integers, texts) {
            _ if items.is_empty() => return,
            (Some(integers), _) if self.is_int(left) => Node::Integers(integers),
            (_, Some(texts)) => Node::Texts(texts),
            _ => return,
        };
        let right = self.push(set, None, right);
        self.tree.nodes[id] = Node::Binary { operator: Binary::In, spelled, left, right };
    }

    /// `x in 1..9`: compares the bounds instead of creating an array.
    fn membership_of_range(&mut self, id: Id) {
        let Node::Binary { operator: Binary::In, left, right, .. } = *self.node(id) else { return };
        let Node::Binary { operator: Binary::Range, left: from, right: to, .. } = *self.node(right) else {
            return;
        };
        if !self.is_int(left) || self.integer(from).is_none() || self.integer(to).is_none() {
            return;
        }
        let bool = Some(Type::Bool);
        let above = self.binary(Binary::MoreOrEqual, left, from, bool.clone());
        let below = self.binary(Binary::LessOrEqual, left, to, bool);
        self.tree.nodes[id] =
            Node::Binary { operator: Binary::And, spelled: "and", left: above, right: below };
    }
}
