//! Programs as the machine runs them.

use std::collections::HashSet;

use golang::Regexp;

use crate::environment::Prepared;
use crate::functions::Implementation;
use crate::value::Value;

/// A piece of a program, by its place in the list.
pub(crate) type At = usize;

pub(crate) enum Code {
    Constant(Value<'static>),
    /// A variable or a function of the environment.
    Variable(usize),
    /// A variable declared by `let`.
    Slot(usize),
    /// Operators of the same or different kinds, applied from left to right.
    Row {
        first: At,
        steps: Vec<Step>,
    },
    Not(At),
    Negate(At),
    /// Where `?.` on nothing ends.
    Chain(At),
    Member {
        base: At,
        property: At,
        optional: bool,
    },
    Slice {
        base: At,
        from: Option<At>,
        to: Option<At>,
    },
    /// A function of the environment, with what it made of its constant arguments.
    Call {
        function: usize,
        arguments: Vec<At>,
        prepared: Option<Prepared>,
    },
    /// A method of a time or a duration, or a function that is a member of something.
    Method {
        name: String,
        base: At,
        optional: bool,
        arguments: Vec<At>,
    },
    /// A function that is only known when the program runs.
    CallValue {
        callee: At,
        arguments: Vec<At>,
    },
    Builtin {
        function: Implementation,
        arguments: Vec<At>,
    },
    Loop(Loop),
    /// The element a predicate is asked about, its index, and what was made so far.
    Pointer,
    Index,
    Accumulator,
    Conditional {
        condition: At,
        then: At,
        otherwise: At,
    },
    Let {
        slot: usize,
        value: At,
        body: At,
    },
    Sequence(Vec<At>),
    Array(Vec<At>),
    Map(Vec<(At, At)>),
}

pub(crate) enum Step {
    And(At),
    Or(At),
    Coalesce(At),
    Equal {
        right: At,
        negated: bool,
        strictly: Option<Strictly>,
    },
    Compare {
        right: At,
        comparison: Comparison,
    },
    In(At),
    /// In a set of texts or integers.
    InTexts(HashSet<Box<[u8]>>),
    InIntegers(HashSet<i64>),
    Matches(At),
    MatchesConstant(Regexp),
    Text {
        right: At,
        test: fn(&[u8], &[u8]) -> bool,
    },
    Range(At),
    Compute {
        right: At,
        operation: Operation,
    },
}

/// Both sides are of this type, or the program fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictly {
    Integers,
    Texts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    More,
    LessOrEqual,
    MoreOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
}

/// A function that looks at every element of an array.
pub(crate) struct Loop {
    pub function: LoopFunction,
    pub array: At,
    pub predicate: Option<At>,
    /// The order of `sortBy`, the first value of `reduce`.
    pub extra: Option<At>,
    pub map: Option<At>,
    pub throws: bool,
    pub threshold: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopFunction {
    All,
    None,
    Any,
    One,
    Filter,
    Map,
    Find { last: bool },
    FindIndex { last: bool },
    Count,
    Sum,
    GroupBy,
    SortBy,
    Reduce,
}

impl LoopFunction {
    pub fn find(name: &str) -> Option<LoopFunction> {
        Some(match name {
            "all" => LoopFunction::All,
            "none" => LoopFunction::None,
            "any" => LoopFunction::Any,
            "one" => LoopFunction::One,
            "filter" => LoopFunction::Filter,
            "map" => LoopFunction::Map,
            "find" => LoopFunction::Find { last: false },
            "findLast" => LoopFunction::Find { last: true },
            "findIndex" => LoopFunction::FindIndex { last: false },
            "findLastIndex" => LoopFunction::FindIndex { last: true },
            "count" => LoopFunction::Count,
            "sum" => LoopFunction::Sum,
            "groupBy" => LoopFunction::GroupBy,
            "sortBy" => LoopFunction::SortBy,
            "reduce" => LoopFunction::Reduce,
            _ => return None,
        })
    }
}
