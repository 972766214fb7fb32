//! Code for the interpreter.

use std::collections::HashSet;

use golang::Regexp;

use crate::environment::Prepared;
use crate::functions::Implementation;
use crate::value::Value;

/// Index into the code of a program.
pub(crate) type CodeIndex = usize;

pub(crate) enum Code {
    Constant(Value<'static>),
    /// A variable or a function of the environment.
    Variable(usize),
    /// A variable declared by `let`.
    Slot(usize),
    /// Operators of the same or different kinds, applied from left to right.
    Row {
        first: CodeIndex,
        steps: Vec<Step>,
    },
    Not(CodeIndex),
    Negate(CodeIndex),
    /// The end of an optional chain, which is nil if `?.` found nil.
    Chain(CodeIndex),
    Member {
        base: CodeIndex,
        property: CodeIndex,
        optional: bool,
    },
    Slice {
        base: CodeIndex,
        from: Option<CodeIndex>,
        to: Option<CodeIndex>,
    },
    /// A function of the environment, with its prepared arguments.
    Call {
        function: usize,
        arguments: Vec<CodeIndex>,
        prepared: Option<Prepared>,
    },
    /// A method of a time or a duration, or a function that is a member of a value.
    Method {
        name: String,
        base: CodeIndex,
        optional: bool,
        arguments: Vec<CodeIndex>,
    },
    /// A function that is known only at run time.
    CallValue {
        callee: CodeIndex,
        arguments: Vec<CodeIndex>,
    },
    Builtin {
        function: Implementation,
        arguments: Vec<CodeIndex>,
    },
    Loop(Loop),
    /// The current element of a loop, its index, and the accumulator.
    Pointer,
    Index,
    Accumulator,
    Conditional {
        condition: CodeIndex,
        then: CodeIndex,
        otherwise: CodeIndex,
    },
    Let {
        slot: usize,
        value: CodeIndex,
        body: CodeIndex,
    },
    Sequence(Vec<CodeIndex>),
    Array(Vec<CodeIndex>),
    Map(Vec<(CodeIndex, CodeIndex)>),
}

pub(crate) enum Step {
    And(CodeIndex),
    Or(CodeIndex),
    Coalesce(CodeIndex),
    Equal {
        right: CodeIndex,
        negated: bool,
        operand_type: Option<OperandType>,
    },
    Compare {
        right: CodeIndex,
        comparison: Comparison,
    },
    In(CodeIndex),
    /// `in` with a set of strings or integers.
    InTexts(HashSet<Box<[u8]>>),
    InIntegers(HashSet<i64>),
    Matches(CodeIndex),
    MatchesConstant(Regexp),
    Text {
        right: CodeIndex,
        test: fn(&[u8], &[u8]) -> bool,
    },
    Range(CodeIndex),
    Compute {
        right: CodeIndex,
        operation: Operation,
    },
}

/// Static type of both operands; another type at run time is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandType {
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

/// A builtin function that applies a predicate to every element of an array.
pub(crate) struct Loop {
    pub function: LoopFunction,
    pub array: CodeIndex,
    pub predicate: Option<CodeIndex>,
    /// The order of `sortBy`, the initial value of `reduce`.
    pub extra: Option<CodeIndex>,
    pub map: Option<CodeIndex>,
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
